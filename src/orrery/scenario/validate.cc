// Idea: every row is a training run like a user's; it is described in the same words, checked by the same code, and
// told apart only by its use. Cost: a microsecond a row, reading apart.
#include "orrery/scenario/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>

#include "orrery/cluster/evaluate.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/machine/roofline.h"
#include "orrery/scenario/catalogue.h"
#include "orrery/scenario/cluster_model.h"
#include "orrery/scenario/measured_table.h"
#include "orrery/scenario/system_reading.h"

namespace orrery::scenario {
namespace {

namespace csv = formats::csv;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kMeasures = {
    "iteration_s", "mfu", "hfu", "tflops_per_gpu", "tokens_per_s", "gpu_hours_per_trillion_tokens"};
const std::vector<std::string> kColumns = {"row", "use", "model", "system", "measure", "value", "note"};

template <std::size_t n>
std::optional<std::size_t> index(const std::array<std::string_view, n>& names, const std::string& text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// Models are read once, however many rows name them.
class Models {
 public:
  explicit Models(std::string directory) : directory_(std::move(directory)) {}
  const workload::Transformer& operator[](const std::string& name) {
    const auto found = read_.find(name);
    if (found != read_.end()) return found->second;
    return read_.emplace(name, load_model(directory_, name).transformer).first->second;
  }

 private:
  std::string directory_;
  std::map<std::string, workload::Transformer> read_;
};

class Table {
 public:
  Table(const std::string& path, Models& models, base::Diagnostics& found)
      : models_(models), found_(found), table_(read_measured_table(path, kColumns, {"model.", "plan."}, found)) {}

  MeasuredSet read() {
    set_ = {table_.name, table_.title, table_.source, table_.licence, {}};
    for (std::size_t i = 1; i < table_.document.rows.size(); ++i) read_row(table_.document.rows[i]);
    return std::move(set_);
  }

 private:
  void wrong(const csv::Cell& cell, std::string what) {
    found_.error("O1358", std::move(what), table_.document.place(cell));
  }

  void read_row(const csv::Row& row) {
    MeasuredRun run;
    run.where = table_.document.place(row);
    base::Overrides model_fields;
    base::Diagnostics fields;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const csv::Cell& cell = row.cells[i];
      const std::string& column = table_.columns[i];
      if (column.starts_with("model.")) {
        if (!cell.text.empty()) model_fields.push_back({column.substr(6), cell.text});
      } else if (column.starts_with("plan.")) {
        if (!cell.text.empty() && !formats::orrery::set_plan_field(run.plan, {column.substr(5), cell.text}, fields))
          wrong(cell, fields.all().back().message);
      } else {
        read_cell(column, cell, run);
      }
    }
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      if (table_.columns[i] == "plan.schedule" && row.cells[i].text == "interleaved" && run.plan.interleave < 2)
        wrong(row.cells[i], "an interleaved pipeline has at least two chunks a stage: see `plan.interleave`");
    try {
      run.model = training_model(models_[run.model_name], model_fields).prepared;
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics)
        found_.error("O1358", diagnostic.message, table_.document.place(row));
    }
    set_.runs.push_back(std::move(run));
  }

  void read_cell(const std::string& column, const csv::Cell& cell, MeasuredRun& run) {
    if (column == "row") run.row = cell.text;
    if (column == "model") run.model_name = cell.text;
    if (column == "system") run.system_name = cell.text;
    if (column == "note") run.note = cell.text;
    if (column == "use") {
      const auto use = index(kUses, cell.text);
      if (!use) return wrong(cell, fmt::format("`{}` is not one of {}", cell.text, fmt::join(kUses, ", ")));
      run.use = static_cast<Use>(*use);
    }
    if (column == "measure") {
      const auto measure = index(kMeasures, cell.text);
      if (!measure) return wrong(cell, fmt::format("`{}` is not one of {}", cell.text, fmt::join(kMeasures, ", ")));
      run.measure = static_cast<Measure>(*measure);
    }
    if (column == "value") {
      const char* end = cell.text.data() + cell.text.size();
      const auto [stop, failure] = std::from_chars(cell.text.data(), end, run.value);
      if (failure != std::errc() || stop != end || !(run.value > 0))
        wrong(cell, fmt::format("`{}` is not a positive number", cell.text));
      else if (!(run.value >= 1e-30 && run.value <= 1e30))
        wrong(cell, fmt::format("`{}` is not from 1e-30 to 1e30", cell.text));
    }
  }

  Models& models_;
  base::Diagnostics& found_;
  MeasuredTable table_;
  MeasuredSet set_;
};

}  // namespace

std::string_view name(Measure measure) {
  return kMeasures[static_cast<std::size_t>(measure)];
}

double predicted(const cluster::Iteration& iteration, const cluster::Plan& plan, Measure measure) {
  switch (measure) {
    case Measure::kIterationSeconds:
      return iteration.iteration_s;
    case Measure::kMfu:
      return 100 * iteration.published.mfu;
    case Measure::kHfu:
      return 100 * iteration.published.hfu;
    case Measure::kTflopsPerGpu:
      return iteration.published.tflops_per_gpu;
    case Measure::kTokensPerSecond:
      return iteration.tokens_per_s;
    case Measure::kGpuHoursPerTrillionTokens:
      break;
  }
  return cluster::seconds_to_train(iteration, 1e12) * static_cast<double>(plan.gpus) / 3600;
}

std::vector<MeasuredSet> read_measured(const std::string& directory, const std::vector<std::string>& only) {
  base::Diagnostics found;
  Models models(directory);
  std::vector<MeasuredSet> sets;
  for (const std::string& path : measured_tables((fs::path(directory) / "validation").string(), only))
    sets.push_back(Table(path, models, found).read());
  found.throw_if_errors();
  return sets;
}

std::vector<ValidatedSet> validate_training(const std::string& directory, const std::vector<std::string>& only) {
  std::map<std::string, cluster::System> systems;
  base::Diagnostics found;
  std::vector<ValidatedSet> result;
  for (MeasuredSet& set : read_measured(directory, only)) {
    ValidatedSet validated{set.name, set.title, set.source, set.licence, {}, {}, {}};
    std::vector<double> held_out, fitted;
    for (MeasuredRun& run : set.runs) {
      if (!systems.contains(run.system_name)) systems[run.system_name] = read_system(directory, run.system_name).system;
      const cluster::System& system = systems[run.system_name];
      base::Diagnostics impossible;
      cluster::check(run.model, system, run.plan, impossible);
      if (impossible.has_errors()) {
        for (const base::Diagnostic& diagnostic : impossible.all())
          found.error("O1358", fmt::format("{}: {}", diagnostic.code, diagnostic.message), run.where);
        continue;
      }
      ValidatedPoint point;
      point.iteration = cluster::evaluate(run.model, system, run.plan, machine::Roofline(system.accelerator));
      point.predicted = predicted(point.iteration, run.plan, run.measure);
      point.error = point.predicted / run.value - 1;
      if (run.use == Use::kHeldOut) held_out.push_back(point.error);
      if (run.use == Use::kFitted) fitted.push_back(point.error);
      point.run = std::move(run);
      validated.points.push_back(std::move(point));
    }
    std::stable_sort(validated.points.begin(), validated.points.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.error) > std::abs(b.error); });
    validated.held_out = summarise(held_out);
    validated.fitted = summarise(fitted);
    result.push_back(std::move(validated));
  }
  found.throw_if_errors();
  return result;
}

}  // namespace orrery::scenario
