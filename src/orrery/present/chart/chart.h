// A chart as data: what terminal, page and Vega draw of it. Its figures are those of an answer's JSON document.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/formats/json/json_document.h"

namespace orrery::verbs {

using Node = formats::json::Node;

// A figure beside its name, as it is shown; `exact` as the document writes it, empty of texts and of what is derived.
struct Fact {
  std::string name, shown, exact = {};
};

struct ChartAxis {
  std::string title;  // with its unit
  bool log = false;
};

// A bar (`place`, to `x`), a point (`x`, `y`), a span (`place`, from `x` to `y`), a cell (`place`, `column`, `x`), a
// line over several axes (`shares`).
struct ChartMark {
  std::string series, place, column;
  double x = 0, y = 0;
  std::string label;                // written beside a point,
  bool label_before = false;        // on its left,
  bool label_below = false;         // and not above
  std::vector<double> shares = {};  // of lines: where on each axis, 0 to 1
  std::vector<Fact> facts;
};

struct ChartLine {
  std::string name;
  std::vector<std::pair<double, double>> points;
  bool dashed = false;
};

// An axis of parallel coordinates: what its ends are.
struct ParallelAxis {
  std::string title, low, high;
};

struct Chart {
  enum class Kind { kBars, kPoints, kSpans, kCells, kParallel };

  std::string name;         // "energy": what `orrery chart --name` takes
  std::string title;        // the finding
  std::string description;  // what is drawn, for those who do not see it
  std::string note = {};    // what was left out, and the like
  Kind kind = Kind::kBars;
  ChartAxis x = {}, y = {};
  std::vector<std::string> series = {};   // in the order of their colours
  std::vector<std::string> columns = {};  // of cells, in order; empty: as they appear
  std::vector<ChartMark> marks = {};
  std::vector<ParallelAxis> axes = {};
  std::vector<ChartLine> lines = {};
  std::optional<std::pair<double, std::string>> limit = {};  // of bars: a line at x, and what it is
  bool side_by_side = false;                                 // bars of one place are not stacked
};

// Leaves out what cannot be drawn, and most of very many points; `note` says so.
void prepare(Chart& chart);

// The value at "result.total.energy_pj"; null where there is none.
const Node* at(const Node& node, std::string_view path);
std::string text_at(const Node& node, std::string_view path);                // "" where it is no text
std::optional<double> number_at(const Node& node, std::string_view path);    // nothing where it is no number
const std::vector<Node>& items_at(const Node& node, std::string_view path);  // none where it is no list

// How a value of a document is shown: a number with six digits, whole ones with all of theirs.
std::string shown_text(const Node& value);
std::string shown_number(double value);
Fact fact(std::string name, const Node* value);  // "-" for what is not there
Fact derived(std::string name, std::string shown);
std::string percent_of(double part, double whole);  // "52 %", "0.4 %"

// A unit of a kind in which `most` has one to three digits before its point, and what values are multiplied by.
struct ChartUnit {
  std::string name;
  double factor = 1;
};
ChartUnit unit_of(double most, std::string_view base);  // "pJ", "s", "B", "FLOP/s", "um^2"; others stay as they are

// The colours of a series, for a light and a dark ground: told apart by everybody.
struct Palette {
  std::vector<std::string> light, dark;
};
const Palette& palette();
// A cell's colour; `share` from 0 to 1.
std::string cell_colour(double share);

// The ends of an axis over these values, and where it has marks.
struct ChartScale {
  double least = 0, most = 1;
  bool log = false;
  std::vector<double> ticks = {};
  double share(double value) const;  // 0 at `least`, 1 at `most`
  bool large() const;                // ticks are written with a prefix, 2.5M
  std::string text(double tick) const;
};
ChartScale scale_of(double least, double most, bool log);
// The title of the axis x, with what the line at a limit is: a name beside the line would lie on bars.
std::string x_title(const Chart& chart);
// Those of x and y, over marks, lines and limit.
std::pair<ChartScale, ChartScale> scales_of(const Chart& chart);
// Whether the colours need words: not of bars of one kind, which the title names.
bool has_legend(const Chart& chart);
// The places of bars and spans, and the columns of cells, in order of appearance.
std::vector<std::string> places_of(const Chart& chart);
std::vector<std::string> columns_of_cells(const Chart& chart);

}  // namespace orrery::verbs
