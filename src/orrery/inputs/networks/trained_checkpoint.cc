#include "orrery/inputs/networks/trained_checkpoint.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/file_pieces.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/base/text/whole_file.h"
#include "orrery/formats/huggingface/networks/weight_names.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::checkpoint::Element;
using formats::checkpoint::Tensor;
using Json = nlohmann::json;  // keys in order, as transformers writes them

constexpr const char* kWeights = "model.safetensors";
constexpr const char* kState = "training_state.safetensors";
constexpr const char* kBeside = "training_state.safetensors.part";  // a state while it is written
constexpr const char* kTokenizerFiles[] = {"tokenizer.json",
                                           "tokenizer_config.json",
                                           "vocab.txt",
                                           "vocab.json",
                                           "merges.txt",
                                           "spiece.model",
                                           "added_tokens.json",
                                           "special_tokens_map.json",
                                           "generation_config.json"};

[[noreturn]] void cannot_write(const std::string& path, const std::string& why) {
  base::fail("O1610", fmt::format("cannot write `{}`: {}", path, why));
}

void write_text(const fs::path& path, const std::string& text) {
  if (const std::string why = base::write_whole_file(path.string(), text); !why.empty())
    cannot_write(path.string(), why);
}

const char* class_suffix(Task task, formats::huggingface::Family family) {
  using formats::huggingface::Family;
  switch (task) {
    case Task::kClassification:
    case Task::kRegression:
      return "ForSequenceClassification";
    case Task::kQuestions:
      return "ForQuestionAnswering";
    case Task::kMaskedWords:
    case Task::kCloze:
      return "ForMaskedLM";
    case Task::kNextWord:
      return family == Family::kGpt2 ? "LMHeadModel" : "ForConditionalGeneration";
  }
  return "";
}

const char* class_prefix(formats::huggingface::Family family) {
  using formats::huggingface::Family;
  switch (family) {
    case Family::kBert:
      return "Bert";
    case Family::kRoberta:
      return "Roberta";
    case Family::kGpt2:
      return "GPT2";
    case Family::kBart:
      return "Bart";
  }
  return "";
}

// The model's config.json, with the head that it has now.
std::string config_text(const std::string& source, const CheckpointModel& model, Task task,
                        const std::vector<std::string>& labels) {
  Json config = Json::parse(base::read_file((fs::path(source) / "config.json").string())->text);
  config["architectures"] = {
      fmt::format("{}{}", class_prefix(model.runnable.family), class_suffix(task, model.runnable.family))};
  if (task == Task::kClassification) {
    Json names = Json::object(), ids = Json::object();
    for (std::size_t i = 0; i < labels.size(); ++i) names[std::to_string(i)] = labels[i], ids[labels[i]] = i;
    config["id2label"] = names;
    config["label2id"] = ids;
    config["problem_type"] = "single_label_classification";
  }
  if (task == Task::kRegression) {
    config["id2label"] = {{"0", "LABEL_0"}};
    config["label2id"] = {{"LABEL_0", 0}};
    config["problem_type"] = "regression";
  }
  for (const auto& [key, value] : model.added_keys) config[key] = Json::parse(value);
  return config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Tensor moment(const std::string& name, const std::vector<float>& values) {
  return {name,
          Element::kF32,
          {static_cast<std::int64_t>(values.size())},
          {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)},
          nullptr};
}

// Which weights a state goes with.
std::string weights_hash(const std::vector<network::Parameter>& parameters) {
  std::string hashes;
  for (const network::Parameter& parameter : parameters)
    hashes += base::content_hash(std::string_view(reinterpret_cast<const char*>(parameter.values->data()),
                                                  parameter.values->size() * sizeof(float)));
  return base::content_hash(hashes);
}

// A run that ended between naming its weights and their state left that state, whole, beside the earlier one.
void name_state_beside(const std::string& folder, const std::string& weights) {
  const fs::path beside = fs::path(folder) / kBeside;
  std::error_code ignored;
  if (!fs::exists(beside, ignored)) return;
  try {
    base::Diagnostics warnings;
    const formats::checkpoint::Checkpoint stored = formats::checkpoint::read_checkpoint(beside.string(), warnings);
    const auto of = stored.metadata.find("weights");
    if (of != stored.metadata.end() && of->second == weights) fs::rename(beside, fs::path(folder) / kState, ignored);
  } catch (const base::InputError&) {  // it was cut short: the earlier one is in its place
  }
}

}  // namespace

RunIdentity run_identity(const network::TrainingPlan& plan, const std::vector<network::Example>& examples,
                         const std::string& task, kernels::Type type) {
  RunIdentity run;
  run.plan = fmt::format(
      "task {}, {}, batch {}, accumulate {}, steps {}, warmup {}, clip {}, seed {}, rate {}, beta1 {}, beta2 {}, "
      "epsilon {}, weight decay {}",
      task, type == kernels::Type::kBf16 ? "bf16" : "fp32", plan.batch, plan.accumulate, plan.steps, plan.warmup,
      plan.clip, plan.seed, plan.optimiser.rate, plan.optimiser.beta1, plan.optimiser.beta2, plan.optimiser.epsilon,
      plan.optimiser.decay);
  if (plan.first_at_once) run.plan += ", the first batch at once";
  std::string text;
  for (const network::Example& example : examples) {
    text.append(reinterpret_cast<const char*>(example.words.data()), example.words.size() * sizeof(std::int32_t));
    text.append(reinterpret_cast<const char*>(example.hidden.data()), example.hidden.size() * sizeof(std::int32_t));
    text += fmt::format(" {} {} {} {};", example.label, example.value, example.begin, example.end);
  }
  run.data = base::content_hash(text);
  return run;
}

