// Memories that CACTI was run for, and how far the estimator is from them.
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/energy/sram/sram.h"
#include "orrery/describe/energy/sram/sram_rules.h"
#include "orrery/formats/cacti/cacti_errors.h"
#include "orrery/formats/cacti/cacti_table.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {

inline const std::string kSourceDirectory = ORRERY_SOURCE_DIR;
inline constexpr base::Count kKi = 1024;
using energy::kTechnologies;
inline constexpr std::array<const char*, 4> kFigureNames{"read", "write", "leakage", "area"};

inline const energy::SramSurfaces& catalogue_surfaces() {
  static const auto kept =
      sram_surfaces(yaml::read_file(kSourceDirectory + "/catalog/tables/sram_cacti7.csv"),
                    yaml::read_file(kSourceDirectory + "/catalog/tables/sram_cacti7_runners_up.csv"));
  return kept;
}

inline std::shared_ptr<const energy::SramErrors> catalogue_errors() {
  static const auto kept = [] {
    base::Diagnostics found;
    auto errors = std::make_shared<const energy::SramErrors>(
        read_sram_errors(yaml::read_file(kSourceDirectory + "/catalog/tables/sram_errors.csv"), found));
    found.throw_if_errors();
    return errors;
  }();
  return kept;
}

struct Measured {
  int technology_nm = 0;
  energy::SramRow row;
};

inline std::vector<Measured> measured_points(const std::string& file_name) {
  constexpr int kLeastNm = 22, kMostNm = 90;
  const auto file = yaml::read_file(kSourceDirectory + "/tests/data/" + file_name);
  std::vector<Measured> points;
  base::Diagnostics found;
  for (int nm = kLeastNm; nm <= kMostNm; ++nm)
    for (const energy::SramRow& row : read_sram_table(file, nm, found).rows) points.push_back({nm, row});
  found.throw_if_errors();
  return points;
}

// What a user would ask: read, write, leakage and area of the memory, by the estimator with all its rules.
inline std::array<energy::Figure, 4> figures_of(const energy::Sram& estimator, const Measured& point) {
  const energy::SramPoint& memory = point.row.point;
  const double depth = static_cast<double>(memory.capacity_bytes) * 8 / memory.width_bits;
  const energy::Attributes attributes{{"technology", static_cast<base::Count>(point.technology_nm)},
                                      {"width", static_cast<base::Count>(memory.width_bits)},
                                      {"depth", depth},
                                      {"n_banks", static_cast<base::Count>(memory.banks)},
                                      {"n_rw_ports", static_cast<base::Count>(memory.ports)},
                                      {"global_cycle_seconds", 1e-9}};
  std::array<energy::Figure, 4> figures;
  constexpr std::array<const char*, 4> kActions{"read", "write", "leak", ""};
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const energy::Answer answer = estimator.estimate({"SRAM", attributes, kActions[i], {}});
    if (const auto* refusal = std::get_if<energy::Refusal>(&answer))
      ADD_FAILURE() << refusal->reason;
    else
      figures[i] = std::get<energy::Figure>(answer);
  }
  return figures;
}

// Percent of CACTI's figures.
inline std::array<double, 4> off_by(const std::array<energy::Figure, 4>& ours, const Measured& theirs) {
  constexpr double kUm2PerMm2 = 1e6;
  std::array<double, 4> percent{};
  for (std::size_t i = 0; i < percent.size(); ++i) {
    const double figure = theirs.row.figures[i] * (i == energy::kArea ? kUm2PerMm2 : 1);
    percent[i] = 100 * std::fabs(ours[i].value / figure - 1);
  }
  return percent;
}

inline double words_a_bank(const Measured& point) {
  return energy::words_per_bank(point.row.point);
}

}  // namespace orrery::formats::cacti
