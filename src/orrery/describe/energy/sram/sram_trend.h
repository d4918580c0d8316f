// How the figures of an organisation follow from its shape, roughly.
//
// The logarithm of each figure is a polynomial of second degree in seven logarithms: rows, columns and numbers of
// subarrays across and down, width of the word, mats at work, banks. Fitted by least squares to all rows of one
// technology (36 coefficients, with a small ridge term, so that correlated coefficients stay bounded). It meets the
// figures to about 5 %; the surface (sram_surface.h) adds what is left, from rows nearby. Cost: rows x 36^2 / 2 to fit,
// 36 to ask.
#pragma once

#include <array>
#include <vector>

#include "orrery/describe/energy/sram/sram_organisation.h"
#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::energy {

class SramTrend {
 public:
  // Rows of one port whose organisation is known. Without any, everything is 1 (logarithm 0).
  explicit SramTrend(const SramTable& table);

  // Natural logarithms of the figures.
  SramFigures logarithms(const SramOrganisation& organisation, const SramPoint& point, const Subarray& part) const;

 private:
  static constexpr int kTerms = 36;
  using Terms = std::array<double, kTerms>;
  static Terms terms(const SramOrganisation& organisation, const SramPoint& point, const Subarray& part);

  std::array<Terms, kSramFigures> coefficients_{};
};

}  // namespace orrery::energy
