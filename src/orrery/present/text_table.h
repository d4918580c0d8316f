// Aligned text tables, and the one that `map` and `eval` print.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/inputs/layers/map_model.h"
#include "orrery/verbs/map/run.h"

namespace orrery::verbs {

// Cells in columns; the first column is aligned left, the others right but for `left_columns`. `rules_before` are rows
// (by index) that a line of dashes precedes. Widths are counted in characters (UTF-8).
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> rules_before;
  std::vector<std::size_t> left_columns = {};
};
std::string text(const Table& table);

// One row a layer; totals of one block and, when there are several, of all blocks. Energies in uJ, times of
// the search in ms. All figures are modelled. `selected`: the one layer of a model that was asked for, whose totals are
// no block's. Totals that lack layers say of how many they are. What an array does stands among the layers.
std::string model_table(const std::vector<MappedLayer>& layers, base::Count blocks, const std::string& selected = {},
                        const ArrayAttention& attention = {});

// What of a model is not mapped, and its share of the products; a line, or nothing.
std::string left_out_line(const MappedWork& work);

// How figures look in text: plain digits, so that they can be searched for.
std::string energy_uj(double energy_pj);         // "2117.56"; below 0.01 "0.00123"
std::string energy_with_unit(double energy_pj);  // "2117.56 uJ", "1.23 nJ"
std::string edp(double edp_j_cycles);            // "8.951e+03"
std::string percent(double share);               // "99.22"

// Cells that a text takes on a terminal, as far as UTF-8 goes.
std::size_t shown_width(const std::string& text);

}  // namespace orrery::verbs
