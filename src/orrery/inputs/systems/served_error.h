// How far a prediction of `serve` may be off: what two of three measured runs like it were predicted within.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/engines/cluster/model/system.h"
#include "orrery/engines/serving/model/deployment.h"
#include "orrery/engines/serving/model/served_model.h"
#include "orrery/inputs/systems/expected_error.h"

namespace orrery::verbs {

enum class ServedFigure { kTpot, kTtft, kThroughput };
inline constexpr std::array<std::string_view, 3> kServedFigures = {"tpot_s", "ttft_s", "output_tokens_per_s"};

// Runs that are alike.
struct ServedKind {
  std::string engine;       // "vllm"
  std::string accelerator;  // its family: "H100", "RTX-PRO-6000"
  int bits = 16;            // of products
  bool experts = false;

  bool operator==(const ServedKind&) const = default;
};
ServedKind kind_of(const serving::ServedModel& model, const cluster::System& system,
                   const serving::Deployment& deployment);

// What runs of a kind were measured at: tokens of prompts and of answers, on average.
struct ServedSpans {
  Span isl, osl;

  static ServedSpans none();
  void widen(double isl, double osl);
};

// Of the held-out runs of a kind and a figure, two thirds of each source's are predicted within `share`; where one
// source alone measured the kind, within share / kOneSource.
struct ServedKindError {
  ServedKind kind;
  ServedFigure figure = ServedFigure::kTpot;
  std::size_t runs = 0;
  std::size_t sources = 0;  // that measured at least kLeastRuns of them
  double share = 0;
  ServedSpans spans;
};

// Of two sources of a kind, either one's share is within so many times the other's in two of three cases: 1.35 of
// twelve, from 1 to 1.9 (`orrery validate serve`, each source left out).
inline constexpr double kOneSource = 1.4;

struct ServedShare {
  double share = 0;
  std::size_t runs = 0;
  bool alike = false;  // so many runs of its kind and lengths were measured; else `share` is widened
  std::string of;      // what the runs have in common with it
};

// catalog/serving/expected/kinds.csv, a row for each kind and figure. Throws InputError O1358 where it cannot be read.
std::vector<ServedKindError> read_served_kinds(const std::string& directory);
// What read_served_kinds() reads; `orrery validate serve` counts it, and a test holds the catalogue to that.
std::string served_kinds_text(const std::vector<ServedKindError>& kinds);

// Of a run of these lengths. Where fewer than kLeastRuns of its kind were measured, the widest of the other kinds on
// its accelerator counts, or else twice what two of three kinds on any are within, with experts as it has them. Lengths
// that are more than kNear times beyond the measured ones widen by the root of how far they are beyond.
ServedShare served_share(const std::vector<ServedKindError>& kinds, const ServedKind& kind, ServedFigure figure,
                         double isl, double osl);

}  // namespace orrery::verbs
