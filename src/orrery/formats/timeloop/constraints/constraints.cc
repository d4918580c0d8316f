// Constraints -> nest::Mapspace.
//
// Idea: Timeloop takes constraints from the nodes of the architecture and from lists, merges those that name the same
// node, expands macros that read the merged whole, and lets `!Parallel` and fan-outs imply the rest. So does this
// file, in that order, on one table (constraint_table.h):
//   1. constraints inside nodes, then every list        read_body
//   2. macros                                           macros.h
//   3. `!Parallel`: kept in one branch, not in the others
//   4. fan-outs: nothing kept, no loop in time; outermost: all kept
// The processed v3 form has been through 2 and 3 already.
#include "orrery/formats/timeloop/constraints/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/timeloop/constraints/constraint_table.h"
#include "orrery/formats/timeloop/constraints/constraint_target.h"
#include "orrery/formats/timeloop/constraints/directive_text.h"
#include "orrery/formats/timeloop/constraints/fanout_rules.h"
#include "orrery/formats/timeloop/constraints/macros.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

class Reader {
 public:
  Reader(const Architecture& architecture, const workload::Einsum& einsum, const Scope& variables,
         base::Diagnostics& found, bool remainders)
      : table_(architecture, einsum, found), variables_(variables), found_(found), remainders_(remainders) {}

  nest::Mapspace read(std::span<const yaml::Node* const> lists) {
    const Architecture& architecture = table_.architecture;
    if (architecture.chip.storages.empty()) return {};  // the architecture's own errors say why
    for (const AttachedConstraints& attached : architecture.attached)
      if (attached.body) read_attached(attached);
    for (const yaml::Node* list : lists)
      if (list) read_document(*list);
    expand_loop_macros(macros_, variables_, table_);
    table_.check_orders();
    if (!architecture.v3) complete_parallel_branches(table_);
    check_fanouts(table_);
    check_joint_share(table_);
    add_defaults(table_);
    return table_.mapspace();
  }

 private:
  void read_attached(const AttachedConstraints& attached) {
    const yaml::Node& body = *attached.body;
    if (body.is_null()) return;
    if (!body.is_map()) {
      found_.error("O0500", fmt::format("the constraints of `{}` must be a map", attached.target), body.where)
          .hint("write `constraints: {temporal: {...}, spatial: {...}, dataspace: {...}}`");
      return;
    }
    for (const yaml::Node::Entry& entry : body.entries) {
      if (entry.value.is_null() || plain_key(entry.key).rfind("ignore", 0) == 0) continue;
      const ConstraintType type = constraint_type(entry.key);
      if (type == ConstraintType::kUnknown) {
        warn_unknown_key(entry, constraint_type_names(), "O0513",
                         fmt::format("the constraints of `{}`", attached.target), found_);
        continue;
      }
      if (!entry.value.is_map()) {
        found_.error("O0500", fmt::format("`{}` must be a map", entry.key), entry.value.where);
        continue;
      }
      if (entry.value.entries.empty()) continue;
      const machine::Chip& chip = table_.architecture.chip;
      const bool known = level_named(chip, attached.target, type == ConstraintType::kSpatial) ||
                         chip.compute.name == attached.target || chip.network(attached.target);
      if (!known) {
        warn_without_fanout(attached.target, entry.key_where, found_);
        continue;
      }
      if (const auto level = find_target(table_.architecture, attached.target, type, entry.key_where, found_))
        read_body(*level, type, entry.key, entry.value);
    }
  }

