// Order of reading, each step over what the steps before made:
//
//   files -> documents -> merged top-level keys -> overrides
//   variables -> scope ; problem -> einsum ; architecture -> chip ; ERT, ART -> its figures
//   constraints (targets and those inside nodes) -> map space ; mapping ; mapper
//   without an ERT: compound_components -> components to estimate
//
// Files are taken in order of their names, so that the order in which they were given changes nothing,
// messages included. A step whose inputs have errors is left out: its messages would only repeat them.
#include "orrery/formats/timeloop/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "orrery/base/content_hash.h"
#include "orrery/formats/timeloop/architecture.h"
#include "orrery/formats/timeloop/architecture_forms.h"
#include "orrery/formats/timeloop/constraints.h"
#include "orrery/formats/timeloop/energy_components.h"
#include "orrery/formats/timeloop/energy_tables.h"
#include "orrery/formats/timeloop/jinja.h"
#include "orrery/formats/timeloop/key_check.h"
#include "orrery/formats/timeloop/mapper.h"
#include "orrery/formats/timeloop/mapping_document.h"
#include "orrery/formats/timeloop/merge.h"
#include "orrery/formats/timeloop/overrides.h"
#include "orrery/formats/timeloop/problem.h"
#include "orrery/formats/timeloop/unread.h"

namespace orrery::formats::timeloop {
namespace {

using Files = std::vector<std::shared_ptr<const base::SourceFile>>;

// The processed form is read by a parser that takes duplicate keys; Timeloop's front end refuses them.
bool takes_duplicates(const std::vector<yaml::Node>& documents) {
  return std::any_of(documents.begin(), documents.end(), [](const yaml::Node& document) {
    const yaml::Node* architecture = document.find("architecture");
    return document.find("dumped_by_timeloop_front_end") != nullptr || document.find("architecture_constraints") ||
           document.find("ERT") || document.find("ART") ||
           (architecture != nullptr && architecture->find("subtree") != nullptr);
  });
}

void append(const base::Diagnostics& from, bool duplicates_are_errors, base::Diagnostics& to) {
  for (const base::Diagnostic& diagnostic : from.all()) {
    const bool error =
        diagnostic.severity == base::Severity::kError || (diagnostic.code == "O0102" && duplicates_are_errors);
    base::Diagnostic& copy =
        error ? to.error(diagnostic.code, diagnostic.message) : to.warning(diagnostic.code, diagnostic.message);
    copy = diagnostic;
    copy.severity = error ? base::Severity::kError : diagnostic.severity;
    if (error && diagnostic.code == "O0102") {
      copy.notes.clear();
      copy.hint("remove one of them");
    }
  }
}

std::vector<yaml::Node> parse_file(const std::shared_ptr<const base::SourceFile>& file, Files& included,
                                   base::Diagnostics& found) {
  base::Diagnostics own;
  auto documents =
      is_template(*file) ? expand_template(file, included, own) : yaml::parse(file, base::Severity::kWarning, own);
  if (documents.empty() && !own.has_errors()) own.warning("O0114", "the file is empty", {file, 0, 0, 1});
  append(own, !takes_duplicates(documents), found);
  return documents;
}

// Everything that expressions outside the architecture may name.
Scope outer_scope(const Scope& variables, const yaml::Node* architecture) {
  Scope scope(&variables);
  if (architecture == nullptr || !architecture->is_map()) return scope;
  for (const auto& entry : architecture->entries) {
    if (entry.value.is_scalar() && plain_key(entry.key) != "version") scope.define(entry.key, &entry.value);
  }
  // The processed form keeps the variables as attributes of its one subtree.
  const yaml::Node* subtree = architecture->find("subtree");
  if (subtree == nullptr || subtree->items.empty()) return scope;
  const yaml::Node* attributes = subtree->items.front().find("attributes");
  if (attributes != nullptr && attributes->is_map()) scope.define_all(*attributes);
  return scope;
}

class Reader {
 public:
  Reader(const Documents& documents, const ReadOptions& options) : documents_(documents), options_(options) {}

  Specification read(const workload::Einsum* given, const base::Diagnostics& gathered) {
    found_.append(gathered);
    const yaml::Node* variables_node = documents_.find("variables");
    if (variables_node != nullptr && variables_node->is_map()) {
      variables_.define_all(*variables_node);
    } else if (variables_node != nullptr && !variables_node->is_null()) {
      found_.error("O0115", "`variables` must be a map of names to values", variables_node->where);
    }
    const yaml::Node* architecture = documents_.find("architecture");
    Scope scope = outer_scope(variables_, architecture);
    // Without a `problem` document its bounds have no other name than their dimensions'.
    if (given != nullptr) {
      for (const workload::Dimension& dimension : given->dimensions)
        scope.define(dimension.name, Value(dimension.bound));
    }
    read_einsum(given, scope);
    if (architecture != nullptr) read_chip(*architecture, scope);
    if (const yaml::Node* mapper = documents_.find("mapper")) {
      result_.mapper = read_mapper(*mapper, scope, found_);
    }
    // Last, since what only estimates need may be wrong without harm to the steps before.
    if (architecture_ && !result_.has_energy_tables && !found_.has_errors()) read_components(architecture->where);
    if (architecture_) warn_of_unread_attributes(architecture_->flat->components, names_read(documents_.top()), found_);
    found_.throw_if_errors();
    result_.diagnostics = std::move(found_);
    return std::move(result_);
  }

