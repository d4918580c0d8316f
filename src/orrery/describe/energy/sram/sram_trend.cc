#include "orrery/describe/energy/sram/sram_trend.h"

#include <cmath>

#include "orrery/describe/energy/linear_solve.h"

namespace orrery::energy {
namespace {

constexpr int kShape = 7;
constexpr double kSramTrendRidge = 1e-5;  // of the number of rows

}  // namespace

SramTrend::Terms SramTrend::terms(const SramOrganisation& organisation, const SramPoint& point, const Subarray& part) {
  // Centred on a memory of usual size, so that the squares stay apart from the linear terms.
  const std::array<double, kShape> shape{
      std::log2(part.rows) - 6,
      std::log2(double(point.width_bits) * organisation.nspd / organisation.ndwl) - 6,
      std::log2(organisation.ndwl) - 1,
      std::log2(organisation.ndbl) - 1,
      std::log2(point.width_bits) - 6,
      std::log2(part.active_mats),
      std::log2(point.banks)};
  Terms terms;
  std::size_t at = 0;
  terms[at++] = 1;
  for (const double x : shape) terms[at++] = x;
  for (std::size_t i = 0; i < kShape; ++i)
    for (std::size_t j = i; j < kShape; ++j) terms[at++] = shape[i] * shape[j];
  return terms;
}

SramTrend::SramTrend(const SramTable& table) {
  std::array<double, kTerms * kTerms> normal{};
  std::array<double, kTerms * kSramFigures> right{};
  double rows = 0;
  for (const SramRow& row : table.rows) {
    if (row.point.ports != 1) continue;
    const auto part = subarray(row.organisation, row.point);
    if (!part) continue;
    ++rows;
    const Terms x = terms(row.organisation, row.point, *part);
    for (std::size_t i = 0; i < kTerms; ++i) {
      for (std::size_t j = 0; j <= i; ++j) normal[i * kTerms + j] += x[i] * x[j];
    }
    for (std::size_t figure = 0; figure < kSramFigures; ++figure) {
      const double y = std::log(row.figures[figure]);
      for (std::size_t i = 0; i < kTerms; ++i) right[i * kSramFigures + figure] += x[i] * y;
    }
  }
  if (rows == 0) return;
  for (std::size_t i = 0; i < kTerms; ++i) normal[i * kTerms + i] += kSramTrendRidge * rows;
  solve_positive(normal.data(), right.data(), kTerms, kSramFigures);
  for (std::size_t figure = 0; figure < kSramFigures; ++figure)
    for (std::size_t i = 0; i < kTerms; ++i) coefficients_[figure][i] = right[i * kSramFigures + figure];
}

SramFigures SramTrend::logarithms(const SramOrganisation& organisation, const SramPoint& point,
                                  const Subarray& part) const {
  const Terms x = terms(organisation, point, part);
  SramFigures logarithms{};
  for (std::size_t figure = 0; figure < kSramFigures; ++figure)
    for (std::size_t i = 0; i < kTerms; ++i) logarithms[figure] += coefficients_[figure][i] * x[i];
  return logarithms;
}

}  // namespace orrery::energy
