// Users' own figures: sets of tables, whose entries are compared as text.
//
// A set belongs to one technology and has a table for each of its classes; a row gives the figures of one action
// for given attributes and arguments. Nothing is interpolated, and "8" is not "8.0" (docs/model/energy.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/describe/energy/energy_options.h"
#include "orrery/describe/energy/estimator.h"

namespace orrery::energy {

struct TableRow {
  int line = 0;
  std::vector<std::string> cells;  // one for each column
  std::optional<double> energy_pj;
  std::optional<double> area_um2;
};

struct EstimationTable {
  std::string class_name;
  std::string file;  // as the user named its folder: "tables/32nm/data/ADC.csv"
  std::vector<std::string> columns;
  std::size_t action_column = 0;  // index into columns
  std::vector<TableRow> rows;
  std::vector<int> ragged_lines;  // left out: their cells do not fit the columns
};

struct TableSet {
  std::string name;
  std::string technology;
  double accuracy_percent = 0;
  std::string file;  // of its description
  std::vector<EstimationTable> tables;
};

// Of the sets of a query's technology and class that have a matching row, the most accurate answers; of equals, the
// first. With `options.keep_found_rows` off, a set tried later, and more accurate, discards a row found earlier when it
// has none itself, as in Accelergy 0.4.
class EstimationTables : public Estimator {
 public:
  EstimationTables(std::vector<TableSet> sets, EstimateOptions options);

  std::string_view name() const override { return "table"; }
  std::vector<std::string> classes() const override;
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  struct Found;
  Found look_up(const Query& query) const;

  std::vector<TableSet> sets_;
  EstimateOptions options_;
};

}  // namespace orrery::energy
