// Estimates as the tables that Accelergy writes, which apply_energies, apply_areas and Timeloop read.
#pragma once

#include <span>
#include <string>

#include "orrery/describe/energy/estimate.h"

namespace orrery::formats::timeloop {

// ERT.yaml: pJ of every action for each value of its arguments. Components without actions are left out.
std::string energy_table_text(std::span<const energy::EstimatedComponent> components);
// ART.yaml: um^2 of one instance of every component.
std::string area_table_text(std::span<const energy::EstimatedComponent> components);

// ERT_summary.yaml and ART_summary.yaml: the figures with the estimator, accuracy and origin of each primitive's.
std::string energy_summary_text(std::span<const energy::EstimatedComponent> components);
std::string area_summary_text(std::span<const energy::EstimatedComponent> components);

// flattened_architecture.yaml: every component by its path, with its class and all attributes that hold for it.
std::string flattened_text(std::span<const energy::Component> components);

}  // namespace orrery::formats::timeloop
