// A layer's operators, their words and operations, and how near to a machine's limits a roofline sees them.
#pragma once

#include "orrery/verbs/tune/ledger/answer.h"
#include "orrery/verbs/tune/ledger/request.h"

namespace orrery::verbs {

// Throws InputError: what runnable_layer says; O1701 where a count exceeds 64 bits; O1702 where the machine has no peak
// of the precision; what the system's or the chip's files say.
LedgerAnswer tune_ledger(const LedgerRequest& request);

}  // namespace orrery::verbs
