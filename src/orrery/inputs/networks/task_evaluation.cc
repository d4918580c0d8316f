#include "orrery/inputs/networks/task_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/inputs/networks/task_head.h"
#include "orrery/inputs/networks/text_run.h"
#include "orrery/runtime/network/metrics.h"

namespace orrery::verbs {
namespace {

using network::HeadKind;

// The span of the best sum of logits among those of the context, and that of no answer.
struct BestSpan {
  double score = -1e30, none = 1e30;
  std::int64_t begin = 0, end = 0;  // bytes
};

void add_spans(const float* logits, const std::vector<std::pair<std::int64_t, std::int64_t>>& places, BestSpan& best) {
  constexpr std::size_t kLongest = 30, kTried = 20;
  best.none = std::min(best.none, double{logits[0]} + logits[1]);
  const auto largest = [&](int side) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < places.size(); ++i)
      if (places[i].first >= 0) order.push_back(i);
    const std::size_t keep = std::min(order.size(), kTried);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(keep), order.end(),
                      [&](std::size_t a, std::size_t b) {
                        const float left = logits[2 * a + static_cast<std::size_t>(side)];
                        const float right = logits[2 * b + static_cast<std::size_t>(side)];
                        return left != right ? left > right : a < b;
                      });
    order.resize(keep);
    return order;
  };
  for (const std::size_t begin : largest(0))
    for (const std::size_t end : largest(1)) {
      if (end < begin || end - begin >= kLongest) continue;
      const double score = double{logits[2 * begin]} + logits[2 * end + 1];
      if (score <= best.score) continue;
      best.score = score, best.begin = places[begin].first, best.end = places[end].second;
    }
}

void answer_metrics(const TaskExamples& made, const std::map<std::size_t, BestSpan>& spans, Evaluated& to) {
  to.predictions.reserve(spans.size());
  const bool may_lack =
      std::any_of(made.answers.begin(), made.answers.end(), [](const auto& list) { return list.empty(); });
  double exact = 0, words = 0;
  for (const auto& [row, span] : spans) {
    std::string said = span.score > -1e30 ? made.contexts[row].substr(static_cast<std::size_t>(span.begin),
                                                                      static_cast<std::size_t>(span.end - span.begin))
                                          : "";
    if (may_lack && span.none > span.score) said.clear();
    to.predictions.push_back({row, {}, {}, said});
    double best_exact = 0, best_words = 0;
    std::vector<std::string> truths = made.answers[row];
    if (truths.empty()) truths.emplace_back();
    for (const std::string& truth : truths) {
      best_exact = std::max(best_exact, network::exact_match(truth, said) ? 1.0 : 0.0);
      best_words = std::max(best_words, network::word_f1(truth, said));
    }
    exact += best_exact, words += best_words;
  }
  const auto count = static_cast<double>(spans.size());
  to.metrics = {{"exact_match", exact / count}, {"f1", words / count}};
}

// Labels and what the model said, batch by batch, then metrics.
class Scores {
 public:
  Scores(const TaskModel& task, const TaskExamples& texts) : task_(task), texts_(texts) {}

  void add(network::Network& network, const std::vector<std::size_t>& chosen, std::uint64_t seed, Evaluated& out) {
    const network::LabelledBatch one =
        network::batch_of(texts_.examples, chosen, description(), task_.model.rules, seed);
    const bool scored = head() != HeadKind::kNextWord;
    const auto counted = static_cast<double>(head() == HeadKind::kMaskedWords || !scored
                                                 ? std::count_if(one.labels.words.begin(), one.labels.words.end(),
                                                                 [](auto w) { return w != network::kNoLabel; })
                                                 : static_cast<std::ptrdiff_t>(chosen.size()));
    if (counted > 0) sum_ += network.loss(one.batch, one.labels, scored ? &logits_ : nullptr) * counted;
    labels_ += counted;
    if (!scored || counted == 0) return;
    if (task_.task == Task::kCloze)
      add_gaps(chosen);
    else if (head() == HeadKind::kMaskedWords)
      add_words(one.labels.words);
    else
      add_texts(chosen, out);
  }

  void finish(Evaluated& out) const {
    std::stable_sort(out.predictions.begin(), out.predictions.end(),
                     [](const Prediction& a, const Prediction& b) { return a.row < b.row; });
    if (task_.task == Task::kClassification) out.labels = task_.labels;
    out.loss = labels_ > 0 ? sum_ / labels_ : std::nan("");
    const double right = labels_ > 0 ? right_ / labels_ : std::nan("");
    const auto classes = static_cast<std::int32_t>(outputs());
    switch (task_.task) {
      case Task::kClassification:
        out.metrics = {{"accuracy", network::accuracy(truth_, said_)},
                       {"f1", network::f1(truth_, said_, classes)},
                       {"matthews", network::matthews(truth_, said_, classes)}};
        break;
      case Task::kRegression:
        out.metrics = {{"pearson", network::pearson(values_, predicted_)},
                       {"spearman", network::spearman(values_, predicted_)}};
        break;
      case Task::kQuestions:
        answer_metrics(texts_, spans_, out);
        break;
      case Task::kMaskedWords:
        out.metrics = {{"perplexity", std::exp(out.loss)}, {"accuracy", right}};
        break;
      case Task::kNextWord:
        out.metrics = {{"perplexity", std::exp(out.loss)}};
        break;
      case Task::kCloze:
        out.metrics = {{"accuracy", right}};
    }
    if (labels_ > 0 && !std::isfinite(out.loss)) warn_of_numbers("the loss is not a finite number", out.warnings);
  }

