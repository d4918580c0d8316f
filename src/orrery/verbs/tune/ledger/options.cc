
#include <fmt/format.h>

#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/layer_options.h"
#include "orrery/verbs/tune/ledger/report.h"
#include "orrery/verbs/tune/ledger/run.h"

namespace orrery::verbs {

int run_tune_ledger(const Arguments& arguments, Console& console) {
  using machine::Precision;
  LedgerRequest request;
  bool train = false, inference = false;
  std::optional<double> dropout;
  std::string picture;
  CommandLine line("tune ledger",
                   "What a transformer layer computes and moves, operator by operator and at four levels of fusion",
                   "orrery tune ledger --model bert-large --batch 8 --seq 512 --system v100-dgx1");
  declare_layer(line, request.layer);
  line.group("Pass");
  line.toggle("--train", train, "Forward and backward, the default");
  line.toggle("--inference", inference, "Forward only, nothing kept");
  line.probability("--dropout", dropout,
                   "0: no masks; default: as the model is trained, of given sizes with masks in four places");
  line.group("Machine");
  line.text("--system", request.system, "NAME|FILE",
            "System whose peaks operators are compared with; default: this-machine, measured");
  line.text("--chip", request.chip, "NAME|FILE",
            "Chip instead of a system, or in the place of the system's accelerator");
  line.choice<Precision>("--dtype", request.precision,
                         {{"fp32", Precision::kFp32},
                          {"tf32", Precision::kTf32},
                          {"bf16", Precision::kBf16},
                          {"fp16", Precision::kBf16},
                          {"fp8", Precision::kFp8}},
                         "Number format of words and arithmetic: fp32 (default on this machine), bf16 or fp16 (default "
                         "elsewhere), tf32, fp8");
  line.count("--threads,-j", request.threads, "Threads of this machine; default: one for each core", 4096);
  line.group("Output");
  line.output_file("-o,--output", picture, "FILE.svg", "Write the roofline there");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  if (train && inference) misuse("O1103", "`--train` and `--inference` exclude each other", "leave one of the two out");
  if (!picture.empty() && !picture.ends_with(".svg"))
    misuse("O1102", fmt::format("`--output {}` is no name of a picture", picture), "a name that ends in `.svg`");
  request.training = !inference;
  if (dropout) request.dropout = *dropout > 0;
  return run_verb<LedgerAnswer>(console, {.answer = [&](Run&) { return tune_ledger(request); },
                                          .document = tune_ledger_document,
                                          .table = ledger_table,
                                          .files = {{picture, roofline_svg}}});
}

}  // namespace orrery::verbs
