#include "orrery/verbs/train/software.h"

#include <fmt/format.h>

#include <vector>

#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {

cluster::Stack of_zero_3(const std::string& catalogue, const cluster::Stack& stack) {
  const cluster::StackName kin = cluster::kin(stack.name);
  if (kin == cluster::StackName::kPytorchFsdp || kin == cluster::StackName::kXla) return stack;
  return formats::orrery::load_stack(catalogue, "pytorch-fsdp").stack;
}

void suit_kernel(const cluster::System& system, cluster::Stack& stack) {
  using machine::AttentionKernel;
  const auto known = [&](AttentionKernel kernel) {
    return system.accelerator.attention_efficiency[static_cast<std::size_t>(kernel)] > 0;
  };
  if (stack.kernel == AttentionKernel::kSplash && !known(AttentionKernel::kSplash) && known(AttentionKernel::kCudnn))
    stack.kernel = AttentionKernel::kCudnn;
}

void warn_of_software(const TrainedModel& trained, base::Diagnostics& warnings) {
  const cluster::Plan& plan = trained.plan;
  const cluster::Features missing = cluster::needed(trained.model, plan, plan.stack.lacks);
  if (missing == 0) return;
  std::vector<std::string> texts, others;
  const std::vector<cluster::Feature>& all = cluster::features();
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((missing >> i & 1) != 0) texts.emplace_back(all[i].text);
  for (const auto& [name, stack] : cluster::stacks())
    if (cluster::runs_without(trained.model, plan,
                              formats::orrery::load_stack(catalogue_directory(), name).stack.lacks))
      others.push_back("`--stack " + name + "`");
  const std::string own = cluster::name_of(plan.stack.name, cluster::stacks());
  base::Diagnostic& said =
      warnings.warning("O1990", fmt::format("{} does not run this plan: it lacks {}", own, base::joined(texts, ", ")));
  if ((missing & cluster::feature("overlapped_zero_bubble")) != 0)
    said.note("`--overlap` without dp exchanges gradients after the passes");
  said.note(fmt::format(
                "the figures are what it would take; `orrery catalog show {}` says what it runs, and its sources", own))
      .hint(others.empty() ? "" : fmt::format("{} can", base::joined(others, " or ")));
}

}  // namespace orrery::verbs
