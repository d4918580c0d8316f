// Options of our own and those of Substation's run_encoder, as they are written there. Sizes without a model are those
// of run_encoder's layer, so its defaults hold: forward and backward, dropout 0.1 in four places.

#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/layer_options.h"
#include "orrery/verbs/tune/run/json.h"
#include "orrery/verbs/tune/run/run.h"
#include "orrery/verbs/tune/run/table.h"
#include "orrery/verbs/tune/run/tensor_file.h"

namespace orrery::verbs {
namespace {

using kernels::Type;

constexpr double kUsualDropout = 0.1;  // run_encoder's

struct RunGiven {
  TuneRunRequest request;
  std::optional<Type> type, test_type;
  std::optional<double> dropout, softmax, residual1, activation, residual2;
  bool train = false, inference = false, profile = false;
  std::string trace, layout, compilation;
  OutputFolder output;
};

void declare_run(CommandLine& line, RunGiven& options) {
  const std::vector<std::pair<std::string, Type>> types = {
      {"fp32", Type::kF32}, {"bf16", Type::kBf16}, {"fp16", Type::kF16}, {"fp64", Type::kF64}};
  line.group("Run");
  line.toggle("--train", options.train, "Forward and backward; without a model, this is the default");
  line.toggle("--inference", options.inference, "Forward only; of a model, this is the default");
  line.choice<Type>("--dtype", options.type, types,
                    "Number format of activations: fp32 (default), bf16; fp16 and fp64 run by plain loops, slowly");
  line.probability(
      "--dropout", options.dropout,
      "Dropout rate in all four places when training; default 0 whatever the model has, without a model 0.1");
  line.probability("--softmax-dropout-prob", options.softmax, "Dropout rate of attention's probabilities");
  line.probability("--residual1-dropout-prob", options.residual1, "Dropout rate behind attention");
  line.probability("--activation-dropout-prob", options.activation, "Dropout rate behind the activation");
  line.probability("--residual2-dropout-prob", options.residual2, "Dropout rate behind the feed-forward network");
  line.count("--iters", options.request.iterations, "Measured iterations; default: at least 5, for 3 seconds",
             1'000'000);
  line.count("--warmup", options.request.warmup,
             "Iterations before those that are measured, 0 or more; default: 2, or a tenth of --iters", 1'000'000, 0);
  line.seed(options.request.seed, "Seed of weights, input and dropout; default 0");
  declare_search(line, options.request.limits, "Threads; default: one for each core",
                 "Seconds; what was measured by then is printed", true);
  line.group("Check");
  line.toggle(
      "--test", options.request.test,
      "Compare outputs, and gradients when training, with a reference, without dropout; exit code 1 where they differ");
  line.choice<Type>("--test-dtype", options.test_type, types, "Number format of the reference; default fp64");
  line.group("As run_encoder has them");
  line.text(
      "--layout", options.layout, "FILE",
      "Run Substation's operators one by one in the layouts of this file, as `tune select` writes it; `built-in`: as "
      "built in; default: by what `tune select` kept of this machine");
  line.text("--compilation-dir", options.compilation, "DIR", "Not used: nothing is compiled");
  declare(line, options.output, "Write result.json there, and with --test the tensors as NumPy's .npy files");
  line.text_or_none("--profile", options.profile, options.trace, "[FILE]",
                    "Write every operator's times there, for Perfetto");
}

bool read_run(const Arguments& arguments, Console& console, RunGiven& options) {
  CommandLine line("tune run",
                   "One transformer layer, run on this machine and measured: forward, backward, operator by operator",
                   "orrery tune run --model bert-large --batch 8 --seq 512 --train --dropout 0.1");
  declare_layer(line, options.request.layer);
  declare_run(line, options);
  line.pictures();
  return line.read(arguments, console);
}

// What the options mean together.
void settle(RunGiven& options, base::Diagnostics& warnings) {
  TuneRunRequest& request = options.request;
  const bool plain = request.layer.model.empty();
  if (options.train && options.inference)
    misuse("O1103", "`--train` and `--inference` exclude each other", "leave one of the two out");
  request.training = options.train || (plain && !options.inference);
  const bool rates = options.softmax || options.residual1 || options.activation || options.residual2;
  const double everywhere = options.dropout.value_or(plain && request.training ? kUsualDropout : 0.0);
  request.dropout.attention = options.softmax.value_or(everywhere);
  request.dropout.first = options.residual1.value_or(everywhere);
  request.dropout.hidden = options.activation.value_or(everywhere);
  request.dropout.second = options.residual2.value_or(everywhere);
  request.dropout.cross_attention = request.dropout.attention;
  request.dropout.cross = request.dropout.first;
  request.layer.type = options.type.value_or(Type::kF32);
  request.test_type = options.test_type.value_or(Type::kF64);
  request.tensors = request.test && !options.output.directory.empty();
  const auto unused = [&](bool given, const std::string& what, const std::string& why) {
    if (given) warnings.warning("O1528", fmt::format("{} has no effect", what)).note(why);
  };
  request.layout = options.layout;
  unused(!options.compilation.empty(), fmt::format("`--compilation-dir {}`", options.compilation),
         "nothing is compiled: sizes are arguments of the kernels");
  unused(options.profile && options.trace.empty(), "`--profile` without a FILE",
         "times by operator are printed anyway; with a FILE, a trace for Perfetto is written");
  unused(options.test_type.has_value() && !request.test, "`--test-dtype` without `--test`", "nothing is compared");
  if (plain && !options.type && rates)
    warnings.warning("O1528", "the layer runs in fp32, where run_encoder's default is fp16")
        .note("the kernels have no fp16; `--dtype fp16` runs plain loops, slowly")
        .hint("give `--dtype fp32` or `--dtype bf16`");
}

}  // namespace

int run_tune_run(const Arguments& arguments, Console& console) {
  RunGiven options;
  if (!read_run(arguments, console, options)) return kDone;
  base::Diagnostics unused;
  settle(options, unused);
  return run_verb<TunedRun>(console, {.answer =
                                          [&](Run& run) {
                                            options.request.interruptible = run.interruptible();
                                            options.request.measuring = [&](std::size_t done) {
                                              run.show("{} iterations measured", done);
                                            };
                                            TunedRun answer = tune_run(options.request);
                                            unused.append(answer.warnings);
                                            answer.warnings = unused;
                                            return answer;
                                          },
                                      .document = tune_run_document,
                                      .table = tune_table,
                                      .folder = options.output,
                                      .names = {"result.json"},
                                      .folder_files =
                                          [](const TunedRun& answer) {
                                            std::vector<OutputFile> files;
                                            if (answer.check)
                                              for (const KeptTensor& tensor : answer.check->kept)
                                                files.push_back(tensor_file(tensor));
                                            return files;
                                          },
                                      .files = {{options.trace, layer_trace}},
                                      .outcome = [](const TunedRun& answer, const Run& run) -> Outcome {
                                        if (answer.ended_early) return {run.cut_short()};
                                        return {answer.check && !answer.check->passed() ? kNo : kDone};
                                      }});
}

}  // namespace orrery::verbs
