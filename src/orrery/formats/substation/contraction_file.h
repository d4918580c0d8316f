// Measurements of a contraction. `<op>-result.csv` has a header and a row a layout triple and implementation, times in
// ms. Before Substation's parse_tc_results merges them there are `<op>.csv`, every layout triple with the BLAS call
// that computes it, and `<op>-pruned-bm<rank>.csv`, every call with the times of all repetitions:
//
//   title,optype,M,N,K,trans_a,trans_b,lda,ldb,ldc,stride_a,stride_b,stride_c,batch,t,t,...,
//
// of which the median counts, for every layout of the call.
#pragma once

#include "orrery/formats/substation/columns.h"

namespace orrery::formats::substation {

// Errors, each at its place: O1711 (a header or row of another form), O1712, O1714; O1713 is for the end (`sizes`).
void read_result(Source& source, const Expected& expected, SizesSeen& sizes, tuning::Measured& table,
                 base::Diagnostics& found);

// The same from layouts and raw times. O1722: a call that `layouts` has not.
void read_ranks(Source& layouts, std::vector<std::unique_ptr<Source>>& ranks, const Expected& expected,
                SizesSeen& sizes, tuning::Measured& table, base::Diagnostics& found);

}  // namespace orrery::formats::substation
