// Idea: the same functions that time a collective in a training run time one alone. A group fills one node after the
// other, as nccl-tests places its ranks. Cost: a collective a row.
#include "orrery/verbs/validate/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>

#include "orrery/base/text/text.h"
#include "orrery/formats/orrery/systems.h"
#include "orrery/inputs/systems/measured_rows.h"

namespace orrery::verbs {
namespace {

namespace csv = formats::csv;
namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kOperations = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                         "point-to-point"};
const std::vector<std::string> kColumns = {"system", "use",     "operation", "ranks",
                                           "bytes",  "seconds", "algorithm", "note"};
constexpr std::array<std::string_view, 3> kAlgorithms = {"", "ring", "switch"};

class Row {
 public:
  Row(const MeasuredTable& table, const csv::Row& row, base::Diagnostics& found)
      : table_(table), row_(row), found_(found) {}

  ValidatedCollective read() {
    ValidatedCollective point;
    point.system = cell("system").text;
    point.use = static_cast<Use>(choice(table_, cell("use"), kUses, found_));
    point.operation = static_cast<collective::Operation>(choice(table_, cell("operation"), kOperations, found_));
    point.ranks = static_cast<int>(number("ranks", 2, 1 << 24));
    point.bytes = number("bytes", 1, 1e18);
    point.measured_s = number("seconds", 1e-9, 1e9);
    point.algorithm = kAlgorithms[choice(table_, cell("algorithm"), kAlgorithms, found_)];
    if (const csv::Cell* note = find("note")) point.note = note->text;
    return point;
  }

 private:
  const csv::Cell* find(const std::string& column) const {
    const auto at = std::find(table_.columns.begin(), table_.columns.end(), column);
    if (at == table_.columns.end()) return nullptr;
    return &row_.cells[static_cast<std::size_t>(at - table_.columns.begin())];
  }
  const csv::Cell& cell(const std::string& column) const { return *find(column); }

  double number(const std::string& column, double least, double most) {
    const csv::Cell& one = cell(column);
    if (const auto value = base::parse_number<double>(one.text, least, most)) return *value;
    found_.error("O1358", fmt::format("`{}` is not a number from {:g} to {:g}", one.text, least, most),
                 table_.document.place(one));
    return least;
  }

  const MeasuredTable& table_;
  const csv::Row& row_;
  base::Diagnostics& found_;
};

// What the library did not do is not predicted.
collective::Fabric restricted(collective::Fabric fabric, const std::string& algorithm) {
  if (algorithm == "ring")
    for (collective::Network& network : fabric.levels)
      network.in_network_reduction = network.doubling = network.trees = false;
  return fabric;
}

ErrorSummary summary_of(const std::vector<ValidatedCollective>& points, Use use, double least_bytes) {
  std::vector<double> errors;
  for (const ValidatedCollective& point : points)
    if (point.use == use && point.bytes >= least_bytes) errors.push_back(point.error);
  return summarise(std::move(errors));
}

}  // namespace

std::string_view name(collective::Operation operation) {
  return kOperations[static_cast<std::size_t>(operation)];
}

std::vector<ValidatedCollectives> validate_collectives(const std::string& directory,
                                                       const std::vector<std::string>& only) {
  std::map<std::string, collective::Fabric> fabrics;
  base::Diagnostics found;
  std::vector<ValidatedCollectives> result;
  for (const std::string& path : measured_tables((fs::path(directory) / "collectives").string(), only)) {
    const MeasuredTable table = read_measured_table(path, kColumns, {}, found);
    found.throw_if_errors();
    ValidatedCollectives set{table.name, table.title, table.source, table.licence, {}, {}, {}, {}};
    for (std::size_t i = 1; i < table.document.rows.size(); ++i) {
      ValidatedCollective point = Row(table, table.document.rows[i], found).read();
      if (found.has_errors()) continue;
      try {
        if (!fabrics.contains(point.system))
          fabrics[point.system] = formats::orrery::load_system(directory, point.system).system.fabric;
      } catch (const base::InputError& error) {
        throw in_row(error, table.document.place(table.document.rows[i]));
      }
      const collective::Fabric fabric = restricted(fabrics[point.system], point.algorithm);
      point.predicted_s =
          collective::seconds(point.operation, fabric, collective::place(fabric, point.ranks, 1), point.bytes);
      point.error = point.predicted_s / point.measured_s - 1;
      set.points.push_back(std::move(point));
    }
    set.held_out = summary_of(set.points, Use::kHeldOut, 0);
    set.fitted = summary_of(set.points, Use::kFitted, 0);
    set.large = summary_of(set.points, Use::kHeldOut, kLargeBytes);
    result.push_back(std::move(set));
  }
  found.throw_if_errors();
  return result;
}

}  // namespace orrery::verbs
