#include "orrery/verbs/tune/texts/report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

base::Count count(std::size_t value) {
  return static_cast<base::Count>(value);
}

double density(const PrunedFigures& pruned) {
  const masks::Measured mean = masks::mean_of(pruned.masks);
  return mean.pairs > 0 ? static_cast<double>(mean.kept) / static_cast<double>(mean.pairs) : 0;
}

constexpr const char* kComputed = "What was computed.";

std::string value(double number) {
  return std::isfinite(number) ? fmt::format("{:.4f}", number) : "not defined";
}

}  // namespace

Document<Embedded> tune_embed_document() {
  const Record<EmbeddedText> text = {
      {"tokens", "Tokens of the text, special ones included; 0 where time ran out before it.",
       [](const EmbeddedText& t) { return count(t.tokens); }},
      {"embedding", "Vector of the text.",
       [](const EmbeddedText& t) { return std::vector<double>(t.embedding.begin(), t.embedding.end()); }}};
  return {"tune_embed", kComputed,
          Record<Embedded>{
              {"model", "Folder of the model.", &Embedded::model},
              {"pool", "How a text's vector is made of its tokens' vectors: their mean, or the first one (cls).",
               [](const Embedded& e) { return e.pool == Pool::kMean ? "mean" : "cls"; }, OneOf{{"mean", "cls"}}},
              {"width", "Elements of a vector.", [](const Embedded& e) { return count(e.width); }},
              {"cut", "Texts that were longer than the limit.", [](const Embedded& e) { return count(e.cut); }},
              {"seconds", "Time of the model alone, in seconds.", &Embedded::seconds},
              {"complete", "False: a limit or an interrupt ended it early.",
               [](const Embedded& e) { return !e.ended_early; }},
              {"texts", "One entry for each text, in the order of the file.", &Embedded::texts, text}}};
}

Document<Evaluated> tune_eval_document() {
  const Record<TaskMetric> metric = {
      {"name", "Name of the metric, as the tasks' own scripts call it.", &TaskMetric::name},
      {"value", "Value of the metric; null where it is not defined.",
       [](const TaskMetric& m) { return finite(m.value); }}};
  const auto some = [](const std::string& text, bool is) { return is ? std::optional(text) : std::nullopt; };
  const Record<Prediction> prediction = {
      {"row", "Row of the file, from 1.", [](const Prediction& p) { return count(p.row + 1); }},
      {"label", "The class of the largest score; null where the task has none.",
       [=](const Prediction& p) { return some(p.label, !p.label.empty()); }},
      {"scores", "Logits of the classes; of a regression, the value; empty for questions.", &Prediction::scores},
      {"answer", "Answer to a question, empty where it has none; null in other tasks.",
       [=](const Prediction& p) { return some(p.answer, p.scores.empty()); }}};
  const Record<PrunedFigures> attention = {
      {"rule", "Which pairs are kept, in words.", &PrunedFigures::rule},
      {"clips_from", "Where the quantisers' clip thresholds come from.",
       [](const PrunedFigures& p) { return verbs::name_of(p.clips); }},
      {"density", "Kept pairs over pairs of existing tokens, 0 to 1.",
       [](const PrunedFigures& p) { return density(p); }},
      {"load_balance", "Load balance `25%-skip`, the mean of all masks.",
       [](const PrunedFigures& p) { return masks::mean_of(p.masks).load_balance[3]; }},
      {"emptied_rows", "Queries that lost every key.", &PrunedFigures::emptied}};
  return {
      "tune_eval", kComputed,
      Record<Evaluated>{
          {"model", "Folder of the model.", &Evaluated::model},
          {"task", "Task of the model's head.", &Evaluated::task},
          {"texts", "Rows of the file.", [](const Evaluated& e) { return count(e.texts); }},
          {"examples", "Windows that the rows were cut into.", [](const Evaluated& e) { return count(e.examples); }},
          {"cut", "Texts that were longer than the limit.", [](const Evaluated& e) { return count(e.cut); }},
          {"loss", "Mean loss over labels; null where it is not defined.",
           [](const Evaluated& e) { return finite(e.loss); }},
          {"metrics", "Metrics of the task.", &Evaluated::metrics, metric},
          {"attention", "How attention was pruned; null: it was dense.", &Evaluated::pruned, attention},
          {"labels", "The classes, in the order of scores; empty where there are none.", &Evaluated::labels},
          {"predictions", "One entry for each row, in the order of the file; empty in language tasks.",
           &Evaluated::predictions, prediction},
          {"seconds", "Time of the model alone, in seconds.", &Evaluated::seconds},
          {"complete", "False: a limit or an interrupt ended it early.",
           [](const Evaluated& e) { return !e.ended_early; }}}};
}

