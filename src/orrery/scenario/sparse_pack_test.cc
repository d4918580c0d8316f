// Packing and latency against the reference's figures.
#include "orrery/scenario/sparse_pack.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "orrery/base/text_file.h"
#include "orrery/formats/json/document.h"
#include "orrery/sparse/control_words.h"
#include "orrery/sparse/latency.h"

namespace orrery::scenario {
namespace {

using formats::json::Node;

const std::string kGoldens = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/";

#define SKIP_WITHOUT_GOLDENS() \
  if (!std::filesystem::exists(kGoldens)) GTEST_SKIP() << "the reference figures are not at hand"

Node json_of(const std::string& name) {
  return formats::json::parse(base::read_file(kGoldens + name), "O1814");
}
double number(const Node& node, const char* key) {
  return node.find(key)->value.number;
}

std::map<std::string, sparse::PackedScheme> packed(const std::string& name, sparse::PackArray array = {}) {
  SparsePackRequest request;
  request.mask = kGoldens + name;
  request.array = array;
  std::map<std::string, sparse::PackedScheme> out;
  for (const sparse::PackedScheme& scheme : pack_sparse(request).schemes) out[scheme.name] = scheme;
  return out;
}

TEST(SparsePack, ReproducesTheReferencesCountsOfBlocksAndSubRows) {
  SKIP_WITHOUT_GOLDENS();
  int compared = 0;
  const Node file = json_of("pack_split_variants.json");
  for (const Node& row : file.items) {
    const std::string name = row.find("case")->value.text;
    if (!std::filesystem::exists(kGoldens + name)) continue;  // figures only
    const auto ours = packed(name);
    const auto same = [&](const char* theirs, const char* scheme, const char* count) {
      const Node& node = row.find(theirs)->value;
      const sparse::PackedScheme& s = ours.at(scheme);
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

TEST(SparsePack, DelaysAreThoseOfThePublishedArraysTest) {
  SKIP_WITHOUT_GOLDENS();
  const sparse::PackArray array{8, 4, 8};
  const Node file = json_of("hw/sparse_pe_array.json");
  for (const Node& one : file.find("cases")->value.items) {
    sparse::PackedBlock block{0, {0, 1, 2, 3, 4, 5, 6, 7}, {}};
    const auto& select = one.find("select")->value.items;
    for (std::size_t r = 0; r < select.size(); ++r) {
      sparse::PackedRow row{static_cast<std::int32_t>(r), {}};
      for (const Node& port : select[r].items) row.ports.push_back(static_cast<std::int32_t>(port.number));
      block.rows.push_back(row);
    }
    const sparse::BlockWords words = sparse::control_words(block, array);
    const auto& delays = one.find("c4")->value.items;
    for (std::size_t r = 0; r < select.size(); ++r)
      for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(words.pes[r * 4 + j].delay, delays[r].items[j].number);
  }
}

TEST(SparseLatency, EqualsThePublishedModels) {
  SKIP_WITHOUT_GOLDENS();
  int compared = 0;
  const Node file = json_of("latency_model.json");
  for (const Node& point : file.find("cases")->value.items) {
    const sparse::LatencyQuestion question{static_cast<base::Count>(number(point, "seq_len")),
                                           number(point, "sparsity"), number(point, "load_balance")};
    const double v1 = number(point, "v1_ms"), v2 = number(point, "v2_ms");
    EXPECT_NEAR(sparse::latency_v1_ms(question), v1, 1e-12 * v1);
    EXPECT_NEAR(sparse::latency_v2_ms(question), v2, 1e-12 * v2);
    ++compared;
  }
  EXPECT_EQ(compared, 32);
}

TEST(SparsePack, AnArrayIsThreeSizes) {
  EXPECT_EQ(pack_array("64x8x128"), (sparse::PackArray{64, 8, 128}));
  for (const char* text : {"64x8", "64x8x128x2", "64,8,128", "x8x128", "64x8x", "axbxc", "64x8x99999999999999999999"})
    EXPECT_THROW(pack_array(text), base::InputError) << text;
  for (const char* text : {"0x8x128", "64x-1x128", "64x16x8", "64x8x1024"})
    EXPECT_THROW(pack_array(text), base::InputError) << text;
}

}  // namespace
}  // namespace orrery::scenario
