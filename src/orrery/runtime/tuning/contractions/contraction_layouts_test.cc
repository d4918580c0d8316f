#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "orrery/base/text/files_test_util.h"
#include "orrery/runtime/tuning/graph.h"

namespace orrery::tuning {
namespace {

using base::Count;
using nlohmann::json;

Sizes bert_large(Count batch, Count length) {
  return Sizes::encoder(batch, length, 16, 1024, 4096);
}

TEST(ContractionLayouts, AreAsManyAsSubstationFindsOfEachContraction) {
  ORRERY_NEEDS_SHARED();
  const json golden = json::parse(base::contents(base::kShared / "goldens/layer/tc_layout_space.json"));
  for (const auto& [config, sizes] :
       std::map<std::string, Sizes>{{"b8-l512", bert_large(8, 512)}, {"b96-l128", bert_large(96, 128)}}) {
    ASSERT_EQ(golden[config].size(), named_contractions().size());
    for (const json& row : golden[config]) {
      const auto contraction = std::find_if(named_contractions().begin(), named_contractions().end(),
                                            [&](const NamedContraction& one) { return one.name == row["op"]; });
      ASSERT_NE(contraction, named_contractions().end()) << row["op"];
      EXPECT_EQ(contraction->einsum, row["einsum"]);
      const ContractionSpace space = contraction_space(contraction->einsum, sizes);
      EXPECT_EQ(space.permutations, row["permutations"]) << row["op"];
      EXPECT_EQ(space.layouts.size(), row["valid_gemm_or_bmm"]) << row["op"];
      EXPECT_EQ(space.without_unit_stride, row["rejected_nonunit_stride"]) << row["op"];
      EXPECT_EQ(space.calls.size(), row["unique_blas_calls"]) << row["op"];
      std::set<std::vector<Count>> sizes_of_calls;
      for (const BlasCall& call : space.calls) sizes_of_calls.insert({call.m, call.n, call.k, call.batch});
      EXPECT_EQ(sizes_of_calls, row["MNK"].get<std::set<std::vector<Count>>>()) << row["op"];
    }
  }
}

TEST(ContractionLayouts, OfTheEighteenOfTheLayerAre1248And404Calls) {
  std::size_t layouts = 0, calls = 0, calls_of_many_sequences = 0;
  for (const Operator& op : encoder_graph(bert_large(8, 512)).operators) {
    if (op.kind != Kind::kContraction) continue;
    const ContractionSpace space = contraction_space(op.einsum, bert_large(8, 512));
    layouts += space.layouts.size();
    calls += space.calls.size();
    calls_of_many_sequences += contraction_space(op.einsum, bert_large(96, 128)).calls.size();
  }
  EXPECT_EQ(layouts, 1248u);
  EXPECT_EQ(calls, 404u);
  EXPECT_EQ(calls_of_many_sequences, 412u);
}

// Calls that Substation's files hold for these layouts.
TEST(ContractionLayouts, HaveTheParametersOfSubstationsFiles) {
  ORRERY_NEEDS_SHARED();
  int rows = 0;
  for (const NamedContraction& one : named_contractions()) {
    const auto path = base::kShared / "goldens/layer/select/small" / (std::string(one.name) + "-result.csv");
    if (!std::filesystem::exists(path)) continue;
    std::map<std::string, std::string> calls;
    for (const ContractionLayout& layout : contraction_space(one.einsum, bert_large(8, 512)).layouts) {
      const BlasCall& c = layout.call;
      std::string text =
          fmt::format("{},{},{},{},{},{},{},{},{}", c.batched() ? "BMM" : "GEMM", c.transposed_a ? "T" : "N",
                      c.transposed_b ? "T" : "N", c.m, c.n, c.k, c.lda, c.ldb, c.ldc);
      if (c.batched()) text += fmt::format(",{},{},{},{}", c.stride_a, c.stride_b, c.stride_c, c.batch);
      calls[fmt::format("{},{},{}", layout.a, layout.b, layout.c)] = text;
    }
    std::istringstream in(base::contents(path));
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line)) {
      std::vector<std::string> cells;
      std::istringstream row(line);
      for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
      const std::size_t end = cells[3] == "BMM" ? 16 : 12;
      const std::string layout = cells[0] + "," + cells[1] + "," + cells[2];
      const std::string expected = fmt::format("{}", fmt::join(cells.begin() + 3, cells.begin() + end, ","));
      ASSERT_TRUE(calls.count(layout)) << one.name << " " << layout;
      EXPECT_EQ(calls[layout], expected) << one.name << " " << layout;
      ++rows;
    }
  }
  EXPECT_GT(rows, 100);
}

