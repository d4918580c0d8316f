// The figures of a system's file, described once: key, unit, range, where the value goes, what it means.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/plausible.h"
#include "orrery/engines/cluster/model/system.h"
#include "orrery/formats/orrery/quantity.h"

namespace orrery::formats::orrery {

// Figures beyond, in units without prefixes, are mistakes. Within, no time, rate or price that is made of several of
// them and of a run's sizes leaves the range of a double.
inline constexpr double kSmallest = 1e-30;
inline constexpr double kLargest = 1e30;

struct Range {
  double least = 0;  // where it is 0, positive values begin at kSmallest
  double most = kLargest;
  bool open = false;  // `least` itself is too little
};

struct Figure {
  std::string key;
  Unit unit = Unit::kNone;
  Range range;
  double* into = nullptr;
  std::string text = {};                          // what it means, one line
  std::optional<base::HardwareFigure> kind = {};  // where some values are implausible
  bool needed = false;
};

// Of `accelerator`, its `peak`, `attention` and `sustained`, one of `networks`, `calibration`. They point into it.
std::vector<Figure> accelerator_figures(cluster::System& system);
std::vector<Figure> peak_figures(cluster::System& system);
std::vector<Figure> attention_figures(cluster::System& system);
std::vector<Figure> sustained_figures(cluster::System& system);
std::vector<Figure> network_figures(collective::Network& network);
std::vector<Figure> calibration_figures(cluster::System& system);

// The keys of a map: those of its figures, and others before and behind them.
std::vector<std::string> names(std::vector<std::string> before, const std::vector<Figure>& figures,
                               const std::vector<std::string>& behind = {});

}  // namespace orrery::formats::orrery
