#include "orrery/runtime/tuning/graph.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/text/files_test_util.h"

namespace orrery::tuning {
namespace {

using nlohmann::json;

json uses(const std::vector<Use>& all, bool columns) {
  json out = json::array();
  for (const Use& use : all)
    if (columns)
      out.push_back({use.variable, use.column});
    else
      out.push_back(use.variable);
  return out;
}

json special(const Operator& op) {
  if (op.specials.empty()) return nullptr;
  json out = json::array();
  for (const Special& one : op.specials)
    if (one.name == one.column)
      out.push_back(one.name);
    else
      out.push_back({one.name, one.column});
  return out;
}

json in_the_goldens_terms(const Operator& op) {
  const bool timed = op.kind == Kind::kContraction || op.kind == Kind::kKernel;
  const char* const types[] = {"tc", "kernel", "split", "merge"};
  json out{{"name", op.name}, {"type", types[static_cast<int>(op.kind)]}};
  out["benchmark"] = op.benchmarks.size() == 1 ? json(op.benchmark()) : json(op.benchmarks);
  out["inputs"] = uses(op.inputs, timed);
  out["outputs"] = uses(op.outputs, timed);
  out["special"] = special(op);
  return out;
}

TEST(EncoderGraph, IsSubstationsOperatorByOperator) {
  ORRERY_NEEDS_SHARED();
  const json golden = json::parse(base::contents(base::kShared / "goldens/layer/operator_graph.json"));
  const Graph graph = encoder_graph(Sizes::encoder(8, 512, 16, 1024, 4096));
  json forward = json::array(), backward = json::array();
  for (const Operator& op : graph.operators) (op.backward ? backward : forward).push_back(in_the_goldens_terms(op));
  EXPECT_EQ(forward, golden["forward"]);
  EXPECT_EQ(backward, golden["backward"]);
  EXPECT_EQ(json(graph.equal), golden["same_vars"]);
  EXPECT_EQ(json(graph.combined_backward), golden["bwd_combined"]);
  EXPECT_EQ(graph.forward_input, golden["fwd_input"]);
  EXPECT_EQ(graph.forward_output, golden["fwd_output"]);
  EXPECT_EQ(graph.backward_input, golden["bwd_input"]);
  EXPECT_EQ(graph.backward_output, golden["bwd_output"]);
}

TEST(EncoderGraph, HasSeventySevenVariablesEachUsedAndOfOneShapeEverywhere) {
  const Graph graph = encoder_graph(Sizes::encoder(2, 3, 5, 20, 7));
  EXPECT_EQ(graph.variables.size(), 77u);
  std::set<std::string> used;
  for (const Operator& op : graph.operators)
    for (const std::vector<Use>* all : {&op.inputs, &op.outputs})
      for (const Use& use : *all) {
        const Variable* variable = graph.variable(use.variable);
        ASSERT_NE(variable, nullptr) << op.name << " " << use.variable;
        used.insert(use.variable);
        EXPECT_EQ(graph.sizes.words(use.dims), graph.sizes.words(variable->dims)) << op.name << " " << use.variable;
        EXPECT_EQ(use.dims.size(), variable->dims.size()) << op.name << " " << use.variable;
      }
  EXPECT_EQ(used.size(), graph.variables.size());
}

// What an operator reads was given or written before it.
TEST(EncoderGraph, IsInAnOrderInWhichItCanRun) {
  const Graph graph = encoder_graph(Sizes::encoder(8, 512, 16, 1024, 4096));
  std::set<std::string> there;
  for (const Variable& variable : graph.variables)
    if (variable.role == Role::kInput || variable.role == Role::kWeight) there.insert(variable.name);
  for (const Operator& op : graph.operators) {
    for (const Use& use : op.inputs) EXPECT_TRUE(there.count(use.variable)) << op.name << " reads " << use.variable;
    for (const Use& use : op.outputs)
      EXPECT_TRUE(there.insert(use.variable).second) << op.name << " writes " << use.variable << " again";
  }
}

}  // namespace
}  // namespace orrery::tuning
