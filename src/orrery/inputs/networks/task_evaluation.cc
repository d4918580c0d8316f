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

}  // namespace

Evaluated evaluate_task(const TextRequest& request) {
  Running running(request);
  const std::shared_ptr<const TextRows> read = rows_of(request);
  const TextRows& rows = *read;
  TaskModel task = open_task(request, rows, false);
  CheckpointModel& made = task.model;
  PrunedModel pruned = open_pruning(request.pruning, made, Unclipped::kRefuse);
  const network::Description& d = made.runnable.description;
  const std::size_t most = made.tokens_of(request.most_tokens, request.usual_tokens.value_or(kUsualTokens));
  const TaskExamples texts = task_examples(rows, task.task, request.columns, made, most,
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
  out.texts = rows.rows.size(), out.examples = texts.examples.size(), out.cut = texts.cut;
  std::vector<std::int32_t> truth, said;
  std::vector<double> values, predicted;
  std::map<std::size_t, BestSpan> spans;
  double sum = 0, labels = 0, right = 0;
  const base::Stopwatch clock;
  std::uint64_t seed = request.seed;
  std::vector<float> logits;
  for (const std::vector<std::size_t>& chosen : batches(texts.examples, batch)) {
    if (out.ended_early || running.budget.spent()) {
      out.ended_early = true;
      break;
    }
    const network::LabelledBatch one = network::batch_of(texts.examples, chosen, d, made.rules, ++seed);
    const auto counted = static_cast<double>(d.head.kind == HeadKind::kMaskedWords || d.head.kind == HeadKind::kNextWord
                                                 ? std::count_if(one.labels.words.begin(), one.labels.words.end(),
                                                                 [](auto w) { return w != network::kNoLabel; })
                                                 : static_cast<std::ptrdiff_t>(chosen.size()));
    const bool scored = d.head.kind != HeadKind::kNextWord;
    if (counted > 0) sum += network.loss(one.batch, one.labels, scored ? &logits : nullptr) * counted;
    labels += counted;
    if (!scored || counted == 0) continue;
    const auto outputs = static_cast<std::size_t>(d.head.outputs);
    std::size_t token = 0;  // the first of a sequence
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const float* const row = logits.data() + i * outputs;
      const network::Example& example = texts.examples[chosen[i]];
      if (d.head.kind == HeadKind::kClassification) {
        truth.push_back(example.label);
        said.push_back(static_cast<std::int32_t>(std::max_element(row, row + outputs) - row));
        out.predictions.push_back({texts.row[chosen[i]],
                                   task.labels.at(static_cast<std::size_t>(said.back())),
                                   std::vector<double>(row, row + outputs),
                                   {}});
      } else if (d.head.kind == HeadKind::kRegression) {
        values.push_back(example.value), predicted.push_back(row[0]);
        out.predictions.push_back({texts.row[chosen[i]], {}, {double{row[0]}}, {}});
      } else if (d.head.kind == HeadKind::kSpans) {
        add_spans(logits.data() + 2 * token, texts.places[chosen[i]], spans[texts.row[chosen[i]]]);
        token += example.words.size();
      }
    }
    if (task.task == Task::kCloze) {
      const float* row = logits.data();
      for (const std::size_t i : chosen)
        for (const Gap& gap : texts.gaps[i]) {
          std::size_t best = 0;
          for (std::size_t k = 1; k < gap.choices.size(); ++k)
            if (row[gap.choices[k]] > row[gap.choices[best]]) best = k;
          right += best == gap.right;
          row += outputs;
        }
    } else if (d.head.kind == HeadKind::kMaskedWords) {
      const float* row = logits.data();
      for (const std::int32_t word : one.labels.words) {
        if (word == network::kNoLabel) continue;
        right += std::max_element(row, row + outputs) - row == word;
        row += outputs;
      }
    }
  }
  out.seconds = clock.seconds();
  std::stable_sort(out.predictions.begin(), out.predictions.end(),
                   [](const Prediction& a, const Prediction& b) { return a.row < b.row; });
  if (task.task == Task::kClassification) out.labels = task.labels;
  out.loss = labels > 0 ? sum / labels : std::nan("");
  const auto classes = static_cast<std::int32_t>(d.head.outputs);
  switch (task.task) {
    case Task::kClassification:
      out.metrics = {{"accuracy", network::accuracy(truth, said)},
                     {"f1", network::f1(truth, said, classes)},
                     {"matthews", network::matthews(truth, said, classes)}};
      break;
    case Task::kRegression:
      out.metrics = {{"pearson", network::pearson(values, predicted)},
                     {"spearman", network::spearman(values, predicted)}};
      break;
    case Task::kQuestions:
      answer_metrics(texts, spans, out);
      break;
    case Task::kMaskedWords:
      out.metrics = {{"perplexity", std::exp(out.loss)}, {"accuracy", labels > 0 ? right / labels : std::nan("")}};
      break;
    case Task::kNextWord:
      out.metrics = {{"perplexity", std::exp(out.loss)}};
      break;
    case Task::kCloze:
      out.metrics = {{"accuracy", labels > 0 ? right / labels : std::nan("")}};
  }
  out.inputs = made.inputs;
  out.warnings = made.warnings;
  warn_of_cut(out.cut, most, out.warnings);
  if (labels > 0 && !std::isfinite(out.loss)) warn_of_numbers("the loss is not a finite number", out.warnings);
  return out;
}

}  // namespace orrery::verbs
