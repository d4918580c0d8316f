// Aligned text tables, and how figures look in them.
#pragma once

#include <string>
#include <vector>

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

// How figures look in text: plain digits, so that they can be searched for.
std::string energy_uj(double energy_pj);         // "2117.56"; below 0.01 "0.00123"
std::string energy_with_unit(double energy_pj);  // "2117.56 uJ", "1.23 nJ"
std::string edp(double edp_j_cycles);            // "8.951e+03"
std::string percent(double share);               // "99.22"
// "19.07 s", "3.2 ms", "33.5 d": three or four digits in a unit that suits.
std::string shown_seconds(double seconds);

// Cells that a text takes on a terminal, as far as UTF-8 goes.
std::size_t shown_width(const std::string& text);

}  // namespace orrery::verbs
