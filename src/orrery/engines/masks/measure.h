// How dense a mask is, and how evenly its bits fill an array of processing elements, in Sanger's definitions.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/defect.h"
#include "orrery/base/limits/budget.h"
#include "orrery/engines/masks/mask.h"

namespace orrery::masks {

// What Sanger's log does otherwise; docs/compatibility.md.
struct MeasureDefects {
  bool slot_for_kept_vectors = false;
  bool empty_is_nan = false;
  bool whole_vectors_only = false;
  bool causal_half_counts = false;
  bool outside_counts = false;
  bool float_sums = false;
  bool emptied_rows_idle = false;
  bool operator==(const MeasureDefects&) const = default;
};

inline constexpr base::Defect<MeasureDefects> kMeasureDefects[] = {
    {"slot_for_kept_vectors", &MeasureDefects::slot_for_kept_vectors, "sanger",
     "without skipping, one slot more for each vector that keeps something, not for each that keeps nothing"},
    {"empty_is_nan", &MeasureDefects::empty_is_nan, "sanger", "figures of a mask that keeps nothing are nan, not 0"},
    {"whole_vectors_only", &MeasureDefects::whole_vectors_only, "sanger",
     "lengths that are no multiple of 64 are refused"},
    {"causal_half_counts", &MeasureDefects::causal_half_counts, "sanger",
     "pairs beyond the causal diagonal count as if they were there"},
    {"outside_counts", &MeasureDefects::outside_counts, "sanger",
     "load balance counts what is kept of padded keys or queries in vectors that have a valid pair"},
    {"float_sums", &MeasureDefects::float_sums, "sanger", "load balance is summed in float32"},
    {"emptied_rows_idle", &MeasureDefects::emptied_rows_idle, "sanger",
     "rows that lost everything count as no work, though they are computed densely"},
};

inline constexpr int kLoadBalances = 4;
inline constexpr std::array<std::string_view, kLoadBalances> kLoadBalanceNames = {"50%-no-skip", "50%-skip",
                                                                                  "25%-no-skip", "25%-skip"};

// Of one head, all sequences together.
struct HeadPairs {
  Count kept = 0, pairs = 0;  // inside the valid part; there
  bool operator==(const HeadPairs&) const = default;
};

struct Measured {
  double density = 0;                                // of the pairs that are there, all sequences together
  std::array<double, kLoadBalances> load_balance{};  // as kLoadBalanceNames has them
  double overall_sparsity = 0;                       // mean over sequences of their densities: a density, too
  Count kept = 0, pairs = 0;                         // inside the valid part; there
  Count kept_outside = 0;                            // bits that padding or the causal diagonal should have cleared
  Count vectors = 0, empty_vectors = 0;              // of 64 columns, that have a valid pair
  std::vector<HeadPairs> heads;                      // by their number
};

// Throws InputError O1817 where whole_vectors_only is set and a length is no multiple of 64.
// `emptied`: rows as Prediction has them. Throws Unfinished.
Measured measure(const Mask& mask, const MeasureDefects& defects = {}, const std::vector<Count>& emptied = {},
                 const base::Budget& budget = {});

// Sequences whose valid part has no pair count for nothing in overall_sparsity. Of several masks: the mean of each.
Measured mean_of(const std::vector<Measured>& all);

}  // namespace orrery::masks
