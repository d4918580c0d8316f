#include "orrery/engines/cluster/model/model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "orrery/describe/machine/roofline.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/flops.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/engines/cluster/model/random_plan_test_util.h"

namespace orrery::cluster {
namespace {

using workload::Recurrence;
using workload::Transformer;

double seconds(const Model& model, const Training& run) {
  return evaluate(model, run.system, run.plan, machine::Roofline(run.system.accelerator)).iteration_s;
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

Model of(const Transformer& transformer, const Gpt& sizes) {
  return prepared(transformer, {sizes.seq, sizes.attention});
}

workload::Block mamba(base::Count h) {
  Recurrence m;
  const base::Count inner = 2 * h, state = 16, rank = h / 16;
  m.projections = {{"in", h, 2 * inner}, {"x", inner, rank + 2 * state}, {"dt", rank, inner, inner}, {"out", inner, h}};
  m.channels = m.heads = inner;
  m.taps = 4;
  m.key_width = state;
  m.value_width = 1;
  m.small_parameters = inner * state + inner;
  workload::Block block;
  block.mixer = m;
  block.norm = {workload::NormKind::kRms, true, false};
  block.norms = 1;
  return block;
}

// Every second layer, or every one, scans instead.
Transformer scanning(const Gpt& sizes, bool all) {
  Transformer model = workload::plain_transformer(sizes);
  workload::Stack& stack = model.stacks[0];
  stack.kinds.push_back(mamba(stack.width));
  const int scans = static_cast<int>(stack.kinds.size()) - 1;
  for (std::size_t i = 0; i < stack.layers.size(); ++i)
    if (all || i % 2 == 1) stack.layers[i] = scans;
  return model;
}

RC_GTEST_PROP(ClusterModel, LayersListedAsTwoEqualKindsAreOneKind, (const Training& run)) {
  Transformer twice = workload::plain_transformer(run.model);
  workload::Stack& stack = twice.stacks[0];
  const auto kinds = static_cast<int>(stack.kinds.size());
  stack.kinds.insert(stack.kinds.end(), stack.kinds.begin(), stack.kinds.end());
  const int step = *rc::gen::inRange(1, 4);
  for (std::size_t i = 0; i < stack.layers.size(); ++i)
    if (i % static_cast<std::size_t>(step + 1) == 0) stack.layers[i] += kinds;
  const Model one = run.model, two = of(twice, run.model);
  RC_PRE(one.kinds.size() == 1u);
  RC_ASSERT(near(seconds(one, run), seconds(two, run)));
  RC_ASSERT(near(memory(one, run.plan).total(), memory(two, run.plan).total()));
  RC_ASSERT(near(parameters(one), parameters(two)));
  RC_ASSERT(near(model_flops_per_sequence(one), model_flops_per_sequence(two)));
}

RC_GTEST_PROP(ClusterModel, AHybridLiesBetweenItsPureParts, (Training run)) {
  run.model.experts = {};
  run.model.layers += run.model.layers % 2;
  run.plan.pp = run.plan.interleave = 1;
  run.plan.gpus = run.plan.tp * run.plan.cp * run.plan.dp;
  run.plan.ep = 1;
  run.plan.schedule = Schedule::kOneFOneB;
  const double attending = seconds(run.model, run);
  const double scans = seconds(of(scanning(run.model, true), run.model), run);
  const double both = seconds(of(scanning(run.model, false), run.model), run);
  RC_ASSERT(std::min(attending, scans) <= both * (1 + 1e-9));
  RC_ASSERT(both <= std::max(attending, scans) * (1 + 1e-9));
}

RC_GTEST_PROP(ClusterModel, WeightsOnOneAcceleratorAreTheParameters, (Training run)) {
  Plan& plan = run.plan;
  plan.gpus = plan.tp = plan.pp = plan.dp = plan.cp = plan.ep = plan.interleave = 1;
  plan.schedule = Schedule::kOneFOneB;
  plan.precision = machine::Precision::kBf16;
  plan.zero = 0;
  for (const Model& model : {Model(run.model), of(scanning(run.model, false), run.model)}) {
    RC_ASSERT(near(memory(model, plan).weights, 2 * parameters(model)));
    const Transformer plain = workload::plain_transformer(run.model);
    if (!run.model.learned_positions)
      RC_ASSERT(near(parameters(Model(run.model)), static_cast<double>(workload::parameters(plain).total)));
  }
}

RC_GTEST_PROP(ClusterModel, FlopAreThriceTheForwardPasss, (const Training& run)) {
  for (const Transformer& each : {workload::plain_transformer(run.model), scanning(run.model, false)}) {
    const workload::ForwardFlop flop = workload::forward_flop(each, run.model.seq);
    RC_ASSERT(near(model_flops_per_sequence(of(each, run.model)), 3 * (flop.products + flop.attention)));
  }
}

TEST(ClusterModel, AScansWorkGrowsWithTheTokensAlone) {
  Gpt sizes = gpt(16, 1024, 8, 0);
  const auto flop = [&](base::Count seq) {
    sizes.seq = seq;
    return model_flops_per_sequence(of(scanning(sizes, true), sizes)) / static_cast<double>(seq);
  };
  EXPECT_DOUBLE_EQ(flop(2048), flop(65536));
  Training run{sizes, a100(1600), {}};
  run.system.accelerator.host_seconds_per_op = 0;
  const auto time = [&](base::Count seq) {
    sizes.seq = seq;
    const Iteration it =
        evaluate(of(scanning(sizes, true), sizes), run.system, run.plan, machine::Roofline(run.system.accelerator));
    return (it.breakdown.forward + it.breakdown.backward) / static_cast<double>(seq);
  };
  EXPECT_NEAR(time(65536) / time(32768), 1, 0.02);
}

TEST(ClusterModel, AScanReadsWhatIsProjectedAndWritesItsResult) {
  const Gpt sizes = gpt(16, 1024, 8);
  const Model model = of(scanning(sizes, true), sizes);
  const Scan& scan = model.kinds[0].scan;
  EXPECT_EQ(scan.projected, 2 * 2048 + (64 + 2 * 16) + 2048);
  EXPECT_EQ(scan.result, 2048);
  EXPECT_EQ(scan.channels, 2048);
  EXPECT_EQ(scan.state, 2048 * 16);
  EXPECT_EQ(scan.reduced, 64 + 2 * 16) << "what the ranks' parts of the channels make together";
}

TEST(ClusterModel, RecurrencesAreSplitByTheirHeads) {
  const Gpt sizes = gpt(16, 1000, 8);
  const Model model = of(scanning(sizes, true), sizes);
  const System system = a100(1600);
  Plan plan;
  plan.gpus = plan.tp = 8;
  EXPECT_TRUE(possible(model, system, plan));
  plan.gpus = plan.tp = 7;
  base::Diagnostics found;
  check(model, system, plan, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_EQ(found.all()[0].message, "2000 heads of a recurrence cannot be split over tp 7");
  EXPECT_EQ(found.all()[0].notes, std::vector<std::string>{"2000 mod 7 = 5"});
}

TEST(ClusterModel, SharedWeightsAreKeptOnceAndStayOnOneStage) {
  const Gpt sizes = gpt(16, 1024, 8, 0);
  Transformer shared = workload::plain_transformer(sizes);
  shared.stacks[0].weight_sets = 1;
  const Model model = of(shared, sizes), apart = sizes;
  Plan plan;
  EXPECT_NEAR(memory(model, plan).weights, 2 * parameters(model), 1);
  EXPECT_LT(parameters(model), parameters(apart));
  EXPECT_DOUBLE_EQ(model_flops_per_sequence(model), model_flops_per_sequence(apart));
  plan.gpus = plan.pp = 2;
  EXPECT_FALSE(possible(model, a100(1600), plan));
}

TEST(ClusterModel, AFurtherPredictedTokenCostsALayerAndLogits) {
  Gpt sizes = gpt(16, 1024, 8);
  Transformer ahead = workload::plain_transformer(sizes);
  ahead.predicted_ahead = 1;
  const Model with = of(ahead, sizes), without = sizes;
  sizes.layers = 9;
  const Model longer = sizes;
  const double s = 2048, h = 1024, logits = 2 * s * h * 51200;
  EXPECT_DOUBLE_EQ(model_flops_per_sequence(with), model_flops_per_sequence(longer) + 3 * (logits + 4 * s * h * h));
  EXPECT_EQ(parameters(with), parameters(without)) << "not among the model's parameters";
  Plan plan;
  EXPECT_NEAR(memory(with, plan).weights - memory(longer, plan).weights, 2 * (2 * h * h + 3 * h), 1);
  const Training run{sizes, a100(1600), plan};
  EXPECT_GT(seconds(with, run), seconds(longer, run));
}

// A module may be like another layer than the last one; one like none is refused, as its time would be another layer's.
TEST(ClusterModel, AModuleAheadIsTheKindOfLayerThatItIsLike) {
  Gpt sizes = gpt(16, 1024, 8);
  Transformer mixed = workload::plain_transformer(sizes);
  workload::Block wide = mixed.stacks.front().kinds.front();
  std::get<workload::FeedForward>(wide.feed_forward).inner *= 4;
  mixed.stacks.front().kinds.push_back(wide);
  mixed.stacks.front().layers.back() = 1;
  mixed.predicted_ahead = 1;
  Transformer narrow = mixed, strange = mixed;
  narrow.ahead.layers = {mixed.stacks.front().kinds.front()};
  std::get<workload::FeedForward>(wide.feed_forward).inner *= 2;
  strange.ahead.layers = {wide};
  EXPECT_LT(model_flops_per_sequence(of(narrow, sizes)), model_flops_per_sequence(of(mixed, sizes)));
  Plan plan;
  EXPECT_LT(memory(of(narrow, sizes), plan).weights, memory(of(mixed, sizes), plan).weights);
  EXPECT_THROW(of(strange, sizes), base::InputError);
}

TEST(ClusterModel, AWindowInSomeLayersLeavesThoseCoresLessToDo) {
  Gpt sizes = gpt(16, 1024, 8, 51200, 8192);
  sizes.attention = Attention::kFlash;
  sizes.window = 1024;
  sizes.windowed_layers = 4;
  const Model model = sizes;
  ASSERT_EQ(model.kinds.size(), 2u);
  const double seen = 1024.0 / 8192;
  EXPECT_DOUBLE_EQ(model.kinds[0].cores[0].share, 0.5);
  EXPECT_DOUBLE_EQ(model.kinds[1].cores[0].share, seen - seen * seen / 2);
  sizes.attention = Attention::kMaterialised;
  EXPECT_DOUBLE_EQ(Model(sizes).kinds[1].cores[0].share, 1) << "what goes through memory skips nothing";
}

TEST(ClusterModel, AnEncodersLayersAndItsTokensAreSeenByTheDecoder) {
  const Gpt sizes = gpt(16, 1024, 8);
  Transformer model = workload::plain_transformer(sizes);
  workload::Stack encoder = model.stacks[0];
  encoder.fixed_tokens = 512;
  encoder.causal = false;
  for (workload::Block& block : encoder.kinds) std::get<workload::Attention>(block.mixer).causal = false;
  for (workload::Block& block : model.stacks[0].kinds) {
    block.cross = std::get<workload::Attention>(block.mixer);
    block.norms = 3;
  }
  model.stacks.insert(model.stacks.begin(), encoder);
  const Model both = of(model, sizes);
  EXPECT_EQ(both.layers, 16);
  EXPECT_EQ(both.front, -1);
  EXPECT_EQ(both.kinds[1].cores.size(), 2u);
  EXPECT_EQ(both.kinds[1].cores[1].seen, 512);
  const workload::ForwardFlop flop = workload::forward_flop(model, sizes.seq);
  EXPECT_NEAR(model_flops_per_sequence(both) / (3 * (flop.products + flop.attention)), 1, 1e-12);
  Plan plan;
  EXPECT_NEAR(memory(both, plan).weights / (2 * parameters(both)), 1, 1e-12);
  plan.gpus = plan.cp = 2;
  const Training run{sizes, a100(1600), plan};
  EXPECT_GT(seconds(both, run), seconds(sizes, run));
  plan.gpus = plan.cp = 1024;
  EXPECT_FALSE(possible(both, run.system, plan)) << "512 tokens in 1024 parts";
}

TEST(ClusterModel, ExpertsOnALatentExchangeItsWidthAndKeepItsElements) {
  Gpt sizes = gpt(16, 2048, 8, 51200, 1024);
  sizes.biases = false;
  sizes.experts = {.count = 8, .top_k = 2, .ffn = 1024};
  Training run{sizes, a100(400), {}};
  run.plan = {.gpus = 8, .global_batch = 8, .dp = 8, .ep = 8};
  const auto on_latent = [&](base::Count latent) {
    Transformer model = workload::plain_transformer(sizes);
    for (workload::Block& block : model.stacks[0].kinds)
      std::get<workload::Experts>(block.feed_forward).latent = latent;
    return of(model, sizes);
  };
  const auto exchanged = [&](const Model& model) {
    const Iteration i = evaluate(model, run.system, run.plan, machine::Roofline(run.system.accelerator));
    return i.breakdown.ep_exposed + i.hidden.ep;
  };
  const Model none = on_latent(0), whole = on_latent(2048), half = on_latent(1024), quarter = on_latent(512);
  EXPECT_EQ(exchanged(whole), exchanged(none));
  EXPECT_NEAR(exchanged(whole) - exchanged(half), 2 * (exchanged(half) - exchanged(quarter)), 1e-9);
  EXPECT_LT(exchanged(quarter), exchanged(half));
  EXPECT_EQ(none.kinds[0].expert_params, 2 * half.kinds[0].expert_params);
  EXPECT_EQ(half.kinds[0].whole_params - none.kinds[0].whole_params, 2 * 2048.0 * 1024);
  EXPECT_LT(memory(half, run.plan).activations, memory(none, run.plan).activations);
}

TEST(ClusterModel, ValuesThatAreKeysAndLayersThatBorrowThemHaveNoMatrixOfTheirOwn) {
  const Gpt sizes = gpt(16, 2048, 8, 51200, 1024);
  const auto with = [&](bool equal, bool borrows) {
    Transformer model = workload::plain_transformer(sizes);
    auto& a = std::get<workload::Attention>(model.stacks[0].kinds[0].mixer);
    a.query_bias = a.key_bias = a.value_bias = false;
    a.value_is_key = equal;
    a.borrows = borrows;
    return of(model, sizes);
  };
  const Model own = with(false, false), equal = with(true, false), borrowed = with(false, true);
  const double matrix = 2048.0 * 2048;
  EXPECT_NEAR(parameters(own) - parameters(equal), 8 * matrix, 1);
  EXPECT_NEAR(parameters(own) - parameters(borrowed), 8 * 2 * matrix, 1);
  EXPECT_NEAR(model_flops_per_sequence(own) - model_flops_per_sequence(equal), 3 * 8 * 2 * 1024 * matrix, 1);
  const Plan plan;
  EXPECT_EQ(memory(own, plan).activations, memory(equal, plan).activations) << "both are there";
  EXPECT_NEAR(memory(own, plan).activations - memory(borrowed, plan).activations, 8 * 2.0 * 1024 * 2 * 2048, 1);
}

}  // namespace
}  // namespace orrery::cluster
