#include "orrery/formats/accelforge/keep_choices.h"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <utility>

namespace orrery::formats::accelforge {
namespace {

using fused::Keep;

constexpr std::size_t kMostChoices = 100'000;

bool names_it(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const auto in_name = [&](std::size_t i) {
      return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
    };
    if (!(at > 0 && in_name(at - 1)) && !in_name(at + name.size())) return true;
  }
  return false;
}

class Chooser {
 public:
  Chooser(const std::vector<const ComponentSpec*>& memories, const std::vector<bool>& enabled, Symbols symbols,
          base::Diagnostics& found)
      : memories_(memories), enabled_(enabled), symbols_(std::move(symbols)) {
    for (const ComponentSpec* memory : memories) check(*memory, found);
    rows_.resize(memories.size());
    symbols_.names["Above"] = SetValue::tensors(0);
  }

  KeepChoices choose() {
    go(0);
    KeepChoices made;
    const std::size_t tensors = symbols_.tensors.size();
    made.keep.assign(memories_.size(), std::vector<Keep>(tensors, Keep::kNever));
    for (std::size_t t = 0; t < tensors; ++t) {
      const bool held = !of(t, true).empty();
      const auto apart = of(t, false);
      made.outermost.push_back(held);
      made.inside.push_back(!apart.empty());
      for (std::size_t m = 1; m < memories_.size(); ++m) made.keep[m][t] = joined(m, t, held ? of(t, true) : apart);
      made.keep[0][t] = !held ? Keep::kNever : apart.empty() ? Keep::kMust : Keep::kMay;
      if (held && !apart.empty()) check_inside(made, t, apart);
    }
    return made;
  }

 private:
  struct Row {
    Bits must = 0, may = 0;
    bool chosen = false;  // what is kept is exactly `must`
  };
  using Rows = std::vector<Row>;

  static void check(const ComponentSpec& memory, base::Diagnostics& found) {
    const yaml::Node* tensors = memory.node->find("tensors");
    if (tensors == nullptr) return;
    warn_unknown(*tensors,
                 {"keep", "may_keep", "back", "tile_shape", "no_refetch_from_above", "no_resend_to_below",
                  "tensor_order_options", "force_memory_hierarchy_order"},
                 "`tensors`", found);
    for (const char* key : {"tile_shape", "tensor_order_options"})
      if (const yaml::Node* value = tensors->find(key))
        if (!value->items.empty() || value->is_scalar()) unsupported(key, value->where);
    for (const char* key : {"no_refetch_from_above", "no_resend_to_below"})
      if (const yaml::Node* value = tensors->find(key))
        if (value->scalar != "~All" && value->scalar != "Nothing") unsupported(key, value->where);
    if (const yaml::Node* order = tensors->find("force_memory_hierarchy_order"))
      if (order->scalar != "True" && order->scalar != "true") unsupported("force_memory_hierarchy_order", order->where);
  }
  [[noreturn]] static void unsupported(std::string_view key, const base::Location& where) {
    base::fail("O2104", fmt::format("`{}` is not supported", key), where, "leave it out, or map with AccelForge");
  }

  // Whether what a memory holds matters to one inside of it.
  bool is_named_inside(std::size_t m) const {
    for (std::size_t i = m + 1; i < memories_.size(); ++i) {
      const yaml::Node* tensors = memories_[i]->node->find("tensors");
      if (tensors == nullptr) continue;
      for (const yaml::Node::Entry& entry : tensors->entries)
        if (names_it(entry.value.scalar, memories_[m]->name) || names_it(entry.value.scalar, "Above")) return true;
    }
    return false;
  }

