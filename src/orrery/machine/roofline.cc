// A matrix product runs as tiles of its result, dealt in waves to the accelerator's units; a wave that is not full
// takes as long as a full one. A tile walks along K and pays its pipeline's fill and drain, `fill_depth` steps:
//
//   tiles = batch ceil(M/tm) ceil(N/tn);  waves = ceil(tiles / units)
//   t     = waves 2 tm tn (K + fill) units / (peak e r)
//
// with e the efficiency of an endless product and r that of the tile's shape: small tiles reuse less. cuBLAS is assumed
// to pick the fastest shape. Where tiles leave units idle and K is deep, K is split among units, and the partial
// results are added through memory in fp32. No product is faster than its traffic through memory allows.
//
// Form and tile shapes: cuBLAS's on A100, see "Wave quantization" and "Tile quantization" in NVIDIA's matrix
// multiplication guide; fill and e are fitted. Cost: four tile shapes, some 20 ns.
#include "orrery/machine/roofline.h"

#include <algorithm>
#include <limits>

namespace orrery::machine {
namespace {

struct Tile {
  int log2_rows, log2_columns;
  double efficiency;  // relative to the largest tile
};
constexpr std::array<Tile, 4> kTiles = {{{8, 7, 1.0}, {7, 7, 0.95}, {7, 6, 0.80}, {6, 6, 0.55}}};

constexpr base::Count kSplitDepth = 2048;  // least K that is split
constexpr base::Count kSplitPart = 1024;   // least K of a part

constexpr base::Count tiles_along(base::Count extent, int log2_tile) {
  return (extent + (base::Count{1} << log2_tile) - 1) >> log2_tile;
}

}  // namespace

Roofline::Roofline(const Accelerator& accelerator)
    : seconds_per_byte_(1 / (accelerator.memory_bytes_per_s * accelerator.memory_efficiency)),
      issue_seconds_(accelerator.host_seconds_per_op),
      fill_depth_(accelerator.fill_depth),
      units_(accelerator.units),
      inverse_units_(1.0 / accelerator.units) {
  for (int p = 0; p < kPrecisions; ++p) {
    const double peak = accelerator.peak_flops_per_s[p] * accelerator.matrix_efficiency;
    seconds_per_tile_step_[p] = peak > 0 ? 2.0 * accelerator.units / peak : std::numeric_limits<double>::infinity();
  }
}

double Roofline::matrix_product_seconds(const MatrixProduct& product) const {
  const auto [batch, m, n, k, precision] = product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const double step = seconds_per_tile_step_[static_cast<int>(precision)];
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const base::Count tiles = batch * tiles_along(m, tile.log2_rows) * tiles_along(n, tile.log2_columns);
    const double tile_step = step * (base::Count{1} << (tile.log2_rows + tile.log2_columns)) / tile.efficiency;
    // ceil(tiles / units) without a division, the slow part of this function.
    auto waves = static_cast<base::Count>(tiles * inverse_units_);
    waves += waves * units_ < tiles;
    double seconds = waves * tile_step * (k + fill_depth_);
    if (tiles < units_ && k >= kSplitDepth) {
      const base::Count parts = std::min(units_ / tiles, k / kSplitPart);
      if (parts >= 2) {
        const double partial_bytes = 4.0 * batch * m * n * parts;
        seconds = std::min(
            seconds, tile_step * (static_cast<double>(k) / parts + fill_depth_) + partial_bytes * seconds_per_byte_);
      }
    }
    best = std::min(best, seconds);
  }
  return std::max(best, traffic_seconds(product));
}

double Roofline::traffic_seconds(const MatrixProduct& product) const {
  const auto [batch, m, n, k, precision] = product;
  const double elements = static_cast<double>(batch) *
                          (static_cast<double>(m) * k + static_cast<double>(k) * n + static_cast<double>(m) * n);
  return elements * bytes_per_element(precision) * seconds_per_byte_;
}

Cost Roofline::cost(const Operator& one) const {
  Cost out = OperatorModel::cost(one);
  if (one.kind == OperatorKind::kProduct && out.seconds > 0)
    out.binds = out.seconds > traffic_seconds(one.product) ? "compute" : "memory";
  return out;
}

double Roofline::memory_bound_seconds(double bytes) const {
  return bytes * seconds_per_byte_;
}

double Roofline::issue_seconds() const {
  return issue_seconds_;
}

}  // namespace orrery::machine
