// How far a prediction may be off: what it was on measured runs of the nearest kind that no constant had seen.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/cluster/model.h"
#include "orrery/cluster/plan.h"
#include "orrery/cluster/system.h"
#include "orrery/scenario/validate.h"

namespace orrery::scenario {

// Of the held-out runs of a kind, two thirds are predicted within `percent`.
struct KindError {
  RunKind kind;
  std::size_t runs = 0;
  double percent = 0;
};

struct ExpectedError {
  double percent = 0;
  std::size_t runs = 0;
  std::string of;  // what they have in common with the run: "pytorch-fsdp on H100 in 16 bits"
};

// By kind, of held-out points, sorted.
std::vector<KindError> error_kinds(const std::vector<ValidatedSet>& sets);

// catalog/validation/expected/kinds.csv, which error_kinds wrote. Throws InputError O1358 where it cannot be read.
std::vector<KindError> read_error_kinds(const std::string& directory);
std::string error_kinds_text(const std::vector<KindError>& kinds);

// Of the same kind, or else of the same software and experts; nothing where fewer than kLeastRuns were measured, or all
// in more bits.
inline constexpr std::size_t kLeastRuns = 5;
// Of a kind without an expected error, in words: what of it was measured.
std::string unmeasured(const std::vector<KindError>& kinds, const RunKind& kind);
std::optional<ExpectedError> expected_error(const std::vector<KindError>& kinds, const RunKind& kind);

}  // namespace orrery::scenario
