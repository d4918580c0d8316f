// How the answer of AMPeD's equations looks: a bar chart of an iteration, the best splits, and the JSON document.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/cluster/amped_search.h"
#include "orrery/formats/amped/parameters.h"

namespace orrery::report {

struct AmpedRun {
  formats::amped::Resolved resolved;
  cluster::AmpedModel model;
  cluster::AmpedTimes times;
  std::optional<cluster::AmpedSpace> space;  // with `--search`
  cluster::AmpedSearch search;

  // Memory of an accelerator (GB); 0: unknown, so that everything fits.
  double capacity_gb() const;
  bool fits() const;
};

// An iteration by the terms that every training run is told in: seconds that sum to the iteration. Gathering of sharded
// weights counts as data-parallel communication.
struct AmpedIteration {
  double forward = 0, backward = 0, tp = 0, pp = 0, dp = 0, ep = 0, bubble = 0;
};
AmpedIteration amped_iteration(const cluster::AmpedQuantities& quantities, const cluster::AmpedTimes& times);

struct AmpedDocument {
  std::string version;
  const AmpedRun* run = nullptr;  // borrowed
  bool compat = false;
  std::vector<std::pair<std::string, std::string>> inputs;  // name, content hash
  const base::Diagnostics* warnings = nullptr;              // borrowed
  double seconds = 0;
};

// Schema "orrery.train/1" with `result.amped` {`derived`, `outputs`} and, after a search, `result.search` and
// `certificate`. Indented, ending in a newline; all but `timing` is a pure function of the input.
std::string amped_json(const AmpedDocument& document);

// What the terminal shows.
std::string amped_table(const AmpedRun& run);

// Every valid split, best first, as CSV.
std::string amped_search_csv(const cluster::AmpedSearch& search);

}  // namespace orrery::report
