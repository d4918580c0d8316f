#include <fmt/format.h>

#include <filesystem>

#include "orrery/cli/output_folder.h"
#include "orrery/cli/shared_options.h"
#include "orrery/cli/sparse_verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/verbs_json.h"
#include "orrery/scenario/sparse_rtl.h"

namespace orrery::cli {

int run_sparse_rtl(const Arguments& arguments, Console& console) {
  scenario::SparseRtlRequest request;
  OutputFolder output;
  std::optional<base::Count> rows, pes, ports, bits, depth, keys, width, lanes, word;
  CommandLine line("sparse rtl",
                   "The accelerator as SystemVerilog: sources of an instance, its registers, and vectors that run on "
                   "it in Verilator",
                   "orrery sparse rtl -o DIR --rows 16 --pes 16 --ports 32");
  line.count("--rows", rows, "Rows of the array; default 64", 64);
  line.count("--pes", pes, "PEs of a row; default 16", 64);
  line.count("--ports", ports, "Column ports; default 64", 512);
  line.count("--bits", bits, "Of predicted codes; default 4", 8);
  line.count("--depth", depth, "Head size; default 64", 1024);
  line.count("--keys", keys, "Keys of a matrix that fit; default 512", 1 << 16);
  line.count("--width", width, "Columns of the prediction array; default 64", 1024);
  line.count("--lanes", lanes, "Elements that are quantised, or merged, in a cycle; default 16", 1024);
  line.count("--word", word, "Bytes of the memory's word; default 16", 64);
  line.group("Vectors");
  line.text("--mask", request.mask, "FILE",
            "Of this mask's first matrix (.npy); default: a mask that the instance predicts");
  line.count("--columns", request.columns, "Of packed bits whose sizes do not tell", base::Count{1} << 30);
  line.count("--tokens", request.tokens, "Of the predicted matrix; default twice the rows", 1 << 16);
  line.share("--threshold", request.threshold, "Of prediction; default 0.01");
  line.seed(request.seed, "Of the numbers");
  declare(line, output, "Write the folder there");
  if (!line.read(arguments, console)) return kDone;
  if (output.directory.empty()) misuse("O1101", "`sparse rtl` writes a folder and was given none", "add `-o DIR`");
  for (const auto& [given, into] : {std::pair{rows, &request.rows},
                                    {pes, &request.pes},
                                    {ports, &request.ports},
                                    {bits, &request.bits},
                                    {depth, &request.depth},
                                    {keys, &request.keys},
                                    {width, &request.width},
                                    {lanes, &request.lanes},
                                    {word, &request.word}})
    *into = given.value_or(*into);
  check_folder(output.directory, output.force, {"Makefile", "instance.mk", "vectors.txt"});
  const scenario::SparseRtl answer = scenario::write_rtl(request);
  std::vector<scenario::OutputFile> sources, rest;
  for (const scenario::OutputFile& file : answer.files) {
    if (file.name.starts_with("rtl/"))
      sources.push_back({file.name.substr(4), file.text});
    else
      rest.push_back(file);
  }
  write_files(output.directory, rest);
  write_files((std::filesystem::path(output.directory) / "rtl").string(), sources);
  std::vector<std::string> names;
  for (const scenario::OutputFile& file : answer.files) names.push_back(file.name);
  if (console.json) {
    console.out << report::sparse_rtl_json(kVersion, {names, answer.parameters, answer.cycles, answer.blocks});
  } else {
    console.out << fmt::format("{} files in {}; its vectors take {} cycles, {} blocks\n", names.size(),
                               output.directory, answer.cycles, answer.blocks);
    console.out << fmt::format("make -C {}    runs them in Verilator\n", output.directory);
  }
  return kDone;
}

}  // namespace orrery::cli
