#include "orrery/describe/energy/sram/sram_surface.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "orrery/describe/energy/linear_solve.h"

namespace orrery::energy {
namespace {

constexpr double kFewestWords = 32;  // a bank
// Octaves. An organisation competes where a row of its own is near; its rows within the reach form its figures.
constexpr double kNear = 0.5;
constexpr double kReach = 1.6;
constexpr double kSoftening = 1e-4;
constexpr double kSharpness = 1.5;
constexpr double kRidge = 0.0018;
constexpr double kDistrust = 0.25;  // of the cost's logarithm, an octave

constexpr double kSame = 1e-12;  // squared distance of rows at one point

auto key(const SramPoint& point) {
  return std::tuple(point.banks, point.ports, point.width_bits, point.capacity_bytes);
}

bool before(const SramRow& a, const SramRow& b) {
  return key(a.point) < key(b.point);
}

SramTable sorted(SramTable table) {
  std::stable_sort(table.rows.begin(), table.rows.end(), before);
  return table;
}

SramFigures raised(const SramFigures& logarithms) {
  SramFigures figures;
  for (std::size_t i = 0; i < figures.size(); ++i) figures[i] = std::exp(logarithms[i]);
  return figures;
}

}  // namespace

SramSurface::SramSurface(SramTable table) : table_(sorted(std::move(table))), trend_(table_), grid_(table_) {
  for (const SramRow& row : table_.rows) {
    const SramPoint& point = row.point;
    const SramRange here{point.capacity_bytes, point.capacity_bytes, point.width_bits, point.width_bits};
    SramRange& range = ranges_.try_emplace({point.banks, point.ports}, here).first->second;
    range.least_bytes = std::min(range.least_bytes, here.least_bytes);
    range.most_bytes = std::max(range.most_bytes, here.most_bytes);
    range.least_bits = std::min(range.least_bits, here.least_bits);
    range.most_bits = std::max(range.most_bits, here.most_bits);
  }
  Samples samples;
  add_samples(table_.rows, samples);
  add_samples(table_.runners_up, samples);
  for (auto& [shared, members] : samples) groups_.push_back({shared.first, shared.second, std::move(members)});
}

void SramSurface::add_samples(const std::vector<SramRow>& rows, Samples& samples) const {
  for (const SramRow& row : rows) {
    if (row.point.ports != 1) continue;
    const auto part = subarray(row.organisation, row.point);
    if (!part) continue;
    Sample sample{std::log2(words_per_bank(row.point)), std::log2(row.point.width_bits), part->address_bits, {}};
    const SramFigures trend = trend_.logarithms(row.organisation, row.point, *part);
    for (std::size_t f = 0; f < trend.size(); ++f) sample.rest[f] = std::log(row.figures[f]) - trend[f];
    samples[{row.point.banks, row.organisation}].push_back(sample);
  }
}

const SramRange* SramSurface::range(int banks, int ports) const {
  const auto found = ranges_.find({banks, ports});
  return found == ranges_.end() ? nullptr : &found->second;
}

bool SramSurface::covers(const SramPoint& point) const {
  const SramRange* range = this->range(point.banks, point.ports);
  return range && point.capacity_bytes >= range->least_bytes && point.capacity_bytes <= range->most_bytes &&
         point.width_bits >= range->least_bits && point.width_bits <= range->most_bits && point.width_bits % 8 == 0 &&
         words_per_bank(point) >= kFewestWords;
}

std::optional<SramSurface::Candidate> SramSurface::candidate(const Group& group, const SramPoint& point, double near,
                                                             bool without_its_rows) const {
  const double words = std::log2(words_per_bank(point)), width = std::log2(point.width_bits);
  const auto distance2 = [&](const Sample& sample) {
    const double dx = sample.words - words, dy = sample.width - width;
    const double r2 = dx * dx + dy * dy;
    return without_its_rows && r2 < kSame ? kReach * kReach + 1 : r2;
  };
  double nearest = kReach * kReach + 1;
  for (const Sample& sample : group.samples) nearest = std::min(nearest, distance2(sample));
  if (nearest > near * near) return std::nullopt;
  const auto part = subarray(group.organisation, point);
  if (!part) return std::nullopt;

  constexpr std::size_t kUnknowns = 4;
  std::array<double, kUnknowns * kUnknowns> normal{};
  std::array<double, kUnknowns * kSramFigures> right{};
  const double scale = std::pow(nearest + kSoftening, kSharpness);  // the nearest row weighs 1
  for (const Sample& sample : group.samples) {
    const double r2 = distance2(sample);
    if (r2 > kReach * kReach) continue;
    const double fade = 1 - r2 / (kReach * kReach);
    const double weight = scale * fade * fade * std::pow(r2 + kSoftening, -kSharpness);
    const std::array<double, kUnknowns> x{1, sample.words - words, sample.width - width,
                                          double(sample.address_bits - part->address_bits)};
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      for (std::size_t j = 0; j <= i; ++j) normal[i * kUnknowns + j] += weight * x[i] * x[j];
      for (std::size_t f = 0; f < kSramFigures; ++f) right[i * kSramFigures + f] += weight * x[i] * sample.rest[f];
    }
  }
  for (std::size_t i = 1; i < kUnknowns; ++i) normal[i * kUnknowns + i] += kRidge;
  solve_positive(normal.data(), right.data(), kUnknowns, kSramFigures);

  Candidate found{trend_.logarithms(group.organisation, point, *part), 0};
  for (std::size_t f = 0; f < kSramFigures; ++f) found.logarithms[f] += right[f];
  found.cost = found.logarithms[kRead] + 2 * found.logarithms[kAccess] + kDistrust * std::sqrt(nearest);
  return found;
}

std::optional<SramEstimate> SramSurface::between_rows(const SramPoint& point, bool without_its_rows) const {
  if (!covers(point)) return std::nullopt;
  // Between 256 and 512 bit no row may be that near; then any within reach competes.
  for (const double near : {kNear, kReach}) {
    const Group* winner = nullptr;
    Candidate best;
    std::vector<Candidate> all;
    for (const Group& group : groups_) {
      if (group.banks != point.banks || point.ports != 1) continue;
      const auto one = candidate(group, point, near, without_its_rows);
      if (!one) continue;
      all.push_back(*one);
      if (winner && best.cost <= one->cost) continue;
      best = *one;
      winner = &group;
    }
    if (!winner) continue;
    SramEstimate estimate{raised(best.logarithms), SramOrigin::kOrganisation, winner->organisation, {}};
    for (const Candidate& other : all) {
      if (other.cost - best.cost > kContested) continue;
      for (const SramFigure figure : {kRead, kWrite, kLeak, kArea})
        estimate.contested_percent[figure] =
            std::max(estimate.contested_percent[figure],
                     100 * std::fabs(std::expm1(other.logarithms[figure] - best.logarithms[figure])));
    }
    return estimate;
  }
  const auto straight = grid_.logarithms(point);
  if (!straight) return std::nullopt;
  return SramEstimate{raised(*straight), SramOrigin::kGrid, {}};
}

std::optional<SramEstimate> SramSurface::at(const SramPoint& point) const {
  const auto row = std::lower_bound(table_.rows.begin(), table_.rows.end(), SramRow{point, {}, {}}, before);
  if (row != table_.rows.end() && row->point == point)
    return SramEstimate{row->figures, SramOrigin::kTable, row->organisation};
  return between_rows(point, false);
}

std::optional<SramEstimate> SramSurface::left_out(const SramPoint& point) const {
  return between_rows(point, true);
}

}  // namespace orrery::energy