  void read_document(const yaml::Node& document) {
    if (document.is_null()) return;
    if (document.is_sequence()) {
      read_list(document);
      return;
    }
    if (!document.is_map()) {
      found_.error("O0500", "constraints must be a list, or a map with `targets`", document.where);
      return;
    }
    check_template(document);
    const yaml::Node* targets = document.find("targets");
    const yaml::Node* constraints = document.find("constraints");
    if (!targets) targets = constraints;
    // Of the first form: `constraints = "NAME"` chooses among lists that stand beside it.
    std::string chosen;
    if (targets && targets == constraints && targets->is_scalar()) {
      chosen = "constraints_" + targets->scalar;
      const yaml::Node* list = document.find(chosen);
      if (!list) {
        found_.error("O0500", fmt::format("there are no constraints `{}`", chosen), targets->where)
            .hint("`constraints` names a list of this document, or is that list");
        return;
      }
      targets = list;
    }
    if (targets) {
      if (targets->is_sequence())
        read_list(*targets);
      else if (!targets->is_null())
        found_.error("O0500", "`targets` must be a list of constraints", targets->where);
    }
    std::vector<std::string> keys = {"version", "targets", "constraints", "template"};
    // Lists that are not chosen are as good as comments.
    for (const yaml::Node::Entry& entry : document.entries)
      if (!chosen.empty() && entry.key.starts_with("constraints_")) keys.push_back(entry.key);
    warn_unknown_keys(document, keys, "O0513", "a constraints document", found_);
  }

  void check_template(const yaml::Node& document) {
    const yaml::Node* name = document.find("template");
    if (!name || name->is_null() || name->scalar == "uber" || (name->scalar == "ruby" && remainders_)) return;
    base::Diagnostic& error = found_.error(
        "O0512", fmt::format("the map-space template `{}` is not modelled: it would change the figures", name->scalar),
        name->where);
    error.hint("use `template: uber`, or leave it out");
    if (name->scalar == "ruby") error.hint("ruby tiles with remainders: `orrery map --factors imperfect` takes it");
  }

  void read_list(const yaml::Node& list) {
    for (const yaml::Node& item : list.items) {
      if (item.is_null()) continue;
      if (!item.is_map()) {
        found_.error("O0500", "a constraint must be a map `{target, type, ...}`", item.where);
        continue;
      }
      const yaml::Node* target = item.find("target");
      if (!target) target = item.find("name");
      const yaml::Node* inner = item.find("constraints");
      if (!inner) {
        read_constraint(item, target, item);
        continue;
      }
      // The oldest form: one target, a list of its constraints.
      if (!inner->is_sequence()) {
        found_.error("O0500", "`constraints` of a target must be a list", inner->where);
        continue;
      }
      for (const yaml::Node& constraint : inner->items)
        if (constraint.is_map())
          read_constraint(constraint, target, item);
        else
          found_.error("O0500", "a constraint must be a map `{type, ...}`", constraint.where);
    }
  }

  void read_constraint(const yaml::Node& constraint, const yaml::Node* target, const yaml::Node& holder) {
    const yaml::Node* type_node = constraint.find("type");
    if (!target || !target->is_scalar()) {
      found_.error("O0501", "this constraint has no `target`", (target ? *target : holder).where)
          .note(fmt::format("levels, outermost first: {}", quoted_list(target_names(table_.architecture.chip))));
      return;
    }
    if (!type_node || !type_node->is_scalar()) {
      found_
          .error("O0501", fmt::format("this constraint of `{}` has no `type`", target->scalar),
                 (type_node ? *type_node : constraint).where)
          .note(fmt::format("types: {}", quoted_list(constraint_type_names())));
      return;
    }
    const ConstraintType type = constraint_type(type_node->scalar);
    if (type == ConstraintType::kUnknown) {
      suggest(
          found_.error("O0504", fmt::format("`{}` is not a type of constraint", type_node->scalar), type_node->where),
          plain_key(type_node->scalar), constraint_type_names(), "types");
      return;
    }
    const std::optional<int> level = find_target(table_.architecture, target->scalar, type, target->where, found_);
    if (!level) return;
    const yaml::Node* attributes = constraint.find("attributes");
    const yaml::Node& body = attributes && attributes->is_map() ? *attributes : constraint;
    read_body(*level, type, type_node->scalar, body);
    const yaml::Node* split = attributes ? constraint.find("split") : nullptr;
    if (split && type == ConstraintType::kSpatial) read_split(*level, *split);
  }