// What follows knows tensors as functions of indices, and nothing of groups or strides.

using Index = std::map<char, Count>;

struct RandomEinsum {
  std::string einsum;
  Sizes sizes;
};

RandomEinsum random_einsum(std::mt19937& random, Count least) {
  const auto upto = [&](int n) { return std::uniform_int_distribution<int>(0, n)(random); };
  std::string a, b, c;
  RandomEinsum out;
  char letter = 'a';
  const auto add = [&](int letters, std::initializer_list<std::string*> tensors) {
    for (int i = 0; i < letters; ++i, ++letter) {
      out.sizes[letter] = least + upto(2);
      for (std::string* tensor : tensors) *tensor += letter;
    }
  };
  add(upto(2), {&a, &b, &c});
  add(upto(2), {&a, &b});
  add(upto(1) + (a.size() < 2 ? 1 : 0), {&a, &c});
  add(upto(1) + (b.size() < 2 ? 1 : 0), {&b, &c});
  for (std::string* tensor : {&a, &b, &c}) std::shuffle(tensor->begin(), tensor->end(), random);
  out.einsum = a + "," + b + "->" + c;
  return out;
}

Count address(const std::string& layout, const Index& index, const Sizes& sizes) {
  Count out = 0;
  for (const char letter : layout) out = out * sizes[letter] + index.at(letter);
  return out;
}

// Calls `visit` with every index of these letters.
template <typename Visit>
void each_index(const std::string& letters, const Sizes& sizes, const Visit& visit, Index index = {},
                std::size_t place = 0) {
  if (place == letters.size()) return visit(index);
  for (Count i = 0; i < sizes[letters[place]]; ++i) {
    index[letters[place]] = i;
    each_index(letters, sizes, visit, index, place + 1);
  }
}

std::vector<double> naive_product(const ContractionLayout& layout, const std::string& letters, const Sizes& sizes,
                                  const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> c(static_cast<std::size_t>(sizes.words(layout.c)));
  each_index(letters, sizes, [&](const Index& index) {
    c[static_cast<std::size_t>(address(layout.c, index, sizes))] +=
        a[static_cast<std::size_t>(address(layout.a, index, sizes))] *
        b[static_cast<std::size_t>(address(layout.b, index, sizes))];
  });
  return c;
}

// Column-major BLAS, as its manual has it.
std::vector<double> blas(const BlasCall& call, const std::vector<double>& a, const std::vector<double>& b,
                         std::size_t words) {
  std::vector<double> c(words);
  for (Count s = 0; s < call.batch; ++s)
    for (Count m = 0; m < call.m; ++m)
      for (Count n = 0; n < call.n; ++n)
        for (Count k = 0; k < call.k; ++k) {
          const Count in_a = s * call.stride_a + (call.transposed_a ? k + m * call.lda : m + k * call.lda);
          const Count in_b = s * call.stride_b + (call.transposed_b ? n + k * call.ldb : k + n * call.ldb);
          c.at(static_cast<std::size_t>(s * call.stride_c + m + n * call.ldc)) +=
              a.at(static_cast<std::size_t>(in_a)) * b.at(static_cast<std::size_t>(in_b));
        }
  return c;
}

