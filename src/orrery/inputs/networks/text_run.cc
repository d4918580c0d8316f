#include "orrery/inputs/networks/text_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"

namespace orrery::verbs {

std::shared_ptr<const TextRows> rows_of(const TextRequest& request) {
  return request.rows ? request.rows : std::make_shared<const TextRows>(read_text_rows(request.data));
}

std::vector<std::vector<std::size_t>> batches(const std::vector<network::Example>& examples, std::size_t batch) {
  std::vector<std::size_t> order(examples.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return examples[a].words.size() < examples[b].words.size(); });
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t at = 0; at < order.size(); at += batch)
    out.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(at),
                     order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), at + batch)));
  return out;
}

network::Network::Size size_of(const std::vector<network::Example>& examples, std::size_t batch) {
  std::size_t longest = 1;
  for (const network::Example& example : examples) longest = std::max(longest, example.words.size());
  const auto length = static_cast<network::Index>(longest);
  return {static_cast<network::Index>(std::min(batch, examples.size())), length, length};
}

bool calibrate(PrunedModel& pruned, network::Network& network, const std::vector<network::Example>& examples,
               std::size_t batch, const CheckpointModel& made, const base::Budget& budget) {
  if (!pruned.prunes() || pruned.clips != ClipsFrom::kTexts) return true;
  network::Description plain = made.runnable.description;
  plain.head.kind = network::HeadKind::kNone;  // no word is masked
  pruned.network->set_mode(masks::Mode::kCalibrate);
  for (const std::vector<std::size_t>& chosen : batches(examples, batch)) {
    if (budget.spent()) return false;
    network.hidden(network::batch_of(examples, chosen, plain, made.rules, 0).batch);
  }
  pruned.network->set_mode(masks::Mode::kEvaluate);
  return true;
}

network::HeadKind language_head_of(const std::string& folder) {
  using network::HeadKind;
  const auto config = base::read_file(folder + "/config.json");
  const HeadKind kind = formats::huggingface::read_runnable(config).description.head.kind;
  return kind == HeadKind::kMaskedWords || kind == HeadKind::kNextWord ? kind : HeadKind::kNone;
}

PlainExamples plain_examples(const TextRows& rows, const Columns& columns, const CheckpointModel& made,
                             std::size_t most) {
  PlainExamples out;
  const std::string column = text_column(rows, columns);
  for (const TextRow& row : rows.rows) {
    const std::vector<TextField>* const field = row.find(column);
    if (field == nullptr || field->empty())
      base::fail("O1651", fmt::format("the row has no text in the column `{}`", column), row.where,
                 "name the column: `--text-column NAME`");
    const auto windows =
        encode_at(*made.tokenizer, field->front(), {}, {formats::tokenizer::Truncate::kOnlyFirst, most, 0});
    out.cut += windows.size() > 1;
    network::Example example;
    for (const auto& token : windows.front()) example.words.push_back(token.id), example.types.push_back(token.type);
    if (example.words.empty()) base::fail("O1651", "the text has no tokens", field->front().where);
    out.examples.push_back(std::move(example));
  }
  return out;
}

void warn_of_cut(std::size_t cut, std::size_t most, base::Diagnostics& warnings) {
  if (cut > 0)
    warnings.warning("O1656", fmt::format("{} longer than {} tokens, and {} cut",
                                          cut == 1 ? "1 text is" : fmt::format("{} texts are", cut), most,
                                          base::plural(cut, "was", "were")));
}

void warn_of_numbers(std::string what, base::Diagnostics& warnings) {
  warnings.warning("O1658", std::move(what)).hint("are the weights whole? with --dtype bf16, try fp32");
}

}  // namespace orrery::verbs