void make_output(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) cannot_write(folder, error.message());
}

void store(const std::string& folder, const std::string& source, CheckpointModel& model, Task task,
           const std::vector<std::string>& labels, const network::AdamWState& state, const RunIdentity& run) {
  make_output(folder);
  std::error_code error;
  const fs::path to = folder;
  const std::string config = config_text(source, model, task, labels);
  formats::checkpoint::Metadata metadata = model.checkpoint.metadata;
  metadata["format"] = "pt";
  const std::vector<Tensor> tensors = formats::huggingface::stored(model.checkpoint, model.runnable, model.parameters);
  write_text(to / "config.json", config);
  for (const auto& [name, text] : model.added_files) write_text(to / name, text);
  for (const char* const name : kTokenizerFiles) {
    const fs::path from = fs::path(source) / name;
    if (!fs::exists(from, error) || fs::equivalent(from, to / name, error)) continue;
    base::FilePieces pieces(from.string());
    base::WholeFile copy((to / name).string());
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) copy.write(piece);
    if (const std::string why = copy.commit(); !why.empty()) cannot_write((to / name).string(), why);
  }
  const std::vector<network::Parameter> parameters = network::list(model.parameters, model.runnable.description);
  std::vector<Tensor> moments;
  for (std::size_t i = 0; i < state.first.size(); ++i) {
    moments.push_back(moment("first." + parameters[i].name, state.first[i]));
    moments.push_back(moment("second." + parameters[i].name, state.second[i]));
  }
  // Both are on the disk before the first one is named: whenever the program ends, a state that goes with the weights
  // is there, in its place or beside it (read_state).
  const std::string weights_path = (to / kWeights).string(), state_path = (to / kState).string();
  base::WholeFile weights(weights_path), beside(state_path);
  formats::checkpoint::write_safetensors(weights, tensors, metadata);
  formats::checkpoint::write_safetensors(beside, moments,
                                         {{"plan", run.plan},
                                          {"data", run.data},
                                          {"steps", std::to_string(state.steps)},
                                          {"weights", weights_hash(parameters)}});
  if (const std::string why = beside.sync(); !why.empty()) cannot_write(state_path, why);
  if (const std::string why = weights.commit(); !why.empty()) cannot_write(weights_path, why);
  if (const std::string why = beside.commit(); !why.empty()) cannot_write(state_path, why);
}

bool has_state(const std::string& folder) {
  std::error_code ignored;
  const fs::path in = folder;
  return fs::exists(in / kState, ignored) || (fs::exists(in / kWeights, ignored) && fs::exists(in / kBeside, ignored));
}

network::AdamWState read_state(const std::string& folder, network::Parameters& parameters,
                               const network::Description& description, const RunIdentity& run) {
  const std::string path = (fs::path(folder) / kState).string();
  const std::string weights = weights_hash(network::list(parameters, description));
  name_state_beside(folder, weights);
  base::Diagnostics warnings;
  const formats::checkpoint::Checkpoint stored = formats::checkpoint::read_checkpoint(path, warnings);
  const base::Location whole{std::make_shared<const base::SourceFile>(base::SourceFile{path, {}}), 0, 0};
  const auto told = [&](const char* key) {
    const auto found = stored.metadata.find(key);
    return found == stored.metadata.end() ? std::string() : found->second;
  };
  base::Diagnostics found;
  if (told("plan") != run.plan)
    found.error("O1655", "the state is of a run with other options", whole)
        .note("that run: " + told("plan"))
        .note("this one: " + run.plan)
        .hint("give the options of the run that is resumed, or train anew without --resume");
  else if (told("data") != run.data)
    found.error("O1655", "the state is of a run with other data", whole)
        .hint("give the data and the --max-tokens of the run that is resumed, or train anew without --resume");
  found.throw_if_errors();
  if (told("weights") != weights)
    base::fail("O1655", "the state is of other weights than those that stand beside it", whole,
               "put back the weights that were stored with it, or train anew without --resume");
  network::AdamWState state;
  const std::string steps = told("steps");
  state.steps = base::parse_number<decltype(state.steps)>(steps).value_or(-1);
  if (state.steps < 0) base::fail("O1655", fmt::format("the state is said to be of step `{}`", steps), whole);
  if (state.steps == 0) return state;
  for (const network::Parameter& parameter : network::list(parameters, description))
    for (const char* const kind : {"first.", "second."}) {
      const Tensor* const tensor = stored.find(kind + parameter.name);
      if (tensor == nullptr || tensor->element != Element::kF32 ||
          tensor->bytes.size() != parameter.values->size() * sizeof(float))
        base::fail("O1655",
                   fmt::format("the state has no `{}{}` of {} numbers", kind, parameter.name, parameter.values->size()),
                   whole);
      (kind[0] == 'f' ? state.first : state.second).push_back(formats::checkpoint::as_floats(*tensor));
    }
  return state;
}

}  // namespace orrery::verbs
