// Expected errors of SRAM figures.
//
// Measured against CACTI itself, in percent of CACTI's figure, class by class (catalog/tables/sram_errors.csv): two
// thirds of the memories of a class are at most that far off, with nine chances in ten also of those that were not
// measured. The error of one answer is
//
//   the largest of   kPrinted, always: CACTI prints six digits
//                    kRows     between rows of the table: class of width, capacity and banks
//                    kNode     the same, by technology
//                    contested between rows, where two organisations cost the same: how much they differ
//                    kPorts    between rows by straight lines, two ports
//                    kMixed    between two technologies
//                    kNarrow   words below 32 bit, by the rule of sram_rules.h; below 8 bit it grows by octaves
//                    kBeside   words wider than the table, taken as memories side by side
//   plus             kShallow  for each octave below the 64 words of a bank
//                    kBelow    for each octave below 22 nm, kAbove above 90 nm
//                    kBanks    numbers of banks that are no power of two
//
// The first list was measured from end to end, so the largest holds; the second was not, or not that far out: the
// first octave counts as whole.
#pragma once

#include <optional>
#include <vector>

#include "orrery/describe/energy/sram/sram_rules.h"
#include "orrery/describe/energy/sram/sram_surface.h"

namespace orrery::energy {

enum class SramErrorKind { kPrinted, kRows, kNode, kPorts, kMixed, kNarrow, kBeside, kShallow, kBelow, kAbove, kBanks };
inline constexpr int kSramErrorKinds = 11;

// 0 as a bound: any. Of kNode and kMixed `technology_nm` is the technology and the lower of the two; of kNarrow
// `width_bits` is the least of the class; all other bounds are the greatest.
struct SramErrorRow {
  SramErrorKind kind = SramErrorKind::kPrinted;
  int technology_nm = 0;
  int width_bits = 0;
  base::Count capacity_bytes = 0;
  int banks = 0;
  int points = 0;         // memories measured
  SramFigures percent{};  // of kAccess: 0
};

// Where the figures at one technology of a request come from.
struct SramSourceOfFigures {
  SramOrigin origin = SramOrigin::kTable;
  int parts = 1;                    // memories side by side
  SramFigures contested_percent{};  // SramEstimate's
};

class SramErrors {
 public:
  // Rows of a kind stand in the order of their bounds, the least first.
  explicit SramErrors(std::vector<SramErrorRow> rows) : rows_(std::move(rows)) {}

  const std::vector<SramErrorRow>& rows() const { return rows_; }

  // `from` as many as `asked` has technologies. Nothing where a class that counts was not measured.
  std::optional<SramFigures> expected_percent(const SramDescription& memory, const SramRequest& asked,
                                              const std::vector<SramSourceOfFigures>& from) const;

 private:
  const SramErrorRow* find(SramErrorKind kind, int technology_nm, int width_bits, base::Count capacity_bytes,
                           int banks) const;

  std::vector<SramErrorRow> rows_;
};

}  // namespace orrery::energy
