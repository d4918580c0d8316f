#include "orrery/scenario/sparse_measure.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/stopwatch.h"
#include "orrery/formats/sanger/load_balance_csv.h"

namespace orrery::scenario {
namespace {

namespace fs = std::filesystem;

// The masks of a folder, by name.
std::vector<std::string> masks_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {path};
  std::vector<std::string> found;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().extension() == ".npy") found.push_back(entry->path().string());
  if (failed || found.empty())
    base::fail("O1816", fmt::format("the folder `{}` has no masks", path), {},
               "masks are files that end in .npy; `orrery sparse measure --save-mask FILE.npy` writes one");
  std::sort(found.begin(), found.end());
  return found;
}

void warn_outside(const MeasuredMask& mask, base::Diagnostics& warnings) {
  if (mask.figures.kept_outside == 0) return;
  warnings
      .warning("O1819", fmt::format("`{}` keeps {} pairs of query and key that are not there", mask.name,
                                    mask.figures.kept_outside))
      .note("padding (`--valid`) and what lies beyond the diagonal (`--causal`) are left out of every figure");
}

void measure_files(const SparseMeasureRequest& request, SparseMeasurement& out) {
  for (const std::string& path : masks_of(request.mask)) {
    base::Input input;
    out.mask = read_mask(path, request.columns, &input);
    out.inputs.push_back(input);
    std::vector<base::Input> valid;
    apply_valid(out.mask, request.arrays, valid);
    if (out.masks.empty()) out.inputs.insert(out.inputs.end(), valid.begin(), valid.end());
    out.masks.push_back({path, sparse::measure(out.mask, request.defects)});
    warn_outside(out.masks.back(), out.warnings);
  }
}

template <class Task>
base::Sample timed(int repeat, const Task& task) {
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    const base::Stopwatch clock;
    task();
    seconds.push_back(clock.seconds());
  }
  return base::sample(seconds);
}

void check_same_shape(const sparse::Mask& mask, const sparse::AttentionInput& input, const std::string& path) {
  const sparse::MaskShape &a = mask.shape(), &b = input.shape;
  if (a == b) return;
  base::fail("O1803",
             fmt::format("the mask `{}` is of {} x {} x {} x {} pairs, queries and keys are of {} x {} x {} x {}", path,
                         a.batch, a.heads, a.rows, a.columns, b.batch, b.heads, b.rows, b.columns),
             {}, "batch, heads, queries and keys must be the same");
}

}  // namespace

SparseMeasurement measure_sparse(const SparseMeasureRequest& request) {
  SparseMeasurement out;
  out.predictor = request.predictor;
  out.compat = request.compat;
  const bool arrays = !request.arrays.query.empty();
  kernels::Context context(request.threads);
  out.isa = kernels::name_of(context.table().level);
  out.threads = context.threads();
  SparseArrays read;
  if (!request.mask.empty()) measure_files(request, out);
  if (arrays) {
    read = read_sparse_arrays(request.arrays);
    out.inputs.insert(out.inputs.end(), read.inputs.begin(), read.inputs.end());
  }
  if (request.mask.empty()) {
    sparse::Prediction prediction;
    const auto predictor = sparse::make_predictor(request.predictor);
    predictor->predict(context, read.input, prediction);
    if (request.repeat > 0)
      out.predicting = timed(request.repeat, [&] { predictor->predict(context, read.input, prediction); });
    out.predicted = true;
    out.emptied = static_cast<base::Count>(prediction.emptied.size());
    out.clips = prediction.clips;
    out.masks.push_back({"", sparse::measure(prediction.mask, request.defects, prediction.emptied)});
    out.mask = std::move(prediction.mask);
  } else if (arrays) {
    if (out.masks.size() > 1)
      base::fail("O1816",
                 fmt::format("`{}` has {} masks, and the queries belong to one", request.mask, out.masks.size()), {},
                 "name the file of the mask");
    check_same_shape(out.mask, read.input, request.mask);
  }
  if (request.repeat > 0) out.measuring = timed(request.repeat, [&] { sparse::measure(out.mask, request.defects); });
  if (read.value_size > 0)
    out.error = sparse::pruning_error(context, read.input, read.value.data(), read.value_size, out.mask);
  if (request.packs && out.masks.size() == 1) {
    const cost::Budget unlimited;
    out.packing = sparse::pack_all(sparse::inside_valid(out.mask), {}, unlimited, {.threads = context.threads()});
  }
  std::vector<sparse::Measured> figures;
  for (const MeasuredMask& mask : out.masks) figures.push_back(mask.figures);
  out.mean = sparse::mean_of(figures);
  std::sort(out.inputs.begin(), out.inputs.end());
  out.inputs.erase(std::unique(out.inputs.begin(), out.inputs.end()), out.inputs.end());
  return out;
}

std::string load_balance_csv(const SparseMeasurement& answer) {
  std::vector<sparse::Measured> figures;
  for (const MeasuredMask& mask : answer.masks) figures.push_back(mask.figures);
  return formats::sanger::load_balance_csv(figures);
}

}  // namespace orrery::scenario
