
#include <optional>

#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/bench/report.h"
#include "orrery/verbs/tune/bench/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Type;

constexpr Count kMostOfBench = Count{1} << 24;

struct BenchGiven {
  TuneBenchRequest request;
  std::optional<Type> type;
};

bool read_bench(const Arguments& arguments, Console& console, BenchGiven& options) {
  TuneBenchRequest& request = options.request;
  CommandLine line("tune bench",
                   "The operators of an encoder's layer, measured on this machine in every layout that may matter",
                   "orrery tune bench --model bert-large --batch 8 --seq 512 -o measured");
  line.group("Sizes");
  line.text("--model", request.model, "NAME|FILE", "Sizes of a model from the catalogue, or of its config.json");
  line.count("--batch", request.batch, "Sequences of a batch; default 1, without a model 8", kMostOfBench);
  line.count("--seq", request.seq,
             "Tokens of a sequence; default: the model's longest, at most 4096, without a model 512", kMostOfBench);
  line.text("--size", request.sizes, "H=16,B=8,...",
            "Without a model, in Substation's letters: B, J, H, P, I or N, U; default: BERT-large's");
  line.group("What is measured");
  line.text("-k,--kernel", request.only, "NAME", "One kernel or contraction; default: what a layer's choice needs");
  line.choice<Type>("--dtype", options.type, {{"fp32", Type::kF32}, {"bf16", Type::kBf16}},
                    "Number format of all but biases and parameters of norms: fp32 (default), bf16");
  declare_search(line, request.limits, "Threads; default: one for each core",
                 "Seconds; what was measured by then is kept, for --resume", true);
  line.group("Output");
  line.text("-o,--output", request.folder, "DIR", "Where measurements are written, one by one, in Substation's files");
  line.toggle("--resume", request.resume, "Go on with what DIR has, of the same machine, type and sizes");
  return line.read(arguments, console);
}

}  // namespace

int run_tune_bench(const Arguments& arguments, Console& console) {
  BenchGiven options;
  if (!read_bench(arguments, console, options)) return kDone;
  if (options.request.folder.empty())
    misuse("O1103", "`-o DIR` is missing", "measurements are kept in a folder: `-o measured`");
  options.request.type = options.type.value_or(Type::kF32);
  return run_verb<TunedBench>(console, {.answer =
                                            [&](Run& run) {
                                              options.request.interruptible = run.interruptible();
                                              options.request.progress = [&](const std::string& text) {
                                                run.show("{}", text);
                                              };
                                              return tune_bench(options.request);
                                            },
                                        .document = tune_bench_document,
                                        .table = bench_table});
}

}  // namespace orrery::verbs
