#include "orrery/engines/accelerator/simulate.h"

#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/accelerator/calculate.h"
#include "orrery/engines/accelerator/counted_run.h"
#include "orrery/engines/accelerator/timeline.h"
#include "orrery/engines/masks/unfinished.h"

namespace orrery::accelerator {
namespace {

// Bytes that operations of the timeline and entries of a packing take.
constexpr double kBytesOfBlock = 400, kBytesOfEntry = 4;

void predict(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
             const SimulateOptions& options, const base::Budget& budget, Simulation& out, Count& seen) {
  const Prediction& p = *work.prediction;
  std::pair<double, double> clips{p.query_clip.value_or(0), p.key_clip.value_or(0)};
  if (!p.query_clip || !p.key_clip) {
    const auto found = largest_magnitudes(work, p.normalise, options.threads);
    clips = {p.query_clip.value_or(found.first), p.key_clip.value_or(found.second)};
  }
  base::Diagnostics problems;
  const PredictionConstants constants =
      prediction_constants(instance, sizes_of(work), p.normalise, clips.first, clips.second, p.threshold, problems);
  problems.throw_if_errors();
  Predicted predicted = predicted_mask(instance, work, plan, inputs, constants, options.threads, budget);
  out.clips = clips;
  out.saturated.codes = predicted.codes, out.saturated.scores = predicted.scores;
  out.predicted = std::move(predicted.mask);
  seen = predicted.seen;
}

}  // namespace

Sizes sizes_of(const Work& work) {
  return {work.shape.matrices(),       work.shape.rows,         work.shape.columns, work.depth, work.scale,
          work.prediction.has_value(), work.packing != nullptr, work.calculates()};
}

Simulation simulate(const Instance& instance, const Work& work, const SimulateOptions& options,
                    const base::Budget& budget) {
  ORRERY_CHECK(!faults(instance, sizes_of(work)).has_errors(), "an instance without faults");
  ORRERY_CHECK(
      work.prediction ? work.calculates() && work.mask == nullptr && work.packing == nullptr : work.mask != nullptr,
      "a mask that is given, or predicted from numbers");
  Simulation out;
  RunPlan plan = planned_tiles(instance, work);
  FixedInputs inputs;
  if (work.calculates()) {
    inputs = fixed_inputs(instance, work, options.threads);
    out.saturated.queries = inputs.queries, out.saturated.keys = inputs.keys, out.saturated.values = inputs.values;
  }
  Count seen = 0;
  if (work.prediction) predict(instance, work, plan, inputs, options, budget, out, seen);
  const masks::Mask mask = masks::inside_valid(work.prediction ? *out.predicted : *work.mask);
  out.kept = mask.kept();
  if (!budget.has_room(static_cast<double>(out.kept) * kBytesOfEntry)) throw masks::Unfinished();
  masks::Packing packed;
  if (work.packing == nullptr) packed = masks::pack_as_sanger(mask, instance.array, true, budget);
  const masks::Packing& packing = work.packing != nullptr ? *work.packing : packed;
  ORRERY_CHECK(packing.array == instance.array, "blocks of this array");
  out.blocks = static_cast<Count>(packing.blocks.size());
  if (!budget.has_room(static_cast<double>(out.kept) * kBytesOfEntry + static_cast<double>(out.blocks) * kBytesOfBlock))
    throw masks::Unfinished();
  add_blocks(packing, plan);
  out.tiles = static_cast<Count>(plan.tiles.size());
  if (out.blocks > 0)
    out.utilization =
        static_cast<double>(out.kept) / (static_cast<double>(out.blocks) * static_cast<double>(instance.array.slots()));

  const Timeline times = timeline(instance, plan, work.depth, options.trace, budget);
  out.cycles = times.cycles, out.phases = times.phases, out.stalls = times.stalls;
  out.busy = times.busy, out.bytes = times.bytes;
  CountedRun counted = counted_run(instance, plan, work.depth, seen);
  out.operations = counted.operations, out.memories = counted.memories;
  if (!work.calculates()) return out;
  Calculated numbers = calculated(instance, work, plan, packing, inputs, options.threads, budget);
  out.outputs = std::move(numbers.outputs);
  out.saturated.outputs = numbers.saturated;
  if (options.compare) {
    const Errors found = errors(instance, work, mask, out.outputs, options.threads, budget);
    out.max_relative_error = found.most, out.mean_relative_error = found.root_mean_square;
  }
  return out;
}

std::vector<double> real_outputs(const Instance& instance, const Simulation& simulation) {
  std::vector<double> all;
  all.reserve(simulation.outputs.size());
  for (const std::int32_t x : simulation.outputs) all.push_back(instance.numbers.output.real(x));
  return all;
}

}  // namespace orrery::accelerator
