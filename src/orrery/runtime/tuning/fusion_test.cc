#include "orrery/runtime/tuning/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/text/files_test_util.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/layers_test_util.h"

namespace orrery::tuning {
namespace {

using base::Count;
using nlohmann::json;

json golden() {
  return json::parse(base::contents(base::kShared / "goldens/layer/operators_b8-l512.json"));
}

std::string class_name(Class what) {
  return what == Class::kContraction     ? "tensor_contraction"
         : what == Class::kNormalisation ? "statistical_normalization"
                                         : "element_wise";
}

std::map<std::string, Count> sized(const LayerOperators& layer, const std::vector<std::string>& names) {
  std::map<std::string, Count> out;
  for (const std::string& name : names) out[name] = layer.words(name);
  return out;
}

TEST(Fusion, FindsSubstationsKernelsWithTheirWordsAndOperations) {
  ORRERY_NEEDS_SHARED();
  const LayerOperators layer = layer_operators(substation_layer(8, 512));
  std::map<std::string, Kernel> kernels;
  for (const Kernel& kernel : fused_kernels(layer)) kernels[kernel.name] = kernel;
  const json rows = golden()["fused_operators"];
  EXPECT_EQ(kernels.size(), rows.size());
  for (const json& row : rows) {
    const std::string op = row["op"];
    ASSERT_TRUE(kernels.count(op)) << op;
    const Kernel& kernel = kernels[op];
    EXPECT_EQ(class_name(kernel.what), row["cls"]) << op;
    EXPECT_EQ(kernel.backward, row["dir"] == "bwd") << op;
    EXPECT_EQ(kernel.flop, row["flop"]) << op;
    EXPECT_EQ(layer.words(kernel.reads), row["reads"]) << op;
    EXPECT_EQ(layer.words(kernel.writes), row["writes"]) << op;
    EXPECT_EQ(sized(layer, kernel.reads), (row["inputs"].get<std::map<std::string, Count>>())) << op;
    EXPECT_EQ(sized(layer, kernel.writes), (row["outputs"].get<std::map<std::string, Count>>())) << op;
    if (row.contains("einsum")) {
      EXPECT_EQ(kernel.einsum, row["einsum"]) << op;
      const ContractionGroups groups = groups_of(kernel.einsum);
      EXPECT_EQ(layer.sizes.words(groups.first), row["M"]) << op;
      EXPECT_EQ(layer.sizes.words(groups.second), row["N"]) << op;
      EXPECT_EQ(layer.sizes.words(groups.sum), row["K"]) << op;
      EXPECT_EQ(layer.sizes.words(groups.batch), row["batch"]) << op;
    }
  }
}

TEST(Fusion, IsOfThirtyElementaryOperators) {
  ORRERY_NEEDS_SHARED();
  const LayerOperators layer = layer_operators(substation_layer(8, 512));
  std::map<std::string, std::string> fused_into;
  for (const Kernel& kernel : fused_kernels(layer))
    for (const std::string& op : kernel.operators) fused_into[op] = kernel.name;
  const json rows = golden()["unfused_nongemm"];
  std::size_t next = 0;
  for (const LayerOperator& op : layer.operators) {
    if (op.what == Class::kContraction || op.what == Class::kFree) continue;
    ASSERT_LT(next, rows.size());
    const json& row = rows[next++];
    EXPECT_EQ(op.name, row["op"]);
    EXPECT_EQ(op.backward, row["dir"] == "bwd") << op.name;
    EXPECT_EQ(op.what == Class::kNormalisation, row["cls"] == "norm") << op.name;
    EXPECT_EQ(op.flop * layer.sizes.words(op.space), row["flop"]) << op.name;
    EXPECT_EQ(layer.words(op.reads), row["reads"]) << op.name;
    EXPECT_EQ(layer.words(op.writes), row["writes"]) << op.name;
    EXPECT_EQ(fused_into[op.name], row["fused_into"]) << op.name;
  }
  EXPECT_EQ(next, rows.size());
}

// Names and tensors of the graph that layouts are chosen for come from Substation's files; what its kernels do, from
// the rule.
TEST(Fusion, MakesTheLaunchesOfTheGraphInTheirOrder) {
  const LayerOptions options = substation_layer(3, 5, 2, 8, 7);
  const LayerOperators layer = layer_operators(options);
  const std::vector<Kernel> kernels = fused_kernels(layer);
  const Graph graph = encoder_graph(layer.sizes);
  std::size_t next = 0;
  for (const Operator& op : graph.operators) {
    if (op.kind == Kind::kSplit || op.kind == Kind::kMerge) continue;
    ASSERT_LT(next, kernels.size());
    const Kernel& kernel = kernels[next++];
    EXPECT_EQ(kernel.name, op.name);
    std::set<std::string> reads, writes;
    for (const Use& use : op.inputs) (use.overwritten ? writes : reads).insert(use.variable);
    for (const Use& use : op.outputs) writes.insert(use.variable);
    const auto plain = [](std::vector<std::string> names) {
      std::set<std::string> out(names.begin(), names.end());
      if (out.erase("ATT_biased")) out.insert("ATT");  // in place
      return out;
    };
    EXPECT_EQ(plain(kernel.reads), reads) << op.name;
    EXPECT_EQ(plain(kernel.writes), writes) << op.name;
    EXPECT_EQ(kernel.einsum, op.einsum);
  }
  EXPECT_EQ(next, kernels.size());
}

}  // namespace
}  // namespace orrery::tuning
