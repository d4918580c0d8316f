// The outcome of an estimate -> the figures of a chip, without a table in between.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "orrery/describe/energy/estimate.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/formats/timeloop/architecture/prices.h"

namespace orrery::formats::timeloop {

// Energies and areas as apply_energies and apply_areas (energy_tables.h) would set them from the ERT and ART that
// energy_table_text.h writes of the same estimate. `estimates` are of the components that were read with the chip.
// An area that the chip has from an ART stays.
void apply_estimates(std::span<const energy::EstimatedComponent> estimates, machine::Chip& chip);

// All actions that were estimated of one component; nothing without any.
std::optional<Prices> prices_in(std::span<const energy::EstimatedComponent> estimates, const std::string& component);

}  // namespace orrery::formats::timeloop
