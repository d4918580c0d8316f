// How far a prediction may be off: what it was on measured runs of the nearest kind that no constant had seen, where
// the run is near them.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/cluster/model/model.h"
#include "orrery/engines/cluster/model/plan.h"
#include "orrery/engines/cluster/model/system.h"

namespace orrery::verbs {

// Runs that are alike: software, generation of accelerators, bits of products, experts.
struct RunKind {
  std::string stack;
  std::string accelerator;  // the first word of its name: "H100"
  int bits = 16;            // of products: 16 and more are one kind
  bool experts = false;

  bool operator==(const RunKind&) const = default;
};
RunKind kind_of(const cluster::Model& model, const cluster::System& system, const cluster::Plan& plan);

// From the least to the most that was measured.
struct Span {
  double least = 0, most = std::numeric_limits<double>::infinity();
};

// What runs were measured at.
struct MeasuredSizes {
  Span accelerators, sequence, parameters;
  Span batch = {}, micro_batch = {}, offloaded = {};

  static MeasuredSizes none();
  void widen(const MeasuredSizes& by);
};

// Of the held-out runs of a kind, two thirds are predicted within `percent`. A run that somebody else measures comes
// from none of its sources: of `sources`, each of which counts as much as any other, two thirds are within `of_sources`
// (of one alone, what that is of all sources of its software, if that is more).
struct KindError {
  RunKind kind;
  std::size_t runs = 0;
  double percent = 0;
  MeasuredSizes sizes = {};
  std::size_t sources = 0;
  double of_sources = 0;

  double stated() const { return percent > of_sources ? percent : of_sources; }
};

// A run, as far as its error depends on what it is.
struct RunSizes {
  double accelerators = 0, sequence = 0, parameters = 0;
  double batch = 1, micro_batch = 1;  // sequences
  double offloaded = 0;               // the share of activations or of the optimiser's state, the larger one
};
RunSizes sizes_of(const cluster::Model& model, const cluster::Plan& plan);

struct ExpectedError {
  double percent = 0;
  std::size_t runs = 0;
  std::string of;  // what they have in common with the run: "pytorch-fsdp on H100 in 16 bits"
};

// catalog/validation/expected/kinds.csv, which verbs/validate/error_kinds.h made. Throws InputError O1358 where it
// cannot be read.
std::vector<KindError> read_error_kinds(const std::string& directory);

// Of the same kind, or else of the same software and experts; nothing where fewer than kLeastRuns were measured, all in
// more bits, none on this accelerator, or none near: a run is near those measured where each of its sizes is at least
// the least of theirs over kNear and at most kNear times their most.
inline constexpr std::size_t kLeastRuns = 5;
inline constexpr double kNear = 2;
// Of a run without an expected error, in words: what of its kind was measured.
std::string unmeasured(const std::vector<KindError>& kinds, const RunKind& kind, const RunSizes& run);
std::optional<ExpectedError> expected_error(const std::vector<KindError>& kinds, const RunKind& kind,
                                            const RunSizes& run);

// Of any run: the same, widened by how far it is from what was measured. Twice for each of `strange` (in words: what
// was set by hand, what nobody measured), twice where no run of its software, experts and accelerator was measured
// (then the widest of its accelerator's, or of all, counts), and by the root of how many times a size is beyond what is
// near; at most 100 %. Nothing without kinds.
std::optional<ExpectedError> widened_error(const std::vector<KindError>& kinds, const RunKind& kind,
                                           const RunSizes& run, const std::vector<std::string>& strange);

}  // namespace orrery::verbs
