// A table of matrix products that were timed on an accelerator, as a CSV file.
//
//   batch,m,n,k,precision,seconds
//   1,2048,12288,1536,bf16,0.000412
//
// or AIConfigurator's table of GEMMs for one accelerator: m, n, k, gemm_dtype, latency (ms), and columns besides.
// Columns in any order; `batch` (default 1) and `precision` (default bf16) may be absent. Lines that begin with `#` are
// skipped. Several timings of one product: the least counts.
#pragma once

#include <memory>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/measured_operators.h"

namespace orrery::formats::orrery {

// Throws InputError with everything wrong: O1377 columns, sizes, precisions, times; O1230 and O1231 quotes.
std::vector<machine::MeasuredProduct> read_measured_products(const std::shared_ptr<const base::SourceFile>& file);

}  // namespace orrery::formats::orrery
