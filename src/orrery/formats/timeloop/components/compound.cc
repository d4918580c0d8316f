// Compound components to sums over primitives.
//
// Idea: a class with the attributes of one component is a tree: its subcomponents are of other classes, down to
// classes that nobody described, the primitives. The tree is built once for a component; each action is then a walk
// down it that multiplies what it passes:
//
//   weight of a primitive's action = product over the way down of
//                                    count(range used in the action) * subcomponent energy_scale * action energy_scale
//   area weight of a primitive     = product over the way down of count(whole range) * area_scale
//
// An action whose argument is a range `x: a..b` has an entry for each value. Attributes that every class expects
// (technology, cycle time, ...) pass from a component to its subcomponents, and the cycle time to the arguments of
// primitives, without being named. Source: the behaviour of Accelergy 0.4, docs/model/energy.md.
//
// Cost: linear in the leaves of the tree and, for each entry, in the leaves its action reaches; both are bounded
// (kMaxParts, kMaxCalls), since classes that use each other multiply.
#include "orrery/formats/timeloop/components/compound.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "orrery/formats/timeloop/expressions/key_check.h"
#include "orrery/formats/timeloop/expressions/python_arithmetic.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using energy::Attributes;

constexpr std::size_t kMaxParts = 20'000;
constexpr std::size_t kMaxCalls = 200'000;
constexpr std::size_t kMaxEntries = 16'384;
constexpr std::size_t kMaxNesting = 32;

constexpr std::array<std::string_view, 5> kInherited = {"technology", "global_cycle_seconds", "cycle_seconds",
                                                        "action_latency_cycles", "n_instances"};
constexpr std::array<std::string_view, 2> kPassedToActions = {"global_cycle_seconds", "action_latency_cycles"};

// Stops the component under way; what is wrong has been said.
struct TooLarge {};

struct Part;

// One component or subcomponent with its attributes settled.
struct Instance {
  const ComponentClass* type = nullptr;  // null: a primitive
  std::string path;
  Attributes attributes;
  Scope scope;
  std::size_t primitive = 0;
  bool absent = false;  // a primitive of no bits
  std::vector<Part> parts;
};

struct Part {
  const Subcomponent* from = nullptr;
  Count first = 0;
  Count count = 1;
  double energy_scale = 1;
  std::unique_ptr<Instance> inside;
};

struct Range {
  Count first = 0;
  Count count = 1;
};

// Where `first` > `last` there is nothing: `cell[1..0]` counts 0, and less than that is a mistake.
std::optional<Range> range_between(const yaml::Node& first_node, const yaml::Node& last_node, std::string_view text,
                                   const Scope& scope, base::Diagnostics& found) {
  const auto first = as_count(first_node, scope, "the first of a range", found);
  const auto last = as_count(last_node, scope, "the last of a range", found);
  if (!first || !last) return std::nullopt;
  Range range{*first, 0};
  if (__builtin_sub_overflow(*last, *first, &range.count) || __builtin_add_overflow(range.count, 1, &range.count) ||
      range.count < 0) {
    found.error("O1217", fmt::format("the range of `{}` ends before it begins", text), first_node.where)
        .note(fmt::format("it runs from {} to {}", *first, *last));
    return std::nullopt;
  }
  return range;
}

std::optional<Range> range_of(const RangedName& name, const Scope& scope, base::Diagnostics& found) {
  if (!name.first) return Range{};
  return range_between(*name.first, *name.last, name.base, scope, found);
}

class TakenApart {
 public:
  TakenApart(ComponentClasses& classes, const energy::EstimateOptions& options, energy::Component& component,
             base::Diagnostics& found)
      : classes_(classes), options_(options), component_(component), found_(found) {}

  bool run(const ComponentDemands& demands) {
    energy_scale_ = demands.energy_scale;
    cycle_is_argument_ = demands.cycle_is_argument;
    Attributes given = std::move(component_.attributes);
    const auto top = build(demands.class_name, std::move(given), component_.name, demands.area_scale, component_.where);
    if (top == nullptr) return true;
    component_.attributes = top->attributes;
    if (top->type == nullptr) {
      for (const std::string& name : demands.required_actions) {
        energy::Action action;
        action.name = name;
        action.arguments = passed(*top, {});
        action.terms.push_back({top->primitive, name, action.arguments, energy_scale_});
        component_.actions.push_back(std::move(action));
      }
      return false;
    }
    for (const ClassAction& action : top->type->actions) entries(*top, action);
    for (const std::string& name : demands.required_actions) {
      if (top->type->action(name) == nullptr) no_action(*top, name, component_.where, "the component needs it");
    }
    return true;
  }

