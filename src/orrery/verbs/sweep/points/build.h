// Which program wrote a result: its version, and the hash of its bytes.
#pragma once

#include "orrery/verbs/sweep/store/store.h"

namespace orrery::sweep {

// Of the running program. Results of another build are not taken for its own.
store::Version this_build();

}  // namespace orrery::sweep
