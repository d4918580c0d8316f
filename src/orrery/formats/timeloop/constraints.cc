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
#include "orrery/formats/timeloop/constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <vector>

#include "orrery/formats/timeloop/constraint_table.h"
#include "orrery/formats/timeloop/directive_text.h"
#include "orrery/formats/timeloop/key_check.h"
#include "orrery/formats/timeloop/macros.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Constraint;

enum class Type { kTemporal, kSpatial, kDataspace, kParallelism, kReuse, kNoEffect, kUnmodelled, kUnknown };

Type type_of(const std::string& name) {
  const std::string key = plain_key(name);
  if (key == "temporal") return Type::kTemporal;
  if (key == "spatial") return Type::kSpatial;
  if (key == "dataspace" || key == "datatype" || key == "bypass" || key == "bypassing") return Type::kDataspace;
  if (key == "utilization" || key == "parallelism") return Type::kParallelism;
  if (key == "no_multicast" || key == "no_reduction" || key == "no_multicast_no_reduction") return Type::kReuse;
  if (key == "no_link_transfer") return Type::kNoEffect;  // the model has no transfers between neighbours
  if (key == "max_overbooked_proportion" || key == "skew") return Type::kUnmodelled;
  return Type::kUnknown;
}

const std::vector<std::string>& type_names() {
  static const std::vector<std::string> kNames = {"temporal",
                                                  "spatial",
                                                  "dataspace",
                                                  "datatype",
                                                  "bypass",
                                                  "bypassing",
                                                  "utilization",
                                                  "parallelism",
                                                  "no_multicast",
                                                  "no_reduction",
                                                  "skew",
                                                  "max_overbooked_proportion",
                                                  "no_multicast_no_reduction"};
  return kNames;
}

const std::string kInterPrefix = "inter_";
const std::string kInterSuffix = "_spatial";

// What a user may write as a target: storages, and containers by their own name.
std::vector<std::string> target_names(const machine::Chip& chip) {
  std::vector<std::string> names;
  for (auto storage = chip.storages.rbegin(); storage != chip.storages.rend(); ++storage) {
    const std::string& name = storage->name;
    const std::size_t affixes = kInterPrefix.size() + kInterSuffix.size();
    if (storage->pass_through && name.size() > affixes && name.rfind(kInterPrefix, 0) == 0 &&
        name.compare(name.size() - kInterSuffix.size(), kInterSuffix.size(), kInterSuffix) == 0)
      names.push_back(name.substr(kInterPrefix.size(), name.size() - affixes));
    else
      names.push_back(name);
  }
  return names;
}

