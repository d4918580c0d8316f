#include "orrery/verbs/train/answer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/memory.h"
#include "orrery/verbs/train/plans/plan_search.h"

namespace orrery::verbs {

TrainingCost training_cost(const TrainedModel& trained, double seconds) {
  const cluster::System& system = trained.system;
  TrainingCost cost;
  const double hours = seconds / 3600;
  const auto working = static_cast<double>(trained.plan.gpus);
  cost.accelerator_hours = hours * (working + static_cast<double>(trained.plan.idle));
  if (system.price_per_gpu_hour > 0) cost.dollars = cost.accelerator_hours * system.price_per_gpu_hour;
  if (system.watts_per_gpu > 0) cost.kilowatt_hours = hours * working * system.watts_per_gpu * system.pue / 1000;
  return cost;
}

std::string price_source(const cluster::System& system) {
  if (system.price_per_gpu_hour <= 0) return "";
  const auto price = std::find_if(system.constants.rbegin(), system.constants.rend(),
                                  [](const cluster::Constant& each) { return each.name == "accelerator.price"; });
  return price == system.constants.rend() || price->words.empty() ? "the system's file, which names no source"
                                                                  : price->words;
}

std::vector<std::string> counted_undone(const TrainedModel& trained) {
  std::vector<std::string> out;
  const workload::PlainTransformer& sizes = trained.description.sizes;
  if (trained.model.attention == cluster::Attention::kFlash && sizes.heads > 0) {
    if (sizes.causal) out.emplace_back("attention that a causal mask hides");
    if (sizes.window > 0 && sizes.windowed_layers > 0 && sizes.window < trained.model.seq)
      out.emplace_back(sizes.chunked ? "attention outside of chunks" : "attention outside of windows");
  }
  if (trained.model.document > 0 && trained.model.document < trained.model.seq &&
      trained.model.attention == cluster::Attention::kFlash)
    out.emplace_back("attention to other documents");
  if (trained.plan.lora_rank > 0) out.emplace_back("gradients of frozen matrices");
  return out;
}

base::Diagnostic explain_no_fit(const TrainedModel& trained) {
  const cluster::Memory& memory = trained.iteration.memory;
  const cluster::Plan& plan = trained.plan;
  const auto gb = [](double bytes) { return bytes / 1e9; };
  base::Diagnostics found;
  base::Diagnostic& no = found.error(
      "O1373",
      fmt::format("it does not fit: an accelerator would need {:.1f} GB and has {:.1f} GB, {:.1f} GB too little",
                  gb(memory.total()), gb(trained.iteration.capacity_bytes), gb(trained.iteration.excess_bytes)));
  std::array<std::pair<double, const char*>, 5> terms = {{{memory.weights, "weights"},
                                                          {memory.gradients, "gradients"},
                                                          {memory.optimizer, "optimiser"},
                                                          {memory.activations, "activations"},
                                                          {memory.buffers, "buffers"}}};
  std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string sum;
  for (const auto& [bytes, term] : terms) sum += fmt::format("{}{} {:.1f}", sum.empty() ? "" : " + ", term, gb(bytes));
  no.note(fmt::format("the largest term: {}", terms[0].second));
  no.note(fmt::format("{} = {:.1f} GB", sum, gb(memory.total())));
  if (trained.choices > 1 && !trained.iteration.fits)
    no.note(fmt::format("none of {} choices of {} fits; this one lacks the least", trained.choices,
                        base::joined(trained.defaulted, ", ")));
  const cluster::MemoryTerm largest = memory.largest();
  const bool activations = largest == cluster::MemoryTerm::kActivations || largest == cluster::MemoryTerm::kBuffers;
  if (activations && plan.recompute != cluster::Recompute::kFull) no.hint("recompute more: `--recompute full`");
  if (activations && plan.tp > 1 && !plan.sequence_parallel) no.hint("spread them over tp: `--sequence-parallel`");
  if (activations && plan.micro_batch > 1) no.hint("take a smaller `--micro-batch`");
  if (!activations && plan.dp * plan.cp > 1 && plan.zero < 3)
    no.hint(fmt::format("shard over dp: `--zero {}`", largest == cluster::MemoryTerm::kOptimizer && plan.zero < 1 ? 1
                                                      : largest == cluster::MemoryTerm::kGradients && plan.zero < 2
                                                          ? 2
                                                          : 3));
  if (plan.main_gradients_fp32) {
    cluster::Plan narrow = plan;
    narrow.main_gradients_fp32 = false;
    const double bytes = cluster::memory(trained.model, narrow).in_use();
    if (bytes <= trained.iteration.capacity_bytes)
      no.hint(
          fmt::format("add gradients up in 16 bits, as performance recipes do: with `--set "
                      "plan.main_gradients_fp32=false` it is {:.1f} GB",
                      gb(bytes)));
  }
  if (most_accelerators(trained.system) > 1)
    no.hint("split the model further: larger `--tp` or `--pp`");
  else
    no.hint(
        fmt::format("`{}` is one accelerator, over which nothing can be split: take a smaller model, a shorter "
                    "`--seq`, or another `--system`",
                    trained.system.name));
  return no;
}

}  // namespace orrery::verbs
