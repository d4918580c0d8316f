// Packing and latency against the reference's figures.
#include "orrery/verbs/sparse/pack/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "orrery/engines/masks/packing/array_run.h"
#include "orrery/engines/masks/packing/control_words.h"
#include "orrery/engines/masks/packing/latency.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/inputs/masks/sparse_golden_test_util.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;

std::map<std::string, masks::PackedScheme> packed(const std::string& name, masks::PackArray array = {}) {
  SparsePackRequest request;
  request.mask = kGoldens + name;
  request.array = array;
  std::map<std::string, masks::PackedScheme> out;
  for (const masks::PackedScheme& scheme : pack_sparse(request).schemes) out[scheme.name] = scheme;
  return out;
}

TEST(SparsePack, ReproducesTheReferencesCountsOfBlocksAndSubRows) {
  SKIP_WITHOUT_GOLDENS();
  int compared = 0;
  const Node file = golden_json("pack_split_variants.json");
  for (const Node& row : file.items) {
    const std::string name = row.find("case")->value.text;
    if (!std::filesystem::exists(kGoldens + name)) continue;  // figures only
    const auto ours = packed(name);
    const auto same = [&](const char* theirs, const char* scheme, const char* count) {
      const Node& node = row.find(theirs)->value;
      const masks::PackedScheme& s = ours.at(scheme);
      EXPECT_EQ(static_cast<double>(std::string(count) == "blocks" ? s.blocks : s.sub_rows), number(node, count))
          << scheme;
      EXPECT_DOUBLE_EQ(s.utilization, number(node, "util")) << scheme;
    };
    EXPECT_EQ(static_cast<double>(ours.at("pack").kept), number(row, "nnz"));
    same("chisel_pack_greedy_win64", "pack", "blocks");
    same("chisel_pack_greedy_nowin", "pack_nowin", "blocks");
    same("column_compacted_64row_then_split", "compact64", "subrows");
    same("column_compacted_16row_then_split", "compact16", "subrows");
    same("ideal_row_chunks", "row_chunks", "subrows");
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST(SparsePack, FillsThePublishedArrayByFiftySevenPercentAndAWiderOneByThreeQuarters) {
  SKIP_WITHOUT_GOLDENS();
  EXPECT_GE(packed("cloth_s512_thr2e-3").at("orrery").utilization, 0.57);
  EXPECT_GE(packed("cloth_s512_thr2e-3", {64, 8, 128}).at("orrery").utilization, 0.75);
}

// The Pack unit takes a column a cycle and says (`emit`) when a row is too full for it: what its mask has by then is a
// block, and the column begins the next one.
TEST(SparsePack, ABlockClosesWhereThePublishedPackUnitEmits) {
  SKIP_WITHOUT_GOLDENS();
  using Column = std::vector<std::int32_t>;  // a number for each of eight rows
  const auto column_of = [](const Node& list) {
    Column out;
    for (const Node& x : list.items) out.push_back(static_cast<std::int32_t>(x.number));
    return out;
  };
  int compared = 0, emitted = 0;
  // Columns since the last block, of which the last one emits or not, and what the unit wrote for those before it.
  const auto compare = [&](const std::vector<Column>& columns, const std::vector<Column>& written, bool emits) {
    masks::Mask mask({1, 1, 8, static_cast<base::Count>(columns.size())});
    for (std::size_t c = 0; c < columns.size(); ++c)
      for (std::size_t r = 0; r < 8; ++r)
        if (columns[c][r] == 1) mask.keep(0, 0, static_cast<base::Count>(r), static_cast<base::Count>(c));
    const masks::Packing packing = masks::pack_as_sanger(mask, {8, 4, 64});
    ASSERT_EQ(packing.blocks.size(), emits ? 2U : 1U);
    const masks::PackedBlock& block = packing.blocks.front();
    std::vector<Column> ours(8), theirs(8);
    for (const masks::PackedRow& row : block.rows)
      for (const std::int32_t port : row.ports)
        ours[static_cast<std::size_t>(row.query)].push_back(block.keys[static_cast<std::size_t>(port)] % 8);  // 3 bits
    for (const Column& ids : written)
      for (std::size_t r = 0; r < 8; ++r)
        if (ids[r] != 8) theirs[r].push_back(ids[r]);
    EXPECT_EQ(ours, theirs);
    ++compared;
    emitted += emits;
  };
  const Node file = golden_json("hw/pack.json");
  for (const Node& one : file.find("cases")->value.items) {
    std::vector<Column> columns, written;
    for (const Node& cycle : one.find("trace")->value.items) {
      columns.push_back(column_of(cycle.find("binaries")->value));
      const bool emits = number(cycle, "emit_before_edge") == 1;
      if (emits) {
        compare(columns, written, true);
        columns.clear();
        written.clear();
      } else if (number(cycle, "maskWrite") == 1) {
        written.push_back(column_of(cycle.find("mask")->value));
      }
    }
    const auto* ones = one.find("final_emit_all_ones");
    if (ones != nullptr) columns.push_back(Column(8, 1));
    if (!columns.empty()) compare(columns, written, ones != nullptr && ones->value.number == 1);
  }
  EXPECT_GE(compared, 8);
  EXPECT_GE(emitted, 5);
}

// Queries, keys and values of the published array's test, through our control words and array: the published one
// computes the same but for its fixed point and its unit for exponentials.
TEST(SparsePack, OutputsAreThoseOfThePublishedArrayToItsOwnError) {
  SKIP_WITHOUT_GOLDENS();
  const Node file = golden_json("hw/sparse_pe_array.json");
  const double allowed = number(file, "worst_rel_err") + 1e-3;
  for (const Node& one : file.find("cases")->value.items) {
    const auto matrix = [&](const char* name, double unit) {
      std::vector<double> out;
      for (const Node& row : one.find(name)->value.items)
        for (const Node& x : row.items) out.push_back(x.number / unit);
      return out;
    };
    const std::vector<double> q = matrix("Q16", 16), turned = matrix("K16", 16), v = matrix("V16", 16);
    std::vector<double> k(turned.size());  // the array's test has a key in each column
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) k[j * 8 + i] = turned[i * 8 + j];
    masks::PackedBlock block{0, {0, 1, 2, 3, 4, 5, 6, 7}, {}};
    for (const Node& select : one.find("select")->value.items) {
      masks::PackedRow row{static_cast<std::int32_t>(block.rows.size()), {}};
      for (const Node& port : select.items) row.ports.push_back(static_cast<std::int32_t>(port.number));
      block.rows.push_back(row);
    }
    const auto size = static_cast<base::Count>(q.size() / 8);
    const masks::ArrayOutputs ours =
        masks::run_on_array({{8, 4, 8}, {block}}, 1, {q.data(), k.data(), v.data(), 8, 8, size, 1});
    const std::vector<double> outputs = matrix("O_raw", 65536);
    ASSERT_EQ(ours.weighted.size(), outputs.size());
    const double most = *std::max_element(outputs.begin(), outputs.end());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      EXPECT_NEAR(ours.weighted[i], outputs[i], allowed * std::max(most, ours.weighted[i])) << i;
    const auto& sums = one.find("score_sum_raw")->value.items;
    for (std::size_t r = 0; r < sums.size(); ++r) EXPECT_NEAR(ours.sums[r] / (sums[r].number / 65536), 1, allowed) << r;
  }
}

TEST(SparsePack, DelaysAreThoseOfThePublishedArraysTest) {
  SKIP_WITHOUT_GOLDENS();
  const masks::PackArray array{8, 4, 8};
  const Node file = golden_json("hw/sparse_pe_array.json");
  for (const Node& one : file.find("cases")->value.items) {
    masks::PackedBlock block{0, {0, 1, 2, 3, 4, 5, 6, 7}, {}};
    const auto& select = one.find("select")->value.items;
    for (std::size_t r = 0; r < select.size(); ++r) {
      masks::PackedRow row{static_cast<std::int32_t>(r), {}};
      for (const Node& port : select[r].items) row.ports.push_back(static_cast<std::int32_t>(port.number));
      block.rows.push_back(row);
    }
    const masks::BlockWords words = masks::control_words(block, array);
    const auto& delays = one.find("c4")->value.items;
    for (std::size_t r = 0; r < select.size(); ++r)
      for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(words.pes[r * 4 + j].delay, delays[r].items[j].number);
  }
}

TEST(SparseLatency, EqualsThePublishedModels) {
  SKIP_WITHOUT_GOLDENS();
  int compared = 0;
  const Node file = golden_json("latency_model.json");
  for (const Node& point : file.find("cases")->value.items) {
    const masks::LatencyQuestion question{static_cast<base::Count>(number(point, "seq_len")), number(point, "sparsity"),
                                          number(point, "load_balance")};
    const double v1 = number(point, "v1_ms"), v2 = number(point, "v2_ms");
    EXPECT_NEAR(masks::latency_v1_ms(question), v1, 1e-12 * v1);
    EXPECT_NEAR(masks::latency_v2_ms(question), v2, 1e-12 * v2);
    ++compared;
  }
  EXPECT_EQ(compared, 32);
}

TEST(SparsePack, AnArrayIsThreeSizes) {
  EXPECT_EQ(pack_array("64x8x128"), (masks::PackArray{64, 8, 128}));
  for (const char* text : {"64x8", "64x8x128x2", "64,8,128", "x8x128", "64x8x", "axbxc", "64x8x99999999999999999999"})
    EXPECT_THROW(pack_array(text), base::InputError) << text;
  for (const char* text : {"0x8x128", "64x-1x128", "64x16x8", "64x8x1024"})
    EXPECT_THROW(pack_array(text), base::InputError) << text;
}

}  // namespace
}  // namespace orrery::verbs
