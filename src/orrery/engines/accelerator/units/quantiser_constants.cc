#include "orrery/engines/accelerator/units/quantiser_constants.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::accelerator {
namespace {

// x = mantissa 2^-shift with 2^15 <= mantissa < 2^16, for x > 0.
struct Mantissa {
  std::uint64_t value = 0;
  int shift = 0;
};
Mantissa mantissa_of(double x) {
  int exponent = 0;
  std::frexp(x, &exponent);  // x < 2^exponent
  int shift = 16 - exponent;
  double value = std::floor(std::ldexp(x, shift) + 0.5);
  if (value >= 0x1p16) value = std::floor(std::ldexp(x, --shift) + 0.5);
  return {static_cast<std::uint64_t>(base::saturated(value)), shift};
}

struct Side {
  const char* name;
  const char* option;
  FixedPoint format;
  double clip, scale;
};

QuantiserConstants constants_of(const Instance& instance, const Sizes& sizes, bool normalise, const Side& side,
                                base::Diagnostics& found) {
  QuantiserConstants c;
  c.most = (1 << (instance.code_bits - 1)) - 1;
  c.point = side.format.point;
  c.norm_bits = widths(instance).norm;
  c.normalise = normalise;
  const auto refuse = [&](const std::string& why, const std::string& arithmetic) {
    found.error("O1894", fmt::format("the quantiser of the {} {}", side.name, why))
        .note(arithmetic)
        .hint(fmt::format("give `{}` as training left it, of the order of what is quantised: {}", side.option,
                          normalise ? "elements of unit vectors" : "the elements themselves"));
  };
  if (!(side.clip > 0) || !std::isfinite(side.clip)) {
    refuse(fmt::format("has no scale: its clip threshold is {:g}", side.clip),
           fmt::format("scale = {} / {:g} for {} bits", c.most, side.clip, instance.code_bits));
    return c;
  }
  const double scale = c.most / side.clip;
  const Mantissa reciprocal = mantissa_of(scale);
  c.reciprocal = reciprocal.value, c.shift = reciprocal.shift;
  if (c.shift < 5 || c.shift > 30)
    refuse(fmt::format("does not hold the scale of a clip threshold of {:g}", side.clip),
           fmt::format("{} / {:g} = {:.3g}, outside of 2^-15 to 2^11", c.most, side.clip, scale));
  // The largest factor: of the longest row, or 1 without normalisation.
  const double longest =
      normalise ? std::ldexp(std::sqrt(static_cast<double>(sizes.depth)), side.format.bits - 1 - side.format.point) : 1;
  const double unit = side.clip / c.most * side.scale, most = unit * longest;
  int exponent = 0;
  std::frexp(most, &exponent);
  c.factor_point = 16 - exponent;
  // A norm's last bit stands for 2^-(point + 4).
  const Mantissa factor = mantissa_of(std::ldexp(unit, c.factor_point - c.point - kNormExtra));
  c.factor = factor.value, c.factor_shift = factor.shift;
  if (c.factor_shift < 1 || c.factor_shift > 60)
    refuse(fmt::format("does not hold the factors of a clip threshold of {:g}", side.clip),
           fmt::format("a factor of {:.3g} a unit of the norm is {} x 2^-{}", unit, c.factor, c.factor_shift));
  return c;
}

}  // namespace

PredictionConstants prediction_constants(const Instance& instance, const Sizes& sizes, bool normalise,
                                         double query_clip, double key_clip, double threshold,
                                         base::Diagnostics& found) {
  const Numbers& numbers = instance.numbers;
  PredictionConstants all;
  all.depth = sizes.depth;
  all.query = constants_of(instance, sizes, normalise,
                           {"queries", "query_clip", numbers.query, query_clip, sizes.scale}, found);
  all.key = constants_of(instance, sizes, normalise, {"keys", "key_clip", numbers.key, key_clip, 1}, found);
  all.threshold = threshold > 0 ? base::whole_number(std::floor(std::ldexp(std::log2(threshold), 16) + 0.5)).value_or(0)
                                : -(std::int64_t{128} << 16);
  all.threshold = std::max(all.threshold, -(std::int64_t{128} << 16));
  all.score_shift = all.query.factor_point + all.key.factor_point - numbers.score.point;
  if (!found.has_errors() && (all.score_shift < 1 || all.score_shift > 60))
    found.error("O1894", "predicted scores do not fit the rescaling of the predictor")
        .note(fmt::format("factors have {} and {} bits behind the point, scores {}: a shift by {}, outside of 1 to 60",
                          all.query.factor_point, all.key.factor_point, numbers.score.point, all.score_shift))
        .hint("scale queries or keys, or give their formats fewer bits before the point");
  return all;
}

}  // namespace orrery::accelerator
