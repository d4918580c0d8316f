#include "orrery/formats/timeloop/components/component_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using Names = std::initializer_list<std::string_view>;

std::vector<Multiplier> factors_of(const yaml::Node& node, Names scales, Names shares) {
  std::vector<Multiplier> factors;
  for (const yaml::Node::Entry& entry : node.entries) {
    const std::string key = plain_key(entry.key);
    const bool share = base::contains(shares, key);
    if ((share || base::contains(scales, key)) && !entry.value.is_null())
      factors.push_back({key, &entry.value, entry.value.where, share});
  }
  return factors;
}

bool same(const yaml::Node& a, const yaml::Node& b) {
  return a.kind == b.kind && a.scalar == b.scalar && a.items.size() == b.items.size() &&
         a.entries.size() == b.entries.size() && std::equal(a.items.begin(), a.items.end(), b.items.begin(), same) &&
         std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(),
                    [](const auto& x, const auto& y) { return x.key == y.key && same(x.value, y.value); });
}

void malformed(std::string message, const base::Location& where, std::string hint, base::Diagnostics& found) {
  found.error("O1210", std::move(message), where).hint(std::move(hint));
}

// One class. Every reader below goes on after a fault, so that all of them are said at once.
class ClassReader {
 public:
  explicit ClassReader(base::Diagnostics& found) : found_(found) {}

  ComponentClass read(const std::string& name, const yaml::Node& node, const base::Location& where) {
    static const std::vector<std::string> kKeys = {"name", "attributes", "subcomponents", "actions"};
    unknown(node, kKeys, fmt::format("class `{}`", name));
    ComponentClass result;
    result.name = name;
    result.where = where;
    result.attributes = map_of(node, "attributes");
    for (const yaml::Node* item : list_of(node, "subcomponents")) {
      if (auto part = subcomponent(*item)) result.subcomponents.push_back(std::move(*part));
    }
    for (const yaml::Node* item : list_of(node, "actions")) {
      if (auto action = class_action(*item)) result.actions.push_back(std::move(*action));
    }
    check_twice(result);
    return result;
  }

 private:
  void unknown(const yaml::Node& node, std::span<const std::string> known, std::string_view what) {
    warn_unknown_keys(node, known, "O1216", what, found_);
  }

  const yaml::Node* map_of(const yaml::Node& node, std::string_view key) {
    const yaml::Node* value = node.find(key);
    if (value == nullptr || value->is_null()) return nullptr;
    if (value->is_map()) return value;
    malformed(fmt::format("`{}` must be a map of names to values", key), value->where,
              fmt::format("write `{}: {{name: value}}`", key), found_);
    return nullptr;
  }

  std::vector<const yaml::Node*> list_of(const yaml::Node& node, std::string_view key) {
    std::vector<const yaml::Node*> items;
    const yaml::Node* value = node.find(key);
    if (value == nullptr || value->is_null()) return items;
    if (!value->is_sequence()) {
      malformed(fmt::format("`{}` must be a list", key), value->where,
                fmt::format("write `{}:` and `- name: ...`", key), found_);
      return items;
    }
    for (const yaml::Node& item : value->items) {
      if (item.is_map())
        items.push_back(&item);
      else
        malformed(fmt::format("an item of `{}` must be a map", key), item.where, "write `- name: ...`", found_);
    }
    return items;
  }

  const yaml::Node* text_of(const yaml::Node& node, std::string_view key, std::string_view what) {
    const yaml::Node* value = node.find(key);
    if (value != nullptr && value->is_scalar() && !value->scalar.empty()) return value;
    malformed(fmt::format("{} has no `{}`", what, key), value == nullptr ? node.where : value->where,
              fmt::format("add `{}: ...`", key), found_);
    return nullptr;
  }

  std::optional<RangedName> ranged(const yaml::Node& node, std::string_view what) {
    const yaml::Node* name = text_of(node, "name", what);
    if (name == nullptr) return std::nullopt;
    RangedName result;
    result.where = name->where;
    const std::string& text = name->scalar;
    const std::size_t open = text.find('[');
    result.base = text.substr(0, open);
    if (open == std::string::npos) return result;
    const auto end = [&](std::string part) {
      yaml::Node scalar;
      scalar.kind = yaml::Node::Kind::kScalar;
      scalar.scalar = std::move(part);
      scalar.where = name->where;
      return scalar;
    };
    const std::string inner = text.back() == ']' ? text.substr(open + 1, text.size() - open - 2) : std::string();
    const std::size_t dots = inner.find("..");
    const std::string first = inner.substr(0, dots);
    const std::string last = dots == std::string::npos ? first : inner.substr(dots + 2);
    if (result.base.empty() || first.empty() || last.empty()) {
      found_.error("O1217", fmt::format("`{}` is not a name with a range", text), name->where)
          .hint("write `cell[0..7]`, or `cell[0..n-1]` with an attribute `n`");
      return std::nullopt;
    }
    result.first = end(first);
    result.last = end(last);
    return result;
  }

  std::optional<Subcomponent> subcomponent(const yaml::Node& node) {
    static const std::vector<std::string> kKeys = {"name",       "class",        "attributes",  "area_scale",
                                                   "area_share", "energy_scale", "energy_share"};
    unknown(node, kKeys, "a subcomponent");
    auto name = ranged(node, "a subcomponent");
    const yaml::Node* class_name = text_of(node, "class", "a subcomponent");
    if (!name || class_name == nullptr) return std::nullopt;
    Subcomponent result;
    result.name = std::move(*name);
    result.class_name = class_name->scalar;
    result.attributes = map_of(node, "attributes");
    result.energy = energy_factors(node);
    result.area = area_factors(node);
    return result;
  }