 private:
  // Null after an error.
  std::unique_ptr<Instance> build(const std::string& class_name, Attributes given, std::string path, double area_weight,
                                  const base::Location& where) {
    if (++parts_ > kMaxParts) {
      found_.error("O1218", fmt::format("`{}` has more than {} parts", component_.name, kMaxParts), component_.where)
          .hint("a range (`cell[0..7]`) stands for many equal parts at the cost of one");
      throw TooLarge{};
    }
    const ComponentClass* type = classes_.find(class_name, found_);
    auto instance = std::make_unique<Instance>();
    instance->type = type;
    instance->path = std::move(path);
    if (!settle(*instance, std::move(given), class_name, where)) return nullptr;
    if (type == nullptr && !chain_.empty() && says_absent(*instance, where)) return instance;
    if (type == nullptr) {
      instance->primitive = component_.primitives.size();
      component_.primitives.push_back({instance->path, class_name, instance->attributes, area_weight, where});
      return instance;
    }
    if (!enter(*type, where)) return nullptr;
    bool whole = true;
    for (const Subcomponent& from : type->subcomponents) {
      auto part = build_part(*instance, from, area_weight);
      whole = whole && part.has_value();
      if (part) instance->parts.push_back(std::move(*part));
    }
    chain_.pop_back();
    return whole ? std::move(instance) : nullptr;
  }

  // Descriptions leave a part of a class out by giving it no bits or no words: `metadata_storage_width: 0`. Accelergy
  // charges those of its stand-ins.
  bool says_absent(Instance& instance, const base::Location& where) {
    if (options_.defects.charge_fan_outs) return false;
    for (const char* key : {"width", "datawidth", "depth"}) {
      const energy::Value* value = energy::find(instance.attributes, key);
      if (value == nullptr || energy::number(*value) != 0.0) continue;
      auto& note =
          found_.warning("O2031", fmt::format("`{}` has `{}` 0, so it is not there", instance.path, key), where);
      note.severity = base::Severity::kNote;
      instance.absent = true;
      return true;
    }
    return false;
  }

  bool enter(const ComponentClass& type, const base::Location& where) {
    const auto again = std::find(chain_.begin(), chain_.end(), &type);
    if (again == chain_.end() && chain_.size() < kMaxNesting) {
      chain_.push_back(&type);
      return true;
    }
    if (again == chain_.end()) {
      found_.error("O1218", fmt::format("classes nest more than {} deep in `{}`", kMaxNesting, component_.name), where);
      return false;
    }
    std::string way;
    for (auto one = again; one != chain_.end(); ++one) way += (*one)->name + " -> ";
    found_.error("O1213", fmt::format("component class `{}` contains itself", type.name), where)
        .also(type.where, "the class")
        .note(way + type.name);
    return false;
  }

  std::optional<Part> build_part(const Instance& around, const Subcomponent& from, double area_weight) {
    Attributes given;
    bool whole = true;
    if (from.attributes != nullptr) whole = evaluate_in_turn(*from.attributes, around.scope, given);
    for (std::string_view key : kInherited) {
      const energy::Value* value = energy::find(around.attributes, key);
      if (value != nullptr) given.try_emplace(std::string(key), *value);
    }
    const auto range = range_of(from.name, around.scope, found_);
    if (!range || !whole) return std::nullopt;
    const std::string path = around.path + "." + from.name.base;
    Part part{&from, range->first, range->count, 1, nullptr};
    part.energy_scale = product(from.energy, around.scope, "the energy of `" + path + "`", options_, found_);
    const double area = product(from.area, around.scope, "the area of `" + path + "`", options_, found_);
    part.inside = build(from.class_name, std::move(given), path, area_weight * area * static_cast<double>(part.count),
                        from.name.where);
    if (part.inside == nullptr) return std::nullopt;
    return part;
  }

