#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/array_options.h"
#include "orrery/verbs/sparse/rtl/json.h"

namespace orrery::verbs {

int run_sparse_rtl(const Arguments& arguments, Console& console) {
  SparseRtlRequest request;
  ArrayInputOptions input;
  masks::PackEffort effort;
  OutputFolder output;
  std::optional<base::Count> rows, pes, ports, word, matrices;
  CommandLine line("sparse rtl",
                   "The accelerator as SystemVerilog: sources of an instance, its registers, and vectors that run on "
                   "it in Verilator",
                   "orrery sparse rtl -o DIR --rows 16 --pes 16 --ports 32");
  line.group("Accelerator");
  line.count("--rows", rows, "Rows of the array; default 64", 64);
  line.count("--pes", pes, "PEs of a row; default 16", 64);
  line.count("--ports", ports, "Column ports; default 64", 512);
  line.meant("--bits", "N", "Bits of the codes of queries and keys: 2, 4 (default), 6, 8",
             [&](const std::string& text) { request.bits = code_bits_of(text); });
  line.count("--depth", request.depth, "Largest head size; default: that of the vectors, else 64", 1024);
  line.count("--keys", request.keys, "Most keys of a head; default 512", 1 << 16);
  line.count("--sequences", request.sequences, "Most sequences of a START; default 16", 256);
  line.count("--word", word, "Bytes of the memory's word, one a cycle; default 16", 64);
  line.meant("--packing", "NAME", "Where masks are packed: pack, on the accelerator, is the only choice here",
             [&](const std::string& text) { request.choice.packing = array_packing_of(text); });
  line.count("--block-slots", request.choice.block_slots, "Packed blocks that can wait; default 16", 1 << 10);
  declare_machine(line, request.choice, effort, true);
  line.group("Vectors: what is given, else a predicted matrix of random numbers");
  declare_array_input(line, request.input, input);
  line.group("Vectors");
  line.count("--matrices", matrices, "Heads of the first sequence that become vectors; default 1", 1 << 10);
  line.count("--tokens", request.tokens, "Tokens of random matrices; default: twice the rows", (1 << 16) - 1);
  line.seed(request.seed, "Seed of the random numbers");
  declare(line, output, "Write sources and vectors there; required");
  if (!line.read(arguments, console)) return kDone;
  if (output.directory.empty()) misuse("O1101", "`sparse rtl` writes a folder and was given none", "add `-o DIR`");
  accelerator::Instance& instance = request.choice.instance;
  for (const auto& [given, into] : {std::pair{rows, &instance.array.rows},
                                    {pes, &instance.array.pes},
                                    {ports, &instance.array.ports},
                                    {word, &request.word},
                                    {matrices, &request.matrices}})
    *into = given.value_or(*into);
  check_effort(effort, {request.choice.packing});
  const ArrayCasesRequest& what = request.input;
  request.given = !what.mask.empty() || !what.arrays.query.empty() || !what.arrays.key.empty() ||
                  !what.texts.checkpoint.empty() || !what.texts.data.empty();
  if (request.given) {
    // Bits are those of the instance; a mask does not ask for them.
    if (what.mask.empty()) request.input.bits = request.bits;
    request.input.size = request.depth.value_or(request.input.size);
    settle(input, request.input);
    if (request.tokens) misuse("O1103", "`--tokens` means nothing where matrices are given", "leave it out");
  } else {
    const bool others = !what.arrays.valid.empty() || what.arrays.causal || what.arrays.scaled || what.arrays.heads ||
                        what.columns || input.size || input.normalise || input.query_clip || input.key_clip ||
                        !what.layer.empty() || what.texts.batch || what.texts.most_tokens;
    if (others)
      misuse("O1103", "options of a mask, arrays or a model mean nothing without one",
             "give a mask, or `--q FILE --k FILE --v FILE`, or `--checkpoint DIR --text FILE`");
    request.input.threshold = input.threshold;
  }
  const auto table = [&](const SparseRtl& answer) {
    return fmt::format(
        "{0} files in {1}; its vectors take {2} cycles, {3} blocks\nmake -C {1}    runs them in Verilator\n",
        answer.files.size(), output.directory, answer.cycles, answer.blocks);
  };
  return run_verb<SparseRtl>(console, {.answer = [&](Run&) { return write_rtl(request); },
                                       .document = sparse_rtl_document,
                                       .table = table,
                                       .folder = output,
                                       .names = {"Makefile", "instance.mk", "vectors.txt"},
                                       .folder_files = std::mem_fn(&SparseRtl::files)});
}

}  // namespace orrery::verbs
