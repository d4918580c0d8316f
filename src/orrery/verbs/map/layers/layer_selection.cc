#include "orrery/verbs/map/layers/layer_selection.h"

#include <algorithm>
#include <initializer_list>
#include <variant>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::verbs {
namespace {

[[noreturn]] void no_such_layer(const std::string& wanted, const std::vector<std::string>& known) {
  base::fail("O1106", fmt::format("there is no layer `{}`", wanted), {},
             base::did_you_mean(wanted, known, fmt::format("layers are {}", base::joined(known, ", "))));
}

// The name of a task's layer: its own, or that of its shape.
std::string name_of(const LayerTask& task) {
  if (!task.name.empty() || task.einsum) return task.name.empty() ? task.einsum->name : task.name;
  const formats::yaml::Node* node = task.documents->find("problem");
  for (const char* key : {"shape", "name"})
    if (node != nullptr) node = node->is_map() ? node->find(key) : nullptr;
  return node == nullptr ? "" : node->scalar;
}

// As people say it: "KTQ" is the file KTQ_layer.yaml, and the shape KTQ_matmul_encoder.
bool goes_by(const std::string& wanted, const std::string& name, const std::string& stem) {
  const auto begins = [&](const std::string& with) { return with == wanted || with.starts_with(wanted + "_"); };
  return begins(name) || begins(stem);
}

bool goes_by_any(std::initializer_list<const char*> wanted, const std::string& name, const std::string& stem) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const char* each) { return goes_by(each, name, stem); });
}

}  // namespace

void keep_layers(const std::vector<std::string>& wanted, GatheredLayers& out) {
  if (wanted.empty()) return;
  GatheredLayers kept;
  std::vector<std::string> names;
  std::vector<bool> met(wanted.size());
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    names.push_back(name_of(out.tasks[i]));
    bool keeps = false;
    for (std::size_t w = 0; w < wanted.size(); ++w)
      if (goes_by(wanted[w], names.back(), out.stems[i])) keeps = met[w] = true;
    if (!keeps) continue;
    kept.tasks.push_back(out.tasks[i]);
    kept.stems.push_back(out.stems[i]);
    if (i < out.normalisation.size()) kept.normalisation.push_back(out.normalisation[i]);
  }
  for (std::size_t w = 0; w < wanted.size(); ++w)
    if (!met[w]) no_such_layer(wanted[w], names);
  out.tasks = std::move(kept.tasks);
  out.stems = std::move(kept.stems);
  out.normalisation = std::move(kept.normalisation);
}

void count_heads(GatheredLayers& out) {
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    LayerTask& task = out.tasks[i];
    const formats::yaml::Node* const variables = task.documents->find("variables");
    if (task.einsum || variables == nullptr || !variables->is_map()) continue;
    if (!goes_by_any({"KTQ", "VScores", "softmax", "SM"}, name_of(task), out.stems[i])) continue;
    formats::timeloop::Scope scope;
    scope.define_all(*variables);
    base::Diagnostics found;
    const auto heads = scope.lookup("HEADS", found);
    if (!heads) continue;
    if (const base::Count* count = std::get_if<base::Count>(&*heads); count != nullptr && *count > 0)
      task.instances = *count;
  }
}

bool is_followed(const std::string& name, const std::string& stem) {
  return goes_by_any({"KTQ", "Out", "softmax", "SM", "layernorm", "LN"}, name, stem);
}

void keep_layer(const std::string& wanted, GatheredLayers& out) {
  if (wanted.empty()) return;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < out.tasks.size(); ++i) {
    std::string name = out.tasks[i].name;
    if (name.empty()) {
      const formats::timeloop::Specification specification = out.tasks[i].documents->read();
      if (specification.problem) name = specification.problem->einsum.name;
    }
    if (wanted == name || wanted == out.stems[i] || wanted == fmt::format("{} ({})", name, out.stems[i])) {
      const LayerTask task = out.tasks[i];
      const std::string kept_stem = out.stems[i];
      out.tasks = {task};
      out.stems = {kept_stem};
      if (i < out.normalisation.size()) out.normalisation = {out.normalisation[i]};
      return;
    }
    names.push_back(name);
  }
  no_such_layer(wanted, names);
}

}  // namespace orrery::verbs
