// `--fuse-at` under `--compat timeloop` is what run.py of Timeloop-Experiments writes, at each of its levels and with
// each of its options.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/fuse_sides.h"

namespace orrery::verbs {
namespace {

// What is said of a storage, "D1 E1 EDL +Inputs -Outputs": factors, the order of loops from the innermost on, what is
// kept and what passes by.
std::string said_of(const LayerQuestion& question, int level) {
  using Kind = nest::Constraint::Kind;
  std::map<std::string, std::string> factors, keeps;
  std::string order;
  for (const nest::Constraint& one : question.space.constraints) {
    if (one.level != level || one.spatial) continue;
    if (one.kind == Kind::kFactor) factors[question.einsum.dimensions[one.dimension].name] = std::to_string(one.value);
    if (one.kind == Kind::kKeep) keeps[question.einsum.dataspaces[one.dataspace].name] = one.keep ? " +" : " -";
    if (one.kind != Kind::kOrder) continue;
    order = " ";
    for (const int d : one.inner) order += question.einsum.dimensions[d].name;
  }
  std::string text;
  for (const auto& [name, value] : factors) text += " " + name + value;
  text += order;
  for (const auto& [name, sign] : keeps) text += sign + name;
  return text;
}

LayerQuestion asked_as_scripts(const char* chip, const char* layer, const FuseSides& fuse) {
  MapRequest request;
  request.chips = {chip};
  request.model = "bert-large";
  request.sequence = 4096;
  request.layer = layer;
  request.fuse = fuse;
  EXPECT_TRUE(base::reproduce(nest::kModelDefects, "timeloop", request.compat));
  Estimators estimators({});
  return ask_layers(request, {}, estimators).questions.at(0);
}

// What fusing changes, outside in: "DRAM D1 E1 EDL +Inputs -Outputs +Weights; ...".
std::string changes(const char* chip, const char* layer, const FuseSides& fuse) {
  const LayerQuestion plain = asked_as_scripts(chip, layer, {}), fused = asked_as_scripts(chip, layer, fuse);
  std::string text;
  for (int l = static_cast<int>(fused.chip->storages.size()) - 1; l >= 0; --l)
    if (said_of(fused, l) != said_of(plain, l))
      text += (text.empty() ? "" : "; ") + fused.chip->storages[l].name + said_of(fused, l);
  return text;
}

// -nef leaves E free, -lf fixes L, -pwim leaves the result in what is outside. The scripts order the loops of the first
// level that has a line on loops, then of the level to fuse at: at the innermost level DRAM keeps its order.
TEST(FuseScripts, AProductsConstraintsAreTheScripts) {
  for (const bool nef : {false, true})
    for (const bool lf : {false, true})
      for (const bool pwim : {false, true}) {
        const std::string fixed = std::string(" D1") + (nef ? "" : " E1") + (lf ? " L1" : "");
        const std::string passes = pwim ? " +Inputs +Outputs +Weights" : " +Inputs -Outputs +Weights";
        const auto of = [&](const char* chip, const char* level) {
          return changes(chip, "KTQ", {level, nef, lf, pwim});
        };
        const std::string scratchpad =
            nef && !lf ? "" : "; Scratchpad" + fixed + " +Inputs -Outputs +Weights";  // it has D1 by itself
        EXPECT_EQ(of("gemmini", "DRAM"), "DRAM EDL +Inputs +Outputs +Weights");
        EXPECT_EQ(of("gemmini", "Accumulator"),
                  "DRAM" + fixed + " EDL" + passes + scratchpad + "; Accumulator EDL -Inputs +Outputs -Weights");
        EXPECT_EQ(of("gemmini", "Registers"), "DRAM" + fixed + passes + scratchpad + "; Accumulator" + fixed +
                                                  " -Inputs" + (pwim ? " +" : " -") + "Outputs -Weights");
        EXPECT_EQ(of("pim", "DRAM"), "DRAM EDL +Inputs +Outputs +Weights");
        EXPECT_EQ(of("pim", "shared_glb"), "DRAM" + fixed + " EDL" + passes + "; shared_glb EDL");
        EXPECT_EQ(of("pim", "scratchpad"), "DRAM" + fixed + passes + "; shared_glb" + fixed + (pwim ? "" : passes) +
                                               "; scratchpad D1 E1 L1 EDL -Inputs -Outputs +Weights");
      }
}

// What is taken over passes the levels outside by; with -pwim what is made does, too, but for gemmini's Scratchpad.
TEST(FuseScripts, ANormalisationsConstraintsAreTheScripts) {
  for (const bool pwim : {false, true}) {
    const std::string outside = std::string(" -Inputs") + (pwim ? " -" : " +") + "Outputs -Weights";
    const auto of = [&](const char* chip, const char* level) {
      return changes(chip, "softmax", {level, false, false, pwim});
    };
    const std::string gemmini = "DRAM" + outside + "; Scratchpad -Inputs +Outputs -Weights";
    EXPECT_EQ(of("gemmini", "DRAM"), "");
    EXPECT_EQ(of("gemmini", "Accumulator"), gemmini);
    EXPECT_EQ(of("gemmini", "Registers"), gemmini + "; Accumulator EDL -Inputs -Outputs -Weights");
    EXPECT_EQ(of("pim", "DRAM"), "");
    EXPECT_EQ(of("pim", "shared_glb"), "DRAM" + outside);
    EXPECT_EQ(of("pim", "scratchpad"), "DRAM" + outside + "; shared_glb EDL" + outside);
  }
}

}  // namespace
}  // namespace orrery::verbs
