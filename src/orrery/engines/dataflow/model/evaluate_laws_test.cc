// What must hold of every placement, tried on random models, machines and mappings.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/published_cases_test_util.h"

namespace orrery::dataflow {
namespace {

struct Case {
  dataflow::Setup setup;
  Mapping mapping;
  Defects defects = kCorrected;
};

template <typename T>
T one_of(std::initializer_list<T> choices) {
  return *rc::gen::elementOf(std::vector<T>(choices));
}

// A small transformer on 1 to 4 x 1 to 4 x 1 to 4 chips, its kernels dealt to configurations in their order.
Case random_case() {
  Case c;
  const bool training = *rc::gen::arbitrary<bool>();
  const Count heads = one_of<Count>({1, 2, 6}), tokens = one_of<Count>({8, 24, 50});
  c.setup.graph =
      workload::language_model_graph({.hidden = heads * 8, .heads = heads, .head_width = 8, .ffn = heads * 32}, tokens,
                                     training ? workload::Passes::kForwardBackward : workload::Passes::kForward);
  put(cases::chip(*rc::gen::inRange<Count>(60, 200), 4, 2, 1, 4000.0 * one_of({1, 10, 100})), c.setup.system);
  c.setup.system.link_latency_ns = one_of({0, 50});
  c.setup.system.accelerator.memory_bytes_per_s = 1e9 * one_of({1, 10, 100});
  const Parallelism serves[] = {Parallelism::kTensor, Parallelism::kPipeline, Parallelism::kData};
  c.setup.system.chips = 1;
  for (const Parallelism parallelism : serves) {
    const Count size = *rc::gen::inRange<Count>(1, 5);
    c.setup.system.network.push_back({one_of({Link::kRing, Link::kSwitch, Link::kFullyConnected}), size,
                                      static_cast<double>(one_of({1, 10, 100})), parallelism});
    c.setup.system.chips *= size;
    c.mapping.degrees.sizes.push_back(size);
  }
  c.mapping.degrees.tensor = c.mapping.degrees.sizes[0];
  c.mapping.degrees.pipeline = c.mapping.degrees.sizes[1];
  c.mapping.degrees.data = c.mapping.degrees.sizes[2];
  c.setup.system.high_bandwidth_domain = one_of<Count>({0, 0, 2});
  LanguageModelRun model{.hidden = heads * 8, .head_width = 8, .heads = heads, .sequence = tokens, .layers = 12};
  model.global_batch = 24 * c.mapping.degrees.data;
  model.micro_batch = one_of<Count>({1, 2});
  c.setup.execution.workload = model;
  c.setup.execution.overlap = one_of({Overlap::kPerfect, Overlap::kNone, Overlap::kComputeMemory});
  c.setup.execution.configurations = *rc::gen::inRange(1, 9);
  c.setup.execution.separate_reduce_scatter_all_gather = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) c.setup.execution.compute_utilization = 0.9;
  c.mapping.sharding = cases::published_sharding(c.setup.graph.kernels.size());
  c.mapping.tiles = one_of<Count>({1, 2, 8});
  const int configurations = c.setup.execution.configurations;
  for (std::size_t i = 0; i < c.setup.graph.kernels.size(); ++i)
    c.mapping.configuration.push_back(*rc::gen::inRange(0, configurations));
  std::sort(c.mapping.configuration.begin(), c.mapping.configuration.end());
  c.defects = one_of({kCorrected, kGen1, kGen2, kGen3, kGen4, kHead});
  return c;
}

Evaluation priced(const Case& c) {
  return evaluate(c.setup, c.mapping, c.defects);
}

void holds(const char* law, const std::function<void(const Case&)>& check) {
  EXPECT_TRUE(rc::check(law, [&] { check(random_case()); }));
}

TEST(EvaluateLaws, FasterPartsNeverSlowARun) {
  holds("double one rate", [](const Case& c) {
    Case faster = c;
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        faster.setup.system.accelerator.memory_bytes_per_s *= 2;
        break;
      case 1:
        faster.setup.system.cores.frequency_ghz *= 2;
        break;
      case 2:
        faster.setup.system.cores.cores *= 2;
        break;
      default:
        faster.setup.system.network[*rc::gen::inRange<std::size_t>(0, 3)].bandwidth_gb_per_s *= 2;
    }
    RC_ASSERT(priced(faster).final_ns <= priced(c).final_ns * (1 + 1e-12));
  });
}

TEST(EvaluateLaws, MoreMemoryNeverMakesAPlacementImpossible) {
  holds("double a capacity", [](const Case& c) {
    const Evaluation before = priced(c);
    Case larger = c;
    larger.setup.system.accelerator.on_chip_bytes *= 2;
    const Evaluation after = priced(larger);
    RC_ASSERT(!before.partition.feasible || after.partition.feasible);
    RC_ASSERT(after.final_ns == before.final_ns);
  });
}

