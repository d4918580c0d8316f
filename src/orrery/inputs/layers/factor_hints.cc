#include "orrery/inputs/layers/factor_hints.h"

#include <string>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/search/imperfect/imperfect_search.h"
#include "orrery/engines/nest/search/objective.h"

namespace orrery::verbs {
namespace {

// Where other factors of awkward sizes gain more than this, it is said.
constexpr double kWorthSaying = 0.05;
constexpr std::size_t kMostSizes = 12;  // combinations that are looked at, where windows slide

// "D 197 as 200, L 13 as 16"
std::string sizes_text(const workload::Einsum& einsum, const std::vector<nest::Rounding>& rounded) {
  std::string sizes;
  for (const nest::Rounding& one : rounded)
    sizes += fmt::format("{}{} {} as {}", sizes.empty() ? "" : ", ", einsum.dimensions[one.dimension].name, one.from,
                         one.to);
  return sizes;
}

// A glance at one layer: mappings near its own, so many and no more. What a search then finds may be better.
void suggest_factors(const LayerQuestion& question, const MapOptions& options, const MappedLayer& layer,
                     const std::vector<int>& awkward, base::Diagnostics& found) {
  const nest::Model model(layer.einsum, layer.chip, options.model, layer.reuse);
  const double before = nest::key_of(layer.objective, layer.optimum.evaluation)[0];
  const bool rests = !model.shape().sliding;  // where windows slide, a glance takes too long
  double after = before;
  std::string with = "factors that leave a rest";
  if (rests) {
    after = nest::key_of(layer.objective,
                         nest::improved_imperfect(model, question.space, layer.objective, *layer.optimum.mapping))[0];
  } else if (const auto glance = nest::glance_at_padding(model, question.space, layer.objective, awkward,
                                                         layer.optimum.evaluation, kMostSizes)) {
    after = nest::key_of(layer.objective, glance->evaluation)[0];
    with = sizes_text(layer.einsum, glance->rounded);
  }
  if (after >= before * (1 - kWorthSaying)) return;
  found.warning("O1957", fmt::format("the sizes of `{}` divide badly", layer.name))
      .note(fmt::format("with {} it costs {:.2f} times less, if not better", with, before / after))
      .hint(rests ? "find the best of them with --factors imperfect, or round sizes up with --factors padded"
                  : "round sizes up with --factors padded");
}

}  // namespace

void suggest_factors(const std::vector<LayerQuestion>& questions, const std::vector<std::size_t>& work,
                     const MapOptions& options, int threads, MappedModel& result) {
  std::vector<base::Diagnostics> said(work.size());
  base::parallel_for(work.size(), threads, [&](std::size_t at) {
    const MappedLayer& layer = result.layers[work[at]];
    if (!layer.found() || !layer.optimum.certificate.optimal || layer.sparse) return;
    const std::vector<int> awkward = nest::awkward_dimensions(layer.einsum);
    if (!awkward.empty()) suggest_factors(questions[work[at]], options, layer, awkward, said[at]);
  });
  for (const base::Diagnostics& some : said) result.warnings.append(some);
}

}  // namespace orrery::verbs
