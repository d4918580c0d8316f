#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "orrery/cli/compat.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/pruning_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/run/report.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Type;

constexpr Count kMostOfRun = Count{1} << 30;

struct RunGiven {
  SparseRunRequest request;
  PredictionOptions prediction;
  std::optional<Type> type;
  std::optional<Count> repeat;
  std::vector<std::string> packings;
  base::Reproduced<masks::MeasureDefects> compat;
  std::string masks, log;
};

void declare_model(CommandLine& line, RunGiven& options) {
  TextRequest& texts = options.request.texts;
  line.group("Model and texts");
  line.text("--checkpoint", texts.checkpoint, "DIR",
            "A folder with config.json, weights and a tokenizer (BERT, RoBERTa, GPT-2, BART)");
  line.text("--text,--data", texts.data, "FILE", "Texts: one a line; or CSV, TSV, JSON lines");
  line.text("--text-column", texts.columns.text, "NAME", "The column of the texts; default: the first");
}

void declare_output(CommandLine& line, RunGiven& options) {
  TextRequest& texts = options.request.texts;
  line.group("Run");
  line.count("--batch", texts.batch, "Texts of a batch; default 8", kMostOfRun);
  line.count("--max-tokens,--max-seq-length", texts.most_tokens,
             "Most tokens of a text, longer ones are cut; default: at most 512", kMostOfRun);
  line.choice<Type>("--dtype", options.type, {{"fp32", Type::kF32}, {"bf16", Type::kBf16}},
                    "Number format of activations: fp32 (default), bf16");
  line.count("--repeat", options.repeat, "Measure each attention this many times and take the median; default 3",
             1'000'000);
  line.seed(texts.seed, "Seed of the choice of words that are masked; default 0");
  declare_search(line, texts.limits, "Threads; default: one for each core", "Seconds; what was done by then is kept",
                 true);
  line.group("Figures and files");
  line.meant_each("--packing", "NAME",
                  "pack, compact64 and row_chunks (default), pack_nowin, compact16, orrery (which searches)", true,
                  [&](const std::string& text) { options.packings.push_back(packing_named(text)); });
  line.offer("--packing", masks::packing_names());
  line.meant_each("--compat", "NAME[,NAME]", "Figures as Sanger's release logs them: sanger, or one of its defects",
                  true, [&](const std::string& name) {
                    if (!reproduces(masks::kMeasureDefects, name, options.compat))
                      refuse_compat(name, "neither Sanger nor a defect of it", masks::kMeasureDefects);
                  });
  line.offer("--compat", base::original_names(masks::kMeasureDefects));
  line.destination("--save-masks", options.masks, "DIR",
                   "Write every mask there, a .npy file for each attention and batch");
  line.output_file("--log-load-balance", options.log, "FILE",
                   "Write Sanger's load_balance.csv there, a line for each mask");
}

void settle_run(RunGiven& options) {
  SparseRunRequest& request = options.request;
  if (request.texts.checkpoint.empty())
    misuse("O1103", "`--checkpoint DIR` is missing", "such as `--checkpoint bert-base-uncased/`");
  if (request.texts.data.empty()) misuse("O1103", "`--text FILE` is missing", "such as `--text texts.txt`");
  PruningRequest& pruning = request.texts.pruning;
  const bool sanger = options.compat.defects.emptied_rows_idle;
  const masks::EmptyRows usual = sanger ? masks::EmptyRows::kDense : masks::EmptyRows::kArgmax;
  pruning.empty = options.prediction.empty.value_or(usual);
  if (options.prediction.given()) {
    if (!pruning.config.empty())
      misuse("O1103", "`--sparse-config` and an option of the prediction exclude each other",
             "leave one of the two out");
    pruning.config = "none";
    pruning.predictor = settled(options.prediction, usual);
  } else {
    check_prunes(pruning);
  }
  request.texts.type = options.type.value_or(Type::kF32);
  request.repeat = static_cast<int>(options.repeat.value_or(3));
  if (!options.packings.empty()) request.packings = options.packings;
  request.defects = options.compat.defects;
  request.compat = options.compat.names;
}

}  // namespace

int run_sparse_run(const Arguments& arguments, Console& console) {
  RunGiven options;
  CommandLine line("sparse run",
                   "A model on texts with dense and with pruned attention: density, load balance, error and time of "
                   "each layer, and what it costs in quality",
                   "orrery sparse run --checkpoint bert-base-uncased/ --text texts.txt --threshold 0.002");
  declare_model(line, options);
  declare_pruning(line, options.request.texts.pruning);
  declare(line, options.prediction, false);
  declare_output(line, options);
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  settle_run(options);
  if (!options.masks.empty()) {
    std::vector<std::string> earlier;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(options.masks, ignored))
      if (entry.path().extension() == ".npy") earlier.push_back(entry.path().filename().string());
    check_folder(options.masks, console.force, earlier);
    make_folder(options.masks);
    options.request.keep_mask = [&](const std::string& name, const std::string& bytes) {
      write_files(options.masks, {{name, bytes}});
    };
  }
  return run_verb<SparseRun>(
      console, {.answer =
                    [&](Run& run) {
                      options.request.texts.interruptible = run.interruptible();
                      return sparse_run(options.request);
                    },
                .document = sparse_run_document,
                .table = sparse_run_table,
                .files = {{options.log, [](const SparseRun& answer) { return load_balance_csv(answer); }}}});
}

}  // namespace orrery::verbs
