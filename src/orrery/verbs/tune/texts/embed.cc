#include "orrery/verbs/tune/texts/run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/inputs/networks/text_run.h"

namespace orrery::verbs {
namespace {

using network::Index;

std::vector<float> pooled(const float* rows, Index length, Index width, Pool pool) {
  std::vector<float> out(rows, rows + width);
  if (pool == Pool::kFirst) return out;
  std::vector<double> sum(static_cast<std::size_t>(width));
  for (Index p = 0; p < length; ++p)
    for (Index i = 0; i < width; ++i) sum[static_cast<std::size_t>(i)] += rows[p * width + i];
  for (std::size_t i = 0; i < sum.size(); ++i) out[i] = static_cast<float>(sum[i] / static_cast<double>(length));
  return out;
}

// What sentence-transformers writes beside a checkpoint and would do, and is not done here.
void warn_of_sentence_files(const std::string& folder, Pool pool, std::size_t most, base::Diagnostics& found) {
  using formats::json::Node;
  const auto read = [&](const char* name) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::error_code ignored;
    return std::filesystem::exists(path, ignored) ? formats::json::parse(base::read_file(path), "O1611") : Node{};
  };
  const Node pooling = read("1_Pooling/config.json");
  for (const auto& [key, of] : {std::pair{"pooling_mode_cls_token", std::optional(Pool::kFirst)},
                                std::pair{"pooling_mode_mean_tokens", std::optional(Pool::kMean)},
                                std::pair{"pooling_mode_max_tokens", std::optional<Pool>()},
                                std::pair{"pooling_mode_mean_sqrt_len_tokens", std::optional<Pool>()},
                                std::pair{"pooling_mode_weightedmean_tokens", std::optional<Pool>()},
                                std::pair{"pooling_mode_lasttoken", std::optional<Pool>()}}) {
    const auto* const entry = pooling.find(key);
    if (entry == nullptr || !entry->value.truth || of == pool) continue;
    found.warning("O1611", fmt::format("`{}` is not applied", key), entry->key_where)
        .hint(!of                  ? ""
              : *of == Pool::kMean ? "`--pool mean` does so"
                                   : "`--pool cls` does so");
  }
  const Node modules = read("modules.json");
  for (const Node& module : modules.items) {
    const auto* const type = module.find("type");
    if (type == nullptr || type->value.text.ends_with(".Transformer") || type->value.text.ends_with(".Pooling"))
      continue;
    found.warning("O1611", fmt::format("the module `{}` is not applied to the vectors", type->value.text),
                  type->value.where);
  }
  const Node limits = read("sentence_bert_config.json");
  if (const auto* const length = limits.find("max_seq_length");
      length != nullptr && length->value.is_number() && length->value.number < static_cast<double>(most))
    found
        .warning("O1611", fmt::format("texts have up to {} tokens, not {}", most, length->value.number),
                 length->value.where)
        .hint(fmt::format("give `--max-tokens {}`", length->value.number));
}

}  // namespace

Embedded embed_texts(const TextRequest& request, Pool pool) {
  Running running(request);
  CheckpointModel made =
      open_checkpoint(request.checkpoint, {network::HeadKind::kNone, {}}, request.type, request.seed);
  network::Description& d = made.runnable.description;
  // Of two stacks the encoder's output is a text's.
  d.decoder.layers = 0, d.later.reset();
  const TextRows rows = read_text_rows(request.data);
  Embedded out;
  out.model = request.checkpoint, out.pool = pool, out.width = static_cast<std::size_t>(d.width);
  const std::size_t most = made.tokens_of(request.most_tokens, kUsualTokens);
  const PlainExamples plain = plain_examples(rows, request.columns, made, most);
  const std::vector<network::Example>& examples = plain.examples;
  out.cut = plain.cut;
  const auto batch = static_cast<std::size_t>(request.batch.value_or(kUsualBatch));
  PrunedModel pruned = open_pruning(request.pruning, made, Unclipped::kRefuse);
  network::Network network(running.context, d, made.parameters, size_of(examples, batch), false);
  if (pruned.prunes()) {
    check_masks(size_of(examples, batch), d);
    pruned.network->attach(network);
  }
  out.texts.resize(examples.size());
  const base::Stopwatch clock;
  for (const std::vector<std::size_t>& chosen : batches(examples, batch)) {
    if (running.budget.spent()) {
      out.ended_early = true;
      break;
    }
    const network::LabelledBatch made_batch = network::batch_of(examples, chosen, d, made.rules, 0);
    const float* const hidden = network.hidden(made_batch.batch);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      EmbeddedText& text = out.texts[chosen[i]];
      text.tokens = examples[chosen[i]].words.size();
      text.embedding = pooled(hidden + static_cast<Index>(i) * made_batch.batch.tokens.length * d.width,
                              static_cast<Index>(text.tokens), d.width, pool);
    }
  }
  out.seconds = clock.seconds();
  out.inputs = made.inputs;
  out.warnings = made.warnings;
  warn_of_sentence_files(made.folder, pool, most, out.warnings);
  warn_of_cut(out.cut, most, out.warnings);
  const auto wild = std::count_if(out.texts.begin(), out.texts.end(), [](const EmbeddedText& text) {
    return !std::all_of(text.embedding.begin(), text.embedding.end(), [](float x) { return std::isfinite(x); });
  });
  if (wild > 0)
    warn_of_numbers(
        fmt::format("the vectors of {} of {} texts hold numbers that are not finite", wild, out.texts.size()),
        out.warnings);
  return out;
}

}  // namespace orrery::verbs