  // What is given, then what the class gives by default, then what every component has.
  bool settle(Instance& instance, Attributes given, const std::string& class_name, const base::Location& where) {
    instance.attributes = std::move(given);
    for (const auto& [name, value] : instance.attributes) instance.scope.define(name, value);
    std::vector<const yaml::Node::Entry*> defaults;
    if (instance.type != nullptr && instance.type->attributes != nullptr) {
      for (const yaml::Node::Entry& entry : instance.type->attributes->entries) {
        if (energy::find(instance.attributes, plain_key(entry.key)) != nullptr) continue;
        if (entry.value.is_scalar() && entry.value.scalar == "must_specify") {
          must_specify(instance, entry, class_name, where);
          return false;
        }
        defaults.push_back(&entry);
        instance.scope.define(plain_key(entry.key), &entry.value);
      }
    }
    const auto provide = [&](std::string_view name, const energy::Value& value) {
      if (instance.scope.knows(name)) return;
      instance.attributes.emplace(name, value);
      instance.scope.define(std::string(name), value);
    };
    provide("action_latency_cycles", Count{1});
    provide("n_instances", Count{1});
    if (const energy::Value* cycle = energy::find(instance.attributes, "global_cycle_seconds"))
      provide("cycle_seconds", energy::Value(*cycle));
    bool whole = true;
    for (const yaml::Node::Entry* entry : defaults)
      whole = evaluate_entry(*entry, instance.scope, instance.attributes) && whole;
    if (const energy::Value* cycle = energy::find(instance.attributes, "global_cycle_seconds"))
      provide("cycle_seconds", energy::Value(*cycle));
    return whole;
  }

  void must_specify(const Instance& instance, const yaml::Node::Entry& entry, const std::string& class_name,
                    const base::Location& where) {
    auto& diagnostic = found_.error(
        "O1212",
        fmt::format("`{}` has no `{}`, which its class `{}` must be given", instance.path, entry.key, class_name),
        where);
    diagnostic.also(entry.value.where, "must be specified");
    diagnostic.hint(
        fmt::format("add `{}: ...` to its attributes, to a container around it or to `variables`", entry.key));
  }

  bool evaluate_all(const yaml::Node& map, const Scope& scope, Attributes& into) {
    bool whole = true;
    for (const yaml::Node::Entry& entry : map.entries) whole = evaluate_entry(entry, scope, into) && whole;
    return whole;
  }

  // An attribute may name those before it that the component around does not have.
  bool evaluate_in_turn(const yaml::Node& map, const Scope& around, Attributes& into) {
    Scope scope(&around);
    bool whole = true;
    for (const yaml::Node::Entry& entry : map.entries) {
      const std::string key = plain_key(entry.key);
      if (!evaluate_entry(entry, scope, into))
        whole = false;
      else if (const energy::Value* value = energy::find(into, key); value != nullptr && !around.knows(key))
        scope.define(key, *value);
    }
    return whole;
  }

  bool evaluate_entry(const yaml::Node::Entry& entry, const Scope& scope, Attributes& into) {
    if (entry.value.is_map() || entry.value.is_sequence()) return true;  // no figure depends on it
    auto value = evaluate(entry.value, scope, found_);
    if (!value) return false;
    into.insert_or_assign(plain_key(entry.key), std::move(*value));
    return true;
  }

  // One entry for each combination of values of its arguments.
  void entries(const Instance& top, const ClassAction& action) {
    std::vector<Attributes> all{{}};
    if (action.arguments != nullptr) {
      for (const yaml::Node::Entry& entry : action.arguments->entries) {
        const auto values = values_of(entry.value, top.scope, action.name, all.size());
        if (!values) return;
        std::vector<Attributes> longer;
        for (const Attributes& before : all) {
          for (const Value& value : *values) {
            longer.push_back(before);
            longer.back().insert_or_assign(plain_key(entry.key), value);
          }
        }
        all = std::move(longer);
      }
    }
    for (const Attributes& arguments : all) {
      energy::Action priced;
      priced.name = action.name;
      priced.arguments = arguments;
      if (!walk(top, action, arguments, energy_scale_, priced.terms)) return;
      component_.actions.push_back(std::move(priced));
    }
  }

