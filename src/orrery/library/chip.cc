// A chip of documents keeps them, since constraints may be expressions of the einsum's bounds: the first question about
// an einsum reads them, and what came of it is kept for the next. Nothing in it depends on the chip's figures, so all
// chips that `with` makes of one share what was read. The store is bounded: it is emptied when it is full.
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "orrery/describe/machine/ranges.h"
#include "orrery/formats/timeloop/architecture/apply_estimates.h"
#include "orrery/formats/timeloop/documents/chip_reading.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/timeloop/documents/sparse_document.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/inputs/layers/read_layers.h"
#include "orrery/library/reading.h"
#include "orrery/orrery.h"

namespace orrery {
namespace {

using formats::timeloop::Documents;
using formats::timeloop::Specification;

constexpr std::size_t kMostRules = 4096;

// All of an einsum that constraints can depend on: its name is not part of it.
std::string key_of(const workload::Einsum& einsum) {
  std::string key;
  const auto add = [&key](Count number) { key.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (const workload::Dimension& dimension : einsum.dimensions) {
    key += dimension.name;
    key += '=';
    add(dimension.bound);
  }
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    key += dataspace.name;
    key += dataspace.read_write ? '+' : ':';
    for (const workload::Rank& rank : dataspace.ranks) {
      for (const workload::Term& term : rank.terms) add(term.dimension), add(term.coefficient);
      key += ',';
    }
  }
  return key;
}

void require_sound(const machine::Chip& chip) {
  base::Diagnostics found;
  machine::check(chip, found);
  machine::check_ranges(chip, found);
  found.throw_if_errors();
}

}  // namespace

struct Chip::Description {
  std::optional<Documents> documents;  // nothing: a value, and `any` holds for every einsum
  std::shared_ptr<const nest::Mapspace> any;
  std::optional<workload::Einsum> problem;
  std::optional<nest::Mapping> mapping;
  std::vector<nest::Metric> objective = {nest::Metric::kEdp};
  std::vector<energy::Component> components;
  std::vector<Diagnostic> warnings;

