
#include <optional>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/cli/prediction_options.h"
#include "orrery/cli/pruning_options.h"
#include "orrery/cli/run_verb.h"
#include "orrery/verbs/tune/texts/report.h"
#include "orrery/verbs/tune/texts/run.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Type;

constexpr Count kMostOfTexts = Count{1} << 30;

struct TextsGiven {
  TextRequest request;
  std::optional<Type> type;
  std::optional<Count> stride;
};

const std::vector<std::pair<std::string, Task>> kTasks = {{"classification", Task::kClassification},
                                                          {"regression", Task::kRegression},
                                                          {"qa", Task::kQuestions},
                                                          {"mlm", Task::kMaskedWords},
                                                          {"causal", Task::kNextWord}};

void declare_texts(CommandLine& line, TextsGiven& options, const std::string& data, const std::string& what) {
  TextRequest& request = options.request;
  line.group("Model and texts");
  line.text("--checkpoint", request.checkpoint, "DIR",
            "A folder with config.json, weights and a tokenizer (BERT, RoBERTa, GPT-2, BART)");
  line.text(data, request.data, "FILE", what);
  line.text("--text-column", request.columns.text, "NAME", "The column of the texts; default: by its usual names");
}

void declare_run(CommandLine& line, TextsGiven& options) {
  TextRequest& request = options.request;
  line.group("Run");
  line.count("--batch", request.batch, "Texts of a batch; default 8, in training 32", kMostOfTexts);
  line.count("--max-tokens,--max-seq-length", request.most_tokens,
             "Most tokens of a text, longer ones are cut; default: at most 512, in training 128 (qa: 384)",
             kMostOfTexts);
  line.choice<Type>("--dtype", options.type, {{"fp32", Type::kF32}, {"bf16", Type::kBf16}},
                    "Number format of activations: fp32 (default), bf16");
  declare_search(line, request.limits, "Threads; default: one for each core", "Seconds; what was done by then is kept",
                 true);
}

void declare_task(CommandLine& line, TextsGiven& options) {
  TextRequest& request = options.request;
  line.choice<Task>("--task", request.task, kTasks,
                    "classification, regression, qa, mlm, causal; default: as the checkpoint's head");
  line.text("--second-column", request.columns.second, "NAME",
            "The column of a pair's second text, or of a question's context");
  line.text("--label-column", request.columns.label, "NAME", "The column of the labels");
  line.count("--doc-stride", options.stride, "qa: tokens that windows of a long context share; default 128",
             kMostOfTexts);
}

void demand(const std::string& value, const char* option, const char* example) {
  if (value.empty()) misuse("O1103", fmt::format("`{}` is missing", option), fmt::format("such as `{}`", example));
}

void settle(TextsGiven& options, const char* data) {
  demand(options.request.checkpoint, "--checkpoint DIR", "--checkpoint bert-base-uncased/");
  demand(options.request.data, fmt::format("{} FILE", data).c_str(), fmt::format("{} texts.txt", data).c_str());
  options.request.type = options.type.value_or(Type::kF32);
  if (options.stride) options.request.stride = *options.stride;
}

// Runs `work` with an interrupt that keeps what is done; prints the answer.
template <typename Answer>
int answer(const Console& console, TextRequest& request, Document<Answer> (*document)(),
           const std::function<Answer(Run&)>& work) {
  return run_verb<Answer>(console, {.answer =
                                        [&](Run& run) {
                                          request.interruptible = run.interruptible();
                                          return work(run);
                                        },
                                    .document = document,
                                    .table = [](const Answer& done) { return texts_table(done); }});
}

// A number that is none of CommandLine's kinds.
void real(CommandLine& line, const char* name, std::optional<double>& value, const std::string& what, double most) {
  line.meant(name, "NUMBER", what, [=, &value](const std::string& text) {
    const std::optional<double> number = base::parse_number<double>(text, 0, most);
    const std::string_view first = std::string_view(name).substr(0, std::string_view(name).find(','));
    if (!number)
      misuse("O1102", fmt::format("{}: `{}` is not a number from 0 to {}", first, text, most),
             fmt::format("such as `{} {:g}`", first, most / 100));
    value = number;
  });
}

}  // namespace

int run_tune_embed(const Arguments& arguments, Console& console) {
  TextsGiven options;
  std::optional<Pool> pool;
  CommandLine line("tune embed", "Vectors of texts, by a model that runs on this machine",
                   "orrery tune embed --checkpoint bert-base-uncased/ --text texts.txt");
  declare_texts(line, options, "--text,--data", "Texts: one a line; or CSV, TSV, JSON lines");
  line.choice<Pool>("--pool", pool, {{"mean", Pool::kMean}, {"cls", Pool::kFirst}},
                    "mean of all tokens (default), or cls: the first token");
  declare_run(line, options);
  if (!line.read(arguments, console)) return kDone;
  settle(options, "--text");
  return answer<Embedded>(console, options.request, tune_embed_document,
                          [&](Run&) { return embed_texts(options.request, pool.value_or(Pool::kMean)); });
}