Document<Generated> tune_generate_document() {
  const Record<GeneratedText> text = {
      {"tokens", "Tokens that were added, the one that ends a text included; 0 where time ran out before it.",
       [](const GeneratedText& t) { return count(t.ids.size()); }},
      {"text", "The tokens' text, without special tokens.", &GeneratedText::text},
      {"ended", "Whether the token that ends texts came; false: `--max-new-tokens` ended it.", &GeneratedText::ended},
      {"ids", "Numbers of the tokens.",
       [](const GeneratedText& t) { return std::vector<base::Count>(t.ids.begin(), t.ids.end()); }},
      {"log_probabilities",
       "Natural logarithm of each token's probability; 0 for a token that the model's files force.",
       [](const GeneratedText& t) {
         return std::vector<double>(t.log_probabilities.begin(), t.log_probabilities.end());
       }}};
  return {"tune_generate", kComputed,
          Record<Generated>{
              {"model", "Folder of the model.", &Generated::model},
              {"max_new_tokens", "Most tokens that were added to a text.", &Generated::most},
              {"cut", "Texts that were longer than the limit.", [](const Generated& g) { return count(g.cut); }},
              {"seconds", "Time of the model alone, in seconds.", &Generated::seconds},
              {"complete", "False: a limit or an interrupt ended it early.",
               [](const Generated& g) { return !g.ended_early; }},
              {"texts", "One entry for each text, in the order of the file.", &Generated::texts, text}}};
}

Document<TrainedTexts> tune_train_document() {
  using network::StepReport;
  const Record<StepReport> step = {{"step", "Step, from 1.", &StepReport::step},
                                   {"loss", "Mean loss over labels, with dropout.", &StepReport::loss},
                                   {"rate", "Learning rate.", &StepReport::rate},
                                   {"norm", "Norm of all gradients, before it was clipped.", &StepReport::norm},
                                   {"seconds", "Time of the step, in seconds.", &StepReport::seconds}};
  return {
      "tune_train", kComputed,
      Record<TrainedTexts>{
          {"model", "The folder that training began with.", &TrainedTexts::model},
          {"output", "The folder that was written.", &TrainedTexts::output},
          {"task", "Task that is learned.", &TrainedTexts::task},
          {"texts", "Rows of the file.", [](const TrainedTexts& t) { return count(t.texts); }},
          {"examples", "Windows that the rows were cut into.", [](const TrainedTexts& t) { return count(t.examples); }},
          {"cut", "Texts that were longer than the limit.", [](const TrainedTexts& t) { return count(t.cut); }},
          {"attention", "Which pairs attention computes, in words.", &TrainedTexts::attention},
          {"fresh", "Weights that the checkpoint lacked.", &TrainedTexts::fresh},
          {"steps", "Steps that the model has learned.", &TrainedTexts::steps},
          {"of", "Steps of the whole training.", &TrainedTexts::of},
          {"resumed_at", "The step at which this run began.", &TrainedTexts::resumed_at},
          {"history", "The steps of this run.", &TrainedTexts::history, step},
          {"seconds", "Time of these steps, in seconds.", &TrainedTexts::seconds},
          {"complete", "False: a limit or an interrupt ended it early.",
           [](const TrainedTexts& t) { return !t.ended_early; }}}};
}

