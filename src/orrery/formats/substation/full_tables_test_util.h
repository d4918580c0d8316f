// Tables as large as Substation's benchmarks make them: every layout of every kernel, every layout in which a
// contraction is one BLAS call, with times drawn so that layouts matter and no tensor's best is everybody's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "orrery/formats/substation/columns.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::formats::substation {

// A number from 0 to 1 that a text and a seed determine.
inline double drawn(const std::string& text, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9u;
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

inline std::vector<std::string> orders(std::string dims) {
  std::sort(dims.begin(), dims.end());
  std::vector<std::string> out;
  do out.push_back(dims);
  while (std::next_permutation(dims.begin(), dims.end()));
  return out;
}

// Columns that the benchmarks vary together: the second takes the layout of the first.
inline std::string tied_to(const std::string& kernel, const std::string& column) {
  static const std::map<std::string, std::string> ties{{"softmax drop", "drop_mask"},
                                                       {"bs drop", "drop_mask"},
                                                       {"aib wvv", "wkk"},
                                                       {"aib wqq", "wkk"},
                                                       {"aib bv", "bk"},
                                                       {"aib bq", "bk"},
                                                       {"aib vv", "kk"},
                                                       {"aib qq", "kk"}};
  const auto found = ties.find(kernel + " " + column);
  return found == ties.end() ? column : found->second;
}

// `noise`: of a row, against 0.5 of each of its layouts; `kept`: the share of a kernel's rows that there are.
inline tuning::Measurements full_tables(const tuning::Graph& graph, std::uint64_t seed, int specials = 1,
                                        double noise = 0.1, double kept = 1) {
  tuning::Measurements out;
  out.sizes = graph.sizes;
  for (const Expected& expected : expected_files(graph)) {
    tuning::Measured table = empty_table(expected);
    const auto add = [&](const std::vector<std::string>& layouts) {
      // The mean is about 10 us; a layout's factor is from 1 to 2.5, the noise 10 %.
      double time = 1e9;
      std::string all = expected.benchmark;
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        time *= 1 + 0.5 * drawn(expected.benchmark + expected.layouts[i].column + layouts[i], seed);
        all += layouts[i];
      }
      if (!expected.contraction && drawn("kept" + all, seed) >= kept) return;
      for (int special = 0; special < specials; ++special) {
        for (std::size_t i = 0; i < layouts.size(); ++i) table.layouts.push_back(table.columns[i].number(layouts[i]));
        for (tuning::Named& named : table.specials)
          table.chosen.push_back(
              named.number(expected.contraction ? "tc" + std::to_string(special) : std::string(1, "bji"[special % 3])));
        const double more = 1 + noise * drawn(all + std::to_string(special), seed);
        table.times.push_back(static_cast<base::Count>(time * more / 1e6) * 1'000'000);
      }
    };
    if (expected.contraction) {
      for (const tuning::ContractionLayout& one :
           tuning::contraction_space(graph.find(expected.benchmark)->einsum, graph.sizes).layouts)
        if (!expected.stacked || ((one.a.find('q') == std::string::npos || one.a[0] == 'q') &&
                                  (one.b.find('q') == std::string::npos || one.b[0] == 'q') &&
                                  (one.c.find('q') == std::string::npos || one.c[0] == 'q')))
          add({one.a, one.b, one.c});
    } else {
      std::vector<std::vector<std::string>> choices;
      std::vector<std::size_t> wheel(expected.layouts.size()), at(expected.layouts.size());
      for (std::size_t i = 0; i < wheel.size(); ++i) {
        choices.push_back(orders(expected.layouts[i].dims));
        wheel[i] = i;
        for (std::size_t j = 0; j < i; ++j)
          if (expected.layouts[j].column == tied_to(expected.benchmark, expected.layouts[i].column)) wheel[i] = j;
        for (std::size_t j = 0; j < i; ++j)
          if (tied_to(expected.benchmark, expected.layouts[j].column) == expected.layouts[i].column)
            wheel[i] = wheel[j];
      }
      for (;;) {
        std::vector<std::string> layouts;
        for (std::size_t i = 0; i < wheel.size(); ++i) layouts.push_back(choices[i][at[wheel[i]]]);
        add(layouts);
        std::size_t turn = 0;
        while (turn < wheel.size() && (wheel[turn] != turn || ++at[turn] == choices[turn].size())) at[turn++] = 0;
        if (turn == wheel.size()) break;
      }
    }
    out.tables.emplace(expected.benchmark, std::move(table));
  }
  return out;
}

}  // namespace orrery::formats::substation
