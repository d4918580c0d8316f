#include "orrery/formats/accelforge/architecture_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "orrery/base/text/text.h"

namespace orrery::formats::accelforge {
namespace {

constexpr std::string_view kOfAll[] = {"name",
                                       "spatial",
                                       "component_class",
                                       "actions",
                                       "enabled",
                                       "area",
                                       "total_area",
                                       "area_scale",
                                       "leak_power",
                                       "leak_power_scale",
                                       "total_leak_power",
                                       "energy_scale",
                                       "actions_scale",
                                       "total_latency",
                                       "latency_scale",
                                       "throughput_scale",
                                       "n_parallel_instances",
                                       "extra_attributes_for_component_model"};
constexpr std::string_view kOfMemories[] = {
    "size", "tensors", "bits_per_value", "bits_per_action", "values_per_action", "skip_initial_output_write"};

// Names that a document gives values to, in any order.
void add_variables(const yaml::Node& node, std::map<std::string, SetValue, std::less<>>& into) {
  Symbols symbols;
  symbols.names = into;
  std::vector<const yaml::Node::Entry*> open;
  for (const yaml::Node::Entry& entry : node.entries) open.push_back(&entry);
  for (bool moved = true; moved && !open.empty();) {
    moved = false;
    std::vector<const yaml::Node::Entry*> later;
    for (const yaml::Node::Entry* entry : open) {
      try {
        symbols.names[entry->key] = evaluate(entry->value.scalar, symbols);
        moved = true;
      } catch (const SetExpressionError&) {
        later.push_back(entry);
      }
    }
    open = std::move(later);
  }
  // What is left has a mistake, or goes in a circle.
  for (const yaml::Node::Entry* entry : open) evaluate(entry->value, symbols, fmt::format("`{}`", entry->key));
  into = std::move(symbols.names);
}

class NodeLine {
 public:
  NodeLine(ArchitectureSpec& made, base::Diagnostics& found) : made_(made), found_(found) {}

  void add_all(const yaml::Node& holder, bool forked = false) {
    const yaml::Node* nodes = holder.find("nodes");
    if (nodes == nullptr || !nodes->is_sequence())
      base::fail("O2100", "an architecture has a list of `nodes`", holder.where);
    for (const yaml::Node& node : nodes->items) add(node, forked);
  }

 private:
  void add(const yaml::Node& node, bool forked) {
    if (node.tag == "!Hierarchical" && !forked) return add_all(node);
    if (node.tag == "!Fork") return add_all(node, true);
    ComponentSpec one;
    one.node = &node;
    if (node.tag == "!Memory")
      one.kind = ComponentSpec::Kind::kMemory;
    else if (node.tag == "!Compute")
      one.kind = ComponentSpec::Kind::kCompute;
    else if (node.tag != "!Container")
      base::fail("O2104", fmt::format("nodes `{}` are not supported", node.tag.empty() ? "without a tag" : node.tag),
                 node.where, "nodes are !Memory, !Container, !Compute, !Hierarchical and !Fork");
    if (forked && one.kind != ComponentSpec::Kind::kCompute)
      base::fail("O2104", fmt::format("`{}` within !Fork is not supported", node.tag), node.where,
                 "a fork may hold !Compute nodes alone");
    const yaml::Node* name = node.find("name");
    if (name == nullptr || name->scalar.empty())
      base::fail("O2103", fmt::format("a node `{}` needs a `name`", node.tag), node.where);
    one.name = name->scalar;
    for (const ComponentSpec& other : made_.components)
      if (other.name == one.name) base::fail("O2103", fmt::format("two nodes are called `{}`", one.name), name->where);
    std::vector<std::string_view> known(std::begin(kOfAll), std::end(kOfAll));
    if (one.kind == ComponentSpec::Kind::kContainer) known = {"name", "spatial"};
    if (one.kind == ComponentSpec::Kind::kMemory)
      known.insert(known.end(), std::begin(kOfMemories), std::end(kOfMemories));
    if (one.kind == ComponentSpec::Kind::kCompute) known.emplace_back("skip_initial_output_write");
    warn_unknown(node, known, fmt::format("a node `{}`", node.tag), found_);
    if (const yaml::Node* spatial = node.find("spatial"))
      for (const yaml::Node& fanout : spatial->items) one.spatial.push_back(&fanout);
    refuse(node);
    made_.components.push_back(std::move(one));
  }

