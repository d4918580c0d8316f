#include <optional>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/shared_options.h"
#include "orrery/inputs/masks/pack_array.h"
#include "orrery/verbs/prune/pack/report.h"
#include "orrery/verbs/prune/sparse_verbs.h"

namespace orrery::verbs {
namespace {

constexpr base::Count kMostEffort = 1000;

}  // namespace

int run_sparse_pack(const Arguments& arguments, Console& console) {
  SparsePackRequest request;
  OutputFolder output;
  std::optional<base::Count> effort;
  CommandLine line("sparse pack",
                   "A mask packed onto Sanger's array, or one of other proportions: which kept pairs are computed "
                   "together, and how well that fills the array",
                   "orrery sparse pack mask.npy --array 64x16x128");
  line.word("MASK", request.mask,
            "A mask (.npy), or a folder: of its mask_packed_le.npy and attn_valid.npy, else of all its masks", true);
  line.count("--columns", request.columns, "Of packed bits whose sizes do not tell", base::Count{1} << 30);
  line.text("--valid", request.valid, "FILE", "[batch, tokens], 1 for tokens that are there");
  line.toggle("--causal", request.causal, "Queries see the keys up to their own position, counted from the end");
  line.group("Array and search");
  line.meant("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64, as published",
             [&](const std::string& text) { request.array = verbs::pack_array(text); });
  line.count("--effort", effort, "How long `orrery` looks for fewer blocks; default 4, `sparse measure` takes 1",
             kMostEffort);
  declare_search(line, request.limits, "Threads; default: one for each core; they change the time only",
                 "Look so long instead, all masks together");
  line.memory(request.limits.memory);
  declare(line, output, "Write control_words.npy, blocks.json and result.json there");
  if (!line.read(arguments, console)) return kDone;
  if (effort && request.limits.seconds > 0)
    misuse("O1103", "`--effort` and `--time-limit` exclude each other", "leave one of the two out");
  const base::Stopwatch clock;
  check_folder(output.directory, output.force, {"control_words.npy", "blocks.json", "result.json"});
  request.effort.threads = request.limits.threads;
  request.effort.all_the_time = request.limits.seconds > 0;
  request.effort.swaps *= effort.value_or(4);
  request.effort.rounds *= effort.value_or(4);
  const InterruptGuard interrupt;
  request.limits.stop = interrupt.flag();
  const SparsePack answer = verbs::pack_sparse(request);
  const int cut_short = interrupt.flag()->load() ? kInterrupted : kLimit;
  if (answer.masks.empty()) {
    refuse(console, answer.warnings.all());
    return cut_short;
  }
  report(console, answer.warnings.all());
  const std::string json = verbs::sparse_pack_json({kVersion, &answer, clock.seconds()});
  if (!output.directory.empty()) {
    std::vector<OutputFile> files = verbs::sparse_pack_files(answer);
    files.push_back({"result.json", json});
    write_files(output.directory, files);
  }
  console.out << (console.json ? json : verbs::sparse_pack_table(answer));
  return answer.interrupted || !answer.unfinished.empty() ? cut_short : kDone;
}

}  // namespace orrery::verbs
