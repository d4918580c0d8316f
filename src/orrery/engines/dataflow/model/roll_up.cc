// From one pass of one sequence through one layer to the whole run.
//
// A stage of the pipeline holds lps = ceil(layers / PP) layers, a replica works through global batch / DP sequences in
// global batch / (micro-batch DP) micro-batches:
//
//   time = sum of intervals * pipeline factor * lps * global batch / DP + p2p
//   pipeline factor = 1 + (PP-1) / micro-batches                                    standard bubble
//                     1 + (PP-1) / micro-batches / (lps-1, or lps if it is 1)       DFModel's generations
//   p2p = 2 * hidden * sequence * word * layers / b_PP, once, for training with PP > 1
//
// DLRM: sum * global batch / chips. HPL, FFT: sum / copies. State-space models: the sum itself. Of models that only run
// forward, the latency of one sequence through all stages is told as well:
//
//   sum * lps * PP + (PP-1) * (hidden * sequence * word / (TP b_PP) + link latency)
//
// Source: DFModel (arXiv 2412.16432) and its logs; docs/model/dataflow.md, "The whole run". Cost: a constant.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/dataflow/model/evaluate.h"
#include "orrery/engines/dataflow/model/network_time.h"

namespace orrery::dataflow {

namespace {

// A message to the next stage; nothing where no dimension of the network joins stages.
std::optional<Charge> stage_message(const System& system, const Degrees& degrees, const Defects& defects) {
  for (std::size_t d = 0; d < system.network.size(); ++d)
    if (system.network[d].parallelism == Parallelism::kPipeline) return message_charge(system, degrees, d, defects);
  return std::nullopt;
}

double pipeline_factor(Count stages, Count micro_batches, Count layers_per_stage, const Defects& defects) {
  const double bubble = static_cast<double>(stages - 1) / static_cast<double>(micro_batches);
  if (!defects.short_bubble) return 1 + bubble;
  return 1 + bubble / static_cast<double>(layers_per_stage >= 2 ? layers_per_stage - 1 : layers_per_stage);
}

void roll_up_language_model(const Setup& setup, const LanguageModelRun& model, const Degrees& degrees,
                            const Defects& defects, Evaluation& evaluation) {
  const double sum = evaluation.sum_interval_ns;
  const double word = setup.execution.word_bytes;
  const double tensor = static_cast<double>(model.hidden) * static_cast<double>(model.sequence) * word;
  const std::optional<Charge> message =
      degrees.pipeline > 1 ? stage_message(setup.system, degrees, defects) : std::nullopt;
  const double lps = static_cast<double>(evaluation.layers_per_stage);
  const double stages = static_cast<double>(degrees.pipeline);
  evaluation.pipeline_factor =
      pipeline_factor(degrees.pipeline, evaluation.micro_batches, evaluation.layers_per_stage, defects);
  const bool training = setup.graph.has_backward();
  if (training && message)
    evaluation.point_to_point_ns = 2 * tensor * static_cast<double>(model.layers) * message->ns_per_byte;
  evaluation.final_ns = sum * evaluation.pipeline_factor * lps * static_cast<double>(model.global_batch) /
                            static_cast<double>(degrees.data) +
                        evaluation.point_to_point_ns;
  if (training) return;
  const double hop =
      message ? tensor / static_cast<double>(degrees.tensor) * message->ns_per_byte + setup.system.link_latency_ns : 0;
  evaluation.latency_ns = sum * lps * stages + (stages - 1) * hop;
}

[[noreturn]] void refuse_broken_batch(const Setup& setup, const Degrees& degrees) {
  base::Diagnostics found;
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload)) {
    found.error("O1430", "the global batch does not divide into whole micro-batches")
        .note(fmt::format("global_batch_size {} over micro_batch_size {} x {} data-parallel replicas",
                          model->global_batch, model->micro_batch, degrees.data))
        .hint("choose batches and degrees whose quotient is a whole number of at least 1");
  } else if (const auto* dlrm = std::get_if<Recommendation>(&setup.execution.workload)) {
    found.error("O1430", "the global batch does not divide over the chips")
        .note(fmt::format("global_batch_size {} over num_chip {}: every chip is a replica", dlrm->global_batch,
                          setup.system.chips))
        .hint("choose a global batch that is a multiple of the number of chips");
  }
  found.throw_if_errors();
  base::fail("O1430", "the batch does not divide into whole micro-batches");
}

}  // namespace

std::optional<Count> micro_batches(const Setup& setup, const Degrees& degrees) {
  Count batch = 1;
  Count share = 1;
  if (const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload)) {
    batch = model->global_batch;
    if (__builtin_mul_overflow(std::max<Count>(1, model->micro_batch), degrees.data, &share)) return std::nullopt;
  } else if (const auto* dlrm = std::get_if<Recommendation>(&setup.execution.workload)) {
    batch = dlrm->global_batch;
    share = setup.system.chips;
  }
  if (share < 1 || batch < share || batch % share != 0) return std::nullopt;
  return batch / share;
}

Count required_micro_batches(const Setup& setup, const Degrees& degrees) {
  const std::optional<Count> count = micro_batches(setup, degrees);
  if (!count) refuse_broken_batch(setup, degrees);
  return *count;
}

Count layers_per_stage(const Setup& setup, const Degrees& degrees) {
  const auto* model = std::get_if<LanguageModelRun>(&setup.execution.workload);
  if (model == nullptr) return 1;
  const Count layers = base::ceil_divide(model->layers, std::max<Count>(1, degrees.pipeline));
  return base::ceil_divide(layers, std::max<Count>(1, model->layers_in_graph));
}

void roll_up(const Setup& setup, const Degrees& degrees, const Defects& defects, Evaluation& evaluation) {
  const Workload& workload = setup.execution.workload;
  const double sum = evaluation.sum_interval_ns;
  evaluation.layers_per_stage = layers_per_stage(setup, degrees);
  evaluation.micro_batches = required_micro_batches(setup, degrees);
  evaluation.pipeline_factor = 1;
  evaluation.point_to_point_ns = 0;
  evaluation.latency_ns = 0;
  evaluation.final_ns = sum;
  if (const auto* model = std::get_if<LanguageModelRun>(&workload))
    roll_up_language_model(setup, *model, degrees, defects, evaluation);
  else if (const auto* dlrm = std::get_if<Recommendation>(&workload))
    evaluation.final_ns = sum * static_cast<double>(dlrm->global_batch) / static_cast<double>(setup.system.chips);
  else if (const auto* hpl = std::get_if<Linpack>(&workload))
    evaluation.final_ns = sum / static_cast<double>(hpl->copies);
  else if (const auto* fft = std::get_if<FourierTransform>(&workload))
    evaluation.final_ns = sum / static_cast<double>(fft->copies);
  const double peak = static_cast<double>(setup.system.chips) * setup.system.cores.gflops();
  evaluation.flops_utilization =
      evaluation.final_ns > 0 && peak > 0 ? evaluation.flop / (evaluation.final_ns * peak) : 0;
}

}  // namespace orrery::dataflow
