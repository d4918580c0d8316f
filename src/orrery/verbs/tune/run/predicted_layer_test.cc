// Predicted and measured by the same kernels at the same sizes, in turn, since what else runs on the machine changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/sample.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/inputs/systems/this_machine.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/tune/run/run.h"

namespace orrery::verbs {
namespace {

struct Passes {
  double forward = 0, backward = 0;
  bool disturbed = false;  // other programs took the processor
};

// Of the one layer of the model, what is around it left out.
Passes predicted(const std::string& model, base::Count batch, base::Count seq) {
  TrainRequest request;
  request.model = model;
  request.system = kThisMachine;
  request.global_batch = request.micro_batch = batch;
  request.gpus = 1;
  request.seq = seq;
  request.precision = machine::Precision::kFp32;
  request.by_operator = true;
  request.limits.threads = 1;
  Passes out;
  for (const RunOperator& one : train(request).listed) {
    const bool around = one.use.name == "embedding" || one.use.name == "logits" || one.use.name == "last norm, loss" ||
                        one.use.pass == cluster::OperatorPass::kStep;
    if (around) continue;
    (one.use.pass == cluster::OperatorPass::kForward ? out.forward : out.backward) += one.seconds;
  }
  return out;
}

Passes measured(const std::string& model, base::Count batch, base::Count seq) {
  TuneRunRequest request;
  request.layer.model = model;
  request.layer.batch = batch;
  request.layer.seq = seq;
  request.training = true;
  request.dropout = {0.1, 0.1, 0.1, 0.1};
  request.iterations = 101;
  request.limits.threads = 1;
  const TunedRun run = tune_run(request);
  const std::vector<base::Diagnostic>& said = run.warnings.all();
  const bool disturbed = std::any_of(said.begin(), said.end(), [](const auto& one) { return one.code == "O1530"; });
  return {run.forward.median, run.backward.median, disturbed};
}

TEST(PredictedLayer, TrainingPredictsWhatALayerTakesWithinATenth) {
  const base::Folder folder;
  const std::string model = folder.write(
      "config.json", R"({"model_type": "gpt2", "n_embd": 256, "n_layer": 1, "n_head": 4, "n_positions": 512,
                         "vocab_size": 128})");
  // Passes of some milliseconds, so that most are over before another program takes the processor. Medians over turns;
  // another turn as long as they disagree.
  constexpr std::size_t kLeast = 3, kMost = 12;
  std::vector<double> forward, backward;
  double off_forward = 1, off_backward = 1;
  for (std::size_t turn = 0; turn < kMost; ++turn) {
    const Passes told = predicted(model, 2, 64), found = measured(model, 2, 64);
    if (found.disturbed) continue;
    forward.push_back(told.forward / found.forward);
    backward.push_back(told.backward / found.backward);
    off_forward = std::fabs(base::sample(forward).median - 1);
    off_backward = std::fabs(base::sample(backward).median - 1);
    if (forward.size() >= kLeast && off_forward < 0.1 && off_backward < 0.1) break;
  }
  if (forward.size() < kLeast) GTEST_SKIP() << "other programs took the processor in most of the turns";
  EXPECT_LT(off_forward, 0.1) << base::sample(forward).median;
  EXPECT_LT(off_backward, 0.1) << base::sample(backward).median;
}

}  // namespace
}  // namespace orrery::verbs