  void read_body(int level, ConstraintType type, const std::string& type_name, const yaml::Node& body) {
    switch (type) {
      case ConstraintType::kTemporal:
      case ConstraintType::kSpatial:
        for (const yaml::Node::Entry& entry : body.entries)
          read_loop_key(level, type == ConstraintType::kSpatial, entry);
        return;
      case ConstraintType::kDataspace:
        for (const yaml::Node::Entry& entry : body.entries) read_dataspace_key(level, entry);
        return;
      case ConstraintType::kParallelism:
        read_utilization(level, body, variables_, table_);
        return;
      case ConstraintType::kReuse:
        read_no_sharing(level, plain_key(type_name), body);
        return;
      case ConstraintType::kUnmodelled:
        report_unmodelled(type_name, body.where, body);
        return;
      case ConstraintType::kUnknown:
        return;
    }
  }

  void report_unmodelled(const std::string& what, const base::Location& where, const yaml::Node& body) {
    if (plain_key(what) == "max_overbooked_proportion") {
      const yaml::Node* proportion = body.is_map() ? body.find("proportion") : nullptr;
      if (!proportion || proportion->is_null() || proportion->scalar == "0" || proportion->scalar == "0.0") return;
    }
    found_.error("O0512", fmt::format("`{}` is not modelled: it would change the figures", what), where)
        .hint("remove it to model the plain dense mapping");
  }

  static bool is_common_key(const std::string& key) {
    return key == "target" || key == "type" || key == "name" || key == "version" || key == "attributes" ||
           key.rfind("ignore", 0) == 0;
  }

  void read_loop_key(int level, bool spatial, const yaml::Node::Entry& entry) {
    const std::string key = plain_key(entry.key);
    const yaml::Node& value = entry.value;
    if (is_common_key(key) || value.is_null()) return;
    if (key == "factors") {
      for (Factor& factor : read_factors(value, table_.einsum, variables_, found_))
        table_.add_factor(level, spatial, std::move(factor));
    } else if (key == "permutation") {
      if (auto order = read_permutation(value, table_.einsum, found_))
        table_.add_order(level, spatial, std::move(*order));
    } else if (key == "split" && spatial) {
      read_split(level, value);
    } else if (std::uint32_t* exceptions = reuse_mask(table_.levels[level].reuse, key, spatial)) {
      *exceptions |= mask_of(read_dataspaces(value, table_.einsum, found_));
    } else if (const auto kind = macro_kind(key)) {
      add_macro(*kind, level, spatial, entry);
    } else if (key == "remainders" || key == "default_max_factor" || key == "default_min_factor") {
      report_unmodelled(entry.key, entry.key_where, value);
    } else {
      static const std::vector<std::string> kKeys = {"factors",
                                                     "permutation",
                                                     "split",
                                                     "no_reuse",
                                                     "no_link_transfer",
                                                     "no_temporal_reuse",
                                                     "factors_only",
                                                     "rmw_first_update",
                                                     "no_multicast_no_reduction",
                                                     "maximize_dims",
                                                     "maximize_dims_capacity",
                                                     "no_iteration_over_dataspaces",
                                                     "must_iterate_over_dataspaces"};
      warn_unknown_key(entry, kKeys, "O0513", fmt::format("a {} constraint", spatial ? "spatial" : "temporal"), found_);
    }
  }

  static std::optional<LoopMacro::Kind> macro_kind(const std::string& key) {
    using Kind = LoopMacro::Kind;
    if (key == "factors_only") return Kind::kFactorsOnly;
    if (key == "no_iteration_over_dataspaces") return Kind::kNoIterationOver;
    if (key == "must_iterate_over_dataspaces") return Kind::kMustIterateOver;
    if (key == "maximize_dims") return Kind::kMaximizeDims;
    if (key == "maximize_dims_capacity") return Kind::kMaximizeDimsCapacity;
    return std::nullopt;
  }

  void add_macro(LoopMacro::Kind kind, int level, bool spatial, const yaml::Node::Entry& entry) {
    if (table_.architecture.v3)
      warn_v4_only(entry);
    else
      macros_.push_back({kind, level, spatial, &entry.value, entry.key_where});
  }

  void warn_v4_only(const yaml::Node::Entry& entry) {
    found_
        .warning("O0513", fmt::format("`{}` is understood in v4 documents only; it is ignored", entry.key),
                 entry.key_where)
        .hint("this architecture is written in the v3 form (`subtree`); spell the constraint out");
  }

