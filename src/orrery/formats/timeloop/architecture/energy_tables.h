// ERT and ART documents -> the figures of a chip.
//
//   ERT: {version, tables: [{name: Top.Comp[1..n], actions: [{name, arguments, energy}]}]}   pJ an action
//   ART: {version, tables: [{name: Top.Comp[1..n], area}]}                                   um^2 of one instance
//
// An entry belongs to the component named by its last dotted part. Where an action has several entries
// (one for each value of its arguments), the largest energy counts, as in Timeloop; networks keep one
// for each number of destinations.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/formats/timeloop/architecture/prices.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// Errors O0602 to O0607, collected in `found`.
void apply_energies(const yaml::Node& ert, machine::Chip& chip, base::Diagnostics& found);
// All actions that the ERT has of one component; nothing without an entry. Of an ERT that apply_energies has read.
std::optional<Prices> prices_in(const yaml::Node& ert, const std::string& component);
// A component without an entry keeps an unknown area: warning O0608.
void apply_areas(const yaml::Node& art, machine::Chip& chip, base::Diagnostics& found);

}  // namespace orrery::formats::timeloop
