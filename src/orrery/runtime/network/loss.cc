#include "orrery/runtime/network/loss.h"

#include <algorithm>
#include <cmath>

namespace orrery::network {
namespace {

// A row (elements `step` apart) to the gradient of `scale` times its loss, which is returned. Shifted by the largest
// logit, so that no exponential overflows.
double row_entropy(float* row, Index count, Index step, Index label, double scale) {
  float largest = row[0];
  for (Index i = 1; i < count; ++i) largest = std::max(largest, row[i * step]);
  double sum = 0;
  for (Index i = 0; i < count; ++i) sum += std::exp(static_cast<double>(row[i * step]) - largest);
  const double log_sum = largest + std::log(sum);
  const double loss = log_sum - row[label * step];
  for (Index i = 0; i < count; ++i)
    row[i * step] = static_cast<float>(scale * std::exp(static_cast<double>(row[i * step]) - log_sum));
  row[label * step] -= static_cast<float>(scale);
  return loss;
}

}  // namespace

double cross_entropy(kernels::Context& context, float* logits, Index rows, Index columns, const std::int32_t* labels,
                     double scale) {
  std::vector<double> losses(static_cast<std::size_t>(rows));
  context.pool().run(rows, [&](Index row, int) {
    losses[static_cast<std::size_t>(row)] = row_entropy(logits + row * columns, columns, 1, labels[row], scale);
  });
  double sum = 0;
  for (const double loss : losses) sum += loss;
  return sum;
}

double squared_error(float* logits, Index rows, const float* values, double scale) {
  double sum = 0;
  for (Index row = 0; row < rows; ++row) {
    const double error = static_cast<double>(logits[row]) - values[row];
    sum += error * error;
    logits[row] = static_cast<float>(2 * scale * error);
  }
  return sum;
}

double span_loss(float* logits, const std::vector<Index>& lengths, const std::int32_t* begins, const std::int32_t* ends,
                 double scale) {
  double total = 0;
  for (int side = 0; side < 2; ++side) {
    const std::int32_t* const labels = side == 0 ? begins : ends;
    Index labelled = 0;
    for (std::size_t s = 0; s < lengths.size(); ++s) labelled += labels[s] >= 0 && labels[s] < lengths[s];
    float* row = logits + side;
    for (std::size_t s = 0; s < lengths.size(); row += 2 * lengths[s], ++s) {
      if (labels[s] >= 0 && labels[s] < lengths[s]) {
        total += row_entropy(row, lengths[s], 2, labels[s], scale / (2.0 * static_cast<double>(labelled))) /
                 (2.0 * static_cast<double>(labelled));
      } else {
        for (Index i = 0; i < lengths[s]; ++i) row[2 * i] = 0;
      }
    }
  }
  return total;
}

}  // namespace orrery::network