 private:
  const network::Description& description() const { return task_.model.runnable.description; }
  HeadKind head() const { return description().head.kind; }
  std::size_t outputs() const { return static_cast<std::size_t>(description().head.outputs); }

  void add_texts(const std::vector<std::size_t>& chosen, Evaluated& out) {
    std::size_t token = 0;  // the first of a sequence
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const float* const row = logits_.data() + i * outputs();
      const network::Example& example = texts_.examples[chosen[i]];
      if (head() == HeadKind::kClassification) {
        truth_.push_back(example.label);
        said_.push_back(static_cast<std::int32_t>(std::max_element(row, row + outputs()) - row));
        out.predictions.push_back({texts_.row[chosen[i]],
                                   task_.labels.at(static_cast<std::size_t>(said_.back())),
                                   std::vector<double>(row, row + outputs()),
                                   {}});
      } else if (head() == HeadKind::kRegression) {
        values_.push_back(example.value), predicted_.push_back(row[0]);
        out.predictions.push_back({texts_.row[chosen[i]], {}, {double{row[0]}}, {}});
      } else if (head() == HeadKind::kSpans) {
        add_spans(logits_.data() + 2 * token, texts_.places[chosen[i]], spans_[texts_.row[chosen[i]]]);
        token += example.words.size();
      }
    }
  }

  void add_gaps(const std::vector<std::size_t>& chosen) {
    const float* row = logits_.data();
    for (const std::size_t i : chosen)
      for (const Gap& gap : texts_.gaps[i]) {
        std::size_t best = 0;
        for (std::size_t k = 1; k < gap.choices.size(); ++k)
          if (row[gap.choices[k]] > row[gap.choices[best]]) best = k;
        right_ += best == gap.right;
        row += outputs();
      }
  }

  void add_words(const std::vector<std::int32_t>& words) {
    const float* row = logits_.data();
    for (const std::int32_t word : words) {
      if (word == network::kNoLabel) continue;
      right_ += std::max_element(row, row + outputs()) - row == word;
      row += outputs();
    }
  }

  const TaskModel& task_;
  const TaskExamples& texts_;
  std::vector<float> logits_;
  std::vector<std::int32_t> truth_, said_;
  std::vector<double> values_, predicted_;
  std::map<std::size_t, BestSpan> spans_;
  double sum_ = 0, labels_ = 0, right_ = 0;
};

}  // namespace

Evaluated evaluate_task(const TextRequest& request) {
  Running running(request);
  const std::shared_ptr<const TextRows> rows = rows_of(request);
  TaskModel task = open_task(request, *rows, false);
  CheckpointModel& made = task.model;
  PrunedModel pruned = open_pruning(request.pruning, made, Unclipped::kRefuse);
  const network::Description& d = made.runnable.description;
  const std::size_t most = made.tokens_of(request.most_tokens, request.usual_tokens.value_or(kUsualTokens));
  const TaskExamples texts = task_examples(*rows, task.task, request.columns, made, most,
                                           static_cast<std::size_t>(request.stride), task.labels);
  const auto batch = static_cast<std::size_t>(request.batch.value_or(kUsualBatch));
  network::Network network(running.context, d, made.parameters, size_of(texts.examples, batch), false);
  Evaluated out;
  if (pruned.prunes()) {
    check_masks(size_of(texts.examples, batch), d);
    pruned.network->attach(network);
    out.ended_early = !calibrate(pruned, network, texts.examples, batch, made, running.budget);
    out.pruned.emplace().watch(pruned);
  }
  out.model = request.checkpoint, out.task = name_of(task.task);
  out.texts = rows->rows.size(), out.examples = texts.examples.size(), out.cut = texts.cut;
  Scores scores(task, texts);
  const base::Stopwatch clock;
  std::uint64_t seed = request.seed;
  for (const std::vector<std::size_t>& chosen : batches(texts.examples, batch)) {
    out.ended_early = out.ended_early || running.budget.spent();
    if (out.ended_early) break;
    scores.add(network, chosen, ++seed, out);
  }
  out.seconds = clock.seconds();
  out.inputs = made.inputs;
  out.warnings = made.warnings;
  warn_of_cut(out.cut, most, out.warnings);
  scores.finish(out);
  return out;
}

}  // namespace orrery::verbs