  static void refuse(const yaml::Node& node) {
    if (const yaml::Node* skip = node.find("skip_initial_output_write");
        skip != nullptr && skip->scalar != "True" && skip->scalar != "true")
      base::fail("O2104", "reading outputs before they are first written is not supported", skip->where,
                 "leave `skip_initial_output_write` out");
    if (const yaml::Node* values = node.find("values_per_action"))
      if (!values->entries.empty())
        base::fail("O2104", "`values_per_action` is not supported", values->where, "give `bits_per_action`");
  }

  ArchitectureSpec& made_;
  base::Diagnostics& found_;
};

const yaml::Node* given(const yaml::Node& node, std::string_view key) {
  const yaml::Node* value = node.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

double value_or(const yaml::Node& node, std::string_view key, const Symbols& symbols, double otherwise) {
  const yaml::Node* value = given(node, key);
  return value == nullptr ? otherwise : number_of(*value, symbols, fmt::format("`{}`", key));
}

// One action of a component: what it costs, and of how many bits it is.
struct ActionSpec {
  std::string name;
  const yaml::Node* node = nullptr;
  double energy = 0;
  double throughput = 0;
  double bits = 1;
};

class Figures {
 public:
  Figures(const ComponentSpec& component, const ArchitectureSpec& architecture, const ComponentPrices& prices,
          const Symbols& symbols)
      : component_(component), node_(*component.node), architecture_(architecture), prices_(prices), symbols_(symbols) {
    symbols_.names.insert(architecture.variables.begin(), architecture.variables.end());
  }

  ComponentFigures read() {
    ComponentFigures made;
    if (const yaml::Node* enabled = given(node_, "enabled")) {
      const SetValue value = evaluate(*enabled, symbols_, what("enabled"));
      made.enabled = value.is(SetValue::Kind::kNumber) ? value.number != 0 : value.set != 0;
    }
    const bool memory = component_.kind == ComponentSpec::Kind::kMemory;
    if (memory) {
      const yaml::Node* size = given(node_, "size");
      if (size == nullptr)
        base::fail("O2103", fmt::format("memory `{}` needs a `size` in bits", component_.name), node_.where);
      made.size = at_least_zero(*size, what("size"));
      if (const yaml::Node* bits = given(node_, "bits_per_value")) made.bits = bits_there(*bits);
    }
    const std::vector<std::string> wanted =
        memory ? std::vector<std::string>{"read", "write"} : std::vector<std::string>{"compute"};
    for (const std::string& name : wanted) actions_.push_back(action(name, made.size));
    if (const yaml::Node* list = given(node_, "actions")) refuse_others(*list, wanted);
    const double count = value_or(node_, "actions_scale", symbols_, 1);
    const double energy = count * value_or(node_, "energy_scale", symbols_, 1);
    made.read_energy = energy * actions_[0].energy / actions_[0].bits;
    if (memory) made.write_energy = energy * actions_[1].energy / actions_[1].bits;
    add_times(made, count);
    made.leak_power = leak_power(made.size) * value_or(node_, "leak_power_scale", symbols_, 1) * parallel();
    return made;
  }

 private:
  std::string what(std::string_view key) const { return fmt::format("`{}` of `{}`", key, component_.name); }
  // Below 0 an optimum would have no bound.
  double at_least_zero(const yaml::Node& node, const std::string& name) const {
    const double value = number_of(node, symbols_, name);
    if (!(value >= 0)) base::fail("O2103", fmt::format("{} must be at least 0, but is {:g}", name, value), node.where);
    return value;
  }
  // An action that never ends has no latency, unless the component says its own.
  double above_zero_or_unused(const yaml::Node& node, const std::string& name) const {
    const double value = at_least_zero(node, name);
    if (value == 0 && given(node_, "total_latency") == nullptr)
      base::fail("O2103", name + " must be above 0, but is 0: such an action never ends", node.where);
    return value;
  }
  double finite(const yaml::Node& node, const std::string& name) const {
    const double value = at_least_zero(node, name);
    if (!std::isfinite(value)) base::fail("O2103", name + " must be finite", node.where);
    return value;
  }
  double parallel() const { return value_or(node_, "n_parallel_instances", symbols_, 1); }

  std::vector<double> bits_there(const yaml::Node& node) const {
    std::vector<double> bits = symbols_.bits_of;
    for (const yaml::Node::Entry& entry : node.entries) {
      yaml::Node key;
      key.kind = yaml::Node::Kind::kScalar;
      key.scalar = entry.key;
      key.where = entry.key_where;
      const Bits set = tensors_of(key, symbols_, "a key of `bits_per_value`");
      if (set == 0) continue;
      const double value = number_of(entry.value, symbols_, what("bits_per_value"));
      for (std::size_t i = 0; i < bits.size(); ++i)
        if ((set >> i & 1) != 0) bits[i] = value;
    }
    return bits;
  }

  ActionSpec action(const std::string& name, double size) {
    ActionSpec made;
    made.name = name;
    if (const yaml::Node* list = given(node_, "actions"))
      for (const yaml::Node& item : list->items)
        if (const yaml::Node* called = item.find("name"); called != nullptr && called->scalar == name)
          made.node = &item;
    static const yaml::Node kNothing;
    const yaml::Node& from = made.node != nullptr ? *made.node : kNothing;
    if (const yaml::Node* values = given(from, "values_per_action"))
      base::fail("O2104", "`values_per_action` is not supported", values->where, "give `bits_per_action`");
    made.bits = value_or(from, "bits_per_action", symbols_, value_or(node_, "bits_per_action", symbols_, 1));
    if (!(made.bits > 0)) base::fail("O2103", what("bits_per_action") + " must be above 0", node_.where);
    const yaml::Node* energy = given(from, "energy");
    const yaml::Node* throughput = given(from, "throughput");
    const yaml::Node* latency = given(from, "latency");
    std::optional<ActionPrice> price;
    // A latency that is given as a whole may need no throughput.
    const bool needs_rate = throughput == nullptr && latency == nullptr && given(node_, "total_latency") == nullptr;
    if (energy == nullptr || needs_rate) price = price_of(name, made.bits, size);
    made.energy = energy != nullptr ? finite(*energy, what("energy")) : price->energy;
    if (throughput != nullptr)
      made.throughput = above_zero_or_unused(*throughput, what("throughput"));
    else if (latency != nullptr)
      made.throughput = 1 / at_least_zero(*latency, what("latency"));
    else
      made.throughput = price ? price->throughput : 0;
    made.energy *= value_or(from, "energy_scale", symbols_, 1);
    made.throughput *= scale(from) * scale(node_) * parallel();
    return made;
  }
  double scale(const yaml::Node& node) const {
    return value_or(node, "throughput_scale", symbols_, 1) / value_or(node, "latency_scale", symbols_, 1);
  }

  void refuse_others(const yaml::Node& list, const std::vector<std::string>& wanted) const {
    for (const yaml::Node& item : list.items) {
      const yaml::Node* name = item.find("name");
      if (name == nullptr || !base::contains(wanted, name->scalar))
        base::fail("O2104", fmt::format("`{}` has no such action here", component_.name),
                   name != nullptr ? name->where : item.where,
                   component_.kind == ComponentSpec::Kind::kMemory ? "a memory has `read` and `write`"
                                                                   : "a unit has `compute`");
    }
  }

  std::string component_class() const {
    const yaml::Node* named = given(node_, "component_class");
    return named == nullptr ? "" : named->scalar;
  }

  ActionPrice price_of(const std::string& name, double bits, double size) const {
    const std::string called = component_class();
    if (base::same_letters(called, "dummy")) return {0, std::numeric_limits<double>::infinity(), 0};
    if (called.empty())
      base::fail("O2106",
                 fmt::format("`{}` says neither what `{}` costs nor which class it is of", component_.name, name),
                 node_.where,
                 fmt::format("give `actions: [{{name: {}, energy: ..., throughput: ...}}]` and `leak_power`", name));
    const PriceAttributes attributes = price_attributes(bits, size);
    if (const auto price = prices_.find(called, attributes, name)) return *price;
    std::string asked;
    for (const auto& [key, value] : attributes)
      asked += fmt::format("{}{} {:g}", asked.empty() ? "" : ", ", key, value);
    base::Diagnostics own;
    const yaml::Node& at = *given(node_, "component_class");
    auto& error = own.error("O2106", fmt::format("what a `{}` of {} costs is not known here", called, asked), at.where)
                      .note("AccelForge asks HWComponents, whose models are not part of Orrery");
    for (const std::string& known : prices_.described(called)) error.note("known: " + known);
    error.hint(fmt::format("give `leak_power` and `actions: [{{name: {}, energy: ..., throughput: ...}}]`", name));
    throw base::InputError(own.all());
  }

  PriceAttributes price_attributes(double bits, double size) const {
    PriceAttributes attributes;
    for (const yaml::Node* extra : {architecture_.extra, given(node_, "extra_attributes_for_component_model")}) {
      if (extra == nullptr) continue;
      for (const yaml::Node::Entry& entry : extra->entries) {
        const SetValue value = evaluate(entry.value, symbols_, fmt::format("`{}`", entry.key));
        if (value.is(SetValue::Kind::kNumber)) attributes[entry.key] = value.number;
      }
    }
    if (component_.kind == ComponentSpec::Kind::kMemory && std::isfinite(size)) attributes["size"] = size;
    if (bits != 1) attributes["bits_per_action"] = bits;
    return attributes;
  }

  double leak_power(double size) const {
    if (const yaml::Node* power = given(node_, "leak_power")) return finite(*power, what("leak_power"));
    return price_of(actions_[0].name, actions_[0].bits, size).leak_power;
  }

  // How long actions take together, from the largest of sums that are linear in their number.
  void add_times(ComponentFigures& made, double count) {
    const yaml::Node* latency = given(node_, "total_latency");
    for (const ActionSpec& one : actions_) {
      ActionFigures figures{one.name, {{"energy", one.energy}, {"bits_per_action", one.bits}}};
      if (one.throughput != 0)
        figures.figures["throughput"] = one.throughput;
      else if (latency == nullptr)  // by a scale, a fan-out or a latency without an end
        base::fail("O2103", fmt::format("{} must be above 0, but is 0: such an action never ends", what("throughput")),
                   node_.where, fmt::format("its action is `{}`", one.name));
      symbols_.actions.push_back(std::move(figures));
    }
    SetValue value;
    if (latency != nullptr)
      value = evaluate(*latency, symbols_, what("total_latency"));
    else
      value = evaluate("sum(a.n_calls / a.throughput for a in actions)", symbols_);
    if (value.is(SetValue::Kind::kNumber) && value.number == 0) return;
    if (!value.is(SetValue::Kind::kTimes))
      base::fail("O2102", what("total_latency") + " depends on no number of calls",
                 latency != nullptr ? latency->where : node_.where);
    // Sums that others are never below say nothing.
    std::vector<std::vector<double>> sums;
    for (std::size_t i = 0; i < value.times.size(); ++i)
      if (!covered(value.times, i)) sums.push_back(value.times[i]);
    const auto time = [&](const std::vector<double>& sum, std::size_t action) {
      return count * sum[action] / actions_[action].bits;
    };
    if (actions_.size() == 1 || sums.size() == 1) {
      made.read_time = time(sums[0], 0);
      if (actions_.size() > 1) made.write_time = time(sums[0], 1);
      return;
    }
    const bool apart = sums.size() == 2 && sums[0][1] == 0 && sums[1][0] == 0;
    if (!apart)
      base::fail("O2102", what("total_latency") + " is neither the sum nor the larger of reads and writes",
                 latency->where, "write `sum(a.n_calls / a.throughput for a in actions)`, or `max(...)`");
    made.separate_ports = true;
    made.read_time = time(sums[0], 0);
    made.write_time = time(sums[1], 1);
  }
  static bool covered(const std::vector<std::vector<double>>& sums, std::size_t i) {
    for (std::size_t k = 0; k < sums.size(); ++k) {
      if (k == i || (sums[k] == sums[i] && k > i)) continue;
      bool below = true;
      for (std::size_t a = 0; a < sums[i].size(); ++a) below = below && sums[i][a] <= sums[k][a];
      if (below) return true;
    }
    return false;
  }

  const ComponentSpec& component_;
  const yaml::Node& node_;
  const ArchitectureSpec& architecture_;
  const ComponentPrices& prices_;
  Symbols symbols_;
  std::vector<ActionSpec> actions_;
};

}  // namespace

ArchitectureSpec read_architecture(const Documents& documents, base::Diagnostics& found) {
  ArchitectureSpec made;
  warn_unknown(documents.arch, {"nodes", "variables", "extra_attributes_for_all_component_models", "name", "version"},
               "`arch`", found);
  made.extra = given(documents.arch, "extra_attributes_for_all_component_models");
  add_variables(documents.variables, made.variables);
  if (const yaml::Node* own = given(documents.arch, "variables")) add_variables(*own, made.variables);
  NodeLine(made, found).add_all(documents.arch);
  const auto memory = [](const ComponentSpec& one) { return one.kind == ComponentSpec::Kind::kMemory; };
  if (made.components.empty() || !memory(made.components[0]) || !made.components[0].spatial.empty())
    base::fail("O2100", "the outermost node of an architecture is one memory, which holds every tensor",
               documents.arch.where);
  return made;
}

SpreadFigures spread_of(const yaml::Node& node, const Symbols& symbols, base::Diagnostics& found) {
  warn_unknown(node,
               {"name", "fanout", "may_reuse", "reuse", "min_usage", "loop_bounds", "usage_scale", "power_gateable"},
               "a fan-out", found);
  SpreadFigures made;
  const yaml::Node* name = node.find("name");
  const yaml::Node* fanout = node.find("fanout");
  if (name == nullptr || fanout == nullptr) base::fail("O2103", "a fan-out has a `name` and a `fanout`", node.where);
  made.name = name->scalar;
  made.ways = number_of(*fanout, symbols, fmt::format("the fan-out of `{}`", made.name));
  if (!(made.ways >= 1 && made.ways == std::floor(made.ways) && made.ways < 1e15))
    base::fail("O2103", fmt::format("`fanout` must be a whole number from 1 to 1e15, but is {:g}", made.ways),
               fanout->where);
  const yaml::Node* reuse = given(node, "reuse");
  const yaml::Node* may = given(node, "may_reuse");
  if (reuse != nullptr) made.reused_by_all = tensors_of(*reuse, symbols, "`reuse`");
  made.shared = may != nullptr     ? tensors_of(*may, symbols, "`may_reuse`")
                : reuse != nullptr ? made.reused_by_all
                                   : symbols.all_tensors();
  made.min_usage = value_or(node, "min_usage", symbols, 0);
  if (const yaml::Node* scale = given(node, "usage_scale"))
    if (number_of(*scale, symbols, "`usage_scale`") != 1)
      base::fail("O2104", "`usage_scale` is not supported", scale->where);
  if (const yaml::Node* gate = given(node, "power_gateable"))
    if (number_of(*gate, symbols, "`power_gateable`") != 0)
      base::fail("O2104", "power gating is not supported", gate->where);
  if (const yaml::Node* bounds = given(node, "loop_bounds")) {
    for (const yaml::Node& one : bounds->items) {
      const yaml::Node* expression = one.find("expression");
      const yaml::Node* op = one.find("operator");
      const yaml::Node* value = one.find("value");
      if (expression == nullptr || op == nullptr || value == nullptr)
        base::fail("O2103", "a bound has an `expression`, an `operator` and a `value`", one.where);
      const SetValue set = evaluate(*expression, symbols, "`expression`");
      const bool at_most =
          op->scalar == "==" || op->scalar == "<=" || op->scalar == "product==" || op->scalar == "product<=";
      if (!set.is(SetValue::Kind::kVariables) || !at_most || number_of(*value, symbols, "`value`") != 1)
        base::fail("O2104", "bounds of loops other than `== 1` are not supported", one.where,
                   "bounds of 1 say which rank variables are not spread here");
      made.single |= set.set;
    }
  }
  return made;
}

ComponentFigures figures_of(const ComponentSpec& component, const ArchitectureSpec& architecture,
                            const ComponentPrices& prices, const Symbols& symbols) {
  return Figures(component, architecture, prices, symbols).read();
}

}  // namespace orrery::formats::accelforge
