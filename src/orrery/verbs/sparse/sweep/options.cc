#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/grid_options.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/sparse/pack/run.h"
#include "orrery/verbs/sparse/sweep/report.h"

namespace orrery::verbs {
namespace {

constexpr double kMostPoints = 100'000;

double share_of(const std::string& option, const std::string& text, bool one) {
  const auto value = base::parse_number<double>(text);
  if (value && *value > 0 && (one ? *value <= 1 : *value < 1)) return *value;
  misuse("O1102", fmt::format("`{} {}` must be above 0 and {} 1", option, text, one ? "at most" : "below"),
         fmt::format("give a share such as {}", one ? "0.1" : "0.002"));
}

void declare_choices(CommandLine& line, SparseSweepRequest& request) {
  line.group("Choices: each is repeatable, or a list with commas");
  std::vector<std::string> names;
  for (const auto& [name, kind] : verbs::predictor_names()) names.push_back(name);
  line.meant_each("--predictor", "NAME", "How keys are predicted: threshold (default), top-k, rounds, blocks, window",
                  true, [&request, names](const std::string& text) {
                    for (const auto& [name, kind] : verbs::predictor_names())
                      if (name == text) return add_choice(request.predictors, kind);
                    misuse(
                        "O1102", fmt::format("`--predictor {}` is no predictor", text),
                        base::did_you_mean(text, names, fmt::format("predictors are {}", base::joined(names, ", "))));
                  });
  line.offer("--predictor", names);
  line.meant_each(
      "--threshold", "P", "Predictor threshold: keys whose predicted probability is above it are kept; default 0.002",
      true, [&](const std::string& text) { add_choice(request.thresholds, share_of("--threshold", text, false)); });
  line.meant_each("--keep", "SHARE",
                  "Predictors top-k and blocks: share of a row's keys or blocks that is kept; default 0.1", true,
                  [&](const std::string& text) { add_choice(request.keeps, share_of("--keep", text, true)); });
  line.meant_each("--bits", "N", "Bits of the predictor's codes: 2, 4 (default), 6 or 8; 32: scores are not quantised",
                  true, [&](const std::string& text) {
                    if (text != "2" && text != "4" && text != "6" && text != "8" && text != "32")
                      misuse("O1102", fmt::format("`--bits {}` is no width of codes", text),
                             "give 2, 4, 6 or 8, or 32 for scores that are not quantised");
                    add_choice(request.bits, text == "32" ? masks::kExactBits : text[0] - '0');
                  });
  line.meant_each("--packing", "NAME",
                  "How kept pairs are packed: pack, pack_nowin, compact64, compact16, row_chunks, orrery (default)",
                  true, [&](const std::string& text) { add_choice(request.packings, packing_named(text)); });
  line.offer("--packing", masks::packing_names());
  line.meant_each("--array", "RxPxW", "Array: PE rows, PEs of a row and column ports; default 64x16x64", true,
                  [&](const std::string& text) { add_choice(request.arrays, verbs::pack_array(text)); });
}

void settle(SparseSweepRequest& request) {
  using enum masks::PredictorKind;
  if (request.files.query.empty() || request.files.key.empty())
    misuse("O1103", "queries and keys are missing", "give `--q FILE --k FILE`, and `--v FILE` for the error");
  default_to(request.predictors, kThreshold);
  const auto one_of = [&](std::initializer_list<masks::PredictorKind> kinds) {
    return std::any_of(kinds.begin(), kinds.end(), [&](masks::PredictorKind kind) {
      return std::find(request.predictors.begin(), request.predictors.end(), kind) != request.predictors.end();
    });
  };
  const auto unused = [&](bool given, const char* option, bool used) {
    if (given && !used)
      misuse("O1103", fmt::format("`{}` has no effect on these predictors", option),
             "leave it out, or add a predictor that takes it");
  };
  unused(!request.thresholds.empty(), "--threshold", one_of({kThreshold}));
  unused(!request.keeps.empty(), "--keep", one_of({kTopK, kBlocks}));
  unused(!request.bits.empty(), "--bits", one_of({kThreshold, kTopK, kRounds}));
  if (request.predictors == std::vector{kRounds} && request.bits == std::vector{masks::kExactBits})
    misuse("O1103", "`--bits 32` does not fit the predictor rounds", "its rounds differ in bits: give 2, 4, 6 or 8");
  default_to(request.thresholds, 0.002);
  default_to(request.keeps, 0.1);
  default_to(request.bits, 4);
  default_to(request.packings, std::string("orrery"));
  default_to(request.arrays, masks::PackArray{});
  double points = 1;
  for (const std::size_t choices : {request.predictors.size(), request.thresholds.size() + request.keeps.size(),
                                    request.bits.size(), request.packings.size(), request.arrays.size()})
    points *= static_cast<double>(choices);
  refuse_more_points(points, kMostPoints);
}

}  // namespace

int run_sparse_sweep(const Arguments& arguments, Console& console) {
  SparseSweepRequest request;
  OutputFolder output;
  CommandLine line(
      "sparse sweep",
      "Try every combination of predictors, thresholds, bits, packings and arrays on one attention, and mark "
      "the Pareto front of error, density and utilisation",
      "orrery sparse sweep --q Q.npy --k K.npy --v V.npy --threshold 0.001,0.002,0.01 --bits 2,4 "
      "--array 64x16x64,64x16x128");
  line.group("Attention (NumPy's .npy files)");
  line.text("--q", request.files.query, "FILE", "Queries [batch, heads, tokens, size]");
  line.text("--k", request.files.key, "FILE", "Keys [batch, heads, tokens, size]");
  line.text("--v", request.files.value, "FILE", "Values; with them the error of attention's output is measured");
  line.text("--valid", request.files.valid, "FILE", "Which tokens are valid [batch, tokens]: 1; padding: 0");
  line.toggle("--causal", request.files.causal,
              "Causal attention: a query sees the keys up to its own position, counted from the end");
  declare_choices(line, request);
  line.group("Run");
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop after this time and keep the points that are done");
  line.memory(request.limits.memory);
  declare(line, output, "Write sweep.csv and result.json there");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  settle(request);
  request.effort.threads = request.limits.threads;
  return run_grid<SparseSweepRequest, SparseSweep>(console, request, sweep_sparse, sparse_sweep_document,
                                                   sparse_sweep_table, output, {"sweep.csv", sweep_csv});
}

}  // namespace orrery::verbs
