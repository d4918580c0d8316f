#include "orrery/verbs/sparse/sweep/run.h"

#include <fmt/format.h>

#include "orrery/engines/masks/pruning_error.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using masks::PredictorKind;

std::string name_of(PredictorKind kind) {
  for (const auto& [name, known] : predictor_names())
    if (known == kind) return name;
  return {};
}

// The predictions to be tried, and how their points are named.
std::vector<std::pair<PredictorKind, SweepPoint>> predictions(const SparseSweepRequest& request) {
  std::vector<std::pair<PredictorKind, SweepPoint>> out;
  for (const PredictorKind kind : request.predictors) {
    std::vector<SweepPoint> some(1);
    some.front().predictor = name_of(kind);
    if (kind == PredictorKind::kThreshold) multiply(some, request.thresholds, &SweepPoint::threshold);
    if (kind == PredictorKind::kTopK || kind == PredictorKind::kBlocks)
      multiply(some, request.keeps, &SweepPoint::keep);
    if (kind != PredictorKind::kBlocks && kind != PredictorKind::kWindow)
      multiply(some, request.bits, &SweepPoint::bits);
    for (const SweepPoint& point : some)
      if (kind != PredictorKind::kRounds || point.bits != masks::kExactBits)  // its rounds differ in bits
        out.emplace_back(kind, point);
  }
  return out;
}

masks::PredictorOptions options_of(PredictorKind kind, const SweepPoint& point) {
  masks::PredictorOptions out;
  out.kind = kind;
  out.quantiser.bits = point.bits.value_or(out.quantiser.bits);
  out.threshold = point.threshold.value_or(out.threshold);
  out.keep = point.keep.value_or(out.keep);
  return out;
}

std::string cell(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

const std::vector<std::pair<std::string, PredictorKind>>& predictor_names() {
  static const std::vector<std::pair<std::string, PredictorKind>> names = {{"threshold", PredictorKind::kThreshold},
                                                                           {"top-k", PredictorKind::kTopK},
                                                                           {"rounds", PredictorKind::kRounds},
                                                                           {"blocks", PredictorKind::kBlocks},
                                                                           {"window", PredictorKind::kWindow}};
  return names;
}

base::Costs sweep_costs(const SweepPoint& point) {
  if (!point.packed.fits) return {};
  return {point.error.value_or(0), point.density, -point.packed.utilization};
}

SparseSweep sweep_sparse(const SparseSweepRequest& request) {
  SparseSweep out;
  const base::Budget budget(request.limits);
  const SparseArrays read = read_sparse_arrays(request.files, budget);
  out.inputs = read.inputs;
  kernels::Context context(request.limits.threads);
  const auto tried = predictions(request);
  LimitedSteps steps(budget);
  out.all = tried.size() * request.arrays.size() * request.packings.size();
  for (const auto& prediction : tried) {
    masks::Mask inside;
    SweepPoint point = prediction.second;
    const auto predictor = masks::make_predictor(options_of(prediction.first, point));
    if (!steps.run("a prediction", [&] {
          masks::Prediction made;
          predictor->predict(context, read.input, budget, made);
          inside = masks::inside_valid(made.mask);
          const base::Count pairs = made.mask.valid_pairs();
          point.density = pairs > 0 ? static_cast<double>(inside.kept()) / static_cast<double>(pairs) : 0;
          if (read.value_size > 0)
            point.error =
                masks::pruning_error(context, read.input, read.value.data(), read.value_size, made.mask, budget)
                    .relative;
        }))
      break;
    for (const masks::PackArray& array : request.arrays)
      for (const std::string& packing : request.packings) {
        point.array = array;
        point.packing = packing;
        // The packing's effort is fixed, so that points do not depend on the time that is left: one whose search was
        // ended is not kept.
        if (!steps.run("a packing", [&] {
              point.packed = masks::pack_by(packing, inside, array, budget, request.effort);
              masks::demand(budget);
            }))
          break;
        out.add(point, request);
      }
  }
  out.end(budget, sweep_costs);
  return out;
}

std::string sweep_csv(const SparseSweep& sweep) {
  std::string out = "predictor,bits,threshold,keep,array,packing,fits,density,error,utilization,bound,blocks,pareto\n";
  for (const SweepPoint& p : sweep.points)
    out += fmt::format("{},{},{},{},{}x{}x{},{},{},{},{},{},{},{},{}\n", p.predictor,
                       p.bits ? std::to_string(*p.bits) : "", cell(p.threshold), cell(p.keep), p.array.rows,
                       p.array.pes, p.array.ports, p.packing, p.packed.fits ? 1 : 0, p.density, cell(p.error),
                       p.packed.utilization, p.packed.bound, p.packed.blocks, p.pareto ? 1 : 0);
  return out;
}

}  // namespace orrery::verbs
