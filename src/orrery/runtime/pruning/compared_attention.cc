// The share of a query's dense probability that a mask keeps is exp(L' - L), where L and L' are the logarithms of the
// sums of exponentials over all keys and over those kept: attention leaves both.
#include "orrery/runtime/pruning/compared_attention.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/sample.h"

namespace orrery::pruning {
namespace {

using kernels::Attention;
using kernels::Index;
using kernels::Type;
using kernels::Vectors;

Index queries_of(const Attention& x, Index batch) {
  return x.query_lengths == nullptr ? x.queries : x.query_lengths[batch];
}

Index first_of(const Attention& x, Index batch, Index head) {
  const Vectors& v = x.out;
  return (x.query_starts == nullptr ? batch * v.batch : x.query_starts[batch] * v.position) + head * v.head;
}

// One past the last element that is written: padding, too, where it has a place.
Index extent(const Attention& x) {
  Index end = 0;
  for (Index b = 0; b < x.batch; ++b) {
    const Index rows = x.query_starts == nullptr ? x.queries : queries_of(x, b);
    for (const Index head : {Index{0}, x.heads - 1})
      end = std::max(end, first_of(x, b, head) + std::max<Index>(0, rows - 1) * x.out.position + x.value_size);
  }
  return end;
}

double at(const void* data, Type type, Index i) {
  return type == Type::kBf16 ? kernels::from_bf16(static_cast<const kernels::Bf16*>(data)[i])
                             : static_cast<const float*>(data)[i];
}

template <class Work>
void timed(std::vector<double>& seconds, const Work& work) {
  const base::Stopwatch clock;
  work();
  seconds.push_back(clock.seconds());
}

}  // namespace

void ComparedAttention::forward(kernels::Context& context, const Attention& given) {
  if (core_.mode == masks::Mode::kCalibrate) return core_.forward(context, given);
  const auto bytes = static_cast<std::size_t>(extent(given) * kernels::bytes_of(given.type));
  if (dense_.bytes() < bytes) dense_ = kernels::Buffer(bytes);
  const auto rows = static_cast<std::size_t>(given.batch * given.heads * given.queries);
  dense_sum_.assign(rows, -INFINITY);
  pruned_sum_.assign(rows, -INFINITY);
  Attention dense = given, pruned = given;
  dense.out.data = dense_.data();
  dense.log_sum = dense_sum_.data();
  pruned.log_sum = pruned_sum_.data();
  Compared out;
  // In turns: what else the machine does meets all.
  std::vector<double> dense_seconds, predict_seconds, attend_seconds;
  for (int turn = 0; turn < repeat_ && (turn == 0 || !budget_.spent()); ++turn) {
    timed(dense_seconds, [&] { kernels::attend(context, dense); });
    timed(predict_seconds, [&] { core_.predict(context, given); });
    timed(attend_seconds, [&] { core_.attend(context, pruned); });
  }
  out.dense_seconds = base::sample(dense_seconds).median;
  out.predict_seconds = base::sample(predict_seconds).median;
  out.attend_seconds = base::sample(attend_seconds).median;
  if (given.log_sum != nullptr) std::copy(pruned_sum_.begin(), pruned_sum_.end(), given.log_sum);
  out.heads.resize(static_cast<std::size_t>(given.heads));
  context.pool().run(given.heads, [&](Index head, int) {
    ComparedHead& sums = out.heads[static_cast<std::size_t>(head)];
    for (Index b = 0; b < given.batch; ++b)
      for (Index j = 0; j < queries_of(given, b); ++j) {
        const Index first = first_of(given, b, head) + j * given.out.position;
        for (Index i = first; i < first + given.value_size; ++i) {
          const double exact = at(dense.out.data, given.type, i), off = at(given.out.data, given.type, i) - exact;
          sums.difference += off * off;
          sums.norm += exact * exact;
        }
        const auto row = static_cast<std::size_t>((b * given.heads + head) * given.queries + j);
        if (std::isinf(dense_sum_[row])) continue;
        ++sums.queries;
        sums.kept_mass += std::exp(double{pruned_sum_[row]} - dense_sum_[row]);
      }
  });
  told_(out);
}

void ComparedAttention::backward(kernels::Context& context, const Attention& attention) {
  core_.backward(context, attention);
}

}  // namespace orrery::pruning
