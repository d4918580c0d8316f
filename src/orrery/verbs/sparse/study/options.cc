#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/sparse/study/report.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Type;

constexpr Count kMostOfStudy = Count{1} << 30;

void real(CommandLine& line, const char* name, std::optional<double>& value, const std::string& what, double most) {
  const std::string first = std::string(name).substr(0, std::string(name).find(','));
  line.meant(name, "NUMBER", what, [=, &value](const std::string& text) {
    const std::optional<double> number = base::parse_number<double>(text);
    if (!number || !(*number > 0 && *number < most))
      misuse("O1102", fmt::format("`{} {}` is not a number above 0 and below {:g}", first, text, most),
             fmt::format("such as `{} {:g}`", first, most / 100));
    value = number;
  });
}

void declare_learning(CommandLine& line, SparseStudyRequest& request, bool& force) {
  line.text("-o,--output", request.output, "DIR", "The folder to write: a model for each kind of attention");
  line.toggle("--force", force, "Overwrite what is there");
  line.toggle("--resume", request.resume, "Go on from the states there");
  line.group("Training; default: as the scripts have it for the task");
  real(line, "--epochs", request.epochs, "How often each example is taken: 3, SQuAD 2, CLOTH 20", 1e6);
  line.count("--steps", request.steps, "Steps instead of epochs", kMostOfStudy);
  real(line, "--rate,--learning-rate", request.rate, "The largest learning rate: 2e-5, SQuAD 3e-5, CLOTH 5e-5", 10);
  line.count("--accumulate", request.accumulate, "Batches a step: 1, CLOTH 10", 1'000'000);
  line.count("--batch", request.texts.batch, "Texts of a batch: 32, SQuAD 12, CLOTH 3; in evaluation 8", kMostOfStudy);
  line.count("--max-tokens,--max-seq-length", request.texts.most_tokens,
             "Most tokens of a text, longer ones are cut: 128, SQuAD 384, CLOTH 512", kMostOfStudy);
}

}  // namespace

int run_sparse_study(const Arguments& arguments, Console& console) {
  SparseStudyRequest request;
  std::optional<Type> type;
  std::vector<std::string> variants;
  bool force = false;
  request.texts.seed = 42;
  CommandLine line(
      "sparse study",
      "A task of Sanger's (GLUE, SQuAD, CLOTH) learned and judged with dense, predicted and static attention",
      "orrery sparse study rte --data glue/RTE --checkpoint bert-base-uncased/ -o study");
  line.word("TASK", request.task, "cola, mnli, mrpc, qnli, qqp, rte, sst2, stsb, wnli, squad, squad_v2 or cloth", true);
  line.text("--data", request.data, "DIR", "The task's files, as published (.tsv, .json) or exported (.csv, .jsonl)");
  line.text("--checkpoint", request.texts.checkpoint, "DIR", "A folder with config.json, weights and a tokenizer");
  declare_learning(line, request, force);
  line.group("Attention");
  line.meant_each("--variant", "NAME", "dense, dynamic, static; default: all three", true,
                  [&](const std::string& text) {
                    const std::vector<std::string> known = {"dense", "dynamic", "static"};
                    if (std::find(known.begin(), known.end(), text) == known.end())
                      misuse("O1102", fmt::format("`--variant {}` is none", text),
                             base::did_you_mean(text, known, fmt::format("there are {}", base::joined(known, ", "))));
                    variants.push_back(text);
                  });
  real(line, "--threshold", request.threshold,
       "dynamic: threshold of probabilities predicted from 4-bit codes; default 0.02 for GLUE, else 0.002", 1);
  line.text("--sparse-config", request.config, "FILE", "dynamic: file with Sanger's keys, instead of --threshold");
  line.text("--static", request.pattern, "KIND|FILE",
            "static: kind of mask: longformer (default), bigbird, ..., or Sanger's file");
  declare_empty_rows(line, request.texts.pruning.empty);
  line.group("Run");
  line.choice<Type>("--dtype", type, {{"fp32", Type::kF32}, {"bf16", Type::kBf16}},
                    "Number format of activations: fp32 (default), bf16");
  line.seed(request.texts.seed, "Seed of order, dropout and new weights; default 42");
  declare_search(line, request.texts.limits, "Threads; default: one for each core",
                 "Seconds; what was learned by then is kept", true);
  if (!line.read(arguments, console)) return kDone;
  const auto demand = [](const std::string& value, const char* option) {
    if (value.empty()) misuse("O1103", fmt::format("`{}` is missing", option), "see `orrery sparse study --help`");
  };
  demand(request.data, "--data DIR");
  demand(request.texts.checkpoint, "--checkpoint DIR");
  demand(request.output, "-o DIR");
  if (request.threshold && !request.config.empty())
    misuse("O1103", "`--threshold` and `--sparse-config` exclude each other", "leave one of the two out");
  if (force && request.resume)
    misuse("O1103", "`--force` and `--resume` exclude each other", "leave one of the two out");
  if (!variants.empty()) request.variants = variants;
  if (!request.resume)
    for (const std::string& variant : request.variants)
      check_folder(request.output + "/" + variant, force, {"model.safetensors", "training_state.safetensors"});
  request.texts.type = type.value_or(Type::kF32);
  return run_verb<SparseStudy>(
      console, {.answer =
                    [&](Run& run) {
                      request.texts.interruptible = run.interruptible();
                      request.told = [&](const std::string& variant, const network::StepReport& step, std::int64_t of) {
                        run.show("{}: step {} of {}: loss {:.4f}", variant, step.step, of, step.loss);
                      };
                      return sparse_study(request);
                    },
                .document = sparse_study_document,
                .table = sparse_study_table});
}

}  // namespace orrery::verbs