int run_tune_generate(const Arguments& arguments, Console& console) {
  TextsGiven options;
  std::optional<Count> most;
  CommandLine line("tune generate", "How texts go on, or what becomes of them: the most likely words, by GPT-2 or BART",
                   "orrery tune generate --checkpoint gpt2/ --text beginnings.txt --max-new-tokens 40");
  declare_texts(line, options, "--text,--data", "Texts: one a line; or CSV, TSV, JSON lines");
  line.count("--max-new-tokens", most, "Most tokens that are added to a text; default 32", kMostOfTexts);
  declare_run(line, options);
  if (!line.read(arguments, console)) return kDone;
  settle(options, "--text");
  return answer<Generated>(console, options.request, tune_generate_document,
                           [&](Run&) { return generate_texts(options.request, most.value_or(32)); });
}

int run_tune_eval(const Arguments& arguments, Console& console) {
  TextsGiven options;
  CommandLine line("tune eval", "How well a model does a task on a file of texts",
                   "orrery tune eval --checkpoint trained/ --data held.csv");
  declare_texts(line, options, "--data", "Rows: CSV or TSV with a header, JSON lines; or a text a line");
  declare_task(line, options);
  declare_pruning(line, options.request.pruning);
  declare_empty_rows(line, options.request.pruning.empty);
  declare_run(line, options);
  line.seed(options.request.seed, "Seed of the choice of words that mlm masks; default 0");
  if (!line.read(arguments, console)) return kDone;
  settle(options, "--data");
  return answer<Evaluated>(console, options.request, tune_eval_document,
                           [&](Run&) { return evaluate_task(options.request); });
}

int run_tune_train(const Arguments& arguments, Console& console) {
  TextsGiven options;
  TrainTextsRequest request;
  std::optional<double> rate, decay, clip, epochs, warmup_share, beta1, beta2, epsilon;
  std::optional<Count> accumulate, save_every;
  bool force = false;
  CommandLine line(
      "tune train", "Fine-tune a model on a file of texts, on this machine",
      "orrery tune train --checkpoint bert-base-uncased/ --data train.csv --task classification -o trained");
  declare_texts(line, options, "--data", "Rows: CSV or TSV with a header, JSON lines; or a text a line");
  declare_task(line, options);
  line.text("-o,--output", request.output, "DIR", "The folder to write: weights, config.json, tokenizer, state");
  declare_pruning(line, options.request.pruning, false);
  declare_empty_rows(line, options.request.pruning.empty);
  line.group("Training");
  real(line, "--epochs", epochs, "How often each example is taken; default 3", 1e6);
  line.count("--steps", request.steps, "Steps instead of epochs", kMostOfTexts);
  real(line, "--rate,--learning-rate", rate, "The largest learning rate; default 5e-5", 10);
  line.count("--warmup,--warmup-steps", request.warmup, "Steps in which the rate rises to it; default 0", kMostOfTexts);
  real(line, "--warmup-ratio", warmup_share, "Share of all steps in which the rate rises to it, instead of --warmup",
       1);
  real(line, "--weight-decay", decay, "Weight decay of AdamW, decoupled; default 0", 10);
  real(line, "--clip,--max-grad-norm", clip,
       "Largest norm of the gradients, which are scaled down to it; 0: any; default 1", 1e9);
  real(line, "--beta1", beta1, "First moment's decay of AdamW; default 0.9", 0.999999);
  real(line, "--beta2", beta2, "Second moment's decay of AdamW; default 0.999", 0.9999999);
  real(line, "--epsilon", epsilon, "Epsilon of AdamW; default 1e-8", 1);
  line.count("--accumulate", accumulate, "Batches a step; default 1", 1'000'000);
  line.count("--save-every", save_every, "Also write the folder after so many steps", kMostOfTexts);
  line.toggle("--force", force, "Overwrite what is in the folder of -o");
  line.toggle("--resume", request.resume, "Go on from the state in the folder of -o");
  declare_run(line, options);
  line.seed(options.request.seed, "Seed of order, masks, dropout and new weights; default 0");
  if (!line.read(arguments, console)) return kDone;
  settle(options, "--data");
  demand(request.output, "-o DIR", "-o trained");
  if (request.warmup && warmup_share)
    misuse("O1103", "`--warmup` and `--warmup-ratio` exclude each other", "leave one of the two out");
  if (force && request.resume)
    misuse("O1103", "`--force` and `--resume` exclude each other", "leave one of the two out");
  if (!request.resume) check_folder(request.output, force, {"model.safetensors", "training_state.safetensors"});
  request.texts = options.request;
  request.epochs = epochs.value_or(3);
  request.warmup_share = warmup_share;
  request.save_every = save_every.value_or(0);
  request.plan.accumulate = static_cast<std::size_t>(accumulate.value_or(1));
  request.plan.clip = clip.value_or(1);
  network::AdamWOptions& optimiser = request.plan.optimiser;
  optimiser.rate = rate.value_or(optimiser.rate);
  optimiser.decay = decay.value_or(0);
  optimiser.beta1 = beta1.value_or(optimiser.beta1);
  optimiser.beta2 = beta2.value_or(optimiser.beta2);
  optimiser.epsilon = epsilon.value_or(optimiser.epsilon);
  return answer<TrainedTexts>(console, request.texts, tune_train_document, [&](Run& run) {
    request.told = [&](const network::StepReport& step, std::int64_t of, double seconds_left) {
      run.show("step {} of {}: loss {:.4f}, rate {:.2e}, {:.0f} s left", step.step, of, step.loss, step.rate,
               seconds_left);
    };
    return train_task(request);
  });
}

}  // namespace orrery::verbs
