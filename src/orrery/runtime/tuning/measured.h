// What was measured of a layer's operators: for every benchmark the times of its configurations, as plain data. Files
// are read into it (formats/substation), a store or a model of a machine may make it; `Selection` chooses from it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

// Times are whole femtoseconds, so that sums are exact; digits beyond are rounded once, when a time is read.
inline constexpr double kPerMs = 1e12, kPerSecond = 1e15;
inline double ms(base::Count femtoseconds) {
  return static_cast<double>(femtoseconds) / kPerMs;
}

// The texts of a column, numbered as they are met.
struct Named {
  std::string name;                 // of the column, as operator files have it: "sb1_linw1", "A", "vec_dim"
  std::vector<std::string> values;  // lower case, i for n

  std::uint16_t number(std::string_view value) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] == value) return static_cast<std::uint16_t>(i);
    values.emplace_back(value);
    return static_cast<std::uint16_t>(values.size() - 1);
  }
};

struct Measured {
  std::string benchmark;
  bool contraction = false;
  std::vector<Named> columns;          // whose values are layouts
  std::vector<Named> specials;         // choices that only this operator sees
  std::vector<std::uint16_t> layouts;  // of each row, one a column: numbers in `columns`
  std::vector<std::uint16_t> chosen;   // of each row, one a special
  std::vector<base::Count> times;      // of each row, fs, above 0
  std::size_t lines = 0, failed = 0;   // of the files; of them, those that failed verification
  std::size_t dropped = 0;             // rows of stacked contractions whose stack is not outermost

  std::size_t rows() const { return times.size(); }

  // Rows of a table with the same columns, behind these. Texts get the numbers that they would have had.
  void append(const Measured& other) {
    append(columns, layouts, other.columns, other.layouts);
    append(specials, chosen, other.specials, other.chosen);
    times.insert(times.end(), other.times.begin(), other.times.end());
    lines += other.lines;
    failed += other.failed;
    dropped += other.dropped;
  }

 private:
  static void append(std::vector<Named>& named, std::vector<std::uint16_t>& to, const std::vector<Named>& by,
                     const std::vector<std::uint16_t>& from) {
    std::vector<std::vector<std::uint16_t>> number(by.size());
    for (std::size_t c = 0; c < by.size(); ++c)
      for (const std::string& value : by[c].values) number[c].push_back(named[c].number(value));
    for (std::size_t at = 0; at < from.size(); at += by.size())
      for (std::size_t c = 0; c < by.size(); ++c) to.push_back(number[c][from[at + c]]);
  }
};

struct Measurements {
  std::map<std::string, Measured, std::less<>> tables;  // by benchmark
  Sizes sizes;                                          // as far as files tell; 0: not told
  std::vector<base::Input> inputs;
  double bytes = 0, seconds = 0;  // read, and how long that took
};

}  // namespace orrery::tuning
