#include "orrery/verbs/sparse/measure/run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/formats/sanger/load_balance_csv.h"
#include "orrery/inputs/masks/sparse_folder.h"
#include "orrery/inputs/masks/sparse_limits.h"

namespace orrery::verbs {
namespace {

// Figures of masks of different sizes have no common mean.
void check_sizes(const std::vector<std::pair<std::string, masks::MaskShape>>& masks) {
  std::vector<std::pair<std::string, std::pair<std::size_t, std::string>>> sizes;  // how many, and the first's name
  for (const auto& [name, shape] : masks) {
    std::string text = fmt::format("{} x {} x {} x {}", shape.batch, shape.heads, shape.rows, shape.columns);
    const auto known = std::find_if(sizes.begin(), sizes.end(), [&](const auto& size) { return size.first == text; });
    if (known == sizes.end())
      sizes.push_back({std::move(text), {1, name}});
    else
      ++known->second.first;
  }
  if (sizes.size() < 2) return;
  base::Diagnostics found;
  auto& told = found.error("O1842", fmt::format("the {} masks of the folder differ in size", masks.size()));
  for (const auto& [size, first] : sizes)
    told.note(fmt::format("{} of {} pairs, `{}` for one", first.first, size, first.second));
  told.hint("batch, heads, queries and keys must be the same: put masks of each size into a folder of their own");
  found.throw_if_errors();
}

// Adds how the mask packs, by every scheme.
void pack(const SparseMeasureRequest& request, const base::Budget& budget, LimitedSteps& steps, const masks::Mask& mask,
          std::vector<std::vector<masks::PackedScheme>>& packed) {
  const std::vector<std::string> names = masks::packing_names();
  const masks::Mask inside = masks::inside_valid(mask);
  for (std::size_t i = 0; i < names.size(); ++i)
    steps.run(fmt::format("packing `{}`", names[i]), [&] {
      packed[i].push_back(masks::pack_by(names[i], inside, {}, budget, {.threads = request.limits.threads}));
      if (budget.spent()) steps.leave(fmt::format("the rest of the search of packing `{}`", names[i]));
    });
}

void measure_files(const SparseMeasureRequest& request, const base::Budget& budget, LimitedSteps& steps,
                   SparseMeasurement& out) {
  const MaskFiles files = mask_files(request.mask);
  std::vector<std::pair<std::string, masks::MaskShape>> shapes;
  const auto read = [&](const std::string& path) {
    return read_listed_mask(path, request.columns, request.arrays, files, out.inputs, budget);
  };
  const auto figures_of = [&](const std::string& path) {
    out.mask = read(path);
    shapes.emplace_back(path, out.mask.shape());
    out.masks.push_back({path, masks::measure(out.mask, request.defects, {}, budget)});
    warn_of_outside(path, out.masks.back().figures.kept_outside, out.warnings);
  };
  for (const std::string& path : files.masks)
    if (!steps.run(fmt::format("`{}` and what follows it", path), [&] { figures_of(path); })) return;
  check_sizes(shapes);
  if (!request.packs) return;
  // Figures take a moment and packing takes long: it comes when all figures are there.
  std::vector<std::vector<masks::PackedScheme>> packed(masks::packing_names().size());
  for (const std::string& path : files.masks)
    if (!steps.run(fmt::format("packing `{}` and what follows it", path), [&] {
          if (files.masks.size() > 1) out.mask = read(path);
          pack(request, budget, steps, out.mask, packed);
        }))
      break;
  for (const auto& same : packed)
    if (same.size() == files.masks.size()) out.packing.push_back(masks::sum_of(same));
}

// Median and spread of the time that a task takes; nothing where the limits end it before the first.
template <class Task>
std::optional<base::Sample> timed(int repeat, LimitedSteps& steps, const std::string& what, const Task& task) {
  std::vector<double> seconds;
  const auto once = [&] {
    const base::Stopwatch clock;
    task();
    seconds.push_back(clock.seconds());
  };
  for (int i = 0; i < repeat; ++i)
    if (!steps.run(fmt::format("turns of {} from {} on", what, i + 1), once)) break;
  return seconds.empty() ? std::nullopt : std::optional(base::sample(seconds));
}

}  // namespace

SparseMeasurement measure_sparse(const SparseMeasureRequest& request) {
  SparseMeasurement out;
  out.predictor = request.predictor;
  out.compat = request.compat;
  const base::Budget budget(request.limits);
  LimitedSteps steps(budget);
  const bool arrays = !request.arrays.query.empty();
  kernels::Context context(request.limits.threads);
  out.isa = kernels::name_of(context.table().level);
  out.threads = context.threads();
  SparseArrays read;
  if (!request.mask.empty()) measure_files(request, budget, steps, out);
  if (arrays) {
    read = read_sparse_arrays(request.arrays, budget);
    out.inputs.insert(out.inputs.end(), read.inputs.begin(), read.inputs.end());
  }
  if (request.mask.empty()) {
    masks::Prediction prediction;
    const auto predictor = masks::make_predictor(request.predictor);
    const auto predict = [&] { predictor->predict(context, read.input, budget, prediction); };
    const bool done = steps.run("the prediction and what follows from it", [&] {
      predict();
      out.masks.push_back({"", masks::measure(prediction.mask, request.defects, prediction.emptied, budget)});
    });
    if (done) {
      out.predicted = true;
      out.emptied = static_cast<base::Count>(prediction.emptied.size());
      out.clips = prediction.clips;
      out.mask = std::move(prediction.mask);
      out.predicting = timed(request.repeat, steps, "the prediction", predict);
    }
  } else if (arrays && !out.masks.empty()) {
    if (out.masks.size() > 1)
      base::fail("O1816",
                 fmt::format("`{}` has {} masks, and the queries belong to one", request.mask, out.masks.size()), {},
                 "name the file of the mask");
    check_same_shape(out.mask.shape(), read.input.shape, request.mask);
  }
  if (!out.masks.empty()) {
    out.measuring =
        timed(request.repeat, steps, "the figures", [&] { masks::measure(out.mask, request.defects, {}, budget); });
    if (read.value_size > 0)
      steps.run("the error of pruning", [&] {
        out.error = masks::pruning_error(context, read.input, read.value.data(), read.value_size, out.mask, budget);
      });
    if (request.packs && request.mask.empty()) {
      std::vector<std::vector<masks::PackedScheme>> packed(masks::packing_names().size());
      pack(request, budget, steps, out.mask, packed);
      for (const auto& same : packed) out.packing.insert(out.packing.end(), same.begin(), same.end());
    }
  }
  std::vector<masks::Measured> figures;
  for (const MeasuredMask& mask : out.masks) figures.push_back(mask.figures);
  out.mean = masks::mean_of(figures);
  out.unfinished = steps.unfinished();
  out.warnings.append(limits_reached(out.unfinished, out.masks.empty(), request.limits));
  std::sort(out.inputs.begin(), out.inputs.end());
  out.inputs.erase(std::unique(out.inputs.begin(), out.inputs.end()), out.inputs.end());
  return out;
}

std::string load_balance_csv(const SparseMeasurement& answer) {
  std::vector<masks::Measured> figures;
  for (const MeasuredMask& mask : answer.masks) figures.push_back(mask.figures);
  return formats::sanger::load_balance_csv(figures);
}

}  // namespace orrery::verbs
