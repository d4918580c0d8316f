// An operator of a step is short: some microseconds pass before its first byte arrives, whatever its size.
//
//   product            t = f_p + max(FLOP / (e_p peak_p), bytes / (s bandwidth))
//   grouped experts    t = 22 us + max(FLOP / (x_p peak_p), bytes / (s bandwidth))
//   decode attention   t = d + max(bytes / (r bandwidth), FLOP / (0.59 peak_16))
//   prompt attention   t = 15 us + FLOP / (0.59 peak_16) (1 + 890 / n), n keys of the longest query
//   others             t = 2 us + bytes / (s bandwidth)
//
// f, e and x are of the precision p, s, d and r of the class of device: Hopper has more of its memory's bandwidth than
// the others, whose kernels begin earlier. In 4 bits operands are quantised first. Of collectives in a graph, the fixed
// part, that of a rank beyond the second, and the share of the links' rate; of exchanges the fixed part.
//
// Weights of fewer bits than what they are multiplied in (Marlin's kernels) cost their own bytes and 16-bit work: an
// assumption, that widening them hides behind both.
//
// The constants are the least deviation (half the median, half the mean of |log|) on AIConfigurator's measured
// operators (github ai-dynamo/aiconfigurator 095f58a, Apache-2.0: A100, L40S, H100, H200, B200, GB200; experts of the
// balanced distribution alone), the same for all models: 24 figures, `bench/served_operators.py` fits them. Median
// errors there stand in docs/model/serving.md. No served run was looked at.
#include "orrery/engines/serving/model/served_roofline.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace orrery::serving {
namespace {

using machine::Precision;

struct ProductConstants {
  double fixed_seconds, efficiency, experts_efficiency;
};
constexpr ProductConstants kWide = {3.46e-6, 0.739, 0.361};
constexpr ProductConstants kEight = {7.59e-6, 0.497, 0.169};
constexpr ProductConstants kFour = {8.1e-6, 0.427, 0.302};

constexpr double kStreamed = 0.742;              // of the memory's bandwidth
constexpr double kHopperStreamed = 0.86;         // Hopper's
constexpr double kExpertsSeconds = 2.35e-5;      // fixed, of grouped products: sorting tokens included; two a layer
constexpr double kDecodeSeconds = 9.93e-6;       // fixed, of attention to caches
constexpr double kHopperDecodeSeconds = 1.5e-5;  // Hopper's
constexpr double kDecodeStreamed = 0.838;        // of the bandwidth
constexpr double kHopperDecodeStreamed = 0.857;  // Hopper's
constexpr double kPromptSeconds = 1.51e-5;       // fixed, of attention of prompts
constexpr double kPromptEfficiency = 0.59;       // of long prompts, of the 16-bit peak
constexpr double kHalfRateKeys = 896;            // a prompt of so many tokens reaches half of that
constexpr double kPlainSeconds = 2e-6;           // fixed, of operators between products

constexpr double kReduceSeconds = 4.81e-6;
constexpr double kRankSeconds = 3.59e-8;  // of a step of 2 (n - 1)
constexpr double kReduceEfficiency = 0.617;
constexpr double kExchangeSeconds = 11.5e-6;

// Hopper's names: H100, H20, GH200 and their kin.
bool is_hopper(std::string_view name) {
  if (name.starts_with('G')) name.remove_prefix(1);
  return name.size() > 1 && name[0] == 'H' && name[1] >= '0' && name[1] <= '9';
}

const ProductConstants& constants(Precision p) {
  const double bytes = machine::bytes_per_element(p);
  return bytes >= 2 ? kWide : bytes >= 1 ? kEight : kFour;
}

}  // namespace

ServedRoofline::ServedRoofline(const machine::Accelerator& accelerator)
    : accelerator_(accelerator), hopper_(is_hopper(accelerator.name)) {}

double ServedRoofline::streamed_seconds(double bytes) const {
  return bytes / (accelerator_.memory_bytes_per_s * (hopper_ ? kHopperStreamed : kStreamed));
}

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
  return fixed + std::max(flop / rate, streamed_seconds(bytes));
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
  const double streamed = hopper_ ? kHopperDecodeStreamed : kDecodeStreamed;
  return (hopper_ ? kHopperDecodeSeconds : kDecodeSeconds) +
         std::max(bytes / (accelerator_.memory_bytes_per_s * streamed), flop / (kPromptEfficiency * wide));
}

double ServedRoofline::memory_bound_seconds(double bytes) const {
  return kPlainSeconds + streamed_seconds(bytes);
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