  void read_split(int level, const yaml::Node& value) {
    const std::optional<base::Count> split = as_count(value, variables_, "split", found_);
    if (!split) return;
    if (*split < 0) {
      found_.error("O0518", fmt::format("`split` must be at least 0, but is {}", *split), value.where);
      return;
    }
    table_.add_split(level, {*split, fmt::format("split {}", value.scalar), value.where});
  }

  void read_dataspace_key(int level, const yaml::Node::Entry& entry) {
    const std::string key = plain_key(entry.key);
    if (is_common_key(key)) return;
    if (key == "keep" || key == "bypass") {
      if (!entry.value.is_null()) add_keeps(level, entry, key == "keep");
    } else if (key == "keep_only" || key == "bypass_only") {
      if (table_.architecture.v3)
        warn_v4_only(entry);
      else if (!entry.value.is_null())
        add_only(level, entry, key == "keep_only");
    } else if (key == "no_coalesce" || key == "passthrough") {
      if (!read_dataspaces(entry.value, table_.einsum, found_).empty())
        report_unmodelled(entry.key, entry.key_where, entry.value);
    } else {
      static const std::vector<std::string> kKeys = {"keep", "bypass", "keep_only", "bypass_only"};
      warn_unknown_key(entry, kKeys, "O0513", "a dataspace constraint", found_);
    }
  }

  std::string keep_text(int level, int dataspace, bool keep) const {
    return fmt::format("`{}` {} `{}`", table_.level_name(level), keep ? "keeps" : "bypasses",
                       table_.einsum.dataspaces[dataspace].name);
  }

  void add_keeps(int level, const yaml::Node::Entry& entry, bool keep) {
    for (const DataspaceName& name : read_dataspaces(entry.value, table_.einsum, found_))
      table_.add_keep(level, name.dataspace, {keep, keep_text(level, name.dataspace, keep), name.where});
  }

  // keep_only: these kept, all others bypassed; bypass_only: the reverse.
  void add_only(int level, const yaml::Node::Entry& entry, bool keep) {
    const std::uint32_t listed = mask_of(read_dataspaces(entry.value, table_.einsum, found_));
    for (std::size_t s = 0; s < table_.einsum.dataspaces.size(); ++s) {
      const bool kept = ((listed >> s) & 1U) == (keep ? 1U : 0U);
      const int dataspace = static_cast<int>(s);
      table_.add_keep(
          level, dataspace,
          {kept, fmt::format("{} ({})", keep_text(level, dataspace, kept), plain_key(entry.key)), entry.key_where});
    }
  }

  void read_no_sharing(int level, const std::string& type, const yaml::Node& body) {
    const yaml::Node* names = body.find("datatypes");
    if (!names) names = body.find("dataspaces");
    if (!names) {
      found_.error("O0501", fmt::format("`{}` needs `datatypes`, a list of dataspaces", type), body.where);
      return;
    }
    for (const DataspaceName& name : read_dataspaces(*names, table_.einsum, found_)) {
      const workload::Dataspace& dataspace = table_.einsum.dataspaces[name.dataspace];
      if ((type == "no_multicast" && dataspace.read_write) || (type == "no_reduction" && !dataspace.read_write)) {
        found_
            .error("O0500",
                   fmt::format("`{}` concerns {} dataspaces, but `{}` is {}", type,
                               dataspace.read_write ? "read-only" : "read-write", dataspace.name,
                               dataspace.read_write ? "written" : "only read"),
                   name.where)
            .hint("`no_multicast_no_reduction` covers both");
        continue;
      }
      nest::ReuseRules& rules = table_.levels[level].reuse;
      (type == "no_link_transfer" ? rules.no_links : rules.no_spatial_sharing) |= std::uint32_t{1} << name.dataspace;
    }
  }

  ConstraintTable table_;
  const Scope& variables_;
  base::Diagnostics& found_;
  const bool remainders_;
  std::vector<LoopMacro> macros_;
};

}  // namespace

nest::Mapspace read_constraints(std::span<const yaml::Node* const> lists, const Architecture& architecture,
                                const workload::Einsum& einsum, const Scope& variables, base::Diagnostics& found,
                                bool remainders) {
  return Reader(architecture, einsum, variables, found, remainders).read(lists);
}

}  // namespace orrery::formats::timeloop
