// AccelForge's files, read as a question to engines/fused. Energies stay in the files' unit (J), times in seconds.
#pragma once

#include <memory>
#include <vector>

#include "orrery/engines/fused/model/fused_problem.h"
#include "orrery/formats/accelforge/accelforge_documents.h"
#include "orrery/formats/accelforge/component_prices.h"

namespace orrery::formats::accelforge {

struct FusedProblem {
  fused::Problem problem;
  std::vector<File> included;  // by templates
};

// Warnings are added to `found`. Throws InputError: O2100 to O2109, and as templates and expressions do.
FusedProblem read_fused_problem(const std::vector<File>& files, const timeloop::TemplateOptions& templates,
                                const ComponentPrices& prices, base::Diagnostics& found);

}  // namespace orrery::formats::accelforge
