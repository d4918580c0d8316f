#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/prune/sparse_verbs.h"
#include "orrery/verbs/prune/sweep/report.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kMostPoints = 100'000;  // the frontier compares each with each

double share_of(const std::string& option, const std::string& text, bool one) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc() && end == text.data() + text.size() && value > 0 && (one ? value <= 1 : value < 1))
    return value;
  misuse("O1102", fmt::format("`{} {}` must be above 0 and {} 1", option, text, one ? "at most" : "below"),
         fmt::format("give a share such as {}", one ? "0.1" : "0.002"));
}

// Adds what is not there yet: a value given twice is tried once.
template <class Value>
void add(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

void declare_choices(CommandLine& line, SparseSweepRequest& request) {
  line.group("Choices: each is repeatable, or a list with commas");
  std::vector<std::string> names;
  for (const auto& [name, kind] : verbs::predictor_names()) names.push_back(name);
  line.meant_each("--predictor", "NAME", "threshold (default), top-k, rounds, blocks, window", true,
                  [&request, names](const std::string& text) {
                    for (const auto& [name, kind] : verbs::predictor_names())
                      if (name == text) return add(request.predictors, kind);
                    misuse("O1102", fmt::format("`--predictor {}` is none", text),
                           base::did_you_mean(text, names, fmt::format("there are {}", fmt::join(names, ", "))));
                  });
  line.offer("--predictor", names);
  line.meant_each("--threshold", "P", "Of predictor threshold; default 0.002", true,
                  [&](const std::string& text) { add(request.thresholds, share_of("--threshold", text, false)); });
  line.meant_each("--keep", "SHARE", "Of predictors top-k and blocks; default 0.1", true,
                  [&](const std::string& text) { add(request.keeps, share_of("--keep", text, true)); });
  line.meant_each("--bits", "N", "Of codes, where the predictor quantises: 2, 4 (default), 6, 8; 32: not", true,
                  [&](const std::string& text) {
                    if (text != "2" && text != "4" && text != "6" && text != "8" && text != "32")
                      misuse("O1102", fmt::format("`--bits {}` is no width of codes", text),
                             "give 2, 4, 6 or 8, or 32 for scores that are not quantised");
                    add(request.bits, text == "32" ? masks::kExactBits : text[0] - '0');
                  });
  line.meant_each("--packing", "NAME", "pack, pack_nowin, compact64, compact16, row_chunks, orrery (default)", true,
                  [&](const std::string& text) { add(request.packings, packing_named(text)); });
  line.offer("--packing", masks::packing_names());
  line.meant_each("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64", true,
                  [&](const std::string& text) { add(request.arrays, verbs::pack_array(text)); });
}

template <class Value>
void default_to(std::vector<Value>& values, Value value) {
  if (values.empty()) values.push_back(value);
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
      misuse("O1103", fmt::format("`{}` means nothing to these predictors", option),
             "leave it out, or add a predictor");
  };
  unused(!request.thresholds.empty(), "--threshold", one_of({kThreshold}));
  unused(!request.keeps.empty(), "--keep", one_of({kTopK, kBlocks}));
  unused(!request.bits.empty(), "--bits", one_of({kThreshold, kTopK, kRounds}));
  if (request.predictors == std::vector{kRounds} && request.bits == std::vector{masks::kExactBits})
    misuse("O1103", "`--bits 32` means nothing to this predictor", "its rounds differ in bits: give 2, 4, 6 or 8");
  default_to(request.thresholds, 0.002);
  default_to(request.keeps, 0.1);
  default_to(request.bits, 4);
  default_to(request.packings, std::string("orrery"));
  default_to(request.arrays, masks::PackArray{});
  // At most so many, without a product that could overflow.
  double points = 1;
  for (const std::size_t choices : {request.predictors.size(), request.thresholds.size() + request.keeps.size(),
                                    request.bits.size(), request.packings.size(), request.arrays.size()})
    points *= static_cast<double>(choices);
  if (points > static_cast<double>(kMostPoints))
    misuse("O1103", fmt::format("up to {:.0f} points are more than {}", points, kMostPoints), "give fewer choices");
}

}  // namespace

int run_sparse_sweep(const Arguments& arguments, Console& console) {
  SparseSweepRequest request;
  OutputFolder output;
  CommandLine line("sparse sweep",
                   "Every combination of predictors, thresholds, bits, packings and arrays on one attention, and which "
                   "are worth their error",
                   "orrery sparse sweep --q Q.npy --k K.npy --v V.npy --threshold 0.001,0.002,0.01 --bits 2,4 "
                   "--array 64x16x64,64x16x128");
  line.group("Attention (NumPy's .npy files)");
  line.text("--q", request.files.query, "FILE", "Queries [batch, heads, tokens, size]");
  line.text("--k", request.files.key, "FILE", "Keys");
  line.text("--v", request.files.value, "FILE", "Values: the error of attention's output is told");
  line.text("--valid", request.files.valid, "FILE", "[batch, tokens], 1 for tokens that are there");
  line.toggle("--causal", request.files.causal, "Queries see the keys up to their own position, counted from the end");
  declare_choices(line, request);
  line.group("Run");
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Stop then and keep what is done");
  line.memory(request.limits.memory);
  declare(line, output, "Write sweep.csv and result.json there");
  if (!line.read(arguments, console)) return kDone;
  settle(request);
  const base::Stopwatch clock;
  check_folder(output.directory, output.force, {"sweep.csv", "result.json"});
  request.effort.threads = request.limits.threads;
  const InterruptGuard interrupt;
  request.limits.stop = interrupt.flag();
  SparseSweep answer;
  {
    ProgressLine progress(console);
    request.progress = [&](std::size_t done, std::size_t all) {
      if (progress.wanted()) progress.show(fmt::format("{} of {} points", done, all));
    };
    answer = verbs::sweep_sparse(request);
  }
  const std::string json = verbs::sparse_sweep_json({kVersion, &answer, clock.seconds()});
  if (!output.directory.empty())
    write_files(output.directory, {{"sweep.csv", verbs::sweep_csv(answer)}, {"result.json", json}});
  console.out << (console.json ? json : verbs::sparse_sweep_table(answer));
  return answer.interrupted ? kInterrupted : answer.out_of_time ? kLimit : kDone;
}

}  // namespace orrery::verbs