TEST(EvaluateLaws, NamesAndNumbersOfKernelsDoNotMatter) {
  holds("shuffle the kernels", [](const Case& c) {
    const std::size_t kernels = c.setup.graph.kernels.size();
    RC_PRE(c.setup.execution.configurations != static_cast<int>(kernels));
    std::vector<std::size_t> to(kernels);
    std::iota(to.begin(), to.end(), std::size_t{0});
    const std::size_t a = *rc::gen::inRange<std::size_t>(0, kernels), b = *rc::gen::inRange<std::size_t>(0, kernels);
    std::rotate(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(a), to.end());
    std::swap(to[a], to[b]);
    Case shuffled = c;
    for (std::size_t i = 0; i < kernels; ++i) {
      shuffled.setup.graph.kernels[to[i]] = c.setup.graph.kernels[i];
      shuffled.setup.graph.kernels[to[i]].name = "k" + std::to_string(to[i]);
      shuffled.mapping.sharding[to[i]] = c.mapping.sharding[i];
      shuffled.mapping.configuration[to[i]] = c.mapping.configuration[i];
    }
    for (workload::KernelEdge& edge : shuffled.setup.graph.edges) {
      edge.from = static_cast<int>(to[static_cast<std::size_t>(edge.from)]);
      edge.to = static_cast<int>(to[static_cast<std::size_t>(edge.to)]);
    }
    std::reverse(shuffled.setup.graph.edges.begin(), shuffled.setup.graph.edges.end());
    const Evaluation before = priced(c), after = priced(shuffled);
    RC_ASSERT(std::abs(after.final_ns - before.final_ns) <= 1e-12 * before.final_ns);
    RC_ASSERT(std::abs(after.flop - before.flop) <= 1e-12 * before.flop);
    RC_ASSERT(after.partition.feasible == before.partition.feasible);
  });
}

TEST(EvaluateLaws, OneChipCommunicatesNothing) {
  holds("one chip", [](const Case& c) {
    Case alone = c;
    alone.setup.system.chips = 1;
    alone.mapping.degrees = {.sizes = {1, 1, 1}};
    for (NetworkDimension& dimension : alone.setup.system.network) dimension.size = 1;
    const Evaluation e = priced(alone);
    for (const ConfigurationCost& one : e.partition.configurations) RC_ASSERT(one.network_ns == 0);
    RC_ASSERT(e.point_to_point_ns == 0 && e.pipeline_factor == 1);
    RC_ASSERT(e.money.link_cost == 0 && e.money.switch_cost == 0);
  });
}

// By DFModel's table of collectives, in which all-gathers take twice as long: network_time_test.cc tells the two apart.
TEST(EvaluateLaws, GenerationsAgreeWhereNothingWasMended) {
  holds("no pipeline, rings alone, no domain, no latency", [](const Case& c) {
    Case same = c;
    for (NetworkDimension& dimension : same.setup.system.network) dimension.link = Link::kRing;
    same.setup.system.network[1].size = same.mapping.degrees.sizes[1] = same.mapping.degrees.pipeline = 1;
    same.setup.system.chips = same.mapping.degrees.tensor * same.mapping.degrees.data;
    same.setup.system.link_latency_ns = 0;
    same.setup.system.high_bandwidth_domain = 0;
    same.setup.execution.separate_reduce_scatter_all_gather = false;
    same.defects = kCorrected;
    same.defects.table_collectives = same.defects.vector_products_are_shallow = true;
    const Evaluation ours = priced(same);
    for (const Defects& defects : {kGen1, kGen2, kGen3, kGen4, kHead}) {
      same.defects = defects;
      const Evaluation theirs = priced(same);
      const bool at_once = defects == kHead && same.mapping.degrees.tensor > 1 && same.mapping.degrees.data > 1;
      if (at_once) RC_ASSERT(theirs.final_ns <= ours.final_ns * (1 + 1e-12));
      if (defects != kGen1 && !at_once) RC_ASSERT(std::abs(theirs.final_ns - ours.final_ns) <= ours.final_ns * 1e-12);
      RC_ASSERT(theirs.money.total_cost() == ours.money.total_cost());
      RC_ASSERT(theirs.flop == ours.flop);
    }
  });
}

TEST(EvaluateLaws, MoreOverlapIsNeverSlower) {
  holds("perfect <= compute and memory <= none", [](const Case& c) {
    Case other = c;
    const auto with = [&](Overlap overlap) {
      other.setup.execution.overlap = overlap;
      return priced(other).final_ns;
    };
    const double perfect = with(Overlap::kPerfect), two = with(Overlap::kComputeMemory), none = with(Overlap::kNone);
    RC_ASSERT(perfect <= two && two <= none);
  });
}

TEST(EvaluateLaws, AQuestionHasOneAnswer) {
  holds("asked twice", [](const Case& c) {
    const Evaluation a = priced(c), b = priced(c);
    RC_ASSERT(a.final_ns == b.final_ns && a.sum_interval_ns == b.sum_interval_ns);
    RC_ASSERT(a.flops_utilization == b.flops_utilization && a.money.total_cost() == b.money.total_cost());
  });
}

// No chip does more than its peak: nothing is computed faster than its FLOP allow.
TEST(EvaluateLaws, UtilisationIsNeverAboveThePeak) {
  holds("utilisation", [](const Case& c) {
    Case fit = c;
    fit.setup.execution.compute_utilization = 0.9;
    RC_PRE(priced(fit).final_ns > 0);
    fit.mapping.sharding.assign(fit.mapping.sharding.size(), workload::KernelDimension::kNone);
    RC_ASSERT(priced(fit).flops_utilization <= 0.9 * (1 + 1e-12));
  });
}

}  // namespace
}  // namespace orrery::dataflow