  std::optional<ClassAction> class_action(const yaml::Node& node) {
    static const std::vector<std::string> kKeys = {"name", "arguments", "subcomponents"};
    unknown(node, kKeys, "an action of a class");
    const yaml::Node* name = text_of(node, "name", "an action of a class");
    if (name == nullptr) return std::nullopt;
    ClassAction result;
    result.name = name->scalar;
    result.where = name->where;
    result.arguments = map_of(node, "arguments");
    for (const yaml::Node* item : list_of(node, "subcomponents")) {
      static const std::vector<std::string> kUseKeys = {"name", "actions"};
      unknown(*item, kUseKeys, "a subcomponent of an action");
      auto used = ranged(*item, "a subcomponent of an action");
      if (!used) continue;
      SubcomponentUse use;
      use.name = std::move(*used);
      for (const yaml::Node* inner : list_of(*item, "actions")) {
        static const std::vector<std::string> kActionKeys = {"name",   "arguments",    "energy_scale",
                                                             "repeat", "action_share", "energy_share"};
        unknown(*inner, kActionKeys, "an action of a subcomponent");
        const yaml::Node* action = text_of(*inner, "name", "an action of a subcomponent");
        if (action == nullptr) continue;
        use.actions.push_back({action->scalar, map_of(*inner, "arguments"),
                               factors_of(*inner, {"energy_scale", "repeat"}, {"action_share", "energy_share"}),
                               action->where});
      }
      result.uses.push_back(std::move(use));
    }
    return result;
  }

  void check_twice(const ComponentClass& read) {
    const auto twice = [&](std::string_view what, const std::string& name, const base::Location& again,
                           const base::Location& first) {
      found_.error("O1211", fmt::format("class `{}` has two {} named `{}`", read.name, what, name), again)
          .also(first, "the first")
          .hint("remove one of them");
    };
    for (auto one = read.subcomponents.begin(); one != read.subcomponents.end(); ++one) {
      const Subcomponent* first = read.subcomponent(one->name.base);
      if (first != &*one) twice("subcomponents", one->name.base, one->name.where, first->name.where);
    }
    for (auto one = read.actions.begin(); one != read.actions.end(); ++one) {
      const ClassAction* first = read.action(one->name);
      if (first != &*one) twice("actions", one->name, one->where, first->where);
    }
  }

  base::Diagnostics& found_;
};

}  // namespace

std::vector<Multiplier> energy_factors(const yaml::Node& node) {
  return factors_of(node, {"energy_scale"}, {"energy_share"});
}

std::vector<Multiplier> area_factors(const yaml::Node& node) {
  return factors_of(node, {"area_scale"}, {"area_share"});
}

const Subcomponent* ComponentClass::subcomponent(std::string_view base) const {
  const auto part = std::find_if(subcomponents.begin(), subcomponents.end(),
                                 [&](const Subcomponent& other) { return other.name.base == base; });
  return part == subcomponents.end() ? nullptr : &*part;
}

const ClassAction* ComponentClass::action(std::string_view wanted) const {
  const auto one =
      std::find_if(actions.begin(), actions.end(), [&](const ClassAction& other) { return other.name == wanted; });
  return one == actions.end() ? nullptr : &*one;
}

ComponentClasses::ComponentClasses(std::span<const yaml::Node* const> documents, base::Diagnostics& found) {
  for (const yaml::Node* document : documents) {
    if (document == nullptr || document->is_null()) continue;
    const yaml::Node* list = document->is_map() ? document->find("classes") : document;
    if (list != nullptr && list->is_null()) continue;
    if (list == nullptr || !list->is_sequence()) {
      malformed("component classes stand in a list `classes`", list == nullptr ? document->where : list->where,
                "write `compound_components: {version: 0.4, classes: [...]}`", found);
      continue;
    }
    const auto of_another_document = [&](const base::Location& where) {
      return std::none_of(list->items.begin(), list->items.end(), [&](const yaml::Node& node) {
        const yaml::Node* other = node.find("name");
        return other != nullptr && other->where.file == where.file && other->where.line == where.line &&
               other->where.column == where.column;
      });
    };
    for (const yaml::Node& node : list->items) {
      const yaml::Node* name = node.find("name");
      if (name == nullptr || !name->is_scalar() || name->scalar.empty()) {
        malformed("a component class has no name", node.where, "add `name: ...`", found);
        continue;
      }
      const auto [first, added] = classes_.try_emplace(name->scalar, Entry{&node, name->where, {}, std::nullopt});
      if (added || same(*first->second.node, node)) continue;
      if (of_another_document(first->second.where)) {
        // Version 0.4's own key before the one that it replaced, as its front end takes them.
        auto& note = found.warning(
            "O1211",
            fmt::format("component class `{}` is described twice: the one under `components` counts", name->scalar),
            first->second.where);
        note.also(name->where, "this one").hint("remove the other");
        first->second = Entry{&node, name->where, {}, std::nullopt};
      } else {
        first->second.again.push_back(name->where);
      }
    }
  }
}

const ComponentClass* ComponentClasses::find(std::string_view name, base::Diagnostics& found) {
  const auto entry = classes_.find(name);
  if (entry == classes_.end()) return nullptr;
  if (!entry->second.read) {
    for (const base::Location& again : entry->second.again) {
      found.error("O1211", fmt::format("component class `{}` is described twice", name), again)
          .also(entry->second.where, "the other")
          .hint("give only the one that is meant");
    }
    entry->second.read = ClassReader(found).read(entry->first, *entry->second.node, entry->second.where);
  }
  return &*entry->second.read;
}

}  // namespace orrery::formats::timeloop
