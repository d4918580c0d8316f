// Idea: every row is a training run like a user's; it is described in the same words, checked by the same code, and
// told apart only by its use. Cost: a microsecond a row, reading apart.
#include "orrery/verbs/validate/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "orrery/base/text/text.h"
#include "orrery/describe/machine/roofline.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"
#include "orrery/inputs/systems/system_reading.h"
#include "orrery/verbs/validate/measured_rows.h"

namespace orrery::verbs {
namespace {

namespace csv = formats::csv;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kMeasures = {
    "iteration_s", "mfu", "hfu", "tflops_per_gpu", "tokens_per_s", "gpu_hours_per_trillion_tokens"};
const std::vector<std::string> kRunColumns = {"row", "use", "model", "system", "measure", "value", "note"};

// Models, systems and stacks are read once, however many rows name them.
class Known {
 public:
  explicit Known(std::string directory) : directory_(std::move(directory)) {}

  const workload::Transformer& model(const std::string& name) {
    const auto found = models_.find(name);
    if (found != models_.end()) return found->second;
    return models_.emplace(name, load_model(directory_, name).transformer).first->second;
  }
  // `changes`: fields with other values, by spaces: "accelerator.memory=40GiB".
  const cluster::System& system(const std::string& name, const std::string& changes) {
    const std::string key = name + " " + changes;
    const auto found = systems_.find(key);
    if (found != systems_.end()) return found->second;
    base::Overrides overrides;
    for (std::size_t begin = 0; begin < changes.size();) {
      const std::size_t end = std::min(changes.find(' ', begin), changes.size());
      const std::size_t equals = changes.find('=', begin);
      if (equals < end)
        overrides.push_back({changes.substr(begin, equals - begin), changes.substr(equals + 1, end - equals - 1)});
      begin = end + 1;
    }
    return systems_.emplace(key, read_system(directory_, name, overrides).system).first->second;
  }
  const cluster::Stack& stack(const std::string& name) {
    const auto found = stacks_.find(name);
    if (found != stacks_.end()) return found->second;
    return stacks_.emplace(name, formats::orrery::load_stack(directory_, name).stack).first->second;
  }

 private:
  std::string directory_;
  std::map<std::string, workload::Transformer> models_;
  std::map<std::string, cluster::System> systems_;
  std::map<std::string, cluster::Stack> stacks_;
};

class Table {
 public:
  Table(const std::string& path, Known& catalogue, base::Diagnostics& found)
      : catalogue_(catalogue),
        found_(found),
        table_(read_measured_table(path, kRunColumns, {"model.", "plan.", "system.set", "memory_gib"}, found)) {}

  MeasuredSet read() {
    set_ = {table_.name, table_.title, table_.source, table_.licence, table_.calculon, {}};
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
    const auto cell_of = [&](std::string_view column) {
      for (std::size_t i = 0; i < table_.columns.size(); ++i)
        if (table_.columns[i] == column) return row.cells[i].text;
      return std::string();
    };
    const std::string stack = cell_of("plan.stack");
    plan_ = {};
    formats::orrery::take_stack(
        stack.empty() ? catalogue_.system(cell_of("system"), cell_of("system.set")).stack : catalogue_.stack(stack),
        plan_);
    base::Overrides model_fields;
    base::Diagnostics fields;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const csv::Cell& cell = row.cells[i];
      const std::string& column = table_.columns[i];
      if (column.starts_with("model.")) {
        if (!cell.text.empty()) model_fields.push_back({column.substr(6), cell.text});
      } else if (column.starts_with("plan.")) {
        if (!cell.text.empty() &&
            !formats::orrery::set_plan_field(plan_, plan_fields_, {column.substr(5), cell.text}, fields))
          wrong(cell, fields.all().back().message);
      } else {
        read_cell(column, cell, run);
      }
    }
    run.plan = plan_;
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      if (table_.columns[i] == "plan.schedule" && row.cells[i].text == "interleaved" && run.plan.interleave < 2)
        wrong(row.cells[i], "an interleaved pipeline has at least two chunks a stage: see `plan.interleave`");
    try {
      run.model = training_model(catalogue_.model(run.model_name), model_fields).prepared;
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
    if (column == "system.set") run.system_changes = cell.text;
    if (column == "memory_gib" && !cell.text.empty()) run.memory_bytes = number(cell) * 1024 * 1024 * 1024;
    if (column == "note") run.note = cell.text;
    if (column == "use") run.use = static_cast<Use>(choice(table_, cell, kUses, found_));
    if (column == "measure") run.measure = static_cast<Measure>(choice(table_, cell, kMeasures, found_));
    if (column == "value") run.value = number(cell);
  }

