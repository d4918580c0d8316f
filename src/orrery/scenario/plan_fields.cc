#include "orrery/scenario/plan_fields.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/scenario/train.h"

namespace orrery::scenario {
namespace {

// Sets the field, or says what would have been a value.
using Setter = std::function<std::optional<std::string>(const std::string& text)>;

struct Field {
  std::string name;
  Setter set;
};

template <typename Number>
std::optional<Number> number(const std::string& text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

template <typename Integer>
Setter whole(Integer& field, Integer least, Integer most) {
  return [&field, least, most](const std::string& text) -> std::optional<std::string> {
    const std::optional<Integer> value = number<Integer>(text);
    if (!value || *value < least || *value > most) return fmt::format("a whole number from {} to {}", least, most);
    field = *value;
    return std::nullopt;
  };
}

Setter size(base::Count& field) {
  return whole<base::Count>(field, 1, kMostInPlan);
}

Setter degree(base::Count& field) {
  return whole<base::Count>(field, 1, kMostDegree);
}

Setter share(double& field) {
  return [&field](const std::string& text) -> std::optional<std::string> {
    const std::optional<double> value = number<double>(text);
    if (!value || !(*value >= 0 && *value <= 1)) return "a share from 0 to 1";
    field = *value;
    return std::nullopt;
  };
}

Setter truth(bool& field) {
  return [&field](const std::string& text) -> std::optional<std::string> {
    if (text != "true" && text != "false") return "true or false";
    field = text == "true";
    return std::nullopt;
  };
}

template <typename Value>
Setter choice(Value& field, const std::vector<std::pair<std::string, Value>>& choices) {
  return [&field, &choices](const std::string& text) -> std::optional<std::string> {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
      if (name == text) {
        field = value;
        return std::nullopt;
      }
      names.push_back(name);
    }
    return fmt::format("one of {}", fmt::join(names, ", "));
  };
}

std::vector<Field> fields(cluster::Plan& plan) {
  static const std::vector<std::pair<std::string, cluster::Schedule>> kSchedules = {
      {"gpipe", cluster::Schedule::kGpipe},
      {"1f1b", cluster::Schedule::kOneFOneB},
      {"interleaved", cluster::Schedule::kOneFOneB},  // of several chunks, which are a field of their own
      {"zero-bubble", cluster::Schedule::kZeroBubble}};
  return {{"gpus", size(plan.gpus)},
          {"global_batch", size(plan.global_batch)},
          {"micro_batch", size(plan.micro_batch)},
          {"tp", degree(plan.tp)},
          {"pp", degree(plan.pp)},
          {"dp", degree(plan.dp)},
          {"ep", degree(plan.ep)},
          {"cp", degree(plan.cp)},
          {"interleave", degree(plan.interleave)},
          {"schedule", choice(plan.schedule, kSchedules)},
          {"recompute", choice(plan.recompute, recomputations())},
          {"sequence_parallel", truth(plan.sequence_parallel)},
          {"zero", whole(plan.zero, 0, 3)},
          {"precision", choice(plan.precision, precisions())},
          {"reduce_fp32", truth(plan.reduce_fp32)},
          {"main_gradients_fp32", truth(plan.main_gradients_fp32)},
          {"scatter_gather", truth(plan.scatter_gather)},
          {"paired_messages", truth(plan.paired_messages)},
          {"fused_accumulation", truth(plan.fused_accumulation)},
          {"converted_gradients", truth(plan.converted_gradients)},
          {"overlap.tp", share(plan.overlap.tp)},
          {"overlap.pp", share(plan.overlap.pp)},
          {"overlap.dp", share(plan.overlap.dp)},
          {"overlap.ep", share(plan.overlap.ep)},
          {"overlap.cp", share(plan.overlap.cp)}};
}

}  // namespace

bool set_plan_field(cluster::Plan& plan, const std::string& name, const std::string& value, base::Diagnostics& found) {
  const auto shown =
      std::make_shared<base::SourceFile>(base::SourceFile{"<--set>", fmt::format("plan.{}={}", name, value)});
  const std::vector<Field> known = fields(plan);
  const auto field = std::find_if(known.begin(), known.end(), [&](const Field& f) { return f.name == name; });
  if (field == known.end()) {
    std::vector<std::string> names;
    for (const Field& f : known) names.push_back(f.name);
    found
        .error("O1371", fmt::format("a plan has no field `{}`", name),
               {shown, 1, 6, std::max(1, static_cast<int>(name.size()))})
        .note(fmt::format("it has: {}", fmt::join(names, ", ")))
        .hint(base::did_you_mean(name, names));
    return false;
  }
  const std::optional<std::string> wanted = field->set(value);
  if (!wanted) return true;
  found
      .error("O1371", fmt::format("`plan.{}` cannot be `{}`", name, value),
             {shown, 1, static_cast<int>(name.size()) + 7, std::max(1, static_cast<int>(value.size()))})
      .label("it is " + *wanted);
  return false;
}

}  // namespace orrery::scenario
