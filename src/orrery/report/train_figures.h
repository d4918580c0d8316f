// What the answer of a training run consists of, by whichever equations.
#pragma once

#include <optional>
#include <string_view>

#include "orrery/cluster/iteration.h"
#include "orrery/report/record.h"

namespace orrery::report {

struct TrainFigures {
  double iteration_s = 0;
  cluster::Breakdown breakdown;
  cluster::HiddenCommunication hidden;
  cluster::Memory memory;
  double memory_total = 0;               // AMPeD's sum is its own
  std::optional<double> capacity_bytes;  // absent: unknown, and everything fits
  bool fits = true;
  double excess_bytes = 0;
  cluster::Utilisation done;
  double tokens_per_s = 0;
};

Record<TrainFigures> train_figures();

}  // namespace orrery::report
