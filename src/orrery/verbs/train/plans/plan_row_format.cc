// A row has some thirty cells, so they are put together on the stack and go out at once: a format string for each cell
// took a third of a row's time. Numbers are the shortest that are read back as they were. Cost: some 0.3 us a row.
#include "orrery/verbs/train/plans/plan_row_format.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "orrery/base/text/printable.h"
#include "orrery/engines/cluster/model/decision_variables.h"
#include "orrery/engines/cluster/model/names.h"

namespace orrery::verbs {
namespace {

using base::Count;
using cluster::Variable;

constexpr std::string_view kFigures[] = {"iteration_s", "memory_bytes", "fits", "mfu", "tokens_per_s"};

template <typename Value>
std::string_view named(Value value, const std::vector<std::pair<std::string, Value>>& names) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return {};
}

// Cells that are put together: at most 30 of them, each of a name or a number, with their keys.
class Cells {
 public:
  explicit Cells(std::string& out) : out_(out) {}
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;
  ~Cells() { out_.append(text_, at_); }

  void add(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void add(char c) { *at_++ = c; }
  template <typename Whole>
  void whole(Whole value) {
    at_ = std::to_chars(at_, text_ + sizeof text_, value).ptr;
  }
  void real(double value) { at_ = fmt::format_to(at_, FMT_COMPILE("{}"), value); }
  void truth(bool value) { add(value ? std::string_view("true") : std::string_view("false")); }

  void choice(const cluster::Plan& plan, Variable variable, std::string_view quote) {
    const auto name = [&](std::string_view text) { add(quote), add(text), add(quote); };
    switch (variable) {
      case Variable::kSchedule:
        return name(named(cluster::schedule_of(plan), cluster::schedules()));
      case Variable::kRecompute:
        return name(named(plan.recompute, cluster::recomputations()));
      case Variable::kOrder:
        return name(named(plan.order, cluster::orders()));
      case Variable::kSequenceParallel:
        return truth(plan.sequence_parallel);
      case Variable::kOffloadActivations:
        return real(plan.offload_activations);
      case Variable::kOffloadOptimizer:
        return real(plan.offload_optimizer);
      default:
        return whole(get(plan, variable));
    }
  }

 private:
  std::string& out_;
  char text_[2048];
  char* at_ = text_;
};

}  // namespace

bool is_choice(std::string_view column) {
  return column == "gpus" || std::any_of(cluster::kVariables.begin(), cluster::kVariables.end(),
                                         [&](Variable variable) { return column == name(variable); });
}

bool is_written(std::string_view column) {
  return column == "row" || column == "error" ||
         std::find(std::begin(kFigures), std::end(kFigures), column) != std::end(kFigures);
}

std::string csv_header(const std::vector<std::string>& besides) {
  std::string out = "row,gpus";
  for (const Variable variable : cluster::kVariables) out += fmt::format(",{}", name(variable));
  for (const std::string& path : besides) out += "," + path;
  for (const std::string_view figure : kFigures) out += fmt::format(",{}", figure);
  return out + ",error\n";
}

void append_csv_row(std::uint64_t row, const cluster::Plan& plan, const cluster::Iteration& i, std::string& out,
                    const std::vector<const base::Field*>& besides) {
  {
    Cells cells(out);
    cells.whole(row), cells.add(','), cells.whole(plan.gpus);
    for (const Variable variable : cluster::kVariables) cells.add(','), cells.choice(plan, variable, "");
  }
  for (const base::Field* field : besides)
    std::visit([&](const auto& value) { out += fmt::format(",{}", value); }, field->get());
  Cells cells(out);
  cells.add(','), cells.real(i.iteration_s);
  cells.add(','), cells.real(i.memory.total());
  cells.add(','), cells.truth(i.fits);
  cells.add(','), cells.real(i.done.mfu);
  cells.add(','), cells.real(i.tokens_per_s);
  cells.add(",\n");
}

void append_json_row(std::uint64_t row, const cluster::Plan& plan, const cluster::Iteration& i,
                     const std::string& besides, std::string& out) {
  {
    Cells cells(out);
    cells.add("{\"row\": "), cells.whole(row);
    cells.add(", \"gpus\": "), cells.whole(plan.gpus);
    for (const Variable variable : cluster::kVariables)
      cells.add(", \""), cells.add(name(variable)), cells.add("\": "), cells.choice(plan, variable, "\"");
  }
  out += besides;
  Cells cells(out);
  cells.add(", \"iteration_s\": "), cells.real(i.iteration_s);
  cells.add(", \"memory_bytes\": "), cells.real(i.memory.total());
  cells.add(", \"fits\": "), cells.truth(i.fits);
  cells.add(", \"mfu\": "), cells.real(i.done.mfu);
  cells.add(", \"tokens_per_s\": "), cells.real(i.tokens_per_s);
  cells.add("}\n");
}

void append_bad_csv_row(std::uint64_t row, std::size_t besides, const std::string& error, std::string& out) {
  std::string doubled = base::printable(error, true);
  for (std::size_t at = 0; (at = doubled.find('"', at)) != std::string::npos; at += 2) doubled.insert(at, 1, '"');
  const std::size_t empty = 1 + cluster::kVariables.size() + besides + std::size(kFigures);
  out += fmt::format("{}{},\"{}\"\n", row, std::string(empty, ','), doubled);
}

void append_bad_json_row(std::uint64_t row, const std::string& error, std::string& out) {
  std::string quoted;
  for (const char c : base::printable(error, true)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  out += fmt::format("{{\"row\": {}, \"error\": \"{}\"}}\n", row, quoted);
}

std::string json_members(const base::Fields& fields) {
  std::string out;
  for (const base::Field& field : fields) {
    if (is_choice(field.path)) continue;
    const base::FieldValue value = field.get();
    const char* quote = std::holds_alternative<std::string>(value) ? "\"" : "";
    std::visit([&](const auto& each) { out += fmt::format(", \"{}\": {}{}{}", field.path, quote, each, quote); },
               value);
  }
  return out;
}

}  // namespace orrery::verbs
