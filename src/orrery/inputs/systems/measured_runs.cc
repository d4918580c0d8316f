// Idea: every row is a training run like a user's; it is described in the same words, checked by the same code, and
// told apart only by its use. Cost: a microsecond a row, reading apart.
#include "orrery/inputs/systems/measured_runs.h"
#include "orrery/base/text/text_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/formats/orrery/stacks.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/systems/cluster_model.h"
#include "orrery/inputs/systems/system_reading.h"

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
  Known(std::string directory, const RunFilter& filter) : directory_(std::move(directory)) {
    if (filter.loaded) systems_.emplace(filter.system + " ", filter.loaded);
  }

  const workload::Transformer& model(const std::string& name) {
    const auto found = models_.find(name);
    if (found != models_.end()) return found->second;
    return models_.emplace(name, load_model(directory_, name).transformer).first->second;
  }
  // `changes`: fields with other values, by spaces: "accelerator.memory=40GiB".
  std::shared_ptr<const cluster::System> system(const std::string& name, const std::string& changes) {
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
    auto read = std::make_shared<const cluster::System>(read_system(directory_, name, overrides).system);
    return systems_.emplace(key, std::move(read)).first->second;
  }
  const cluster::Stack& stack(const std::string& name) {
    const auto found = stacks_.find(name);
    if (found != stacks_.end()) return found->second;
    return stacks_.emplace(name, formats::orrery::load_stack(directory_, name).stack).first->second;
  }

 private:
  std::string directory_;
  std::map<std::string, workload::Transformer> models_;
  std::map<std::string, std::shared_ptr<const cluster::System>> systems_;
  std::map<std::string, cluster::Stack> stacks_;
};

class Table {
 public:
  Table(const std::string& path, const RunFilter& filter, Known& catalogue, base::Diagnostics& found)
      : filter_(filter),
        catalogue_(catalogue),
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
    const auto differs = [&](std::string_view column, const std::string& wanted) {
      return !wanted.empty() && cell_of(column) != wanted;
    };
    const auto differs_in = [&](std::string_view column, base::Count wanted) {
      return wanted > 0 && differs(column, std::to_string(wanted));
    };
    if (differs("model", filter_.model) || differs("system", filter_.system) || differs_in("plan.gpus", filter_.gpus) ||
        differs_in("plan.global_batch", filter_.global_batch))
      return;
    const std::string stack = cell_of("plan.stack");
    plan_ = {};
    run.system = catalogue_.system(cell_of("system"), cell_of("system.set"));
    formats::orrery::take_stack(stack.empty() ? run.system->stack : catalogue_.stack(stack), plan_);
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

  const RunFilter& filter_;
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

double measured_seconds(const cluster::Iteration& iteration, const MeasuredRun& run) {
  const bool longer_is_more =
      run.measure == Measure::kIterationSeconds || run.measure == Measure::kGpuHoursPerTrillionTokens;
  const double ratio = run.value / predicted(iteration, run.plan, run.measure);
  return iteration.iteration_s * (longer_is_more ? ratio : 1 / ratio);
}

std::vector<MeasuredSet> read_measured(const std::string& directory, const std::vector<std::string>& only,
                                       const RunFilter& filter) {
  base::Diagnostics found;
  Known known(directory, filter);
  std::vector<MeasuredSet> sets;
  for (const std::string& path : measured_tables((fs::path(directory) / "validation").string(), only)) {
    const std::string text = base::read_file(path)->text;  // most tables need no look at their rows
    if (text.find(filter.model) == std::string::npos || text.find(filter.system) == std::string::npos) continue;
    sets.push_back(Table(path, filter, known, found).read());
  }
  found.throw_if_errors();
  return sets;
}

}  // namespace orrery::verbs
