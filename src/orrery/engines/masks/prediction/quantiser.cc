// Symmetric codes without zero point. With n = 2^(bits - 1) - 1 and the clip threshold T of a tensor:
//
//   scale = n / T,   code = clamp(round_half_even(x * scale), -n, n),   x / |x|2 in place of x when normalised.
//
// One scale serves a whole tensor [batch, heads, tokens, depth]; padding counts towards its maximum. A row of zeros has
// codes of 0, where Sanger's release divides zero by zero.
//
// Source: Sanger (L. Lu et al., MICRO 2021) and its release. Cost: two passes over queries and keys.
#include "orrery/engines/masks/prediction/quantiser.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/masks/unfinished.h"
#include "orrery/runtime/kernels/prune_part.h"

namespace orrery::masks {
namespace {

constexpr Count kRows = 64;             // in a task
constexpr float kLargestScore = 1e30F;  // sums of products of rows and their factors stay far below the end of floats

struct Tensor {
  const char* name;
  const char* option;
  const float* data;
  Count rows;
};

[[noreturn]] void refuse_numbers(const Tensor& x, Count row) {
  base::fail(
      "O1884", fmt::format("the {} hold numbers that are not finite", x.name), {},
      fmt::format("vector {} of {} is the first; a model whose weights hold such numbers makes them of every text",
                  row + 1, x.rows));
}

// Norms into `into`, 1 for rows of zeros and without normalisation; the largest magnitude of what is quantised.
float measure(kernels::Context& context, const Tensor& x, Count depth, Normalise normalise, QuantisedRows& into,
              float& longest) {
  into.norms.resize(static_cast<std::size_t>(x.rows));
  auto* peaks = reinterpret_cast<float*>(context.shared(x.rows + 1));
  context.pool().run(base::ceil_divide(x.rows, kRows), [&](kernels::Index task, int) {
    const Count first = task * kRows;
    context.table().row_sizes({x.data + first * depth, depth, std::min(kRows, x.rows - first), depth,
                               into.norms.data() + first, peaks + first});
  });
  float most = 0;
  longest = 0;
  for (Count r = 0; r < x.rows; ++r) {
    float& norm = into.norms[static_cast<std::size_t>(r)];
    if (std::isnan(norm) || std::isinf(peaks[r])) refuse_numbers(x, r);
    longest = std::max(longest, norm);
    if (normalise == Normalise::kNone || norm == 0) norm = 1;
    most = std::max(most, peaks[r] / norm);
  }
  return most;
}

void encode(kernels::Context& context, const Tensor& x, Count depth, const QuantiserOptions& options,
            QuantisedRows& into) {
  const auto most = static_cast<float>(most_code(options.bits));
  into.codes.resize(static_cast<std::size_t>(x.rows * depth));
  context.pool().run(base::ceil_divide(x.rows, kRows), [&](kernels::Index task, int) {
    const Count first = task * kRows;
    const float* norms = options.normalise == Normalise::kNone ? nullptr : into.norms.data() + first;
    context.table().row_codes({x.data + first * depth, depth, std::min(kRows, x.rows - first), depth, norms, into.scale,
                               most, into.codes.data() + first * depth, depth});
  });
}

void settle_scale(const Tensor& x, std::optional<float> frozen, ClipThreshold* running, float largest, int bits,
                  QuantisedRows& into, base::Diagnostics& found) {
  if (x.rows == 0) largest = 1;  // nothing is quantised by it
  if (running != nullptr) {
    running->observe(largest);
    frozen = running->value;
  }
  into.clip = frozen.value_or(largest);
  into.scale = static_cast<float>(most_code(bits)) / into.clip;
  if (into.clip > 0 && std::isfinite(into.clip) && std::isfinite(into.scale) && into.scale > 0) return;
  auto& problem = found.error(
      "O1807", fmt::format("the quantiser of the {} has no scale: its clip threshold is {:g}", x.name, into.clip));
  problem.note(fmt::format("scale = {} / {:g} for {} bits", most_code(bits), into.clip, bits));
  if (frozen) {
    problem.hint(fmt::format("give `{}` as training left it, above 0; an untrained checkpoint has 0", x.option));
  } else {
    problem.hint(fmt::format("all {} are zero, or nearly: nothing can be predicted of them", x.name));
  }
}

// A score is at most the product of two norms, and so is each of its partial sums.
void check_exact(const AttentionInput& input, float longest_query, float longest_key, base::Diagnostics& found) {
  const double bound =
      std::max(1.0, std::fabs(static_cast<double>(input.scale))) * static_cast<double>(longest_query) * longest_key;
  if (bound < kLargestScore) return;
  found.error("O1808", "scores of these queries and keys may exceed what float32 holds")
      .note(fmt::format("a score may reach {:.3g}: norms {:.3g} and {:.3g}", bound, longest_query, longest_key))
      .hint("attention's numbers are of the order of 1: find where these come from");
  found.throw_if_errors();
}

Tensor queries_of(const AttentionInput& input) {
  return {"queries", "--query-clip", input.query, input.shape.matrices() * input.shape.rows};
}
Tensor keys_of(const AttentionInput& input) {
  return {"keys", "--key-clip", input.key, input.shape.matrices() * input.shape.columns};
}

}  // namespace

std::pair<float, float> largest_magnitudes(kernels::Context& context, const AttentionInput& input,
                                           Normalise normalise) {
  QuantisedRows rows;
  float longest = 0;
  const float query = measure(context, queries_of(input), input.depth, normalise, rows, longest);
  return {query, measure(context, keys_of(input), input.depth, normalise, rows, longest)};
}

void quantise(kernels::Context& context, const AttentionInput& input, const QuantiserOptions& options, Quantised& into,
              const base::Budget& budget) {
  into.exact = options.bits == kExactBits;
  ORRERY_CHECK(into.exact || (options.bits >= 2 && options.bits <= 8), "codes fit into a byte");
  const Tensor query = queries_of(input), key = keys_of(input);
  float longest_query = 0, longest_key = 0;
  const float most_query = measure(context, query, input.depth, options.normalise, into.query, longest_query);
  demand(budget);
  const float most_key = measure(context, key, input.depth, options.normalise, into.key, longest_key);
  demand(budget);
  base::Diagnostics found;
  if (into.exact) {
    check_exact(input, longest_query, longest_key, found);
    return;
  }
  settle_scale(query, options.query_clip, options.query_running, most_query, options.bits, into.query, found);
  settle_scale(key, options.key_clip, options.key_running, most_key, options.bits, into.key, found);
  // A code stands for at most its clip threshold, in each of `depth` elements.
  double bound =
      std::fabs(static_cast<double>(input.scale)) * static_cast<double>(input.depth) * into.query.clip * into.key.clip;
  if (options.normalise == Normalise::kInnerProduct) bound *= static_cast<double>(longest_query) * longest_key;
  if (!found.has_errors() && !(bound < kLargestScore))
    found.error("O1808", "scores of these queries and keys may exceed what float32 holds")
        .note(options.normalise == Normalise::kInnerProduct
                  ? fmt::format(
                        "a score may reach {:.3g}: depth {} x thresholds {:.3g} and {:.3g} x norms {:.3g} and {:.3g}",
                        bound, input.depth, into.query.clip, into.key.clip, longest_query, longest_key)
                  : fmt::format("a score may reach {:.3g}: depth {} x thresholds {:.3g} and {:.3g}", bound, input.depth,
                                into.query.clip, into.key.clip))
        .hint("attention's numbers are of the order of 1: find where these come from");
  found.throw_if_errors();
  encode(context, query, input.depth, options, into.query);
  demand(budget);
  encode(context, key, input.depth, options, into.key);
}

}  // namespace orrery::masks
