// Where the nonzeros of a tensor are, from a file: a matrix in Matrix Market's coordinates, or any tensor as a list of
// places.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::formats::timeloop {

// The coordinates of one nonzero after the other, each of `bounds.size()` numbers from 0, each place once. Errors
// (O0407) go to `found`, the first of a file only; then the answer is empty.
std::vector<base::Count> read_nonzeros(const std::shared_ptr<const base::SourceFile>& file, const std::string& tensor,
                                       const std::vector<base::Count>& bounds, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
