// The numbers of a run: masks that are predicted, outputs of packed blocks, and how far these are from attention in
// double precision. Matrices are dealt to threads; nothing depends on how.
#pragma once

#include "orrery/engines/accelerator/run_plan.h"
#include "orrery/engines/accelerator/units/quantiser_constants.h"

namespace orrery::accelerator {

// Queries, keys and values of a run as they enter its memories, [matrix][token][depth].
struct FixedInputs {
  std::vector<std::int32_t> query, key, value;
  Count queries = 0, keys = 0, values = 0;  // that did not fit
};
FixedInputs fixed_inputs(const Instance& instance, const Work& work, int threads);

// Largest magnitudes of what would be quantised: clip thresholds where none is given.
std::pair<double, double> largest_magnitudes(const Work& work, bool normalise, int threads);

struct Predicted {
  masks::Mask mask;
  Count seen = 0;               // pairs of a query and a key that it may see
  Count codes = 0, scores = 0;  // clipped, saturated
};
Predicted predicted_mask(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
                         const PredictionConstants& constants, int threads, const base::Budget& budget);

struct Calculated {
  std::vector<std::int32_t> outputs;  // [matrix][query][depth]
  Count saturated = 0;
};
Calculated calculated(const Instance& instance, const Work& work, const RunPlan& plan, const masks::Packing& packing,
                      const FixedInputs& inputs, int threads, const base::Budget& budget);

// Of outputs against attention over the kept pairs of the floats; relative to the largest exact output.
struct Errors {
  double most = 0, root_mean_square = 0;
};
Errors errors(const Instance& instance, const Work& work, const masks::Mask& mask,
              const std::vector<std::int32_t>& outputs, int threads, const base::Budget& budget);

}  // namespace orrery::accelerator
