// Order of reading, each step over what the steps before made:
//
//   variables -> scope ; problem -> einsum ; architecture -> chip ; ERT, ART -> its figures
//   constraints (targets and those inside nodes) -> map space ; mapping ; mapper
//   without an ERT: compound_components -> components to estimate
//
// A step whose inputs have errors is left out: its messages would only repeat them. What later einsums find already
// read tells them what it told the first, so that each is refused or warned about as if it came alone.
#include "orrery/formats/timeloop/documents/chip_reading.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/once_each.h"
#include "orrery/formats/timeloop/architecture/architecture_forms.h"
#include "orrery/formats/timeloop/architecture/energy_tables.h"
#include "orrery/formats/timeloop/architecture/unread.h"
#include "orrery/formats/timeloop/components/energy_components.h"
#include "orrery/formats/timeloop/constraints/constraints.h"
#include "orrery/formats/timeloop/constraints/mapping_document.h"
#include "orrery/formats/timeloop/documents/densities.h"
#include "orrery/formats/timeloop/documents/mapper.h"
#include "orrery/formats/timeloop/documents/problem.h"
#include "orrery/formats/timeloop/documents/sparse_document.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

// Whether `step` added no error to `found`.
template <typename Step>
bool clean(base::Diagnostics& found, Step step) {
  base::Diagnostics own;
  step(own);
  found.append(own);
  return !own.has_errors();
}

// Sizes that a mapping was made for in place of smaller ones, as `map` writes them beside it: `padded: {L: 208}`.
void round_up(const yaml::Node& padded, const Scope& scope, workload::Einsum& einsum, base::Diagnostics& found) {
  constexpr const char* kWayOut = "give the mapping with the layer that it was made for";
  if (!padded.is_map())
    found.error("O0715", "`padded` is no map of dimensions to sizes", padded.where).hint("write `padded: {L: 208}`");
  for (const yaml::Node::Entry& entry : padded.entries) {
    const int d = einsum.dimension_index(entry.key);
    if (d < 0) {
      found.error("O0715", fmt::format("the layer has no dimension `{}` to round up", entry.key), entry.key_where)
          .hint(kWayOut);
      continue;
    }
    base::Count& bound = einsum.dimensions[d].bound;
    const std::optional<base::Count> size = as_count(entry.value, scope, entry.key, found);
    if (!size) continue;
    const base::Location& where = entry.value.where;
    if (*size <= bound) {
      found
          .error("O0715", fmt::format("`{}` is {} here, which is not rounded up to {}", entry.key, bound, *size), where)
          .hint(kWayOut);
      continue;
    }
    auto& note = found.warning("O0715", fmt::format("`{}` is {}, and counts as {}", entry.key, bound, *size), where);
    note.severity = base::Severity::kNote;
    note.note("the mapping was made for the larger size; figures are of it");
    bound = *size;
  }
}

bool own_widths(const workload::Einsum& einsum) {
  return std::any_of(einsum.dataspaces.begin(), einsum.dataspaces.end(),
                     [](const workload::Dataspace& dataspace) { return dataspace.bits > 0; });
}

// Storages and networks take values as wide as they are; the compute units do not.
void note_widths(const workload::Einsum& einsum, const machine::Compute& compute, base::Diagnostics& found) {
  if (std::all_of(einsum.dataspaces.begin(), einsum.dataspaces.end(), [&](const workload::Dataspace& dataspace) {
        return dataspace.bits == 0 || dataspace.bits == compute.word_bits;
      }))
    return;
  found
      .warning("O0416",
               fmt::format("`{}` computes at the price of its {} bits, whatever the width of what it is given",
                           compute.name, compute.word_bits),
               compute.where)
      .severity = base::Severity::kNote;
}

}  // namespace

ChipReading::ChipReading(const Documents& documents) : documents_(documents), options_(documents.options()) {
  of_variables_.append(documents.diagnostics());
  const yaml::Node* variables = documents_.find("variables");
  if (variables != nullptr && variables->is_map()) {
    variables_.define_all(*variables);
  } else if (variables != nullptr && !variables->is_null()) {
    of_variables_.error("O0115", "`variables` must be a map of names to values", variables->where);
  }
}

