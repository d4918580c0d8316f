#include <optional>

#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/bench/report.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kMostOfBench = base::Count{1} << 20;

void refuse_cuda() {
  base::Diagnostics found;
  auto& said =
      found.error("O1881", "this build has no code for graphics processors, so that `--cuda` cannot be measured");
  for (const PublishedFigure& figure : verbs::published_speedups())
    said.note(fmt::format("published: {}: {:g} times faster ({})", figure.what, figure.value, figure.source));
  said.hint("leave it out to measure this machine's processor");
  found.throw_if_errors();
}

}  // namespace

int run_sparse_bench(const Arguments& arguments, Console& console) {
  SparseBenchRequest request;
  std::optional<base::Count> batch, tokens;
  std::optional<kernels::Type> type;
  std::string model, csv;
  bool cuda = false;
  CommandLine line(
      "sparse bench",
      "A dense attention block with its projections on this machine: what Sanger's array is compared with, "
      "measured as bench_cpu_gpu.py does",
      "orrery sparse bench --model_name bert-base --seq_len 512");
  line.text("--model_name,--model", model, "NAME",
            "bert-base (default), bert-large, gpt2-small, gpt2-medium, bart-base, bart-large");
  line.count("--batch_size,--batch", batch, "Sequences of a batch; default 1", kMostOfBench);
  line.count("--seq_len", tokens, "Tokens of a sequence; default 128", kMostOfBench);
  line.toggle("--all", request.all, "bert-base, gpt2-small and bart-base at 128, 384 and 512 tokens");
  line.toggle("--cuda", cuda, "Run on a graphics processor: refused, this build has no code for it");
  line.choice<kernels::Type>("--dtype", type, {{"fp32", kernels::Type::kF32}, {"bf16", kernels::Type::kBf16}},
                             "Number format of activations: fp32 (default), bf16");
  line.output_file("-o,--output", csv, "FILE", "Write the means there as CSV, in the form of bench_results.csv");
  declare_search(line, request.limits, "Threads; default: one for each core", "Seconds; what was measured is kept",
                 true);
  if (!line.read(arguments, console)) return kDone;
  if (cuda) refuse_cuda();
  if (request.all && (!model.empty() || tokens))
    misuse("O1103", "`--all` and `--model_name` or `--seq_len` exclude each other", "leave one of them out");
  if (!model.empty()) request.model = model;
  request.batch = batch.value_or(1);
  request.tokens = tokens.value_or(128);
  request.type = type.value_or(kernels::Type::kF32);
  return run_verb<SparseBench>(console, {.answer =
                                             [&](Run& run) {
                                               request.limits.stop = run.stop();
                                               return sparse_bench(request);
                                             },
                                         .document = sparse_bench_document,
                                         .table = sparse_bench_text,
                                         .files = {{csv, bench_csv}}});
}

}  // namespace orrery::verbs
