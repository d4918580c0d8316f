// An operator of a step is short: some microseconds pass before its first byte arrives, whatever its size.
//
//   product            t = f_p + max(FLOP / (e_p peak_p), bytes / (0.79 bandwidth))
//   grouped experts    t = 22 us + max(FLOP / (x_p peak_p), bytes / (0.79 bandwidth))
//   decode attention   t = 11 us + max(bytes / (0.82 bandwidth), FLOP / (0.59 peak_16))
//   prompt attention   t = 15 us + FLOP / (0.59 peak_16) (1 + 742 / n), n keys of the longest query
//   others             t = 2 us + bytes / (0.79 bandwidth)
//
// with f, e and x of the precision p: 16 bits 3.6 us, 0.756, 0.375; 8 bits 7.3 us, 0.50, 0.17; 4 bits 8.1 us, 0.42,
// 0.34, in which operands are quantised first. Collectives in a graph take 4.85 us, 0.14 us for a rank beyond the
// second, and 0.61 of the links' rate; exchanges 11.5 us.
//
// Weights of fewer bits than what they are multiplied in (Marlin's kernels) cost their own bytes and 16-bit work: an
// assumption, that widening them hides behind both.
//
// The constants are the least deviation (half the median, half the mean of |log|) on AIConfigurator's measured
// operators (github ai-dynamo/aiconfigurator 095f58a, Apache-2.0: A100, L40S, H100, H200, B200, GB200; 1,500 rows of
// each kind, experts of the balanced distribution alone), the same for all devices and models: 21 figures. Median
// errors there: products 9 % (16 bits), 14 % (8), 9 % (4), decode attention 13.5 %, prompt attention 14 %, experts 15 %
// (16 bits), 20 % (8, blocks), 18 % (4), all-reduces 14 %, exchanges 15 %. No served run was looked at.
#include "orrery/engines/serving/model/served_roofline.h"

#include <algorithm>
#include <limits>

namespace orrery::serving {
namespace {

using machine::Precision;

struct ProductConstants {
  double fixed_seconds, efficiency, experts_efficiency;
};
constexpr ProductConstants kWide = {3.6e-6, 0.756, 0.375};
constexpr ProductConstants kEight = {7.3e-6, 0.50, 0.17};
constexpr ProductConstants kFour = {8.1e-6, 0.42, 0.34};

constexpr double kStreamed = 0.79;          // of the memory's bandwidth
constexpr double kExpertsSeconds = 22e-6;   // fixed, of grouped products: sorting tokens included; two a layer
constexpr double kDecodeSeconds = 11e-6;    // fixed, of attention to caches
constexpr double kDecodeStreamed = 0.82;    // of the bandwidth
constexpr double kPromptSeconds = 15e-6;    // fixed, of attention of prompts
constexpr double kPromptEfficiency = 0.59;  // of long prompts, of the 16-bit peak
constexpr double kHalfRateKeys = 742;       // a prompt of so many tokens reaches half of that
constexpr double kPlainSeconds = 2e-6;      // fixed, of operators between products

constexpr double kReduceSeconds = 4.85e-6;
constexpr double kRankSeconds = 0.07e-6;  // of a step of 2 (n - 1)
constexpr double kReduceEfficiency = 0.612;
constexpr double kExchangeSeconds = 11.5e-6;

const ProductConstants& constants(Precision p) {
  const double bytes = machine::bytes_per_element(p);
  return bytes >= 2 ? kWide : bytes >= 1 ? kEight : kFour;
}

}  // namespace

double ServedRoofline::matrix_product_seconds(const machine::MatrixProduct& product) const {
  return narrow_weights_seconds(product, machine::bytes_per_element(product.precision));
}

double ServedRoofline::narrow_weights_seconds(const machine::MatrixProduct& product, double weight_bytes) const {
  const auto [batch, m, n, k, precision] = product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const double peak = accelerator_.peak(precision);
  if (!(peak > 0)) return std::numeric_limits<double>::infinity();
  const ProductConstants& c = constants(precision);
  const double width = machine::bytes_per_element(precision);
  const double read = static_cast<double>(m) * static_cast<double>(k) * width +
                      static_cast<double>(k) * static_cast<double>(n) * weight_bytes;
  const double written = static_cast<double>(m) * static_cast<double>(n) * std::max(2.0, width);
  const double bytes = static_cast<double>(batch) * (read + written);
  const double flop = product.flops();
  const double rate = peak * (batch > 1 ? c.experts_efficiency : c.efficiency);
  // Of the two products of experts, each has half of what both of them take beside their work.
  const double fixed = batch > 1 ? kExpertsSeconds / 2 : c.fixed_seconds;
  return fixed + std::max(flop / rate, bytes / (accelerator_.memory_bytes_per_s * kStreamed));
}

std::optional<double> ServedRoofline::attention_seconds(const machine::Operator& attention) const {
  const auto [batch, m, n, k, precision] = attention.product;
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const double heads = static_cast<double>(batch), queries = static_cast<double>(m), keys = static_cast<double>(n);
  const double widths = static_cast<double>(k) + static_cast<double>(attention.value_width);
  const double flop = 2 * heads * queries * keys * attention.share * widths;
  const double wide = std::max(accelerator_.peak(Precision::kBf16), accelerator_.peak(Precision::kFp32));
  if (attention.share < 1)  // a causal mask: of prompts
    return kPromptSeconds + flop / (kPromptEfficiency * wide) * (1 + kHalfRateKeys / keys);
  const double bytes = heads * keys * widths * machine::bytes_per_element(precision);
  return kDecodeSeconds +
         std::max(bytes / (accelerator_.memory_bytes_per_s * kDecodeStreamed), flop / (kPromptEfficiency * wide));
}

double ServedRoofline::memory_bound_seconds(double bytes) const {
  return kPlainSeconds + bytes / (accelerator_.memory_bytes_per_s * kStreamed);
}

double ServedRoofline::issue_seconds() const {
  return accelerator_.host_seconds_per_op;
}

collective::Fabric served_fabric(collective::Fabric fabric) {
  if (fabric.count == 0) return fabric;
  collective::Network& inner = fabric.levels[0];
  inner.collective_s = kReduceSeconds;
  inner.latency_s = kRankSeconds;
  inner.efficiency = kReduceEfficiency;
  inner.in_network_reduction = false;
  inner.trees = inner.doubling = false;
  return fabric;
}

double exchange_seconds() {
  return kExchangeSeconds - kReduceSeconds;
}

}  // namespace orrery::serving