  mutable std::mutex mutex;  // of the rules
  mutable std::map<std::string, std::shared_ptr<const Rules>, std::less<>> rules;
  std::string catalogue;  // of the figures by which rules without an ERT are priced
};

// What documents say of one einsum.
struct Chip::Rules {
  nest::Mapspace space;
  std::shared_ptr<const nest::SparseDesign> zeros;  // null: nothing
};

Chip::Chip(machine::Chip value, nest::Mapspace space) {
  require_sound(value);
  auto description = std::make_shared<Description>();
  description->any = std::make_shared<const nest::Mapspace>(std::move(space));
  value_ = std::make_shared<const machine::Chip>(std::move(value));
  description_ = std::move(description);
}

Chip Chip::described(const std::vector<std::shared_ptr<const base::SourceFile>>& files, const Reading& how) {
  formats::timeloop::ReadOptions options;
  options.overrides = how.overrides;
  options.tables_wanted = !how.without_ert;
  auto description = std::make_shared<Description>();
  description->documents = Documents::gather(files, options);
  Specification read = description->documents->read();
  if (!read.chip)
    base::fail("O1003", "no file has an `architecture`", {},
               "give the file that describes the chip, or the name of one in the catalogue");
  if (!read.components.empty()) {
    verbs::EstimatorSetup setup;
    setup.catalogue = how.catalogue;
    verbs::Estimators estimators(setup);
    verbs::complete(read, estimators);
  }
  description->catalogue = how.catalogue;
  if (read.problem) {
    description->problem = std::move(read.problem->einsum);
  }
  description->mapping = std::move(read.mapping);
  if (!read.mapper.objective.empty()) description->objective = std::move(read.mapper.objective);
  description->components = std::move(read.components);
  description->warnings = read.diagnostics.all();
  return Chip(std::make_shared<const machine::Chip>(*std::move(read.chip)), std::move(description));
}

Chip Chip::named(const std::string& name, const Reading& how) {
  const verbs::ChipFile file = verbs::load_chip(library::directory_of(how), name);
  Chip chip = described({file.file}, how);
  if (!file.normalisation) return chip;
  return chip.with_normalisation(described({file.normalisation->file}, how));
}

Chip Chip::from_files(const std::vector<std::string>& paths, const Reading& how) {
  std::vector<std::shared_ptr<const base::SourceFile>> files;
  for (const std::string& path : paths) files.push_back(formats::yaml::read_file(path));
  return described(files, how);
}

Chip Chip::from_text(const std::string& text, const Reading& how) {
  return described({library::source(text)}, how);
}

Chip Chip::with(machine::Chip value) const {
  bool same = value.storages.size() == value_->storages.size();
  for (std::size_t i = 0; same && i < value.storages.size(); ++i)
    same = value.storages[i].name == value_->storages[i].name;
  if (!same) throw std::invalid_argument("Chip::with: constraints hold for the storages that a chip was read with");
  require_sound(value);
  Chip changed(std::make_shared<const machine::Chip>(std::move(value)), description_);
  changed.normalisation_ = normalisation_;
  return changed;
}

const Chip& Chip::for_role(workload::OperatorRole role) const {
  return role == workload::OperatorRole::kNormalisation && normalisation_ ? *normalisation_ : *this;
}

Chip Chip::with_normalisation(std::optional<Chip> partner) const {
  Chip changed(*this);
  changed.normalisation_ = partner ? std::make_shared<const Chip>(*std::move(partner)) : nullptr;
  return changed;
}

std::shared_ptr<const Chip::Rules> Chip::rules(const workload::Einsum& einsum) const {
  const Description& description = *description_;
  std::string key = key_of(einsum);
  {
    const std::lock_guard lock(description.mutex);
    const auto known = description.rules.find(key);
    if (known != description.rules.end()) return known->second;
  }
  // Two threads may read the same; the first one's is kept.
  const bool own = description.problem && key == key_of(*description.problem);
  formats::timeloop::ChipReading reading(*description.documents);
  formats::timeloop::LayerReading read = reading.layer(own ? nullptr : &einsum);
  if (read.sparse && reading.has_energy_tables()) {
    reading.price(*read.sparse, read.diagnostics);
  } else if (read.sparse && !reading.components().empty()) {
    verbs::EstimatorSetup setup;
    setup.catalogue = description.catalogue;
    const verbs::Estimates estimates = verbs::Estimators(setup).estimate(reading.components(), read.diagnostics);
    read.diagnostics.throw_if_errors();
    formats::timeloop::price_sparse_design(
        [&](const std::string& component) { return formats::timeloop::prices_in(*estimates, component); },
        reading.architecture()->chip, *read.sparse, read.diagnostics);
  }
  auto rules = std::make_shared<const Rules>(Rules{std::move(read.problem->space), std::move(read.sparse)});
  const std::lock_guard lock(description.mutex);
  if (description.rules.size() >= kMostRules) description.rules.clear();
  return description.rules.emplace(std::move(key), std::move(rules)).first->second;
}

std::shared_ptr<const nest::Mapspace> Chip::space(const workload::Einsum& einsum) const {
  if (description_->any) return description_->any;
  const std::shared_ptr<const Rules> own = rules(einsum);
  return {own, &own->space};
}

std::shared_ptr<const nest::SparseDesign> Chip::zeros(const workload::Einsum& einsum) const {
  return description_->any ? nullptr : rules(einsum)->zeros;
}

const std::optional<workload::Einsum>& Chip::problem() const {
  return description_->problem;
}
const std::optional<nest::Mapping>& Chip::mapping() const {
  return description_->mapping;
}
const std::vector<nest::Metric>& Chip::objective() const {
  return description_->objective;
}
const std::vector<energy::Component>& Chip::components() const {
  return description_->components;
}
const std::vector<Diagnostic>& Chip::warnings() const {
  return description_->warnings;
}

Chip priced(const Chip& chip, const std::vector<energy::EstimatedComponent>& estimates) {
  machine::Chip value = chip.value();
  formats::timeloop::apply_estimates(estimates, value);
  return chip.with(std::move(value));
}

}  // namespace orrery
