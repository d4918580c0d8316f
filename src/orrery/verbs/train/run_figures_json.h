// What the answer of a training run consists of, by whichever equations.
#pragma once

#include <optional>
#include <string_view>

#include "orrery/engines/cluster/model/iteration.h"
#include "orrery/present/record.h"

namespace orrery::verbs {

struct TrainFigures {
  double iteration_s = 0;
  cluster::Breakdown breakdown;
  cluster::HiddenCommunication hidden;
  cluster::Memory memory;
  double memory_total = 0;               // AMPeD's sum is its own
  std::optional<double> capacity_bytes;  // absent: unknown, and everything fits
  bool fits = true;
  bool uncertain = false;
  std::optional<double> memory_error;  // absent: nobody knows
  double excess_bytes = 0;
  cluster::Utilisation done;
  double tokens_per_s = 0;
};

Record<TrainFigures> train_figures();

}  // namespace orrery::verbs