  double number(const csv::Cell& cell) {
    const double value = base::parse_number<double>(cell.text).value_or(0);
    if (!(value > 0))
      wrong(cell, fmt::format("`{}` is not a positive number", cell.text));
    else if (!(value >= 1e-30 && value <= 1e30))
      wrong(cell, fmt::format("`{}` is not from 1e-30 to 1e30", cell.text));
    return value;
  }

  Known& catalogue_;
  base::Diagnostics& found_;
  MeasuredTable table_;
  MeasuredSet set_;
  cluster::Plan plan_;  // of the row being read; `plan_fields_` are bound to it
  const base::Fields plan_fields_ = cluster::fields(plan_);
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
  Known known(directory);
  std::vector<MeasuredSet> sets;
  for (const std::string& path : measured_tables((fs::path(directory) / "validation").string(), only))
    sets.push_back(Table(path, known, found).read());
  found.throw_if_errors();
  return sets;
}

namespace {

// Predictions of one utilisation for all points, the median of the measured `utilisations`, one a point.
void compare_with_constant(const std::vector<double>& utilisations, ValidatedSet& set) {
  std::vector<double> sorted = utilisations;
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> held_out;
  for (std::size_t i = 0; i < set.points.size(); ++i) {
    ValidatedPoint& point = set.points[i];
    const double median = sorted[sorted.size() / 2];
    const bool time =
        point.run.measure == Measure::kIterationSeconds || point.run.measure == Measure::kGpuHoursPerTrillionTokens;
    point.constant = (time ? utilisations[i] / median : median / utilisations[i]) - 1;
    if (point.run.use == Use::kHeldOut) held_out.push_back(point.constant);
  }
  set.constant = summarise(held_out);
}

}  // namespace

std::vector<ValidatedSet> validate_training(const std::string& directory, const std::vector<std::string>& only) {
  Known known(directory);
  base::Diagnostics found;
  std::vector<ValidatedSet> result;
  for (MeasuredSet& set : read_measured(directory, only)) {
    ValidatedSet validated;
    validated.name = set.name, validated.title = set.title;
    validated.source = set.source, validated.licence = set.licence;
    validated.calculon = set.calculon;
    std::vector<double> held_out, fitted, memory, utilisations;
    for (MeasuredRun& run : set.runs) {
      const cluster::System& system = known.system(run.system_name, run.system_changes);
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
      point.kind = kind_of(run.model, system, run.plan);
      if (run.memory_bytes > 0) {
        point.memory_error = point.iteration.memory.total() / run.memory_bytes - 1;
        memory.push_back(*point.memory_error);
      }
      if (!point.iteration.fits) ++validated.refused;
      // Seconds of the run are the model's FLOPs over the utilisation: predicted utilisation over measured time.
      const bool longer_is_more =
          run.measure == Measure::kIterationSeconds || run.measure == Measure::kGpuHoursPerTrillionTokens;
      const double faster = longer_is_more ? point.predicted / run.value : run.value / point.predicted;
      utilisations.push_back(point.iteration.published.mfu * faster);
      if (run.use == Use::kHeldOut) held_out.push_back(point.error);
      if (run.use == Use::kFitted) fitted.push_back(point.error);
      point.run = std::move(run);
      validated.points.push_back(std::move(point));
    }
    compare_with_constant(utilisations, validated);
    validated.memory = summarise(memory);
    std::stable_sort(validated.points.begin(), validated.points.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.error) > std::abs(b.error); });
    validated.held_out = summarise(held_out);
    validated.fitted = summarise(fitted);
    result.push_back(std::move(validated));
  }
  found.throw_if_errors();
  return result;
}

}  // namespace orrery::verbs
