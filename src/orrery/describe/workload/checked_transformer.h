// A plain description whose sizes a user wrote, with every mistake in them.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/plain_transformer.h"

namespace orrery::workload {

// As plain_transformer, of one layer where `layers` is 0. Finds sizes below 1 (O1482), heads that do not fit (O1483:
// the query heads must divide the width, key and value heads the query heads) and a default that 64 bits do not hold
// (O1485). If there are errors, the result must not be used.
Transformer checked_transformer(const PlainTransformer& sizes, base::Diagnostics& found);

// The same; throws InputError with all that is wrong.
Transformer checked_transformer(const PlainTransformer& sizes);

}  // namespace orrery::workload
