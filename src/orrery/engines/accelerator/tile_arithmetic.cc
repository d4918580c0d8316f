#include "orrery/engines/accelerator/tile_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {
namespace {

std::int32_t dot(const std::int8_t* a, const std::int8_t* b, Count depth) {
  std::int32_t sum = 0;
  for (Count i = 0; i < depth; ++i) sum += std::int32_t{a[i]} * b[i];
  return sum;
}

// (a b) >> shift, as the sparse array has it after both were aligned to the sums' point.
template <class Wide>
Wide shifted(Wide product, int shift) {
  return shift >= 0 ? product >> shift : static_cast<Wide>(product << -shift);
}

template <class Wide>
std::int64_t score_of(const std::int32_t* query, const std::int32_t* key, Count depth, int shift) {
  Wide sum = 0;
  for (Count i = 0; i < depth; ++i) sum += shifted<Wide>(Wide{query[i]} * Wide{key[i]}, shift);
  return sum;
}

template <class Wide>
void add_weighted(std::int64_t weight, const std::int32_t* values, Count depth, int shift, Wide* into) {
  const auto e = static_cast<Wide>(weight);
  for (Count i = 0; i < depth; ++i) into[i] += shifted<Wide>(e * Wide{values[i]}, shift);
}

}  // namespace

Count fixed_numbers(const FixedPoint& format, const float* from, Count count, std::int32_t* into) {
  const double unit = std::ldexp(1.0, format.point), most = std::ldexp(1.0, format.bits - 1) - 1, least = -most - 1;
  Count saturated = 0;
  for (Count i = 0; i < count; ++i) {
    const double x = std::nearbyint(static_cast<double>(from[i]) * unit);
    if (x > most || x < least) ++saturated;
    into[i] = static_cast<std::int32_t>(base::whole_number(std::clamp(x, least, most)).value_or(0));
  }
  return saturated;
}

std::int64_t query_multiplier(const Instance& instance, double scale) {
  const int more = scaled_point(instance, scale) - instance.numbers.query.point;
  return base::whole_number(std::floor(std::ldexp(scale, more + 15) + 0.5)).value_or(0);
}

CodedRows coded_rows(const QuantiserConstants& constants, const std::int32_t* rows, Count count, Count depth) {
  CodedRows all;
  all.codes.resize(static_cast<std::size_t>(count * depth));
  all.factors.resize(static_cast<std::size_t>(count));
  for (Count r = 0; r < count; ++r) {
    const std::int32_t* const x = rows + r * depth;
    std::uint64_t squares = 0;
    for (Count i = 0; i < depth; ++i) squares += static_cast<std::uint64_t>(std::int64_t{x[i]} * x[i]);
    const RowScale scale = row_scale(constants, squares);
    all.factors[static_cast<std::size_t>(r)] = scale.factor;
    for (Count i = 0; i < depth; ++i) {
      const int code = code_of(constants, scale, x[i], all.clipped);
      all.codes[static_cast<std::size_t>(r * depth + i)] = static_cast<std::int8_t>(code);
    }
  }
  return all;
}

void predict_row(const Instance& instance, const ScoreUnit& unit, const CodedRows& queries, Count query,
                 const CodedRows& key_rows, Count keys, Count depth, const masks::Word* there, masks::Word* kept,
                 std::int32_t* scores, Count& saturated) {
  const std::int8_t* const codes = queries.codes.data() + query * depth;
  const std::uint64_t factor = queries.factors[static_cast<std::size_t>(query)];
  const auto visible = [&](Count key) { return (there[key / masks::kWordBits] >> (key % masks::kWordBits) & 1) != 0; };
  ScoreUnit::Row row = unit.cleared();
  for (Count first = 0; first < keys; first += instance.prediction_width)
    for (Count key = std::min(keys, first + instance.prediction_width) - 1; key >= first; --key) {
      const std::int32_t sum = dot(codes, key_rows.codes.data() + key * depth, depth);
      const std::int64_t z = unit.rescaled(sum, factor, key_rows.factors[static_cast<std::size_t>(key)], saturated);
      scores[key] = static_cast<std::int32_t>(z);
      if (visible(key)) unit.add(row, z);
    }
  const std::int64_t threshold = unit.threshold(row);
  for (Count key = 0; key < keys; ++key)
    if (visible(key) && scores[key] > threshold)
      kept[key / masks::kWordBits] |= masks::Word{1} << (key % masks::kWordBits);
}

RowArithmetic::RowArithmetic(const Instance& instance, double scale, Count depth)
    : unit_(instance.numbers.sum, instance.exponential), depth_(depth), sums_(static_cast<std::size_t>(depth)) {
  const Numbers& n = instance.numbers;
  score_shift_ = scaled_point(instance, scale) + n.key.point - n.sum.point;
  value_shift_ = n.value.point;
  // The largest product is 2^(sum of bits - 2); exponentials go to 2^point.
  narrow_ = n.query.bits + n.key.bits <= 32 && score_shift_ >= 0 && n.sum.point + n.value.bits - 1 <= 31;
}

RowArithmetic::Result RowArithmetic::run(const std::int32_t* query, const std::int32_t* keys,
                                         const std::int32_t* values, const std::int32_t* of, Count count,
                                         std::int64_t* elements) {
  scores_.resize(static_cast<std::size_t>(count));
  for (Count j = 0; j < count; ++j) {
    const std::int32_t* const key = keys + of[j] * depth_;
    scores_[static_cast<std::size_t>(j)] = narrow_ ? score_of<std::int32_t>(query, key, depth_, score_shift_)
                                                   : score_of<std::int64_t>(query, key, depth_, score_shift_);
  }
  Result result{*std::max_element(scores_.begin(), scores_.end()), 0};
  if (narrow_) std::fill(sums_.begin(), sums_.end(), 0);
  std::fill_n(elements, depth_, 0);
  for (Count j = 0; j < count; ++j) {
    const std::int64_t weight = unit_(scores_[static_cast<std::size_t>(j)] - result.most);
    result.sum += weight;
    const std::int32_t* const value = values + of[j] * depth_;
    if (narrow_)
      add_weighted<std::int32_t>(weight, value, depth_, value_shift_, sums_.data());
    else
      add_weighted<std::int64_t>(weight, value, depth_, value_shift_, elements);
  }
  if (narrow_) std::copy(sums_.begin(), sums_.end(), elements);
  return result;
}

}  // namespace orrery::accelerator
