#include "orrery/verbs/tune/run/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::verbs {
namespace {

TuneRunRequest small_run(bool training) {
  TuneRunRequest request;
  request.layer.width = 64;
  request.layer.heads = 4;
  request.layer.batch = 2;
  request.layer.seq = 32;
  request.training = training;
  request.iterations = 3;
  request.limits.threads = 1;
  return request;
}

double operations(const TunedRun& run, bool backward) {
  double sum = 0;
  for (const MeasuredOperator& one : run.operators) sum += one.backward == backward ? one.operations : 0;
  return sum;
}

TEST(TuneRun, ForwardTakesTheOperationsOfTheEquations) {
  const TunedRun run = tune_run(small_run(false));
  const double tokens = 2 * 32, width = 64, length = 32;
  EXPECT_EQ(run.operations, 24 * tokens * width * width + 4 * tokens * length * width);
  EXPECT_EQ(run.saved_bytes, 0);
  EXPECT_TRUE(run.backward_s.empty());
}

TEST(TuneRun, BackwardTakesTwiceTheProductsAndTheScoresOnceMore) {
  const TunedRun run = tune_run(small_run(true));
  const double tokens = 2 * 32, width = 64, length = 32;
  EXPECT_EQ(operations(run, true), 48 * tokens * width * width + 10 * tokens * length * width);
}

TEST(TuneRun, TwiceTheBatchTakesTwiceTheOperationsAndTheState) {
  TuneRunRequest request = small_run(true);
  const TunedRun one = tune_run(request);
  request.layer.batch = 4;
  const TunedRun two = tune_run(request);
  EXPECT_EQ(two.operations, 2 * one.operations);
  EXPECT_NEAR(two.saved_bytes / one.saved_bytes, 2, 0.02);
}

TEST(TuneRun, OperatorsTimesAddUpToThePasses) {
  TuneRunRequest request = small_run(true);
  request.layer.width = 256;
  request.layer.seq = 128;
  // Other programs may take the processor between two operators; so of several tries the best.
  double best = 0;
  for (int attempt = 0; attempt < 5 && best < 0.9; ++attempt) {
    const TunedRun run = tune_run(request);
    double sum = 0;
    for (const MeasuredOperator& one : run.operators) sum += one.seconds;
    best = std::max(best, std::min(sum / run.seconds(), run.seconds() / sum));
  }
  EXPECT_GT(best, 0.9);
}

TEST(TuneRun, StatisticsAreThoseOfTheIterations) {
  const TunedRun run = tune_run(small_run(true));
  ASSERT_EQ(run.forward_s.size(), 3U);
  EXPECT_EQ(run.forward.min, *std::min_element(run.forward_s.begin(), run.forward_s.end()));
  EXPECT_LE(run.forward.min, run.forward.median);
  EXPECT_LE(run.forward.median, run.forward.max);
  EXPECT_FALSE(run.trace.empty());
  EXPECT_EQ(run.trace.size() % 3, 0U);  // the same operators each time
}

TEST(TuneRun, EveryKindOfLayerAndTypeKeepsItsDistanceFromFp64) {
  kernels::Context context(1);
  for (const kernels::Type type :
       {kernels::Type::kF32, kernels::Type::kBf16, kernels::Type::kF16, kernels::Type::kF64}) {
    for (int kind = 0; kind < 4; ++kind) {
      TuneRunRequest request = small_run(true);
      request.layer.type = type;
      request.layer.gated = kind == 1;
      request.layer.pre_norm = kind >= 2;
      request.layer.causal = kind == 3;
      request.layer.activation = kind == 1 ? kernels::Activation::kSilu : kernels::Activation::kGelu;
      if (kind == 3) request.layer.key_heads = 2;
      const LayerCheck check =
          check_layer(context, runnable_layer(request.layer).shape, kernels::Type::kF64, true, 1, false);
      EXPECT_TRUE(check.passed()) << type_name(type) << " " << kind << ": " << check.rms_error;
      EXPECT_GT(check.tensors.size(), 10U);
      if (type != kernels::Type::kF64) {
        EXPECT_GT(check.max_error, 0);
      }
    }
  }
}

TEST(TuneRun, AnInterruptKeepsWhatWasMeasured) {
  TuneRunRequest request = small_run(true);
  request.iterations = 1'000'000;
  request.warmup = 1;
  std::atomic<bool> stop = false;
  request.interruptible = [&] { return &stop; };
  request.measuring = [&](std::size_t done) { stop = done >= 4; };
  const TunedRun run = tune_run(request);
  EXPECT_TRUE(run.ended_early);
  EXPECT_EQ(run.forward_s.size(), 4U);
  EXPECT_GT(run.forward.median, 0);
}

TEST(TuneRun, WhatDoesNotFitIntoMemoryIsRefusedBeforeItRuns) {
  TuneRunRequest request = small_run(true);
  request.layer.width = 8192;
  request.layer.heads = 64;
  request.layer.batch = 1 << 16;
  request.layer.seq = 4096;
  const auto errors = base::refused([&] { tune_run(request); });
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().code, "O1525");
}

}  // namespace
}  // namespace orrery::verbs
