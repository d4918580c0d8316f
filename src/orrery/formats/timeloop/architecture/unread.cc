// An attribute counts as read when the model or an estimator knows it, or when its name occurs anywhere in a value:
// there it may be part of an expression. That errs towards silence. Components of classes that are not ours are left
// alone, since the user's tables and compound classes may read any attribute. Cost: one pass over the documents.
#include "orrery/formats/timeloop/architecture/unread.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/architecture/known_attributes.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

// Of the chips' forms besides the known ones, in Timeloop's and Accelergy's spelling.
constexpr auto kModelled = std::to_array<std::string_view>(
    {"word-bits", "word_width", "n_words", "memory_width", "memory_depth", "data_storage_width", "data_storage_depth",
     "has_power_gating", "component_name", "metadata_storage_width", "metadata_width", "metadata_storage_depth",
     "metadata_depth", "metadata_datawidth", "metadata_word_bits", "decompression_supported", "compression_supported",
     "tile_partition_supported"});

// Of the estimators: the columns of the tables, and what CACTI is asked with.
constexpr auto kEstimated = std::to_array<std::string_view>({"n_banks",
                                                             "n_rw_ports",
                                                             "n_rdwr_ports",
                                                             "width_a",
                                                             "width_b",
                                                             "datawidth_a",
                                                             "datawidth_b",
                                                             "multiplier_width",
                                                             "n_bits",
                                                             "precision",
                                                             "exponent",
                                                             "mantissa",
                                                             "length_mm",
                                                             "resolution",
                                                             "type",
                                                             "pj_per_bit",
                                                             "cellwidth",
                                                             "plug_in",
                                                             "minimum_accuracy",
                                                             "n_instances",
                                                             "voltage",
                                                             "n_steps",
                                                             "average_input_value",
                                                             "average_weight_value",
                                                             "average_output_value",
                                                             "rows",
                                                             "cols",
                                                             "columns",
                                                             "cycle_seconds",
                                                             "action_latency_cycles"});

// Of others, in many published descriptions. Accelergy's plug-ins read them, and they change none of the figures here
// or stand at their usual values: a latency is not modelled, ports and ranks are described otherwise.
constexpr auto kHarmless =
    std::to_array<std::string_view>({"latency", "name", "adder_width", "nbanks", "n_ranks", "n_ports", "nports",
                                     "n_rd_ports", "n_wr_ports", "num_ports", "cell_width", "cellheight",
                                     "energy_scale", "area_scale", "energy_share", "area_share", "action_share"});

constexpr auto kOwnClasses =
    std::to_array<std::string_view>({"sram", "dram", "register", "intmac", "intadder", "intmultiplier", "fpmac",
                                     "fpadder", "fpmultiplier", "comparator", "counter"});

bool in_a_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

void collect(const yaml::Node& node, bool with_keys, std::set<std::string, std::less<>>& names) {
  const std::string_view text = node.scalar;
  for (std::size_t begin = 0; begin < text.size(); ++begin) {
    std::size_t end = begin;
    while (end < text.size() && in_a_name(text[end])) ++end;
    if (end > begin) names.emplace(text.substr(begin, end - begin));
    begin = end;
  }
  for (const yaml::Node& item : node.items) collect(item, with_keys, names);
  for (const yaml::Node::Entry& entry : node.entries) {
    if (with_keys) names.insert(plain_key(entry.key));
    collect(entry.value, with_keys, names);
  }
}

bool is_own_class(const std::string& name) {
  return base::contains(kOwnClasses, base::lower(name));
}

}  // namespace

std::set<std::string, std::less<>> names_read(const std::vector<yaml::Node::Entry>& top) {
  std::set<std::string, std::less<>> names;
  for (const yaml::Node::Entry& entry : top) {
    const std::string key = plain_key(entry.key);
    // Results name attributes that nobody reads for it.
    if (base::contains(std::to_array<std::string_view>({"ERT_summary", "ART_summary", "flattened_architecture"}), key))
      continue;
    const bool declares =
        base::contains(std::to_array<std::string_view>({"components", "compound_components", "ERT", "ART"}), key);
    collect(entry.value, declares, names);
  }
  return names;
}

bool is_known_attribute(std::string_view key) {
  return base::contains(kKnownAttributes, key) || base::contains(kModelled, key) || base::contains(kEstimated, key) ||
         base::contains(kHarmless, key);
}

void warn_of_null(std::string_view key, std::string_view of, const base::Location& where, std::string effect,
                  base::Diagnostics& found) {
  found
      .warning("O0331",
               fmt::format("`{}`{} is null, which counts as not given", key,
                           of.empty() ? std::string() : fmt::format(" of `{}`", of)),
               where)
      .note(std::move(effect))
      .hint(fmt::format("give `{}` a value, or leave it out", key));
}

