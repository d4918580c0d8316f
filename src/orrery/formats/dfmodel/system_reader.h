// `system` and `cost` into dataflow::System and dataflow::Prices.
#pragma once

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/dataflow/model/setup.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

// Errors: O1404, O1405 (fields), O1406 (topology), O1413 (parallelism), O1414 (sizes), O1415 (high-bandwidth domain),
// O1418 (placement).
// `whole_kernels`: of the execution; no tile must fit the chip, so its memory need not be stated.
dataflow::System read_system(const Block& system, bool whole_kernels, base::Diagnostics& found);

dataflow::Prices read_prices(const Block& cost, base::Diagnostics& found);

}  // namespace orrery::formats::dfmodel
