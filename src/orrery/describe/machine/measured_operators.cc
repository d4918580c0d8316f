// The time of a measured product is the measurement. For another one the prediction of the model underneath is
// corrected by its error at measured products nearby: the nearest three in the space of the logarithms of the sizes, of
// the same precision, weighted by inverse squared distance (Shepard 1968), their corrections averaged in the logarithm.
// Beyond kReach octaves a measurement has no influence; the correction fades to 1 on the way. Cost: linear in the
// table.
#include "orrery/describe/machine/measured_operators.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace orrery::machine {
namespace {

constexpr int kNeighbours = 3;
constexpr double kReach = 3;  // octaves

std::array<double, 4> place_of(const MatrixProduct& product) {
  return {std::log2(product.batch), std::log2(product.m), std::log2(product.n), std::log2(product.k)};
}

auto key_of(const MatrixProduct& product) {
  return std::tuple(product.precision, product.batch, product.m, product.n, product.k);
}

}  // namespace

MeasuredOperators::MeasuredOperators(std::vector<MeasuredProduct> table, const OperatorModel& rest) : rest_(&rest) {
  std::sort(table.begin(), table.end(), [](const MeasuredProduct& a, const MeasuredProduct& b) {
    return std::pair(key_of(a.product), a.seconds) < std::pair(key_of(b.product), b.seconds);
  });
  for (const MeasuredProduct& row : table) {
    if (!entries_.empty() && key_of(entries_.back().product) == key_of(row.product)) continue;
    const double predicted = rest.matrix_product_seconds(row.product);
    const double correction = std::isfinite(predicted) ? row.seconds / predicted : 1;
    entries_.push_back({row.product, row.seconds, correction, place_of(row.product)});
  }
}

bool MeasuredOperators::measured(const MatrixProduct& product) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), product,
                                      [](const Entry& e, const auto& p) { return key_of(e.product) < key_of(p); });
  return found != entries_.end() && key_of(found->product) == key_of(product);
}

double MeasuredOperators::matrix_product_seconds(const MatrixProduct& product) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), product,
                                      [](const Entry& e, const auto& p) { return key_of(e.product) < key_of(p); });
  if (found != entries_.end() && key_of(found->product) == key_of(product)) return found->seconds;

  const double predicted = rest_->matrix_product_seconds(product);
  if (!(predicted > 0)) return predicted;
  const auto place = place_of(product);
  struct Neighbour {
    double squared = kReach * kReach;
    double log_correction = 0;
  };
  std::array<Neighbour, kNeighbours> nearest;  // closest first
  for (const Entry& entry : entries_) {
    if (entry.product.precision != product.precision) continue;
    Neighbour candidate{0, std::log(entry.correction)};
    for (int i = 0; i < 4; ++i) candidate.squared += (place[i] - entry.place[i]) * (place[i] - entry.place[i]);
    for (Neighbour& held : nearest) {
      if (candidate.squared < held.squared) std::swap(candidate, held);
    }
  }
  if (!(nearest[0].squared < kReach * kReach)) return predicted;
  double weights = 0;
  double sum = 0;
  for (const Neighbour& neighbour : nearest) {
    const double weight = 1 / neighbour.squared - 1 / (kReach * kReach);
    weights += weight;
    sum += weight * neighbour.log_correction;
  }
  const double fade = 1 - std::sqrt(nearest[0].squared) / kReach;
  return predicted * std::exp(fade * sum / weights);
}

std::optional<double> MeasuredOperators::attention_seconds(const Operator& attention) const {
  return rest_->attention_seconds(attention);
}

double MeasuredOperators::memory_bound_seconds(double bytes) const {
  return rest_->memory_bound_seconds(bytes);
}

double MeasuredOperators::elementwise_seconds(double elements, Precision precision) const {
  return rest_->elementwise_seconds(elements, precision);
}

double MeasuredOperators::issue_seconds() const {
  return rest_->issue_seconds();
}

}  // namespace orrery::machine
