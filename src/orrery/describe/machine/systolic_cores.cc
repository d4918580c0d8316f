// Cycles of an m x n product with sums over k on l lanes and s stages of W x H cores:
//
//   ceil(m / (l W)) * ceil(n / (s H)) * k  =  ceil(a / l) * ceil(b / s) * k,   a = ceil(m / W), b = ceil(n / H)
//
// ceil(a / l) takes at most 2 sqrt(a) values; only the least l of each value is useful. The pairs of both lists with l
// s <= cores hold every choice worth making: the least cycles of each number of cores are found among them, in a table
// where the chip is small, by sorting where it is not; of large chips, shares that a tenth fewer cores match are left
// out before sorting. With the whole chip free, s decides l = cores / s, and one list is enough. Source: DFModel (arXiv
// 2412.16432).
#include "orrery/describe/machine/systolic_cores.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

namespace orrery::machine {

namespace {

using base::Count;

struct Division {
  Count parts = 0;     // the least number of parts ...
  Count quotient = 0;  // ... that leaves each this much
};

// Distinct values of ceil(whole / parts) for parts = 1 to `most`, each with its least number of parts.
std::vector<Division> divisions(Count whole, Count most) {
  std::vector<Division> result;
  result.reserve(64);
  Count parts = 1;
  while (parts <= most) {
    const Count quotient = base::ceil_divide(whole, parts);
    result.push_back({parts, quotient});
    if (quotient <= 1) break;
    parts = base::ceil_divide(whole, quotient - 1);  // the least that leaves quotient - 1 or less
  }
  return result;
}

double cycles_of(Count rows, Count columns, Count k) {
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(k);
}

// Shares of falling cycles only.
std::vector<CoreShare> undominated(std::vector<CoreShare> shares) {
  std::sort(shares.begin(), shares.end(), [](const CoreShare& a, const CoreShare& b) {
    if (a.cores != b.cores) return a.cores < b.cores;
    if (a.cycles != b.cycles) return a.cycles < b.cycles;
    return a.lanes < b.lanes;
  });
  std::vector<CoreShare> result;
  for (const CoreShare& share : shares)
    if (result.empty() || share.cycles < result.back().cycles) result.push_back(share);
  return result;
}

// The same through a table of the least cycles of each number of cores: no sorting. Stages rise, so that of equal pairs
// of the same number of cores the last has the fewest lanes.
std::vector<CoreShare> undominated_of_few(const std::vector<Division>& lanes, const std::vector<Division>& stages,
                                          Count cores, Count k) {
  struct Best {
    double cycles = std::numeric_limits<double>::infinity();
    std::uint32_t lanes = 0, stages = 0;
  };
  std::vector<Best> of(static_cast<std::size_t>(cores) + 1);
  std::vector<double> rows(lanes.size());
  for (std::size_t l = 0; l < lanes.size(); ++l) rows[l] = static_cast<double>(lanes[l].quotient);
  for (const Division& stage : stages) {
    const Count room = cores / stage.parts;
    const double columns = static_cast<double>(stage.quotient), depth = static_cast<double>(k);
    for (std::size_t l = 0; l < lanes.size() && lanes[l].parts <= room; ++l) {
      Best& best = of[static_cast<std::size_t>(lanes[l].parts * stage.parts)];
      const double cycles = rows[l] * columns * depth;
      if (cycles <= best.cycles)
        best = {cycles, static_cast<std::uint32_t>(lanes[l].parts), static_cast<std::uint32_t>(stage.parts)};
    }
  }
  std::vector<CoreShare> result;
  double least = std::numeric_limits<double>::infinity();
  for (const Best& best : of) {
    if (best.lanes == 0 || !(best.cycles < least)) continue;
    least = best.cycles;
    result.push_back({static_cast<Count>(best.lanes) * best.stages, best.lanes, best.stages, best.cycles});
  }
  return result;
}

constexpr Count kFewCores = 4096;

// Numbers of cores in steps of 1/16 of a power of two, and the least cycles that fewer steps need: a share that is not
// faster than that is certainly dominated.
class Steps {
 public:
  void offer(const CoreShare& share) {
    double& least = least_[step(share.cores)];
    least = std::min(least, share.cycles);
  }
  void close() {
    for (std::size_t i = 1; i < least_.size(); ++i) least_[i] = std::min(least_[i], least_[i - 1]);
  }
  bool dominated(const CoreShare& share) const {
    const std::size_t at = step(share.cores);
    return at > 0 && least_[at - 1] <= share.cycles;
  }

