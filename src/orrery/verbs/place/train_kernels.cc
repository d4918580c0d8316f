#include "orrery/verbs/place/train_kernels.h"

#include <algorithm>
#include <string_view>

#include "orrery/describe/machine/roofline.h"
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

// The products of one direction take together what the fused kernel does, each its share of the work.
void take_attention(const machine::Roofline& roofline, machine::Operator attention, double peak,
                    const std::vector<Kernel*>& products) {
  const std::optional<double> seconds = roofline.attention_seconds(attention);
  if (!seconds || *seconds <= 0) return;
  double work = 0;
  for (const Kernel* kernel : products) work += flop(*kernel);
  for (Kernel* kernel : products) kernel->compute_utilization = work / (peak * *seconds);
}

}  // namespace

void take_kernels_of_training(const workload::Transformer& model, bool causal, const cluster::System* system,
                              dataflow::Setup& setup, std::vector<std::string>& notes) {
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
  std::vector<Kernel*> forward, backward;
  const Kernel *scores = nullptr, *values = nullptr;
  for (Kernel& kernel : graph.kernels) {
    if ((fused && has_scores(kernel)) || (!model.dropout && named(kernel, "DropOut")))
      kernel.compute_utilization = kAtOnce;
    if (!kernel.name.starts_with("MHA_GEMM")) continue;
    (kernel.direction == workload::Direction::kForward ? forward : backward).push_back(&kernel);
    if (kernel.name == "MHA_GEMM_1") scores = &kernel;
    if (kernel.name == "MHA_GEMM_2") values = &kernel;
  }
  if (fused && std::any_of(graph.kernels.begin(), graph.kernels.end(),
                           [](const Kernel& kernel) { return kernel.name.starts_with("MLA_GEMM"); }))
    notes.emplace_back(
        "MLA_GEMM_* are products with latents, every pair of tokens, in the place of the fused kernel that `train` "
        "has: "
        "some three times slower");
  if (!fused || scores == nullptr || values == nullptr) return;
  machine::Operator attention;
  attention.product = {scores->outer, scores->n, scores->m, scores->k,
                       setup.execution.precision.value_or(machine::Precision::kBf16)};
  attention.value_width = values->m;
  attention.share = causal && scores->m == scores->n ? 0.5 : 1;
  attention.kernel = system->stack.kernel;
  const machine::Roofline roofline(system->accelerator);
  const double peak = setup.system.cores.gflops() * 1e9;
  take_attention(roofline, attention, peak, forward);
  attention.gradient = true;
  take_attention(roofline, attention, peak, backward);
  notes.emplace_back("attention is fused, as in training: scores stay on the chip, and MHA_GEMM_* are its rate's");
}

}  // namespace orrery::verbs
