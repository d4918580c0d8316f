#include "orrery/verbs/prune/sweep/run.h"

#include <fmt/format.h>

#include "orrery/engines/masks/pruning_error.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

using masks::PredictorKind;

// A prediction to be tried, and how its points are named.
struct Setting {
  masks::PredictorOptions options;
  SweepPoint point;
};

std::string name_of(PredictorKind kind) {
  for (const auto& [name, known] : predictor_names())
    if (known == kind) return name;
  return {};
}

std::vector<Setting> settings(const SparseSweepRequest& request) {
  std::vector<Setting> out;
  for (const PredictorKind kind : request.predictors) {
    Setting setting;
    setting.options.kind = kind;
    setting.point.predictor = name_of(kind);
    // f() for each number of bits, where the predictor quantises.
    const auto for_each_bits = [&](const auto& f) {
      for (const int bits : request.bits) {
        setting.options.quantiser.bits = bits;
        setting.point.bits = bits;
        f();
      }
    };
    const auto for_each_keep = [&](const auto& f) {
      for (const double keep : request.keeps) {
        setting.options.keep = keep;
        setting.point.keep = keep;
        f();
      }
    };
    const auto add = [&] { out.push_back(setting); };
    if (kind == PredictorKind::kThreshold)
      for (const double threshold : request.thresholds) {
        setting.options.threshold = threshold;
        setting.point.threshold = threshold;
        for_each_bits(add);
      }
    else if (kind == PredictorKind::kTopK)
      for_each_keep([&] { for_each_bits(add); });
    else if (kind == PredictorKind::kRounds)
      for_each_bits([&] {
        if (setting.options.quantiser.bits != masks::kExactBits) add();  // its rounds differ in bits
      });
    else if (kind == PredictorKind::kBlocks)
      for_each_keep(add);
    else
      add();
  }
  return out;
}

// Whether `a` is as good as `b` in all and better in one.
bool dominates(const SweepPoint& a, const SweepPoint& b) {
  const double error_a = a.error.value_or(0), error_b = b.error.value_or(0);
  if (error_a > error_b || a.density > b.density || a.packed.utilization < b.packed.utilization) return false;
  return error_a < error_b || a.density < b.density || a.packed.utilization > b.packed.utilization;
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

void mark_pareto(std::vector<SweepPoint>& points) {
  for (SweepPoint& point : points) {
    point.pareto = point.packed.fits;
    for (const SweepPoint& other : points)
      if (other.packed.fits && dominates(other, point)) point.pareto = false;
  }
}

SparseSweep sweep_sparse(const SparseSweepRequest& request) {
  SparseSweep out;
  const base::Budget budget(request.limits);
  const SparseArrays read = read_sparse_arrays(request.files, budget);
  out.inputs = read.inputs;
  kernels::Context context(request.limits.threads);
  const std::vector<Setting> tried = settings(request);
  LimitedSteps steps(budget);
  out.all = tried.size() * request.arrays.size() * request.packings.size();
  for (const Setting& setting : tried) {
    masks::Mask inside;
    SweepPoint point = setting.point;
    if (!steps.run("a prediction", [&] {
          masks::Prediction prediction;
          masks::make_predictor(setting.options)->predict(context, read.input, budget, prediction);
          inside = masks::inside_valid(prediction.mask);
          const base::Count pairs = prediction.mask.valid_pairs();
          point.density = pairs > 0 ? static_cast<double>(inside.kept()) / static_cast<double>(pairs) : 0;
          if (read.value_size > 0)
            point.error =
                masks::pruning_error(context, read.input, read.value.data(), read.value_size, prediction.mask, budget)
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
        out.points.push_back(point);
        if (request.progress) request.progress(out.points.size(), out.all);
      }
  }
  out.interrupted = budget.interrupted();
  out.out_of_time = !out.interrupted && out.points.size() < out.all;
  mark_pareto(out.points);
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
