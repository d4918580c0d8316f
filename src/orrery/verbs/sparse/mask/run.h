// `orrery sparse mask`: a mask that does not look at scores, from a name, Sanger's file and options.
#pragma once

#include "orrery/verbs/sparse/mask/answer.h"
#include "orrery/verbs/sparse/mask/request.h"

namespace orrery::verbs {

// Throws InputError: O1803 (too large), O1809 to O1814, O1840 (more than there is room for). O1841 where the limits
// ended it.
SparseMask make_sparse_mask(const SparseMaskRequest& request);

}  // namespace orrery::verbs
