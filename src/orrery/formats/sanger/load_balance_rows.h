// Reads load_balance.csv, as Sanger's log or `orrery sparse measure -o` writes it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/masks/measure.h"

namespace orrery::formats::sanger {

struct LoadBalanceRow {
  std::array<double, masks::kLoadBalances> load_balance{};  // above 0, as masks::kLoadBalanceNames has them
  double density = 0;                                       // its column is called overall-sparsity
};

// At least one row. Rows of masks that keep nothing (a load balance of nan or 0) are left out, which warning O1835
// says. Throws InputError: those of base/text/text_file.h and formats/csv, O1830 (columns), O1831 (a row of another
// length), O1832 (no number), O1833 (a number out of its range), O1834 (no row).
std::vector<LoadBalanceRow> load_balance_rows(const std::shared_ptr<const base::SourceFile>& file,
                                              base::Diagnostics& warnings);

}  // namespace orrery::formats::sanger
