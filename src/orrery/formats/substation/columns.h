// What the file of a benchmark must have, after the operators that it serves; what a layout may be.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/substation/measurement_source.h"
#include "orrery/runtime/tuning/graph.h"
#include "orrery/runtime/tuning/measured.h"

namespace orrery::formats::substation {

struct Expected {
  std::string benchmark;
  bool contraction = false;
  struct Layout {
    std::string column;  // lower case; of contractions "a", "b", "c"
    std::string dims;
  };
  std::vector<Layout> layouts;
  struct Choice {
    std::string column, short_name;  // "vec_dim", "dv"
  };
  std::vector<Choice> specials;
  bool stacked = false;  // layouts with q elsewhere than outermost are no candidates

  const Layout* layout(std::string_view column) const;
};

// Of every benchmark of the graph, in the order in which operators first need them.
std::vector<Expected> expected_files(const tuning::Graph& graph);

// A table with these columns and no rows.
tuning::Measured empty_table(const Expected& expected);

// "`BXN` is no order of the dimensions b, j, i": what is wrong with a layout; empty where nothing is.
std::string layout_mistake(std::string_view written, const Expected::Layout& expected);

// Remembers sizes that files tell, and where each was told first; a different one is an error (O1713).
class SizesSeen {
 public:
  void see(char letter, base::Count size, const base::Location& where, base::Diagnostics& found);
  void join(const SizesSeen& other, base::Diagnostics& found);  // what another file told, after this one
  const tuning::Sizes& sizes() const { return sizes_; }
  // Whether the other told all of these, and the same.
  bool within(const SizesSeen& other) const;
  // Products of sizes that contractions tell as M N K batch; asked when all files were read.
  void see_product(const std::string& letters, base::Count product, const base::Location& where);
  void check_products(base::Diagnostics& found) const;

 private:
  tuning::Sizes sizes_;
  std::map<char, base::Location> told_;
  struct Product {
    std::string letters;
    base::Count product;
    base::Location where;
  };
  std::vector<Product> products_;
};

}  // namespace orrery::formats::substation