// Everything that expressions outside the architecture may name.
Scope ChipReading::names_for(const workload::Einsum* einsum) const {
  Scope scope(&variables_);
  const yaml::Node* architecture = documents_.find("architecture");
  if (architecture != nullptr && architecture->is_map()) {
    for (const auto& entry : architecture->entries) {
      if (entry.value.is_scalar() && plain_key(entry.key) != "version") scope.define(entry.key, &entry.value);
    }
    // The processed form keeps the variables as attributes of its one subtree.
    const yaml::Node* subtree = architecture->find("subtree");
    const yaml::Node* attributes =
        subtree == nullptr || subtree->items.empty() ? nullptr : subtree->items.front().find("attributes");
    if (attributes != nullptr && attributes->is_map()) scope.define_all(*attributes);
  }
  const yaml::Node* problem = documents_.find("problem");
  const yaml::Node* instance = problem != nullptr ? problem->find("instance") : nullptr;
  if (instance != nullptr && instance->is_map())
    scope.define("len(spec.problem.instance)", Value(static_cast<base::Count>(instance->entries.size())));
  // Without a `problem` document its bounds have no other name than their dimensions'.
  if (einsum != nullptr) {
    for (const workload::Dimension& dimension : einsum->dimensions)
      scope.define(dimension.name, Value(dimension.bound));
  }
  return scope;
}

LayerReading ChipReading::layer(const workload::Einsum* einsum) {
  LayerReading result;
  base::Diagnostics found = of_variables_;
  const Scope scope = names_for(einsum);
  if (einsum != nullptr) {
    result.problem.emplace().einsum = *einsum;
  } else if (const yaml::Node* problem = documents_.find("problem")) {
    workload::Einsum own;
    if (clean(found,
              [&](base::Diagnostics& said) { own = read_problem(*problem, scope, said, options_.ignore_densities); }))
      result.problem.emplace().einsum = std::move(own);
  }
  read_chip();
  found.append(of_chip_);
  if (architecture_ && result.problem) {
    note_widths(result.problem->einsum, architecture_->chip.compute, found);
    read_sparse(einsum, scope, result, found);
    std::vector<const yaml::Node*> lists;
    for (std::string_view key : {"constraints", "architecture_constraints", "mapspace_constraints", "mapspace"}) {
      const yaml::Node* list = documents_.find(key);
      if (list != nullptr && !list->is_null()) lists.push_back(list);
    }
    const yaml::Node* mapping = documents_.find("mapping");
    const bool mapped = options_.mapping_wanted && mapping != nullptr && !mapping->is_null();
    workload::Einsum& own = result.problem->einsum;
    result.problem->space = read_constraints(lists, *architecture_, own, scope, found, mapped || options_.remainders);
    if (mapped) {
      if (const yaml::Node* padded = documents_.find("padded")) round_up(*padded, scope, own, found);
      result.mapping = read_mapping(*mapping, architecture_->chip, own, scope, found, &result.mapping_places,
                                    &result.problem->space);
    }
  }
  if (const yaml::Node* mapper = documents_.find("mapper")) result.mapper = read_mapper(*mapper, scope, found);
  // Last, since what only estimates need may be wrong without harm to the steps before.
  if (!found.has_errors()) found.append(of_components_);
  found.append(unread_);
  found.throw_if_errors();
  result.diagnostics = std::move(found);
  return result;
}

// Hardware that knows zeros; where none does, densities change nothing.
void ChipReading::read_sparse(const workload::Einsum* given, const Scope& scope, LayerReading& result,
                              base::Diagnostics& found) const {
  const yaml::Node* document = documents_.find("sparse_optimizations");
  if (options_.ignore_densities) {
    note_ignored_sparse_design(document, *architecture_, found);
    return;
  }
  const workload::Einsum& einsum = result.problem->einsum;
  const yaml::Node* problem = given == nullptr ? documents_.find("problem") : nullptr;
  std::vector<nest::Density> densities(einsum.dataspaces.size());
  if (problem != nullptr)
    densities = read_densities(*problem, einsum, scope, options_.templates.folders, result.inputs, found);
  const bool sparse = std::any_of(densities.begin(), densities.end(), [](const auto& one) { return !one.dense(); });
  base::Diagnostics own;
  auto design = std::make_shared<nest::SparseDesign>(
      read_sparse_design(document, *architecture_, einsum, std::move(densities), scope, own));
  // A design for another problem names its tensors at every storage.
  found.append(base::once_each(own.all()));
  if (design->acts()) {
    if (own_widths(einsum))
      found
          .error("O0512", "widths of dataspaces are not modelled on hardware that knows zeros",
                 problem != nullptr ? problem->where : base::Location{})
          .hint("remove the widths, or the zeros: `--ignore-density`");
    result.sparse = std::move(design);
    return;
  }
  if (sparse)
    found
        .warning("O2042", "densities change nothing: no component of this chip does anything about zeros",
                 problem->where)
        .note("`sparse_optimizations` of a component say what it does")
        .severity = base::Severity::kNote;
}

