#include "orrery/inputs/layers/evaluate_layer.h"

#include <fmt/format.h>

#include "orrery/engines/nest/model/countable.h"
#include "orrery/engines/nest/model/legality.h"
#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/sparse/sparse_model.h"

namespace orrery::verbs {

base::Diagnostics sparse_misfit(const nest::SparseMisfit& misfit, const machine::Chip& chip,
                                const nest::MappingPlaces& places) {
  base::Diagnostics found;
  const bool room = misfit.kind == nest::SparseMisfit::Kind::kCapacity;
  const machine::Storage& storage = chip.storages[static_cast<std::size_t>(misfit.level)];
  base::Diagnostic& error = found.error(room ? "O2038" : "O2037", misfit.text, places.whole);
  error.also(storage.where, fmt::format("at `{}`", storage.name));
  if (!misfit.arithmetic.empty()) error.note(misfit.arithmetic);
  error.hint(room ? "use smaller tiles here, or a larger storage"
             : misfit.kind == nest::SparseMisfit::Kind::kConversion
                 ? "`decompression_supported` and `compression_supported` of the inner storage say that it converts"
                 : "change the loops here, or the ranks of the format");
  return found;
}

void demand_legal(const workload::Einsum& einsum, const machine::Chip& chip, const nest::Mapping& mapping,
                  const nest::MappingPlaces& places) {
  base::Diagnostics illegal;
  nest::check_legal(einsum, chip, mapping, places, illegal);
  if (illegal.has_errors()) throw IllegalMapping(illegal.all());
}

// Throws IllegalMapping where the mapping does not fit what the hardware does about zeros.
static nest::SparseEvaluation sparse_cost(const nest::SparseDesign& design, const nest::Model& model,
                                          const nest::Mapping& mapping, const nest::MappingPlaces& places) {
  if (!nest::perfect(mapping))
    base::fail("O2039", "factors that leave a rest are not modelled on sparse tensors", places.whole,
               "use factors that divide, or `--ignore-density` for the dense problem");
  std::optional<nest::SparseMisfit> misfit;
  auto found = nest::evaluate_sparse(model, design, mapping, misfit);
  if (!found) throw IllegalMapping(sparse_misfit(*misfit, model.chip(), places).all());
  nest::require_countable(model, found->evaluation);
  return *std::move(found);
}

void demand_fit(const workload::Einsum& einsum, const machine::Chip& chip, const nest::SparseDesign* sparse,
                const nest::Mapping& mapping, const nest::MappingPlaces& places) {
  if (sparse == nullptr) return demand_legal(einsum, chip, mapping, places);
  demand_legal(einsum, nest::roomy(chip, *sparse), mapping, places);
  sparse_cost(*sparse, nest::Model(einsum, chip, {}), mapping, places);
}

MappedLayer evaluate_layer(const LayerQuestion& question, const nest::Mapping& mapping,
                           const nest::MappingPlaces& places, const nest::ModelOptions& options, bool strict) {
  MappedLayer layer;
  layer.name = question.name;
  layer.instances = question.instances;
  layer.einsum = question.einsum;
  layer.chip = *question.chip;
  layer.estimates = question.estimates;
  layer.reuse = question.space.reuse;
  layer.searched = false;

  const nest::SparseDesign* const sparse = question.sparse.get();
  if (sparse == nullptr)
    demand_legal(layer.einsum, layer.chip, mapping, places);
  else
    demand_legal(layer.einsum, nest::roomy(layer.chip, *sparse), mapping, places);
  if (strict) {
    base::Diagnostics forbidden;
    nest::check_allowed(layer.einsum, layer.chip, mapping, question.space, forbidden);
    if (forbidden.has_errors()) throw IllegalMapping(forbidden.all());
  }
  layer.optimum.mapping = mapping;
  try {
    if (sparse == nullptr) {
      layer.optimum.evaluation = nest::evaluate(layer.einsum, layer.chip, mapping, options, layer.reuse);
    } else {
      const nest::Model model(layer.einsum, layer.chip, options, layer.reuse);
      nest::SparseEvaluation cost = sparse_cost(*sparse, model, mapping, places);
      layer.optimum.evaluation = cost.evaluation;
      cost.design = question.sparse;
      layer.sparse = std::make_shared<const nest::SparseEvaluation>(std::move(cost));
    }
  } catch (const base::OverflowError&) {
    throw uncountable(layer.name, layer.einsum, layer.chip);
  }
  layer.optimum.certificate.evaluated = 1;
  return layer;
}

}  // namespace orrery::verbs
