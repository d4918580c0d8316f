#include "orrery/verbs/place/train_kernels.h"

#include <string_view>

#include <fmt/format.h>

#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/model.h"
#include "orrery/inputs/systems/cluster_model.h"

namespace orrery::verbs {
namespace {

using workload::Kernel;

constexpr double kAtOnce = 1e9;  // of the peak: nothing to speak of

bool named(const Kernel& kernel, std::string_view part) {
  return kernel.name.find(part) != std::string::npos;
}

bool has_scores(const Kernel& kernel) {
  return named(kernel, "SOFTMAX") || named(kernel, "DropOut_1");
}

double flop(const Kernel& kernel) {
  return 2.0 * static_cast<double>(kernel.outer) * static_cast<double>(kernel.m) * static_cast<double>(kernel.k) *
         static_cast<double>(kernel.n);
}

// The products of an attention take together what the fused kernel does, those of a direction each its share of the
// work. `stem`: before `_GEMM_1` in their names. Whether there are any.
bool take_attention(std::string_view stem, const workload::Block& layer, const cluster::System& system,
                    dataflow::Setup& setup) {
  std::vector<Kernel*> forward, backward;
  for (Kernel& kernel : setup.graph.kernels)
    if (kernel.name.starts_with(std::string(stem) + "_GEMM"))
      (kernel.direction == workload::Direction::kForward ? forward : backward).push_back(&kernel);
  if (forward.size() != 2) return false;
  const Kernel &scores = *forward[0], &values = *forward[1];
  machine::Operator attention;
  const bool cross = stem == "CROSS";
  attention.product = {scores.outer, scores.n, cross ? scores.m : scores.n, scores.k,
                       setup.execution.precision.value_or(machine::Precision::kBf16)};
  attention.value_width = values.m;
  if (const auto* own = std::get_if<workload::Attention>(&layer.mixer); own != nullptr && !cross)
    attention.share = cluster::executed_share(*own, scores.n, cluster::Attention::kFlash, 0);
  attention.kernel = system.stack.kernel;
  const machine::Roofline roofline(system.accelerator);
  const double peak = setup.system.cores.gflops() * 1e9;
  for (const std::vector<Kernel*>* products : {&forward, &backward}) {
    attention.gradient = products == &backward;
    const std::optional<double> seconds = roofline.attention_seconds(attention);
    if (!seconds || *seconds <= 0) continue;
    double work = 0;
    for (const Kernel* kernel : *products) work += flop(*kernel);
    for (Kernel* kernel : *products) kernel->compute_utilization = work / (peak * *seconds);
  }
  return true;
}

}  // namespace

void take_kernels_of_training(const workload::Transformer& model, const workload::Block& layer,
                              const cluster::System* system, dataflow::Setup& setup, std::vector<std::string>& notes) {
  const bool fused = system != nullptr && (system->stack.name != cluster::StackName::kMegatron2021 ||
                                           training_description(model).as.attention == cluster::Attention::kFlash);
  for (std::string& note : notes)
    if (note.find("DropOut") != std::string::npos) note += " and take no time";
  workload::KernelGraph& graph = setup.graph;
  for (workload::KernelEdge& edge : graph.edges) {
    const Kernel &from = graph.kernels[static_cast<std::size_t>(edge.from)],
                 &to = graph.kernels[static_cast<std::size_t>(edge.to)];
    // What goes through a kernel that does nothing is written once, behind it.
    if (fused && (has_scores(from) || has_scores(to))) edge.zero_out = true;
    if (!model.dropout && named(to, "DropOut")) edge.zero_out = true;
  }
  for (Kernel& kernel : graph.kernels)
    if ((fused && has_scores(kernel)) || (!model.dropout && named(kernel, "DropOut")))
      kernel.compute_utilization = kAtOnce;
  if (!fused) return;
  for (const char* stem : {"MHA", "MLA", "WINDOW", "CROSS"})
    if (take_attention(stem, layer, *system, setup))
      notes.push_back(fmt::format(
          "attention is fused, as in training: scores stay on the chip, and {}_GEMM_* are its rate's", stem));
}

}  // namespace orrery::verbs
