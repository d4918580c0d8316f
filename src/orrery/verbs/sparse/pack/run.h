// `orrery sparse pack`: a mask packed onto an array by every scheme.
#pragma once

#include "orrery/verbs/sparse/pack/answer.h"
#include "orrery/verbs/sparse/pack/request.h"

namespace orrery::verbs {

// Throws InputError: those of reading arrays, O1816 (a folder without a mask). Warns O1819 of what is kept outside the
// valid tokens, O1841 of what the limits left out.
SparsePack pack_sparse(const SparsePackRequest& request);

}  // namespace orrery::verbs