  // `1..n`, or one value. `times`: how many entries each value makes.
  std::optional<std::vector<Value>> values_of(const yaml::Node& node, const Scope& scope, std::string_view action,
                                              std::size_t times) {
    const std::size_t dots = node.is_scalar() ? node.scalar.find("..") : std::string::npos;
    if (dots == std::string::npos) {
      auto value = evaluate(node, scope, found_);
      if (!value) return std::nullopt;
      return std::vector<Value>{std::move(*value)};
    }
    yaml::Node first = node;
    yaml::Node last = node;
    first.scalar = node.scalar.substr(0, dots);
    last.scalar = node.scalar.substr(dots + 2);
    const auto range = range_between(first, last, node.scalar, scope, found_);
    if (!range) return std::nullopt;
    if (range->count == 0) {
      found_.error("O1217", fmt::format("the range `{}` is empty", node.scalar), node.where)
          .note(fmt::format("action `{}` would have no entry", action));
      return std::nullopt;
    }
    if (range->count > static_cast<Count>(kMaxEntries / times)) {
      found_
          .error(
              "O1218",
              fmt::format("action `{}` of `{}` would have more than {} entries", action, component_.name, kMaxEntries),
              node.where)
          .note(fmt::format("the range `{}` has {} values", node.scalar, range->count));
      return std::nullopt;
    }
    std::vector<Value> values;
    for (Count i = 0; i < range->count; ++i) values.emplace_back(range->first + i);
    return values;
  }

  // Adds the terms of an action. False after an error.
  bool walk(const Instance& instance, const ClassAction& action, const Attributes& arguments, double weight,
            std::vector<energy::Term>& terms) {
    Scope scope(&instance.scope);
    for (const auto& [name, value] : arguments) scope.define(name, value);
    bool whole = true;
    for (const SubcomponentUse& use : action.uses) {
      const auto part = std::find_if(instance.parts.begin(), instance.parts.end(),
                                     [&](const Part& other) { return other.from->name.base == use.name.base; });
      if (part == instance.parts.end()) {
        no_subcomponent(*instance.type, action, use.name);
        whole = false;
        continue;
      }
      const auto range = range_of(use.name, scope, found_);
      if (!range) return false;
      check_within(*part, use.name, *range, instance);
      for (const SubcomponentAction& called : use.actions) {
        const double factor = product(called.energy, scope,
                                      fmt::format("the energy of `{}` in action `{}` of class `{}`", called.name,
                                                  action.name, instance.type->name),
                                      options_, found_);
        whole = call(*part->inside, called, scope,
                     weight * static_cast<double>(range->count) * part->energy_scale * factor, terms) &&
                whole;
      }
    }
    return whole;
  }

  bool call(const Instance& inside, const SubcomponentAction& called, const Scope& scope, double weight,
            std::vector<energy::Term>& terms) {
    if (++calls_ > kMaxCalls) {
      found_.error("O1218", fmt::format("the actions of `{}` call more than {} others", component_.name, kMaxCalls),
                   component_.where);
      throw TooLarge{};
    }
    Attributes arguments;
    if (called.arguments != nullptr && !evaluate_all(*called.arguments, scope, arguments)) return false;
    if (inside.absent) return true;
    if (inside.type == nullptr) {
      terms.push_back({inside.primitive, called.name, passed(inside, std::move(arguments)), weight});
      return true;
    }
    const ClassAction* action = inside.type->action(called.name);
    if (action == nullptr) {
      no_action(inside, called.name, called.where, "");
      return false;
    }
    return bind(inside, *action, called, arguments) && walk(inside, *action, arguments, weight, terms);
  }

  // Arguments that the class declares and the caller leaves out.
  bool bind(const Instance& inside, const ClassAction& action, const SubcomponentAction& called,
            Attributes& arguments) {
    if (action.arguments == nullptr) return true;
    for (const yaml::Node::Entry& entry : action.arguments->entries) {
      if (arguments.count(plain_key(entry.key)) > 0) continue;
      const auto values = values_of(entry.value, inside.scope, action.name, 1);
      if (!values) return false;
      if (values->size() == 1) {
        arguments.emplace(plain_key(entry.key), values->front());
        continue;
      }
      found_
          .error("O1219", fmt::format("`{}` of `{}` needs its argument `{}`", action.name, inside.path, entry.key),
                 called.where)
          .also(entry.value.where, fmt::format("it may have {} values", values->size()))
          .hint(fmt::format("write `arguments: {{{}: ...}}`", entry.key));
      return false;
    }
    return true;
  }

