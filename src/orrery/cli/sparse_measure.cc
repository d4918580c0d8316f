#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/stopwatch.h"
#include "orrery/cli/compat.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/shared_options.h"
#include "orrery/cli/sparse_verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/sparse_report.h"
#include "orrery/scenario/sparse_mask.h"
#include "orrery/scenario/sparse_measure.h"

namespace orrery::cli {
namespace {

using base::Count;
using sparse::EmptyRows;
using sparse::Normalise;
using sparse::PredictorKind;

constexpr Count kMostSize = Count{1} << 30;

struct Options {
  scenario::SparseMeasureRequest request;
  std::optional<Count> bits, block, window, sinks;
  std::optional<double> threshold, keep;
  std::optional<float> query_clip, key_clip;
  std::vector<double> alphas;
  std::optional<Normalise> normalise;
  std::optional<PredictorKind> predictor;
  std::optional<EmptyRows> empty;
  base::Reproduced<sparse::MeasureDefects> compat;
  std::string save_mask;
  bool no_packing = false;
  OutputFolder output;
};

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

double threshold_of(const std::string& text) {
  const std::optional<double> value = number(text);
  if (value && *value > 0 && *value < 1) return *value;
  base::Diagnostics found;
  auto& problem = found.error("O1820", fmt::format("the threshold `{}` is no probability between 0 and 1", text));
  if (value && *value <= 0) problem.note("every probability exceeds 0: nothing would be pruned");
  if (value && *value >= 1) problem.note("no probability exceeds 1: everything would be pruned");
  problem.hint("Sanger's models have 0.002 (SQuAD, CLOTH), 0.01 (BART) and 0.02 (GLUE)");
  found.throw_if_errors();
  return 0;
}

double number_within(const std::string& option, const std::string& text, double above, double most,
                     const std::string& what) {
  const std::optional<double> value = number(text);
  if (!value || !(*value > above) || *value > most)
    misuse("O1102", fmt::format("`{} {}` must be {}", option, text, what), fmt::format("give {} {}", option, what));
  return *value;
}

void declare_arrays(CommandLine& line, Options& options) {
  scenario::SparseArrayFiles& arrays = options.request.arrays;
  line.group("Attention (NumPy's .npy files)");
  line.text("--q", arrays.query, "FILE", "Queries: float32 [batch, heads, tokens, size]; float16 and float64, too");
  line.text("--k", arrays.key, "FILE", "Keys, of as many heads and elements");
  line.text("--v", arrays.value, "FILE", "Values: what pruning costs in attention's output is told, too");
  line.text("--valid", arrays.valid, "FILE", "[batch, tokens], 1 for keys that are there; the queries', where as many");
  line.text("--valid-queries", arrays.valid_queries, "FILE", "The same of queries, where they are other tokens");
  line.count("--heads", arrays.heads, "Of arrays [batch x heads, tokens, size], as BART has them", kMostSize);
  line.toggle("--causal", arrays.causal, "Queries see the keys up to their own position, counted from the end");
  line.toggle("--scaled", arrays.scaled, "Queries were divided by sqrt(size) in their projection, as BART's are");
}

void declare_prediction(CommandLine& line, Options& options) {
  line.group("Prediction");
  line.choice<PredictorKind>("--predictor", options.predictor,
                             {{"threshold", PredictorKind::kThreshold},
                              {"top-k", PredictorKind::kTopK},
                              {"rounds", PredictorKind::kRounds},
                              {"blocks", PredictorKind::kBlocks},
                              {"window", PredictorKind::kWindow}},
                             "threshold (Sanger, default), top-k (SpAtten), rounds (Energon), blocks, window");
  line.meant("--threshold", "P", "A key whose predicted probability exceeds it is kept; default 0.002",
             [&](const std::string& text) { options.threshold = threshold_of(text); });
  line.count("--bits", options.bits,
             "Of codes of queries and keys: 2, 4 (default), 6 or 8; 32: scores of what is given", sparse::kExactBits,
             2);
  line.choice<Normalise>("--normalize", options.normalise,
                         {{"inner_product", Normalise::kInnerProduct}, {"none", Normalise::kNone}},
                         "inner_product: rows to unit length before they are quantised (default); none");
  const std::string clip = "a number above 0";
  line.meant("--query-clip", "T", "Clip threshold (`input_x_thresh` of a checkpoint); default: the largest magnitude",
             [&, clip](const std::string& text) {
               options.query_clip = static_cast<float>(number_within("--query-clip", text, -1, 3e38, clip));
             });
  line.meant("--key-clip", "T", "The same of keys (`input_y_thresh`)", [&, clip](const std::string& text) {
    options.key_clip = static_cast<float>(number_within("--key-clip", text, -1, 3e38, clip));
  });
  line.meant("--keep", "SHARE", "Of a row's keys (top-k) or blocks (blocks), rounded up; default 0.1",
             [&](const std::string& text) {
               options.keep = number_within("--keep", text, 0, 1, "a share above 0 and at most 1");
             });
  line.meant_each("--alpha", "A,A", "Bounds of the two rounds between mean and extreme, -1 to 1; default 0,0", true,
                  [&](const std::string& text) {
                    const double alpha = number_within("--alpha", text, -1, 1, "between -1 and 1");
                    if (alpha == 1) misuse("O1102", "`--alpha 1` would keep nothing", "give less than 1");
                    options.alphas.push_back(alpha);
                  });
  line.count("--block", options.block, "Tokens of a block (blocks); default 64", kMostSize);
  line.count("--window", options.window, "Keys on either side, the query's own among them (window); default 64",
             kMostSize);
  line.count("--sinks", options.sinks, "First keys that all see (window); default 4", kMostSize, 0);
  line.choice<EmptyRows>("--empty-rows", options.empty,
                         {{"argmax", EmptyRows::kArgmax}, {"dense", EmptyRows::kDense}, {"zero", EmptyRows::kZero}},
                         "Rows that lose every key keep the best one (argmax, default), all, or none");
}

void declare_rest(CommandLine& line, Options& options) {
  line.group("Mask and figures");
  line.text("--mask", options.request.mask, "FILE|DIR", "Measure this mask, or each .npy of a folder, instead");
  line.count("--columns", options.request.columns, "Of a mask of packed bits whose sizes do not tell", kMostSize);
  line.text("--save-mask", options.save_mask, "FILE", "Write the mask there: uint8 [batch, heads, queries, keys]");
  line.meant_each("--compat", "NAME[,NAME]", "Figures as Sanger's release logs them: sanger, or one of its defects",
                  true, [&](const std::string& name) {
                    if (!reproduces(sparse::kMeasureDefects, name, options.compat))
                      refuse_compat(name, "neither Sanger nor a defect of it", sparse::kMeasureDefects);
                  });
  line.offer("--compat", base::original_names(sparse::kMeasureDefects));
  line.toggle("--no-packing", options.no_packing,
              "Leave out how the mask packs onto the array, which is most of the time");
  line.count("--repeat", options.request.repeat, "Time prediction and figures so often", 1'000'000);
  declare_search(line, options.request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop then and keep what is done");
  line.memory(options.request.limits.memory);
  declare(line, options.output, "Write result.json and Sanger's load_balance.csv there");
}

// An option that the chosen predictor does not look at is refused.
void check_use(const Options& options, PredictorKind kind) {
  const auto unused = [&](bool given, const std::string& option, std::initializer_list<PredictorKind> of) {
    if (!given || std::find(of.begin(), of.end(), kind) != of.end()) return;
    misuse("O1103", fmt::format("`{}` means nothing to this predictor", option),
           "leave it out, or choose another `--predictor`");
  };
  using enum PredictorKind;
  unused(options.threshold.has_value(), "--threshold", {kThreshold});
  unused(options.bits.has_value(), "--bits", {kThreshold, kTopK, kRounds});
  unused(options.normalise.has_value(), "--normalize", {kThreshold, kTopK, kRounds});
  unused(options.query_clip.has_value(), "--query-clip", {kThreshold, kTopK, kRounds});
  unused(options.key_clip.has_value(), "--key-clip", {kThreshold, kTopK, kRounds});
  unused(options.keep.has_value(), "--keep", {kTopK, kBlocks});
  unused(!options.alphas.empty(), "--alpha", {kRounds});
  unused(options.block.has_value(), "--block", {kBlocks});
  unused(options.window.has_value(), "--window", {kWindow});
  unused(options.sinks.has_value(), "--sinks", {kWindow});
  unused(options.empty.has_value(), "--empty-rows", {kThreshold, kRounds});
}

void settle(Options& options) {
  scenario::SparseMeasureRequest& request = options.request;
  const scenario::SparseArrayFiles& arrays = request.arrays;
  const bool predicts = request.mask.empty();
  if (arrays.query.empty() != arrays.key.empty() || (predicts && arrays.query.empty()))
    misuse("O1103", "queries and keys are missing, or a mask", "give `--q FILE --k FILE`, or `--mask FILE`");
  if (!arrays.value.empty() && arrays.query.empty())
    misuse("O1103", "`--v` without `--q` and `--k`", "the error is that of attention's output: it needs all three");
  if (!predicts && !arrays.query.empty() && arrays.value.empty())
    misuse("O1103", "`--mask` with `--q` and `--k` but without `--v`", "give `--v`, too, for the mask's error");
  if (!predicts && (options.predictor || options.threshold || options.bits || options.normalise || options.query_clip ||
                    options.key_clip || options.keep || !options.alphas.empty() || options.block || options.window ||
                    options.sinks || options.empty))
    misuse("O1103", "`--mask` and an option of the prediction exclude each other", "leave one of the two out");
  if (predicts && request.columns)
    misuse("O1103", "`--columns` without `--mask`", "it is about packed bits of a mask that is read");
  if (arrays.query.empty() && (arrays.heads || arrays.scaled))
    misuse("O1103", fmt::format("`{}` without `--q`", arrays.heads ? "--heads" : "--scaled"), "leave it out");
  sparse::PredictorOptions& p = request.predictor;
  p.kind = options.predictor.value_or(PredictorKind::kThreshold);
  check_use(options, p.kind);
  if (options.bits && *options.bits != sparse::kExactBits && (*options.bits % 2 != 0 || *options.bits > 8))
    misuse("O1102", fmt::format("`--bits {}` is no width of codes", *options.bits),
           "give 2, 4, 6 or 8, or 32 for scores that are not quantised");
  if (options.bits == sparse::kExactBits) {
    if (p.kind == PredictorKind::kRounds)
      misuse("O1103", "`--bits 32` means nothing to this predictor", "its rounds differ in bits: give 2, 4, 6 or 8");
    if (options.normalise || options.query_clip || options.key_clip)
      misuse("O1103", "`--bits 32` and an option of the quantiser exclude each other", "leave one of the two out");
  }
  p.quantiser = {static_cast<int>(options.bits.value_or(4)), options.normalise.value_or(Normalise::kInnerProduct),
                 options.query_clip, options.key_clip};
  p.threshold = options.threshold.value_or(p.threshold);
  p.keep = options.keep.value_or(p.keep);
  if (options.alphas.size() == 1 || options.alphas.size() > 2)
    misuse("O1102", fmt::format("`--alpha` has {} values for two rounds", options.alphas.size()), "give two, as 0,0.2");
  if (options.alphas.size() == 2) std::copy(options.alphas.begin(), options.alphas.end(), p.alpha);
  p.block = options.block.value_or(p.block);
  p.window = options.window.value_or(p.window);
  p.sinks = options.sinks.value_or(p.sinks);
  const bool sanger = options.compat.defects.emptied_rows_idle;
  p.empty = options.empty.value_or(sanger ? EmptyRows::kDense : EmptyRows::kArgmax);
  request.packs = !options.no_packing;
  request.defects = options.compat.defects;
  request.compat = options.compat.names;
}

}  // namespace

int run_sparse_measure(const Arguments& arguments, Console& console) {
  Options options;
  CommandLine line(
      "sparse measure",
      "Which scores of an attention matter, predicted from codes of a few bits or given by a mask; how dense "
      "that is and how evenly it fills an array",
      "orrery sparse measure --q Q.npy --k K.npy --bits 4 --threshold 0.002 --save-mask mask.npy");
  declare_arrays(line, options);
  declare_prediction(line, options);
  declare_rest(line, options);
  if (!line.read(arguments, console)) return kDone;
  const base::Stopwatch clock;
  settle(options);
  check_folder(options.output.directory, options.output.force, {"result.json", "load_balance.csv"});
  const InterruptGuard interrupt;
  options.request.limits.stop = interrupt.flag();
  const scenario::SparseMeasurement answer = scenario::measure_sparse(options.request);
  const int cut_short = interrupt.flag()->load() ? kInterrupted : kLimit;
  if (answer.masks.empty()) {
    refuse(console, answer.warnings.all());
    return cut_short;
  }
  report(console, answer.warnings.all());
  const std::string json = report::sparse_measure_json({kVersion, &answer, clock.seconds()});
  if (!options.save_mask.empty()) {
    if (answer.masks.size() > 1)
      misuse("O1103", "`--save-mask` and a folder of masks exclude each other", "leave one of the two out");
    write_file(options.save_mask, scenario::mask_file(answer.mask, false));
  }
  if (!options.output.directory.empty()) {
    write_files(options.output.directory,
                {{"result.json", json}, {"load_balance.csv", scenario::load_balance_csv(answer)}});
  }
  console.out << (console.json ? json : report::sparse_measure_table(answer));
  return answer.unfinished.empty() ? kDone : cut_short;
}

}  // namespace orrery::cli