  Row row_of(std::size_t m) const {
    Row row;
    if (!enabled_[m]) return row;
    const yaml::Node* tensors = memories_[m]->node->find("tensors");
    const auto set = [&](const char* key, Bits otherwise) {
      const yaml::Node* value = tensors == nullptr ? nullptr : tensors->find(key);
      if (value == nullptr || value->is_null()) return otherwise;
      return tensors_of(*value, symbols_, fmt::format("`{}` of `{}`", key, memories_[m]->name));
    };
    const bool keeps = tensors != nullptr && tensors->find("keep") != nullptr;
    row.must = set("keep", 0) | set("back", 0);
    row.may = set("may_keep", keeps ? 0 : symbols_.all_tensors()) & ~row.must;
    return row;
  }

  void go(std::size_t m) {
    if (m == memories_.size()) {
      if (leaves_.size() >= kMostChoices)
        base::fail("O2108", "what memories keep depends on each other in more than 100000 ways",
                   memories_[0]->node->where);
      leaves_.push_back(rows_);
      return;
    }
    const Row row = row_of(m);
    const std::string& name = memories_[m]->name;
    const Bits above = symbols_.names["Above"].set;
    const bool matters = m == 0 || is_named_inside(m);
    // All subsets of what it may hold, from none on.
    for (Bits some = 0;;) {
      rows_[m] = matters ? Row{row.must | some, 0, true} : row;
      symbols_.names[name] = SetValue::tensors(row.must | some);
      symbols_.names["Above"] = SetValue::tensors(above | row.must | some);
      go(m + 1);
      some = (some - row.may) & row.may;
      if (!matters || some == 0) break;
    }
    symbols_.names["Above"] = SetValue::tensors(above);
  }

  // The choices in which the outermost memory holds a tensor, or does not.
  std::vector<const Rows*> of(std::size_t tensor, bool held) const {
    std::vector<const Rows*> made;
    for (const Rows& leaf : leaves_)
      if (((leaf[0].must >> tensor & 1) != 0) == held) made.push_back(&leaf);
    return made;
  }

  Keep joined(std::size_t m, std::size_t t, const std::vector<const Rows*>& leaves) const {
    bool must = false, may = false, never = false, chosen = true;
    for (const Rows* leaf : leaves) {
      const Row& row = (*leaf)[m];
      chosen = chosen && row.chosen;
      if ((row.must >> t & 1) != 0)
        must = true;
      else if ((row.may >> t & 1) != 0)
        may = true;
      else
        never = true;
    }
    if (must + may + never > 1 && !(chosen && !may))
      base::fail("O2108",
                 fmt::format("whether `{}` keeps `{}` depends on more than whether `{}` does", memories_[m]->name,
                             symbols_.tensors[t], memories_[0]->name),
                 memories_[m]->node->find("tensors")->where, "say `keep` and `may_keep` of it without other memories");
    return must + never > 1 || may ? Keep::kMay : must ? Keep::kMust : Keep::kNever;
  }

  // A tensor that the outermost memory does not hold may be where it may be otherwise, too.
  void check_inside(const KeepChoices& made, std::size_t t, const std::vector<const Rows*>& apart) const {
    for (std::size_t m = 1; m < memories_.size(); ++m) {
      const Keep there = joined(m, t, apart);
      const bool fits = there == made.keep[m][t] || (there == Keep::kMust && made.keep[m][t] == Keep::kMay);
      if (!fits)
        base::fail("O2108",
                   fmt::format("`{}` may keep `{}` only where `{}` does, or only where it does not: not supported",
                               memories_[m]->name, symbols_.tensors[t], memories_[0]->name),
                   memories_[m]->node->find("tensors")->where);
    }
  }

  const std::vector<const ComponentSpec*>& memories_;
  const std::vector<bool>& enabled_;
  Symbols symbols_;
  Rows rows_;
  std::vector<Rows> leaves_;
};

}  // namespace

KeepChoices keep_choices(const std::vector<const ComponentSpec*>& memories, const std::vector<bool>& enabled,
                         const Symbols& symbols, base::Diagnostics& found) {
  return Chooser(memories, enabled, symbols, found).choose();
}

}  // namespace orrery::formats::accelforge