void ChipReading::price(nest::SparseDesign& design, base::Diagnostics& found) const {
  const yaml::Node* ert = documents_.find("ERT");
  const PricesOf prices = [&](const std::string& component) {
    return ert == nullptr ? std::nullopt : prices_in(*ert, component);
  };
  price_sparse_design(prices, architecture_->chip, design, found);
}

Specification ChipReading::specification(const workload::Einsum* einsum) {
  LayerReading read = layer(einsum);
  Specification all;
  if (architecture_) all.chip = architecture_->chip;
  all.problem = std::move(read.problem);
  all.mapping = std::move(read.mapping);
  all.mapping_places = std::move(read.mapping_places);
  all.mapper = std::move(read.mapper);
  all.has_energy_tables = has_energy_tables_;
  all.components = components_;
  all.inputs = documents_.inputs();
  all.inputs.insert(all.inputs.end(), read.inputs.begin(), read.inputs.end());
  all.diagnostics = std::move(read.diagnostics);
  return all;
}

void ChipReading::read_chip() {
  if (std::exchange(read_, true)) return;
  const yaml::Node* node = documents_.find("architecture");
  if (node == nullptr) return;
  Architecture architecture;
  if (!clean(of_chip_, [&](base::Diagnostics& own) {
        architecture =
            read_architecture(*node, variables_, own, options_.mapped ? Purpose::kMapping : Purpose::kEstimate);
      }))
    return;
  if (options_.tables_wanted) {
    const yaml::Node* ert = documents_.find("ERT");
    const yaml::Node* art = documents_.find("ART");
    has_energy_tables_ = ert != nullptr;
    if (ert != nullptr) apply_energies(*ert, architecture.chip, of_chip_);
    if (art != nullptr) apply_areas(*art, architecture.chip, of_chip_);
  }
  architecture_ = std::move(architecture);
  if (!architecture_->flat->ratios.relative.empty() && !has_energy_tables_)
    warn_of_ratios(architecture_->flat->ratios, node->where, of_chip_);
  const bool estimated = !has_energy_tables_ && !architecture_->flat->priced;
  if (estimated && !of_variables_.has_errors() && !of_chip_.has_errors()) read_components(node->where);
  const auto names = names_read(documents_.top());
  base::Diagnostics told = of_variables_;
  told.append(of_chip_);
  told.append(of_components_);
  warn_of_unread_attributes(architecture_->flat->components, names, told, unread_);
  warn_of_null_attributes(architecture_->flat->components, unread_);
  if (has_energy_tables_) warn_of_overrides_without_effect(options_.overrides, names, unread_);
}

void ChipReading::read_components(const base::Location& where) {
  const std::vector<const yaml::Node*> documents = {documents_.find("compound_components"),
                                                    documents_.find("components")};
  ComponentClasses classes(documents, of_components_);
  components_ = energy_components(*architecture_, classes, options_.estimate,
                                  options_.energies_required && options_.mapped, of_components_);
  if (options_.energies_required && !of_components_.has_errors()) demand_basics(where);
}

// Said once for the chip rather than by every estimator for every component.
void ChipReading::demand_basics(const base::Location& where) {
  std::vector<std::string> notes;
  for (const char* key : {"technology", "global_cycle_seconds"}) {
    const auto names = lacking(components_, key);
    if (!names.empty()) notes.push_back(fmt::format("no `{}` is given for {}", key, quoted_list(names)));
  }
  if (notes.empty()) return;
  auto& diagnostic = of_components_.error(
      "O0601",
      options_.tables_wanted ? "no energies: none of the documents has an `ERT`, and they lack what an "
                               "estimate needs"
                             : "no energies can be estimated: the documents lack what every estimate needs",
      where);
  for (std::string& note : notes) diagnostic.note(std::move(note));
  diagnostic
      .hint("add `variables: {version: 0.4, technology: \"32nm\", global_cycle_seconds: 1e-9}` with the chip's values")
      .hint(options_.tables_wanted
                ? "or add the ERT.yaml that Accelergy wrote for this architecture, or use a chip of the catalogue"
                : "");
}

}  // namespace orrery::formats::timeloop
