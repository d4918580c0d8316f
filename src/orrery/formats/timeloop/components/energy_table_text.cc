#include "orrery/formats/timeloop/components/energy_table_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::formats::timeloop {
namespace {

using energy::Attributes;
using energy::EstimatedAction;
using energy::EstimatedComponent;
using energy::Share;

std::string number(double value) {
  return energy::text(energy::Value(value));
}

// A text as YAML: plain where nothing in it could be taken for something else.
std::string yaml_text(std::string_view text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '[' || c == ']';
  };
  const std::string lower = base::lower(text);
  const bool word = lower == "true" || lower == "false" || lower == "null" || lower == "yes" || lower == "no" ||
                    lower == "on" || lower == "off";
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) && !word &&
      std::all_of(text.begin(), text.end(), plain)) {
    return std::string(text);
  }
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      result += c;
  }
  return result + "\"";
}

std::string scalar(const energy::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return yaml_text(*text);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (std::holds_alternative<std::monostate>(value)) return "null";
  return energy::text(value);
}

class Text {
 public:
  template <typename... Arguments>
  void line(int indent, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_.append(static_cast<std::size_t>(indent), ' ');
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void head(std::string_view kind, std::string_view list, bool empty) {
    line(0, "{}:", kind);
    line(4, "version: '0.4'");
    line(4, "{}:{}", list, empty ? " []" : "");
  }
  void arguments(const Attributes& all) {
    line(12, "arguments:{}", all.empty() ? " {}" : "");
    for (const auto& [name, value] : all) line(16, "{}: {}", yaml_text(name), scalar(value));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// What one estimator said of one primitive.
struct Origin {
  std::string primitive;
  const energy::Figure* figure = nullptr;
};

void add_origins(const EstimatedComponent& component, const std::vector<Share>& shares, std::vector<Origin>& origins) {
  for (const Share& share : shares) {
    const bool within = share.primitive.size() > component.name.size() + 1 &&
                        share.primitive.compare(0, component.name.size() + 1, component.name + ".") == 0;
    Origin origin{within ? share.primitive.substr(component.name.size() + 1) : component.table_name, &share.figure};
    const bool known = std::any_of(origins.begin(), origins.end(), [&](const Origin& other) {
      return other.primitive == origin.primitive && other.figure->estimator == origin.figure->estimator &&
             other.figure->source == origin.figure->source;
    });
    if (!known) origins.push_back(std::move(origin));
  }
}

void write_origins(std::string_view key, const std::vector<Origin>& origins, Text& text) {
  text.line(8, "{}:{}", key, origins.empty() ? " []" : "");
  for (const Origin& origin : origins) {
    const energy::Figure& figure = *origin.figure;
    text.line(10, "- name: {}", yaml_text(origin.primitive));
    text.line(12, "estimator: {}", yaml_text(figure.estimator));
    text.line(12, "accuracy_percent: {}", number(figure.accuracy_percent));
    if (figure.expected_error_percent)
      text.line(12, "expected_error_percent: {}", number(*figure.expected_error_percent));
    text.line(12, "basis: {}", yaml_text(energy::name(figure.basis)));
    if (!figure.beyond.empty()) text.line(12, "extrapolated: {}", yaml_text(base::joined(figure.beyond, "; ")));
    text.line(12, "source: {}", yaml_text(figure.source));
  }
}

bool has_no_actions(const EstimatedComponent& component) {
  return component.actions.empty();
}

}  // namespace

std::string energy_table_text(std::span<const EstimatedComponent> components) {
  Text text;
  text.head("ERT", "tables", std::all_of(components.begin(), components.end(), has_no_actions));
  for (const EstimatedComponent& component : components) {
    if (component.actions.empty()) continue;
    text.line(6, "- name: {}", yaml_text(component.table_name));
    text.line(8, "actions:");
    for (const EstimatedAction& action : component.actions) {
      text.line(10, "- name: {}", yaml_text(action.name));
      text.arguments(action.arguments);
      text.line(12, "energy: {}", number(action.energy_pj));
    }
  }
  return text.take();
}

std::string area_table_text(std::span<const EstimatedComponent> components) {
  Text text;
  text.head("ART", "tables", components.empty());
  for (const EstimatedComponent& component : components) {
    text.line(6, "- name: {}", yaml_text(component.table_name));
    text.line(8, "area: {}", number(component.area_um2));
  }
  return text.take();
}

std::string energy_summary_text(std::span<const EstimatedComponent> components) {
  Text text;
  text.head("ERT_summary", "table_summary", std::all_of(components.begin(), components.end(), has_no_actions));
  for (const EstimatedComponent& component : components) {
    if (component.actions.empty()) continue;
    text.line(6, "- name: {}", yaml_text(component.table_name));
    text.line(8, "actions:");
    std::vector<Origin> origins;
    for (const EstimatedAction& action : component.actions) {
      text.line(10, "- name: {}", yaml_text(action.name));
      if (!action.arguments.empty()) text.arguments(action.arguments);
      text.line(12, "energy: {}", number(action.energy_pj));
      text.line(12, "accuracy_percent: {}", number(action.accuracy_percent));
      text.line(12, "source: {}", yaml_text(action.source));
      add_origins(component, action.shares, origins);
    }
    write_origins("primitive_estimation(s)", origins, text);
  }
  return text.take();
}

std::string area_summary_text(std::span<const EstimatedComponent> components) {
  Text text;
  text.head("ART_summary", "table_summary", components.empty());
  for (const EstimatedComponent& component : components) {
    text.line(6, "- name: {}", yaml_text(component.table_name));
    text.line(8, "area: {}", number(component.area_um2));
    text.line(8, "accuracy_percent: {}", number(component.area_accuracy_percent));
    text.line(8, "source: {}", yaml_text(component.area_source));
    std::vector<Origin> origins;
    add_origins(component, component.area_shares, origins);
    write_origins("primitive_estimations", origins, text);
  }
  return text.take();
}

std::string flattened_text(std::span<const energy::Component> components) {
  Text text;
  text.head("architecture", "local", components.empty());
  for (const energy::Component& component : components) {
    if (component.primitives.empty() && component.actions.empty()) continue;  // a fan-out
    text.line(6, "- name: {}", yaml_text(component.table_name));
    text.line(8, "class: {}", yaml_text(component.class_name));
    text.line(8, "attributes:{}", component.attributes.empty() ? " {}" : "");
    for (const auto& [name, value] : component.attributes) text.line(12, "{}: {}", yaml_text(name), scalar(value));
    std::vector<std::string> actions;
    for (const energy::Action& action : component.actions)
      if (std::find(actions.begin(), actions.end(), action.name) == actions.end()) actions.push_back(action.name);
    if (actions.empty()) continue;
    text.line(8, "required_actions:");
    for (const std::string& action : actions) text.line(10, "- {}", yaml_text(action));
  }
  return text.take();
}

}  // namespace orrery::formats::timeloop
