// What graphs whose tokens are shared cost on a network, and what a chip has of them.
#include <gtest/gtest.h>

#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/describe/workload/graphs/sequence_parallel_graph.h"
#include "orrery/engines/dataflow/model/lower.h"
#include "orrery/engines/dataflow/model/network_time.h"
#include "orrery/engines/dataflow/search/sharding.h"

namespace orrery::dataflow {
namespace {

using workload::KernelDimension;
using workload::TokenSharing;

constexpr Count kTokens = 2048, kChips = 8;
constexpr double kStream = 1024.0 * kTokens * 2, kKeys = 2 * 128.0 * kTokens * 2;

Setup shared(TokenSharing sharing, Link link) {
  const workload::Transformer model =
      workload::checked_transformer({.hidden = 1024, .heads = 8, .kv_heads = 2, .ffn = 4096});
  const workload::GraphTokens tokens{.tokens = kTokens};
  Setup setup;
  setup.graph = workload::of_layers(model.decoder(), 1, [&](const workload::GraphLayers& layers) {
    return share_tokens(language_model_graph(layers, tokens, workload::Passes::kForward), layers, tokens, sharing,
                        kChips);
  });
  setup.system.chips = kChips;
  setup.system.network = {{link, kChips, 50, Parallelism::kTensor}};
  setup.system.link_latency_ns = 100;
  LanguageModelRun run;
  run.sequence = kTokens;
  setup.execution.workload = run;
  return setup;
}

Degrees degrees() {
  Degrees all;
  all.tensor = kChips;
  all.sizes = {kChips};
  return all;
}

ShardingOptimum solved(const Setup& setup) {
  return choose_sharding(setup, degrees(), kCorrected);
}

GroupCharges charges_of(const Setup& setup) {
  return group_charges(setup.system, degrees(), Parallelism::kTensor, kCorrected, false);
}

TEST(SequenceParallel, NormsOnShardsCommunicateAsLongAsTwoAllReducesOnEveryNetwork) {
  for (const Link link : {Link::kRing, Link::kSwitch, Link::kFullyConnected}) {
    const dataflow::Setup setup = shared(TokenSharing::kBetweenProducts, link);
    const ShardingOptimum found = solved(setup);
    EXPECT_TRUE(found.certificate.optimal);
    EXPECT_DOUBLE_EQ(found.communication_ns, 2 * charges_of(setup).all_reduce.ns(kStream));
  }
}

TEST(SequenceParallel, TokensSharedEverywhereGatherKeysAndValuesAlone) {
  for (const Link link : {Link::kRing, Link::kSwitch, Link::kFullyConnected}) {
    const dataflow::Setup setup = shared(TokenSharing::kEverywhere, link);
    EXPECT_DOUBLE_EQ(solved(setup).communication_ns, 2 * charges_of(setup).all_gather.ns(kKeys));
  }
}

// Of kernel i: elements that it makes on a chip, and multiplications.
struct Part {
  double made = 0, work = 0;
};

Part part(const Setup& setup, const std::vector<KernelDimension>& sharding, std::size_t i) {
  Mapping mapping;
  mapping.degrees = degrees();
  mapping.sharding = sharding;
  mapping.tiles = 1;
  const Shard shard = shards(setup, mapping, kCorrected)[i];
  const double made = static_cast<double>(shard.m) * static_cast<double>(shard.n);
  return {made, made * static_cast<double>(shard.k)};
}

TEST(SequenceParallel, AChipHoldsAndComputesItsShareOfWhatIsShared) {
  for (const TokenSharing sharing : {TokenSharing::kEverywhere, TokenSharing::kBetweenProducts}) {
    const dataflow::Setup setup = shared(sharing, Link::kRing);
    const std::vector<KernelDimension> sharding = solved(setup).sharding;
    for (std::size_t i = 0; i < sharding.size(); ++i) {
      const workload::Kernel& kernel = setup.graph.kernels[i];
      const double outputs = static_cast<double>(kernel.outer * kernel.m * kernel.n);
      const Part own = part(setup, sharding, i);
      if (kernel.name.ends_with("_GATHER")) {
        EXPECT_EQ(own.made, outputs) << kernel.name << ": all tokens, on every chip";
        continue;
      }
      EXPECT_EQ(own.work * kChips, outputs * static_cast<double>(kernel.k)) << kernel.name;
      if (kernel.shard_n > 0) {
        EXPECT_EQ(own.made * kChips, outputs) << kernel.name;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::dataflow