class Reader {
 public:
  Reader(const Architecture& architecture, const workload::Einsum& einsum, const Scope& variables,
         base::Diagnostics& found)
      : table_(architecture, einsum, found), variables_(variables), found_(found) {}

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
    check_fanouts();
    add_defaults();
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
      const Type type = type_of(entry.key);
      if (type == Type::kUnknown) {
        warn_unknown_key(entry, type_names(), "O0513", fmt::format("the constraints of `{}`", attached.target), found_);
        continue;
      }
      if (!entry.value.is_map()) {
        found_.error("O0500", fmt::format("`{}` must be a map", entry.key), entry.value.where);
        continue;
      }
      if (entry.value.entries.empty()) continue;
      const machine::Chip& chip = table_.architecture.chip;
      const bool known =
          level_named(attached.target, type) || chip.compute.name == attached.target || chip.network(attached.target);
      if (!known) {
        warn_without_fanout(attached.target, entry.key_where);
        continue;
      }
      if (const auto level = resolve(attached.target, type, entry.key_where))
        read_body(*level, type, entry.key, entry.value);
    }
  }

  void warn_without_fanout(const std::string& target, const base::Location& where) {
    found_
        .warning("O0520",
                 fmt::format("`{}` has no fan-out: there is nothing that these constraints could constrain", target),
                 where)
        .hint(fmt::format("give `{}` a `spatial: {{meshX: ...}}`, or remove them", target));
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
    if (targets) {
      if (targets->is_sequence())
        read_list(*targets);
      else if (!targets->is_null())
        found_.error("O0500", "`targets` must be a list of constraints", targets->where);
    }
    static const std::vector<std::string> kKeys = {"version", "targets", "constraints", "template"};
    warn_unknown_keys(document, kKeys, "O0513", "a constraints document", found_);
  }

  void check_template(const yaml::Node& document) {
    const yaml::Node* name = document.find("template");
    if (!name || name->is_null() || name->scalar == "uber") return;
    base::Diagnostic& error = found_.error(
        "O0512", fmt::format("the map-space template `{}` is not modelled: it would change the figures", name->scalar),
        name->where);
    error.hint("use `template: uber`, or leave it out");
    if (name->scalar == "ruby") error.note("ruby tiles with remainders; Orrery tiles by whole divisors");
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
          .note(fmt::format("types: {}", quoted_list(type_names())));
      return;
    }
    const Type type = type_of(type_node->scalar);
    if (type == Type::kUnknown) {
      suggest(found_.error("O0504", fmt::format("`{}` is no type of constraint", type_node->scalar), type_node->where),
              plain_key(type_node->scalar), type_names(), "types");
      return;
    }
    const std::optional<int> level = resolve(target->scalar, type, target->where);
    if (!level) return;
    const yaml::Node* attributes = constraint.find("attributes");
    const yaml::Node& body = attributes && attributes->is_map() ? *attributes : constraint;
    read_body(*level, type, type_node->scalar, body);
    const yaml::Node* split = attributes ? constraint.find("split") : nullptr;
    if (split && type == Type::kSpatial) read_split(*level, *split);
  }

  std::optional<int> level_named(const std::string& target, Type type) const {
    const machine::Chip& chip = table_.architecture.chip;
    if (type == Type::kSpatial || type == Type::kReuse) {
      const int around = chip.storage_index(kInterPrefix + target + kInterSuffix);
      if (around >= 0) return around;
    }
    const int level = target_level(chip, target);
    if (level >= 0) return level;
    return std::nullopt;
  }

  std::optional<int> resolve(const std::string& target, Type type, const base::Location& where) {
    const machine::Chip& chip = table_.architecture.chip;
    if (const auto level = level_named(target, type)) return level;
    const bool number = !target.empty() && target.size() < 4 && std::all_of(target.begin(), target.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c));
    });
    if (number && std::stoul(target) < chip.storages.size()) return static_cast<int>(std::stoul(target));
    const std::vector<std::string> names = target_names(chip);
    if (target == chip.compute.name) {
      found_
          .error("O0503",
                 fmt::format("`{}` is the compute unit: it keeps nothing and has no loops to constrain", target), where)
          .hint(fmt::format("constrain the level that feeds it, `{}`", names.back()));
      return std::nullopt;
    }
    if (chip.network(target)) {
      found_
          .error("O0503", fmt::format("`{}` is a network: it keeps nothing and has no loops to constrain", target),
                 where)
          .note(fmt::format("levels, outermost first: {}", quoted_list(names)));
      return std::nullopt;
    }
    for (const AttachedConstraints& attached : table_.architecture.attached)
      if (attached.target == target) {
        warn_without_fanout(target, where);
        return std::nullopt;
      }
    suggest(found_.error("O0502", fmt::format("no level is called `{}`", target), where), target, names,
            "levels, outermost first");
    return std::nullopt;
  }

  void read_body(int level, Type type, const std::string& type_name, const yaml::Node& body) {
    switch (type) {
      case Type::kTemporal:
      case Type::kSpatial:
        for (const yaml::Node::Entry& entry : body.entries) read_loop_key(level, type == Type::kSpatial, entry);
        return;
      case Type::kDataspace:
        for (const yaml::Node::Entry& entry : body.entries) read_dataspace_key(level, entry);
        return;
      case Type::kParallelism:
        read_parallelism(level, body);
        return;
      case Type::kReuse:
        read_no_sharing(level, plain_key(type_name), body);
        return;
      case Type::kUnmodelled:
        report_unmodelled(type_name, body.where, body);
        return;
      case Type::kNoEffect:
      case Type::kUnknown:
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
    } else if (key == "no_temporal_reuse" || (key == "no_reuse" && !spatial)) {
      table_.levels[level].reuse.no_temporal_reuse |= mask(value);
    } else if (spatial && (key == "no_reuse" || key == "no_multicast_no_reduction")) {
      table_.levels[level].reuse.no_spatial_sharing |= mask(value);
    } else if (key == "rmw_first_update" || key == "rmw_on_first_writeback") {
      table_.levels[level].reuse.read_first_update |= mask(value);
    } else if (key == "no_link_transfer") {
      mask(value);  // the model has no transfers between neighbours; the names must still be right
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

  std::uint32_t mask(const yaml::Node& names) {
    std::uint32_t bits = 0;
    for (const DataspaceName& name : read_dataspaces(names, table_.einsum, found_))
      bits |= std::uint32_t{1} << name.dataspace;
    return bits;
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
    } else if (key == "no_coalesce") {
      table_.levels[level].reuse.no_coalescing |= mask(entry.value);
    } else if (key == "passthrough") {
      if (mask(entry.value)) report_unmodelled(entry.key, entry.key_where, entry.value);
    } else {
      static const std::vector<std::string> kKeys = {"keep", "bypass", "keep_only", "bypass_only", "no_coalesce"};
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
    const std::uint32_t listed = mask(entry.value);
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
      table_.levels[level].reuse.no_spatial_sharing |= std::uint32_t{1} << name.dataspace;
    }
  }

  // Timeloop counts the share of all fan-outs together and takes it at the innermost level only. A map space knows a
  // share per level; the two agree when one level alone fans out, or when nothing may stay idle.
  void read_parallelism(int level, const yaml::Node& body) {
    const yaml::Node* least = body.find("min");
    if (!least) {
      found_.error("O0501", "`utilization` needs `min`, a share between 0 and 1", body.where);
      return;
    }
    const std::optional<double> fraction = as_number(*least, variables_, "min", found_);
    if (!fraction) return;
    if (!(*fraction >= 0 && *fraction <= 1)) {
      found_.error("O0518", fmt::format("the least utilization must lie between 0 and 1, but is {}", *fraction),
                   least->where);
      return;
    }
    std::vector<int> fanning;
    for (int l = 0; l < static_cast<int>(table_.levels.size()); ++l)
      if (table_.fanout(l) > 1) fanning.push_back(l);
    const bool own = level > 0 && table_.fanout(level) > 1;
    if (own) fanning = {level};
    if (level > 0 && !own) {
      found_
          .error("O0511", fmt::format("`{}` has no fan-out whose use could be demanded", table_.level_name(level)),
                 least->where)
          .hint(
              fmt::format("demand it of the innermost level, `{}`, or of a level that fans out", table_.level_name(0)));
      return;
    }
    if (fanning.size() > 1 && *fraction < 1 && *fraction > 0) {
      found_
          .error("O0512",
                 fmt::format("a least utilization of {} over {} fan-outs together is not modelled", *fraction,
                             fanning.size()),
                 least->where)
          .hint("demand it of each level that fans out, or set `min: 1`");
      return;
    }
    for (int l : fanning) {
      const auto twice = std::find_if(table_.parallelism.begin(), table_.parallelism.end(),
                                      [&](const Constraint& given) { return given.level == l; });
      if (twice != table_.parallelism.end()) {
        found_
            .error("O0508", fmt::format("`{}` is given a least utilization twice", table_.level_name(l)), least->where)
            .also(twice->where, "first here");
        continue;
      }
      Constraint constraint;
      constraint.kind = Constraint::Kind::kMinParallelism;
      constraint.level = l;
      constraint.spatial = true;
      constraint.fraction = *fraction;
      constraint.text = fmt::format("utilization of `{}` at least {}", table_.level_name(l), *fraction);
      constraint.where = least->where;
      table_.parallelism.push_back(std::move(constraint));
    }
  }

  // Spatial loops where nothing fans out: factors of 1 say nothing, others cannot hold.
  void check_fanouts() {
    for (int level = 0; level < static_cast<int>(table_.levels.size()); ++level) {
      LoopConstraints& spatial = table_.levels[level].spatial;
      if (spatial.empty() || table_.fanout(level) > 1) continue;
      bool warned = false;
      for (const auto& [key, given] : spatial.factors) {
        const base::Count bound = table_.einsum.dimensions[key.first].bound;
        const bool cannot_hold = given.value > 1 && key.second != nest::Comparison::kAtMost &&
                                 !(key.second == nest::Comparison::kEqual && given.value > bound);
        if (cannot_hold) {
          found_
              .error("O0511",
                     fmt::format("`{}` cannot hold: one instance of `{}` has one instance inside it", given.text,
                                 table_.level_name(level)),
                     given.where)
              .note(fmt::format("fan-outs: {}", fanouts()));
        } else if (!warned) {
          warned = true;
          found_.warning(
              "O0511",
              fmt::format("`{}` has no fan-out: its spatial constraints say nothing", table_.level_name(level)),
              given.where);
        }
      }
      spatial = {};
    }
  }

  std::string fanouts() const {
    std::string text;
    for (int level = 0; level < static_cast<int>(table_.levels.size()); ++level)
      if (table_.fanout(level) > 1)
        text += fmt::format("{}`{}` {}", text.empty() ? "" : ", ", table_.level_name(level), table_.fanout(level));
    return text.empty() ? "none" : text;
  }

  void add_defaults() {
    const machine::Chip& chip = table_.architecture.chip;
    for (int level = 0; level < static_cast<int>(table_.levels.size()); ++level)
      if (chip.storages[level].pass_through) make_pass_through(level);
    const int outermost = static_cast<int>(table_.levels.size()) - 1;
    for (std::size_t s = 0; s < table_.einsum.dataspaces.size(); ++s)
      table_.add_keep_if_absent(outermost, static_cast<int>(s), true, "the outermost level keeps by default",
                                chip.storages[outermost].where);
  }

  void make_pass_through(int level) {
    const machine::Storage& storage = table_.architecture.chip.storages[level];
    LevelConstraints& given = table_.levels[level];
    given.temporal.order.reset();
    for (auto& [key, factor] : given.temporal.factors) {
      const bool holds = key.second == nest::Comparison::kAtMost || factor.value <= 1 ||
                         factor.value > table_.einsum.dimensions[key.first].bound;
      if (!holds)
        found_
            .error("O0517",
                   fmt::format("`{}` cannot hold: `{}` is a fan-out and does not iterate in time", factor.text,
                               storage.name),
                   factor.where)
            .also(storage.where, "a fan-out without a store");
    }
    given.temporal.factors.clear();
    for (std::size_t d = 0; d < table_.einsum.dimensions.size(); ++d)
      table_.add_factor_if_absent(level, false, static_cast<int>(d), 1,
                                  fmt::format("{}=1 (a fan-out does not iterate)", table_.einsum.dimensions[d].name),
                                  storage.where);
    for (std::size_t s = 0; s < given.keep.size(); ++s) {
      if (given.keep[s] && given.keep[s]->keep)
        found_
            .error("O0517",
                   fmt::format("`{}` cannot keep `{}`: it is a fan-out without a store", storage.name,
                               table_.einsum.dataspaces[s].name),
                   given.keep[s]->where)
            .also(storage.where, "a fan-out without a store");
      given.keep[s] = GivenKeep{false, "a fan-out keeps nothing", storage.where};
    }
  }

  ConstraintTable table_;
  const Scope& variables_;
  base::Diagnostics& found_;
  std::vector<LoopMacro> macros_;
};

}  // namespace

nest::Mapspace read_constraints(std::span<const yaml::Node* const> lists, const Architecture& architecture,
                                const workload::Einsum& einsum, const Scope& variables, base::Diagnostics& found) {
  return Reader(architecture, einsum, variables, found).read(lists);
}

}  // namespace orrery::formats::timeloop
