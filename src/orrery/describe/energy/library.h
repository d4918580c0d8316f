// Figures of published designs, scaled to the requested attributes.
//
// A row holds the figures of one class and action for given attributes. An attribute that the query gives with the
// same value matches; another is scaled, each by its own law (library.cc); a row with a differing attribute that cannot
// be scaled is left out. The row with the most matches answers; of equals, the one scaled least, then the first.
#pragma once

#include <string>
#include <vector>

#include "orrery/describe/energy/estimator.h"
#include "orrery/describe/energy/technology.h"

namespace orrery::energy {

// An attribute of a row. Names are alternatives (`width|datawidth`): the first that the query gives counts, and the
// first of all names the law. Values are alternatives, too; scaling starts from the first. `*` matches any value.
struct LibraryAttribute {
  std::vector<std::string> names;
  std::vector<std::string> values;
  bool required = false;  // a query without it is declined; if false, the row's value is used, and the source says so
};

struct LibraryRow {
  std::vector<std::string> classes;
  std::vector<std::string> actions;
  std::vector<LibraryAttribute> attributes;
  std::optional<double> energy_pj;
  std::optional<double> area_um2;
  Basis basis = Basis::kPublished;
  std::string source;
};

struct LibraryOptions {
  std::string name = "library";
  double accuracy_percent = 90;
  // Rows hold for their own technologies only: Accelergy's Aladdin tables know 40 and 45 nm.
  bool scales_technology = true;
};

class Library : public Estimator {
 public:
  Library(std::vector<LibraryRow> rows, NodeScaling scaling, LibraryOptions options = {});

  std::string_view name() const override { return options_.name; }
  std::vector<std::string> classes() const override;
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  std::vector<std::string> beyond(const LibraryRow& best, const Query& query) const;

  std::vector<LibraryRow> rows_;
  NodeScaling scaling_;
  LibraryOptions options_;
};

}  // namespace orrery::energy