TEST(ContractionLayouts, ComputeTheEinsumByTheirCallWhateverItIs) {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const RandomEinsum one = random_einsum(random, 1);
    const ContractionGroups groups = groups_of(one.einsum);
    const std::string letters = groups.batch + groups.sum + groups.first + groups.second;
    const EinsumTensors tensors = tensors_of(one.einsum);
    const auto numbers = [&](const std::string& dims) {
      std::vector<double> out(static_cast<std::size_t>(one.sizes.words(dims)));
      for (double& x : out) x = std::uniform_int_distribution<int>(-9, 9)(random);
      return out;
    };
    const std::vector<double> a = numbers(tensors.a), b = numbers(tensors.b);
    const ContractionSpace space = contraction_space(one.einsum, one.sizes);
    ASSERT_FALSE(space.layouts.empty()) << one.einsum;
    for (std::size_t j = 0; j < space.layouts.size(); j += 1 + random() % 7) {
      const ContractionLayout& layout = space.layouts[j];
      const std::vector<double> expected = naive_product(layout, letters, one.sizes, a, b);
      const BlasCall& call = layout.call;
      const auto computed = layout.swapped ? blas(call, b, a, expected.size()) : blas(call, a, b, expected.size());
      EXPECT_EQ(computed, expected) << one.einsum << " " << layout.a << " " << layout.b << " " << layout.c;
      EXPECT_GE(call.lda, call.transposed_a ? call.k : call.m);
      EXPECT_GE(call.ldb, call.transposed_b ? call.n : call.k);
      EXPECT_GE(call.ldc, call.m);
    }
  }
}

// Whether some order of the group's letters makes every tensor's addresses a straight line over it; the stride then.
std::optional<std::map<std::string, Count>> straight(const std::string& group, const std::vector<std::string>& layouts,
                                                     const Sizes& sizes) {
  std::string order = group;
  std::sort(order.begin(), order.end());
  do {
    std::map<std::string, Count> strides;
    bool fits = true;
    for (const std::string& layout : layouts) {
      Index zero;
      for (const char letter : layout) zero[letter] = 0;
      std::vector<Count> addresses;
      each_index(order, sizes, [&](const Index& index) {
        Index at = zero;
        for (const auto& [letter, i] : index) at[letter] = i;
        addresses.push_back(address(layout, at, sizes));
      });
      const Count stride = addresses.size() > 1 ? addresses[1] : 1;
      for (std::size_t i = 0; i < addresses.size(); ++i) fits &= addresses[i] == static_cast<Count>(i) * stride;
      strides[layout] = stride;
    }
    if (fits) return strides;
  } while (std::next_permutation(order.begin(), order.end()));
  return std::nullopt;
}

// Extents from 2: with 1 an order of letters does not matter, and what is valid depends on names.
TEST(ContractionLayouts, AreExactlyThoseWhoseAddressesAreStraightLines) {
  std::mt19937 random(11);
  for (int i = 0; i < 12; ++i) {
    const RandomEinsum one = random_einsum(random, 2);
    const ContractionGroups groups = groups_of(one.einsum);
    const EinsumTensors tensors = tensors_of(one.einsum);
    const ContractionSpace space = contraction_space(one.einsum, one.sizes);
    std::set<std::vector<std::string>> found;
    for (const ContractionLayout& layout : space.layouts) found.insert({layout.a, layout.b, layout.c});
    EXPECT_EQ(found.size(), space.layouts.size());
    Count all = 0, skewed = 0, valid = 0;
    std::string a = tensors.a, b = tensors.b, c = tensors.c;
    for (std::string* tensor : {&a, &b, &c}) std::sort(tensor->begin(), tensor->end());
    do do
        do {
          ++all;
          const auto s = straight(groups.batch, {a, b, c}, one.sizes);
          const auto k = s ? straight(groups.sum, {a, b}, one.sizes) : s;
          const auto m = k ? straight(groups.first, {a, c}, one.sizes) : k;
          const auto n = m ? straight(groups.second, {b, c}, one.sizes) : m;
          const bool product = n.has_value();
          const auto unit = [](auto& first, auto& second, const std::string& layout) {
            return first->at(layout) == 1 || second->at(layout) == 1;
          };
          const bool call = product && unit(m, k, a) && unit(k, n, b) && unit(m, n, c);
          skewed += product && !call;
          valid += call;
          EXPECT_EQ(call, found.count({a, b, c}) == 1) << a << " " << b << " " << c;
        } while (std::next_permutation(c.begin(), c.end()));
      while (std::next_permutation(b.begin(), b.end()));
    while (std::next_permutation(a.begin(), a.end()));
    EXPECT_EQ(space.permutations, all);
    EXPECT_EQ(space.without_unit_stride, skewed) << one.einsum;
    EXPECT_EQ(static_cast<Count>(space.layouts.size()), valid) << one.einsum;
  }
}

}  // namespace
}  // namespace orrery::tuning
