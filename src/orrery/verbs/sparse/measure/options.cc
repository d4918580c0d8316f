#include <optional>

#include <fmt/format.h>

#include "orrery/cli/compat.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/verbs/sparse/mask/run.h"
#include "orrery/verbs/sparse/mask_report.h"
#include "orrery/verbs/sparse/measure/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
using masks::EmptyRows;

constexpr Count kMostOfArrays = Count{1} << 30;

struct MeasureGiven {
  SparseMeasureRequest request;
  PredictionOptions prediction;
  base::Reproduced<masks::MeasureDefects> compat;
  std::string save_mask;
  bool no_packing = false;
  OutputFolder output;
};

void declare_arrays(CommandLine& line, MeasureGiven& options) {
  SparseArrayFiles& arrays = options.request.arrays;
  line.group("Attention (NumPy's .npy files)");
  line.text("--q", arrays.query, "FILE", "Queries: float32 [batch, heads, tokens, size]; float16 and float64, too");
  line.text("--k", arrays.key, "FILE", "Keys, of as many heads and elements");
  line.text("--v", arrays.value, "FILE", "Values: also tells what pruning costs in attention's output");
  line.text("--valid", arrays.valid, "FILE",
            "Which keys exist: [batch, tokens], 1 for those that do; the same for queries where there are as many");
  line.text("--valid-queries", arrays.valid_queries, "FILE",
            "Which queries exist, where they are other tokens than the keys");
  line.count("--heads", arrays.heads, "Heads of arrays [batch x heads, tokens, size], as BART has them", kMostOfArrays);
  line.toggle("--causal", arrays.causal, "Queries see the keys up to their own position, counted from the end");
  line.toggle("--scaled", arrays.scaled, "Queries were divided by sqrt(size) in their projection, as BART's are");
}

void declare_rest(CommandLine& line, MeasureGiven& options) {
  line.group("Mask and figures");
  line.text("--mask", options.request.mask, "FILE|DIR", "Measure this mask, or each .npy of a folder, instead");
  line.count("--columns", options.request.columns, "Columns of a mask of packed bits, where its sizes leave them open",
             kMostOfArrays);
  line.output_file("--save-mask", options.save_mask, "FILE",
                   "Write the mask there: uint8 [batch, heads, queries, keys]");
  line.meant_each("--compat", "NAME[,NAME]", "Figures as Sanger's release logs them: sanger, or one of its defects",
                  true, [&](const std::string& name) {
                    if (!reproduces(masks::kMeasureDefects, name, options.compat))
                      refuse_compat(name, "neither Sanger nor a defect of it", masks::kMeasureDefects);
                  });
  line.offer("--compat", base::original_names(masks::kMeasureDefects));
  line.toggle("--no-packing", options.no_packing,
              "Leave out how the mask packs onto the array, which is most of the time");
  line.count("--repeat", options.request.repeat, "Measure prediction and figures this many times", 1'000'000);
  declare_search(line, options.request.limits, "Threads; they change the time only; default: one for each core",
                 "Seconds; the run stops then and keeps what is done");
  line.memory(options.request.limits.memory);
  declare(line, options.output, "Write result.json and Sanger's load_balance.csv there");
}

void settle_measure(MeasureGiven& options) {
  SparseMeasureRequest& request = options.request;
  const SparseArrayFiles& arrays = request.arrays;
  const bool predicts = request.mask.empty();
  if (arrays.query.empty() != arrays.key.empty() || (predicts && arrays.query.empty()))
    misuse("O1103", "queries and keys are missing, or a mask", "give `--q FILE --k FILE`, or `--mask FILE`");
  if (!arrays.value.empty() && arrays.query.empty())
    misuse("O1103", "`--v` without `--q` and `--k`", "the error is that of attention's output: it needs all three");
  if (!predicts && !arrays.query.empty() && arrays.value.empty())
    misuse("O1103", "`--mask` with `--q` and `--k` but without `--v`", "give `--v`, too, for the mask's error");
  if (!predicts && (options.prediction.given() || options.prediction.empty))
    misuse("O1103", "`--mask` and an option of the prediction exclude each other", "leave one of the two out");
  if (predicts && request.columns)
    misuse("O1103", "`--columns` without `--mask`", "it is about packed bits of a mask that is read");
  if (arrays.query.empty() && (arrays.heads || arrays.scaled))
    misuse("O1103", fmt::format("`{}` without `--q`", arrays.heads ? "--heads" : "--scaled"), "leave it out");
  const bool sanger = options.compat.defects.emptied_rows_idle;
  request.predictor = settled(options.prediction, sanger ? EmptyRows::kDense : EmptyRows::kArgmax);
  request.packs = !options.no_packing;
  request.defects = options.compat.defects;
  request.compat = options.compat.names;
}

}  // namespace

int run_sparse_measure(const Arguments& arguments, Console& console) {
  MeasureGiven options;
  CommandLine line(
      "sparse measure",
      "Which scores of an attention matter, predicted from codes of a few bits or given by a mask; how dense "
      "that is and how evenly it fills an array",
      "orrery sparse measure --q Q.npy --k K.npy --bits 4 --threshold 0.002 --save-mask mask.npy");
  declare_arrays(line, options);
  line.group("Prediction");
  declare(line, options.prediction, true);
  declare_rest(line, options);
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  settle_measure(options);
  const auto mask = [](const SparseMeasurement& answer) {
    if (answer.masks.size() > 1)
      misuse("O1103", "`--save-mask` and a folder of masks exclude each other", "leave one of the two out");
    return mask_file(answer.mask, false);
  };
  return run_verb<SparseMeasurement>(
      console, {.answer =
                    [&](Run& run) {
                      options.request.limits.stop = run.stop();
                      return measure_sparse(options.request);
                    },
                .document = sparse_measure_document,
                .table = sparse_measure_table,
                .folder = options.output,
                .names = {"result.json", "load_balance.csv"},
                .folder_files =
                    [](const SparseMeasurement& answer) {
                      return std::vector<OutputFile>{{"load_balance.csv", load_balance_csv(answer)}};
                    },
                .files = {{options.save_mask, mask}},
                .outcome = cut_short_outcome<SparseMeasurement>});
}

}  // namespace orrery::verbs