 private:
  // Whether `step` added no error.
  template <typename Step>
  bool clean(Step step) {
    base::Diagnostics own;
    step(own);
    found_.append(own);
    return !own.has_errors();
  }

  void read_einsum(const workload::Einsum* given, const Scope& scope) {
    if (given != nullptr) {
      result_.problem.emplace().einsum = *given;
      return;
    }
    const yaml::Node* problem = documents_.find("problem");
    if (problem == nullptr) return;
    workload::Einsum einsum;
    if (clean([&](base::Diagnostics& own) { einsum = read_problem(*problem, scope, own); })) {
      result_.problem.emplace().einsum = std::move(einsum);
    }
  }

  void read_chip(const yaml::Node& node, const Scope& scope) {
    Architecture architecture;
    if (!clean([&](base::Diagnostics& own) { architecture = read_architecture(node, variables_, own); })) return;
    read_tables(architecture.chip);
    if (result_.problem) {
      const workload::Einsum& einsum = result_.problem->einsum;
      std::vector<const yaml::Node*> lists;
      for (std::string_view key : {"constraints", "architecture_constraints", "mapspace_constraints", "mapspace"}) {
        const yaml::Node* list = documents_.find(key);
        if (list != nullptr && !list->is_null()) lists.push_back(list);
      }
      clean([&](base::Diagnostics& own) {
        result_.problem->space = read_constraints(lists, architecture, einsum, scope, own);
      });
      const yaml::Node* mapping = documents_.find("mapping");
      if (options_.mapping_wanted && mapping != nullptr && !mapping->is_null()) {
        clean([&](base::Diagnostics& own) {
          result_.mapping = read_mapping(*mapping, architecture.chip, einsum, scope, own, &result_.mapping_places);
        });
      }
    }
    result_.chip = architecture.chip;
    architecture_ = std::move(architecture);
  }

  void read_tables(machine::Chip& chip) {
    if (!options_.tables_wanted) return;
    const yaml::Node* ert = documents_.find("ERT");
    const yaml::Node* art = documents_.find("ART");
    result_.has_energy_tables = ert != nullptr;
    if (ert != nullptr) apply_energies(*ert, chip, found_);
    if (art != nullptr) apply_areas(*art, chip, found_);
  }

  void read_components(const base::Location& where) {
    const std::vector<const yaml::Node*> documents = {documents_.find("compound_components"),
                                                      documents_.find("components")};
    ComponentClasses classes(documents, found_);
    result_.components =
        energy_components(*architecture_, classes, options_.estimate, options_.energies_required, found_);
    if (options_.energies_required && !found_.has_errors()) demand_basics(where);
  }

  // Said once for the chip rather than by every estimator for every component.
  void demand_basics(const base::Location& where) {
    std::vector<std::string> notes;
    for (const char* key : {"technology", "global_cycle_seconds"}) {
      const auto names = lacking(result_.components, key);
      if (!names.empty()) notes.push_back(fmt::format("no `{}` is given for {}", key, quoted_list(names)));
    }
    if (notes.empty()) return;
    auto& diagnostic = found_.error("O0601",
                                    options_.tables_wanted
                                        ? "no energies: none of the documents has an `ERT`, and they lack what an "
                                          "estimate needs"
                                        : "no energies can be estimated: the documents lack what every estimate needs",
                                    where);
    for (std::string& note : notes) diagnostic.note(std::move(note));
    diagnostic
        .hint(
            "add `variables: {version: 0.4, technology: \"32nm\", global_cycle_seconds: 1e-9}` with the chip's values")
        .hint(options_.tables_wanted
                  ? "or add the ERT.yaml that Accelergy wrote for this architecture, or use a chip of the catalogue"
                  : "");
  }

  const Documents& documents_;
  const ReadOptions& options_;
  Scope variables_;
  std::optional<Architecture> architecture_;
  Specification result_;
  base::Diagnostics found_;
};

}  // namespace

Documents Documents::gather(const Files& files, const ReadOptions& options) {
  Files sorted = files;
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a->name, a->text) < std::tie(b->name, b->text);
  });
  Documents gathered;
  gathered.options_ = options;
  base::Diagnostics& found = gathered.diagnostics_;
  Files read = sorted;
  for (const auto& file : sorted) {
    for (yaml::Node& document : parse_file(file, read, found))
      merge_document(std::move(document), gathered.top_, found);
  }
  found.throw_if_errors();
  for (const auto& [path, value] : options.overrides)
    apply_override(gathered.top_, path, value, options.overrides, found);
  found.throw_if_errors();
  for (const auto& file : read) gathered.inputs_.emplace_back(file->name, base::content_hash(file->text));
  for (const auto& [path, value] : options.overrides) gathered.inputs_.push_back(base::setting_input(path, value));
  return gathered;
}

const yaml::Node* Documents::find(std::string_view top_level_key) const {
  for (const auto& entry : top_) {
    if (plain_key(entry.key) == top_level_key) return &entry.value;
  }
  return nullptr;
}

Specification Documents::read() const {
  Specification specification = Reader(*this, options_).read(nullptr, diagnostics_);
  specification.inputs = inputs_;
  return specification;
}

Specification Documents::read_for(const workload::Einsum& einsum) const {
  Specification specification = Reader(*this, options_).read(&einsum, diagnostics_);
  specification.inputs = inputs_;
  return specification;
}

}  // namespace orrery::formats::timeloop
