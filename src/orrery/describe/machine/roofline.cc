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
// Attention by a fused kernel takes the FLOPs that its masks leave over the kernel's rate, a rate r of its own for each
// kernel and chip (catalog/systems); it neither writes nor reads scores, only queries, keys, values and results:
//
//   t = max(FLOP (v + 64 c) / (r n / (n + 256) w / (w + 16) 9/8), bytes / bandwidth)
//
// with v keys that a query sees on average, c edges of the mask, n = 2 v keys of a sequence whose loops are as long (n
// = v without a mask), heads of width w. An edge cuts blocks of 128, which are computed in full: a causal mask has one,
// a window of some of the keys two, 1 + (1 - 2 v / keys) here, so that a window as long as the sequence has none of its
// own. Short sequences leave units idle, narrow heads give the exponentials more weight (figures 4 to 6 of arXiv
// 2307.08691 and 5 to 7 of arXiv 2407.08608: half the rate of long sequences at some 256 keys, 0.9 of it at heads of
// 64). cuDNN's windows of 128 at heads of 64 reach a tenth of its rate without on GB200 (its benchmark; here, a
// quarter). The backward pass does five products for two, at 0.86 of the rate (arXiv 2307.08691: 63 % after 73 %).
//
// Form and tile shapes: cuBLAS's on A100, see "Wave quantization" and "Tile quantization" in NVIDIA's matrix
// multiplication guide; fill and e are fitted. Cost: as many tile shapes as can be the fastest, of four; some 10 ns.
#include "orrery/describe/machine/roofline.h"

#include <algorithm>
#include <limits>

namespace orrery::machine {
namespace {

struct Tile {
  int log2_rows, log2_columns;
  double efficiency;  // relative to the largest tile
};
constexpr std::array<Tile, 4> kTiles = {{{8, 7, 1.0}, {7, 7, 0.95}, {7, 6, 0.80}, {6, 6, 0.55}}};

// What is below so many times the time of full waves is no tile's time from this one on, rounding included.
constexpr std::array<double, kTiles.size()> kHopeless = [] {
  std::array<double, kTiles.size()> times{};
  for (std::size_t i = 0; i < kTiles.size(); ++i) times[i] = (1 - 1e-9) / kTiles[i].efficiency;
  return times;
}();

constexpr base::Count kSplitDepth = 2048;  // least K that is split
constexpr base::Count kSplitPart = 1024;   // least K of a part

constexpr double kMaskBlock = 128;            // keys of a block that is computed whole
constexpr double kHalfRateKeys = 256;         // a sequence of so many reaches half the rate of a long one
constexpr double kExponential = 16;           // elements of a head whose products take as long as the exponentials
constexpr double kBackwardProducts = 2.5;     // over those of the forward pass
constexpr double kBackwardEfficiency = 0.86;  // of the forward pass's
constexpr double kUnknownKernel = 0.6;        // of the products' efficiency, where no figure of the kernel is known

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
  const double wide =
      accelerator.peak(Precision::kBf16) > 0 ? accelerator.peak(Precision::kBf16) : accelerator.peak(Precision::kFp32);
  for (int k = 0; k < kAttentionKernels; ++k) {
    const double own = accelerator.attention_efficiency[static_cast<std::size_t>(k)];
    attention_rate_[static_cast<std::size_t>(k)] =
        wide * (own > 0 ? own : kUnknownKernel * accelerator.matrix_efficiency);
  }
  peak_ = accelerator.peak_flops_per_s;
  for (int p = 0; p < kPrecisions; ++p) {
    const auto precision = static_cast<Precision>(p);
    const double peak = accelerator.peak(precision) * accelerator.efficiency(precision);
    const double step = peak > 0 ? 2.0 * accelerator.units / peak : std::numeric_limits<double>::infinity();
    element_step_[p] = step * inverse_units_;
    static_assert(kTiles.size() == kTileShapes);
    for (std::size_t i = 0; i < kTiles.size(); ++i) {
      const Tile& tile = kTiles[i];
      tile_step_[p][i] = step * (base::Count{1} << (tile.log2_rows + tile.log2_columns)) / tile.efficiency;
    }
  }
}

double Roofline::matrix_product_seconds(const MatrixProduct& product) const {
  const auto [batch, m, n, k, precision] = product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const auto of = static_cast<std::size_t>(precision);
  const double depth = static_cast<double>(k) + fill_depth_;
  // What no padding and full waves would take, if the shape's efficiency were 1.
  const double full =
      static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) * depth * element_step_[of];
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < kTiles.size(); ++i) {
    const Tile& tile = kTiles[i];
    // Shapes of less efficiency follow, which cannot come below.
    if (best < full * kHopeless[i]) break;
    const base::Count tiles = batch * tiles_along(m, tile.log2_rows) * tiles_along(n, tile.log2_columns);
    const double tile_step = tile_step_[of][i];
    // ceil(tiles / units) without a division, the slow part of this function.
    auto waves = static_cast<base::Count>(static_cast<double>(tiles) * inverse_units_);
    waves += waves * units_ < tiles;
    double seconds = static_cast<double>(waves) * tile_step * depth;
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
  const double read = static_cast<double>(m) * k + static_cast<double>(k) * n;
  const double written = static_cast<double>(m) * n;
  // What is summed of narrow operands is written in 16 bits.
  const double width = bytes_per_element(precision);
  return static_cast<double>(batch) * (read * width + written * std::max(2.0, width)) * seconds_per_byte_;
}

std::optional<double> Roofline::attention_seconds(const Operator& attention) const {
  if (attention.kernel == AttentionKernel::kNone) return std::nullopt;
  const auto [batch, m, n, k, precision] = attention.product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const double keys = static_cast<double>(n);
  const double width = (static_cast<double>(k) + static_cast<double>(attention.value_width)) / 2;
  // Less than a block costs as much as one.
  const double seen = std::max(keys * attention.share, std::min(kMaskBlock, keys));
  const double edges = attention.share >= 1 ? 0 : 1 + std::max(0.0, 1 - 2 * seen / keys);
  const double computed = std::min(keys, seen + edges * kMaskBlock / 2);
  const double flop = 4.0 * static_cast<double>(batch) * static_cast<double>(m) * computed * width;
  const double loop = attention.share < 1 ? std::min(keys, 2 * seen) : keys;
  const double narrow = width / (width + kExponential) * (128 + kExponential) / 128;
  double rate = attention_rate_[static_cast<std::size_t>(attention.kernel)] * narrow * loop / (loop + kHalfRateKeys);
  if (bytes_per_element(precision) == 4) rate /= 2;
  // Wide heads and 32 bits would else outrun the chip.
  if (const double peak = peak_[static_cast<std::size_t>(precision)]; peak > 0) rate = std::min(rate, peak);
  const double elements = 2 * static_cast<double>(batch) * (static_cast<double>(m) + keys) * width;
  const double moved = elements * std::max(2.0, bytes_per_element(precision)) * seconds_per_byte_;
  const double forward = flop / rate;
  if (!attention.gradient) return std::max(forward, moved);
  return std::max(forward * kBackwardProducts / kBackwardEfficiency, 2 * moved);
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