  Attributes passed(const Instance& primitive, Attributes arguments) const {
    if (!cycle_is_argument_) return arguments;
    for (std::string_view key : kPassedToActions) {
      const energy::Value* value = energy::find(primitive.attributes, key);
      if (value != nullptr) arguments.try_emplace(std::string(key), *value);
    }
    return arguments;
  }

  void check_within(const Part& part, const RangedName& used, const Range& range, const Instance& instance) {
    if (!used.first) {
      if (part.count == 1) return;
      found_
          .warning("O1221",
                   fmt::format("`{}` names no range and counts once, but there are {} of `{}.{}`", used.base,
                               part.count, instance.path, used.base),
                   used.where)
          .also(part.from->name.where, "the subcomponent");
      return;
    }
    const Count end = range.first + range.count;
    if (range.count == 0 || (range.first >= part.first && end <= part.first + part.count)) return;
    found_
        .warning("O1221",
                 fmt::format("the action uses {} of `{}.{}`, from {} to {}, but there are {}, from {} to {}",
                             range.count, instance.path, used.base, range.first, end - 1, part.count, part.first,
                             part.first + part.count - 1),
                 used.where)
        .also(part.from->name.where, "the subcomponent");
  }

  void no_subcomponent(const ComponentClass& type, const ClassAction& action, const RangedName& name) {
    std::vector<std::string> names;
    for (const Subcomponent& part : type.subcomponents) names.push_back(part.name.base);
    auto& diagnostic =
        found_.error("O1214",
                     fmt::format("action `{}` of class `{}` uses `{}`, which is not a subcomponent of it", action.name,
                                 type.name, name.base),
                     name.where);
    suggest(diagnostic, name.base, names, "subcomponents");
  }

  void no_action(const Instance& instance, const std::string& name, const base::Location& where, std::string_view why) {
    std::vector<std::string> names;
    for (const ClassAction& action : instance.type->actions) names.push_back(action.name);
    auto& diagnostic = found_.error(
        "O1215", fmt::format("class `{}` of `{}` has no action `{}`", instance.type->name, instance.path, name), where);
    diagnostic.also(instance.type->where, "the class");
    if (!why.empty()) diagnostic.note(std::string(why));
    suggest(diagnostic, name, names, "its actions");
  }

  ComponentClasses& classes_;
  const energy::EstimateOptions& options_;
  energy::Component& component_;
  base::Diagnostics& found_;
  double energy_scale_ = 1;
  bool cycle_is_argument_ = true;
  std::size_t parts_ = 0;
  std::size_t calls_ = 0;
  std::vector<const ComponentClass*> chain_;
};

}  // namespace

double product(std::span<const Multiplier> factors, const Scope& scope, std::string_view what,
               const energy::EstimateOptions& options, base::Diagnostics& found) {
  double all = 1;
  for (const Multiplier& factor : factors) {
    const bool ignored = factor.share && options.defects.drop_shares;
    base::Diagnostics own;
    const auto value = as_number(*factor.value, scope, factor.key, own);
    if (!ignored) found.append(own);
    if (!value && !ignored) continue;
    if (value && !(*value >= 0 && std::isfinite(*value))) {
      if (!ignored)
        found.error("O1222", fmt::format("`{}` must be a number from 0, but is {}", factor.key, *value), factor.where);
      continue;
    }
    if (ignored) {
      found
          .warning("O1220",
                   value ? fmt::format("`{}` is ignored; counted, it would multiply {} by {}", factor.key, what, *value)
                         : fmt::format("`{}` is ignored; it was to multiply {}", factor.key, what),
                   factor.where)
          .note("Accelergy 0.4 drops this key of older descriptions, and so does its compatibility mode");
      continue;
    }
    if (factor.share) {
      found.warning("O1220", fmt::format("`{}` multiplies {} by {}", factor.key, what, *value), factor.where)
          .note("Accelergy 0.4 silently drops this key of older descriptions; its figure is smaller by this factor")
          .hint(
              "write `energy_scale` instead (`area_scale` for areas), which both count; `--compat accelergy-0.4` drops "
              "it");
    }
    all *= *value;
  }
  return all;
}

bool take_apart(const ComponentDemands& demands, ComponentClasses& classes, const energy::EstimateOptions& options,
                energy::Component& component, base::Diagnostics& found) {
  try {
    return TakenApart(classes, options, component, found).run(demands);
  } catch (const TooLarge&) {
    return true;
  }
}

}  // namespace orrery::formats::timeloop
