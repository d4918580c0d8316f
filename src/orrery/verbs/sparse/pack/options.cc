#include <optional>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/pack/report.h"

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
  line.count("--columns", request.columns, "Columns of a mask of packed bits, where its sizes leave them open",
             base::Count{1} << 30);
  line.text("--valid", request.valid, "FILE", "Which tokens exist: [batch, tokens], 1 for those that do");
  line.toggle("--causal", request.causal, "Queries see the keys up to their own position, counted from the end");
  line.group("Array and search");
  line.meant("--array", "RxPxW", "PE rows, PEs of a row, column ports; default 64x16x64, as published",
             [&](const std::string& text) { request.array = verbs::pack_array(text); });
  line.count("--effort", effort, "How long `orrery` looks for fewer blocks; default 4, `sparse measure` takes 1",
             kMostEffort);
  declare_search(line, request.limits, "Threads; they change the time only; default: one for each core",
                 "Seconds that `orrery` looks for fewer blocks, all masks together; instead of --effort");
  line.memory(request.limits.memory);
  declare(line, output, "Write control_words.npy, blocks.json and result.json there");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  if (effort && request.limits.seconds > 0)
    misuse("O1103", "`--effort` and `--time-limit` exclude each other", "leave one of the two out");
  request.effort.threads = request.limits.threads;
  request.effort.all_the_time = request.limits.seconds > 0;
  request.effort.swaps *= effort.value_or(4);
  request.effort.rounds *= effort.value_or(4);
  return run_verb<SparsePack>(console, {.answer =
                                            [&](Run& run) {
                                              request.limits.stop = run.stop();
                                              return pack_sparse(request);
                                            },
                                        .document = sparse_pack_document,
                                        .table = sparse_pack_table,
                                        .folder = output,
                                        .names = {"control_words.npy", "blocks.json", "result.json"},
                                        .folder_files = sparse_pack_files,
                                        .outcome = cut_short_outcome<SparsePack>});
}

}  // namespace orrery::verbs