std::string texts_table(const Embedded& answer) {
  constexpr std::size_t kShown = 4;
  Table table;
  table.header = {"text", "tokens", "norm",
                  fmt::format("first {} of {} numbers", std::min(kShown, answer.width), answer.width)};
  table.left_columns = {3};
  for (std::size_t i = 0; i < answer.texts.size(); ++i) {
    double square = 0;
    std::string first;
    for (std::size_t k = 0; k < answer.texts[i].embedding.size(); ++k) {
      square += double{answer.texts[i].embedding[k]} * answer.texts[i].embedding[k];
      if (k < kShown) first += fmt::format("{:9.5f}", answer.texts[i].embedding[k]);
    }
    table.rows.push_back({fmt::format("{}", i + 1), fmt::format("{}", answer.texts[i].tokens),
                          fmt::format("{:.4f}", std::sqrt(square)), first});
  }
  return text(table) + fmt::format("\n{} in {:.3f} s; `--json` has every number\n",
                                   base::counted(answer.texts.size(), "text"), answer.seconds);
}

std::string texts_table(const Evaluated& answer) {
  Table table;
  table.header = {"measure", "value"};
  table.rows.push_back({"loss", value(answer.loss)});
  for (const TaskMetric& metric : answer.metrics) table.rows.push_back({metric.name, value(metric.value)});
  const std::string attention =
      answer.pruned ? fmt::format("\nattention: {}; {} % of the pairs, clip thresholds: {}\n", answer.pruned->rule,
                                  percent(density(*answer.pruned)), verbs::name_of(answer.pruned->clips))
                    : "";
  return fmt::format("{} on {}: {}, {}\n\n", answer.task, answer.model, base::counted(answer.texts, "text"),
                     base::counted(answer.examples, "example")) +
         text(table) + attention +
         fmt::format("\n{:.3f} s, {:.1f} examples a second\n", answer.seconds,
                     static_cast<double>(answer.examples) / answer.seconds);
}

std::string texts_table(const Generated& answer) {
  std::string out;
  std::size_t tokens = 0;
  for (const GeneratedText& text : answer.texts) {
    out += text.text + "\n";
    tokens += text.ids.size();
  }
  return out + fmt::format("\n{} in {:.3f} s, {:.1f} a second\n", base::counted(tokens, "token"), answer.seconds,
                           static_cast<double>(tokens) / answer.seconds);
}

std::string texts_table(const TrainedTexts& answer) {
  std::string out = fmt::format("{} on {}: {}, {}, {} of {}\n", answer.task, answer.model,
                                base::counted(answer.texts, "text"), base::counted(answer.examples, "example"),
                                answer.steps, base::counted(static_cast<std::size_t>(answer.of), "step"));
  if (answer.attention != "dense") out += fmt::format("attention: {}\n", answer.attention);
  if (answer.resumed_at > 0) out += fmt::format("resumed at step {}\n", answer.resumed_at);
  // A dozen lines: the mean loss of equal parts of this run.
  Table table;
  table.header = {"steps", "loss", "rate"};
  const std::size_t parts = std::min<std::size_t>(12, answer.history.size());
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * answer.history.size() / parts, end = (part + 1) * answer.history.size() / parts;
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += answer.history[i].loss;
    table.rows.push_back({fmt::format("{} to {}", answer.history[begin].step, answer.history[end - 1].step),
                          fmt::format("{:.4f}", sum / static_cast<double>(end - begin)),
                          fmt::format("{:.2e}", answer.history[end - 1].rate)});
  }
  if (parts > 0) out += "\n" + text(table) + "\n";
  out += fmt::format("written to {}\n", answer.output);
  if (answer.ended_early) out += "the same command with --resume goes on\n";
  return out;
}

}  // namespace orrery::verbs
