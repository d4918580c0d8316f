#include "orrery/engines/nest/model/mapping.h"

#include <algorithm>

namespace orrery::nest {

using base::Count;

bool perfect(const Mapping& mapping) {
  return std::all_of(mapping.levels.begin(), mapping.levels.end(),
                     [](const LevelMapping& level) { return level.perfect(); });
}

bool complete(Mapping& mapping, const std::vector<Count>& bounds) {
  bool reached = true;
  for (LevelMapping& level : mapping.levels) {
    level.temporal_last = level.temporal;
    level.spatial_last = level.spatial;
  }
  for (std::size_t d = 0; d < bounds.size(); ++d) {
    Count rest = bounds[d] - 1;
    Count unfinished = 0;  // iterations that the outermost loop lacks
    for (LevelMapping& level : mapping.levels)
      for (const bool in_space : {true, false}) {
        const Count iterations = (in_space ? level.spatial : level.temporal)[d];
        if (iterations == 1) continue;
        Count& last = (in_space ? level.spatial_last : level.temporal_last)[d];
        last = rest % iterations + 1;
        rest /= iterations;
        unfinished = iterations - last;
      }
    reached = reached && rest == 0 && unfinished == 0;
  }
  for (LevelMapping& level : mapping.levels) {
    if (level.temporal_last == level.temporal) level.temporal_last.clear();
    if (level.spatial_last == level.spatial) level.spatial_last.clear();
  }
  return reached;
}

std::optional<Count> span_of(const std::vector<Factor>& innermost_first) {
  Count span = 1, stride = 1;
  for (const Factor& factor : innermost_first) {
    Count more = 0;
    if (__builtin_mul_overflow(factor.last - 1, stride, &more) || __builtin_add_overflow(span, more, &span) ||
        __builtin_mul_overflow(stride, factor.iterations, &stride))
      return std::nullopt;
  }
  return span;
}

std::vector<Factor> factors_of(const Mapping& mapping, int d) {
  std::vector<Factor> factors;
  for (const LevelMapping& level : mapping.levels)
    for (const bool in_space : {true, false}) factors.push_back(level.factor(in_space, d));
  return factors;
}

}  // namespace orrery::nest