void warn_of_null_attributes(const std::vector<Component>& components, base::Diagnostics& found) {
  std::set<const yaml::Node*> seen;
  const auto counts = [](std::string_view key) {
    return base::contains(kKnownAttributes, key) || base::contains(kModelled, key) || base::contains(kEstimated, key);
  };
  for (const Component& component : components) {
    for (const AttributeFrame* frame = component.frame; frame != nullptr; frame = frame->outer) {
      const auto look = [&](const std::string& key, const yaml::Node& value, const std::string& of) {
        if (!value.is_null() || !counts(key) || !seen.insert(&value).second) return;
        const yaml::Node* other = component.frame->find(key);
        warn_of_null(key, of, value.where.known() ? value.where : component.where,
                     other != nullptr
                         ? fmt::format("the value `{}` from farther out holds for `{}`", other->scalar, component.name)
                     : key.find("bandwidth") != std::string::npos
                         ? std::string("a bandwidth that is not given is unlimited")
                         : std::string("what is not given has its default value, or none"),
                     found);
      };
      if (frame->attributes != nullptr) {
        for (const yaml::Node::Entry& entry : frame->attributes->entries)
          look(plain_key(entry.key), entry.value, frame == component.frame ? component.name : std::string());
      }
      if (frame->outer != nullptr) continue;
      for (const std::string& name : frame->scope.names())
        if (const yaml::Node* value = frame->scope.node_of(name)) look(plain_key(name), *value, "variables");
    }
  }
}

void warn_of_overrides_without_effect(const base::Overrides& overrides, const std::set<std::string, std::less<>>& read,
                                      base::Diagnostics& found) {
  for (const base::Override& set : overrides) {
    const std::string& path = set.path;
    const std::size_t dot = path.rfind('.');
    if (dot == std::string::npos) continue;
    const std::string walked = plain_key(path.substr(0, dot)), key = plain_key(path.substr(dot + 1));
    const bool open = walked == "variables" || walked.ends_with("attributes");
    if (!open || read.contains(key) || !(base::contains(kEstimated, key) || key == "technology")) continue;
    const base::Location where = base::OverrideText(set).part(dot + 1, key.size());
    found.warning("O0332", fmt::format("`--set` of `{}` has no effect when there is an ERT", key), where)
        .note("only the estimators of energy and area read it, and the ERT gives all energies")
        .hint(
            "leave the ERT out to have the energies estimated, or have an ERT made for the changed chip: "
            "`orrery energy -o DIR`");
  }
}

void warn_of_unread_attributes(const std::vector<Component>& components, const std::set<std::string, std::less<>>& read,
                               const base::Diagnostics& told, base::Diagnostics& found) {
  const auto named_before = [&](const base::Location& where) {
    return std::any_of(told.all().begin(), told.all().end(), [&](const base::Diagnostic& one) {
      const base::Location& other = one.primary.where;
      return other.file == where.file && other.line == where.line && other.column == where.column;
    });
  };
  struct Unread {
    const Component* component;
    const yaml::Node::Entry* entry;
  };
  std::map<std::string, std::vector<Unread>> by_file;
  for (const Component& component : components) {
    if (component.frame == nullptr || component.frame->attributes == nullptr || !is_own_class(component.class_name))
      continue;
    for (const yaml::Node::Entry& entry : component.frame->attributes->entries) {
      const std::string key = plain_key(entry.key);
      if (is_known_attribute(key) || read.contains(key) || !entry.key_where.known() || named_before(entry.key_where))
        continue;
      by_file[entry.key_where.file->name].push_back({&component, &entry});
    }
  }
  for (const auto& [file, unread] : by_file) {
    const auto shown = [](const Unread& one) {
      return fmt::format("`{}` of `{}`", one.entry->key, one.component->name);
    };
    auto& warning = found.warning(
        "O0330",
        unread.size() == 1
            ? fmt::format("the attribute {} has no effect", shown(unread.front()))
            : fmt::format("{} attributes have no effect, the first is {}", unread.size(), shown(unread.front())),
        unread.front().entry->key_where);
    for (std::size_t i = 1; i < unread.size(); ++i) warning.note(fmt::format("nor {}", shown(unread[i])));
    warning.note("neither the model nor an estimator knows it, and no expression names it: it changes no figure");
    warning.hint("use an attribute that is read, or leave it out; `orrery explain O0330` lists common ones");
  }
}

}  // namespace orrery::formats::timeloop