 private:
  static std::size_t step(Count cores) {
    const auto bits = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(cores)));
    if (bits <= 5) return static_cast<std::size_t>(cores);
    return 16 * (bits - 4) + (static_cast<std::uint64_t>(cores) >> (bits - 5)) % 16;
  }

  std::vector<double> least_ = std::vector<double>(16 * 62, std::numeric_limits<double>::infinity());
};

}  // namespace

std::vector<CoreShare> SystolicCores::product(Count m, Count n, Count k, Shares shares) const {
  if (m <= 0 || n <= 0 || array_.cores <= 0) return {};
  const std::vector<Division> lanes = divisions(base::ceil_divide(m, array_.width), array_.cores);
  const std::vector<Division> stages = divisions(base::ceil_divide(n, array_.height), array_.cores);
  const auto each = [&](const auto& offer) {
    for (const Division& stage : stages) {
      const Count room = array_.cores / stage.parts;
      for (const Division& lane : lanes) {
        if (lane.parts > room) break;
        offer(
            CoreShare{lane.parts * stage.parts, lane.parts, stage.parts, cycles_of(lane.quotient, stage.quotient, k)});
      }
    }
  };
  if (shares == Shares::kFewestCores && array_.cores <= kFewCores)
    return undominated_of_few(lanes, stages, array_.cores, k);
  std::vector<CoreShare> all;
  if (shares == Shares::kFewestCores) {
    Steps steps;
    each([&](const CoreShare& share) { steps.offer(share); });
    steps.close();
    each([&](const CoreShare& share) {
      if (!steps.dominated(share)) all.push_back(share);
    });
    return undominated(std::move(all));
  }
  each([&](const CoreShare& share) { all.push_back(share); });
  std::sort(all.begin(), all.end(), [](const CoreShare& a, const CoreShare& b) {
    return a.cores != b.cores ? a.cores < b.cores : a.lanes < b.lanes;
  });
  return all;
}

std::vector<CoreShare> SystolicCores::elementwise(Count m, Count n) const {
  std::vector<CoreShare> result;
  if (m <= 0 || n <= 0) return result;
  for (const Division& lane : divisions(base::ceil_divide(m, array_.width), array_.cores))
    result.push_back({lane.parts, lane.parts, 1, cycles_of(lane.quotient, n, 1)});
  return result;
}

std::vector<CoreShare> SystolicCores::chain(Count k, Count n, Count effective) const {
  std::vector<CoreShare> result;
  if (k <= 0 || n <= 0 || effective <= 0) return result;
  for (const Division& stage : divisions(base::ceil_divide(k, effective), array_.cores))
    result.push_back({stage.parts, 1, stage.parts, cycles_of(stage.quotient, n, 1)});
  return result;
}

CoreShare SystolicCores::fastest_product(Count m, Count n, Count k) const {
  CoreShare best;
  if (m <= 0 || n <= 0 || array_.cores <= 0) return best;
  Count rows = base::ceil_divide(m, array_.width);
  Count columns = base::ceil_divide(n, array_.height);
  const bool swapped = rows < columns;  // walk over the shorter side
  if (swapped) std::swap(rows, columns);
  for (const Division& near : divisions(columns, array_.cores)) {
    const Count room = array_.cores / near.parts;
    const Count quotient = base::ceil_divide(rows, room);
    const Count far = base::ceil_divide(rows, quotient);  // fewer may leave no more
    CoreShare share{far * near.parts, swapped ? near.parts : far, swapped ? far : near.parts,
                    cycles_of(quotient, near.quotient, k)};
    if (best.cores == 0 || share.cycles < best.cycles ||
        (share.cycles == best.cycles &&
         (share.cores < best.cores || (share.cores == best.cores && share.lanes < best.lanes))))
      best = share;
  }
  return best;
}

double SystolicCores::matrix_product_seconds(const MatrixProduct& product) const {
  if (product.batch <= 0 || product.m <= 0 || product.n <= 0 || product.k <= 0) return 0;
  const Count rows = base::checked_multiply(product.batch, product.m);
  return fastest_product(rows, product.n, product.k).cycles / (array_.frequency_ghz * 1e9);
}

double SystolicCores::memory_bound_seconds(double bytes) const {
  return memory_bytes_per_s_ > 0 ? bytes / memory_bytes_per_s_ : 0;
}

double SystolicCores::elementwise_seconds(double elements, Precision) const {
  const double lanes = static_cast<double>(array_.cores) * static_cast<double>(array_.width);
  return elements / lanes / (array_.frequency_ghz * 1e9);
}

}  // namespace orrery::machine
