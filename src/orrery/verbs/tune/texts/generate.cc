// How texts go on. What generation_config.json says counts before config.json, as in transformers; of what it may ask
// for beside the tokens that begin and end (sampling, beams, penalties) nothing is done, which is said.
#include "orrery/verbs/tune/texts/run.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/inputs/networks/text_run.h"

namespace orrery::verbs {
namespace {

using formats::json::Node;
using network::Index;

struct Rules {
  std::vector<std::int32_t> begin;  // of a decoder
  std::vector<std::int32_t> ends;   // the first is the model's; others stop a text, too
};

class Settings {
 public:
  Settings(const std::string& folder, base::Diagnostics& found) : found_(found) {
    const std::string path = (std::filesystem::path(folder) / "generation_config.json").string();
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) root_ = formats::json::parse(base::read_file(path), "O1659");
  }

  // The tokens of a key: one, or a list.
  std::optional<std::vector<std::int32_t>> tokens(const char* key) const {
    const auto* const entry = root_.find(key);
    if (entry == nullptr || entry->value.is_null()) return std::nullopt;
    std::vector<std::int32_t> out;
    const std::vector<Node> one{entry->value};
    for (const Node& node : entry->value.kind == Node::Kind::kList ? entry->value.items : one) {
      const auto value = node.is_number() ? base::whole_number(node.number) : std::nullopt;
      if (!value || *value < 0 || *value > INT32_MAX || static_cast<double>(*value) != node.number)
        found_.error("O1659", fmt::format("`{}` must be a token's id, and is {}", key, describe(node)), node.where);
      else
        out.push_back(static_cast<std::int32_t>(*value));
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  // What would choose other words than the most likely ones.
  void warn_of_others() const {
    constexpr std::array<std::pair<const char*, double>, 10> kOthers{{{"num_beams", 1},
                                                                      {"no_repeat_ngram_size", 0},
                                                                      {"encoder_no_repeat_ngram_size", 0},
                                                                      {"repetition_penalty", 1},
                                                                      {"min_length", 0},
                                                                      {"min_new_tokens", 0},
                                                                      {"forced_eos_token_id", -1},
                                                                      {"suppress_tokens", -1},
                                                                      {"begin_suppress_tokens", -1},
                                                                      {"do_sample", 0}}};
    for (const auto& [key, usual] : kOthers) {
      const auto* const entry = root_.find(key);
      if (entry == nullptr || entry->value.is_null()) continue;
      const Node& value = entry->value;
      if ((value.is_number() && value.number == usual) || (value.kind == Node::Kind::kTruth && !value.truth)) continue;
      found_.warning("O1659", fmt::format("`{}` is not applied: the most likely word is taken", key), entry->key_where);
    }
  }

 private:
  Node root_;
  base::Diagnostics& found_;
};

Rules rules_of(const CheckpointModel& made, base::Diagnostics& found) {
  const Settings settings(made.folder, found);
  settings.warn_of_others();
  const formats::huggingface::RunnableModel& own = made.runnable;
  Rules out;
  const auto add = [&](const char* key, const std::optional<std::int32_t>& otherwise, std::vector<std::int32_t>& to) {
    if (const auto told = settings.tokens(key))
      to.insert(to.end(), told->begin(), told->end());
    else if (otherwise)
      to.push_back(*otherwise);
  };
  if (own.description.has_decoder()) {
    add("decoder_start_token_id", own.begin.value_or(0), out.begin);
    add("forced_bos_token_id", own.forced_begin, out.begin);
  }
  add("eos_token_id", own.end, out.ends);
  for (const auto* const list : {&out.begin, &out.ends})
    for (const std::int32_t id : *list)
      if (id >= own.description.embedding.words)
        found.error("O1659",
                    fmt::format("the token {} is none of the model's {}", id, own.description.embedding.words));
  return out;
}

// A model that goes on behind a text reads texts of one length at a time.
std::vector<std::vector<std::size_t>> of_one_length(const std::vector<std::vector<std::size_t>>& batches,
                                                    const std::vector<network::Example>& examples) {
  std::vector<std::vector<std::size_t>> out;
  for (const std::vector<std::size_t>& batch : batches) {
    std::map<std::size_t, std::vector<std::size_t>> by_length;
    for (const std::size_t i : batch) by_length[examples[i].words.size()].push_back(i);
    for (auto& [length, chosen] : by_length) out.push_back(std::move(chosen));
  }
  return out;
}

// What was said up to the first token that ends texts.
GeneratedText text_of(const network::Continuation& said, const Rules& rules, std::size_t forced,
                      const formats::tokenizer::Tokenizer& tokenizer) {
  GeneratedText out;
  for (std::size_t i = 0; i < forced; ++i) {
    out.ids.push_back(rules.begin[rules.begin.size() - forced + i]);
    out.log_probabilities.push_back(0);
  }
  for (std::size_t i = 0; i < said.words.size() && !out.ended; ++i) {
    out.ids.push_back(said.words[i]);
    out.log_probabilities.push_back(said.log_probabilities[i]);
    out.ended = std::find(rules.ends.begin(), rules.ends.end(), said.words[i]) != rules.ends.end();
  }
  // A table of words may be larger than the vocabulary; such words have no text.
  std::vector<std::int32_t> known;
  for (const std::int32_t id : out.ids)
    if (tokenizer.knows(id)) known.push_back(id);
  out.text = tokenizer.decode(known);
  return out;
}

}  // namespace

Generated generate_texts(const TextRequest& request, base::Count most) {
  Running running(request);
  CheckpointModel made =
      open_checkpoint(request.checkpoint, {network::HeadKind::kNextWord, {}}, request.type, request.seed);
  const network::Description& d = made.runnable.description;
  if (d.head.kind != network::HeadKind::kNextWord || !made.fresh.empty())
    base::fail("O1654", fmt::format("the model of `{}` predicts no next word", request.checkpoint), {},
               "models that do are GPT-2's and BART's, each with its head");
  warn_of_dense(made);
  base::Diagnostics found;
  const Rules rules = rules_of(made, found);
  found.throw_if_errors();
  made.warnings.append(found);
  const bool two = d.has_decoder();
  const network::EmbeddingShape& shape = two ? *d.later : d.embedding;
  // Begun with the decoder's tokens, or a text; the last word need not be read again.
  const std::size_t room = static_cast<std::size_t>(shape.positions - shape.first_position) + 1;
  const auto begun = two ? rules.begin.size() : std::size_t{1};
  if (static_cast<std::size_t>(most) + begun > room)
    base::fail("O1654",
               fmt::format("--max-new-tokens {} and {} to begin with are more than the {} that the model takes", most,
                           begun, room - 1));
  const TextRows rows = read_text_rows(request.data);
  Generated out;
  out.model = request.checkpoint, out.most = most;
  std::size_t longest = made.tokens_of(request.most_tokens, kUsualTokens);
  if (!two) longest = std::min(longest, room - static_cast<std::size_t>(most));
  const PlainExamples plain = plain_examples(rows, request.columns, made, longest);
  out.cut = plain.cut;
  const auto batch = static_cast<std::size_t>(request.batch.value_or(kUsualBatch));
  network::Network::Size size = size_of(plain.examples, batch);
  size.target_length = static_cast<Index>(begun) + most;
  if (!two) size.length = std::min(size.length + most, shape.positions - shape.first_position);
  size.target_length = std::min(size.target_length, shape.positions - shape.first_position);
  network::Network network(running.context, d, made.parameters, size, false);
  out.texts.resize(plain.examples.size());
  const std::size_t forced = two && rules.begin.size() > 1 ? rules.begin.size() - 1 : 0;
  auto chosen_batches = batches(plain.examples, batch);
  if (!two) chosen_batches = of_one_length(chosen_batches, plain.examples);
  const base::Stopwatch clock;
  for (const std::vector<std::size_t>& chosen : chosen_batches) {
    if (running.budget.spent()) {
      out.ended_early = true;
      break;
    }
    network::Tokens tokens = network::batch_of(plain.examples, chosen, d, made.rules, 0).batch.tokens;
    if (!two) tokens.lengths.clear();
    const auto end = rules.ends.empty() ? -1 : rules.ends.front();
    const auto said = network.generate(tokens, rules.begin, end, most - static_cast<Index>(forced));
    for (std::size_t i = 0; i < chosen.size(); ++i)
      out.texts[chosen[i]] = text_of(said[i], rules, forced, *made.tokenizer);
  }
  out.seconds = clock.seconds();
  out.inputs = made.inputs;
  out.warnings = made.warnings;
  warn_of_cut(out.cut, longest, out.warnings);
  const auto wild = std::count_if(out.texts.begin(), out.texts.end(), [](const GeneratedText& text) {
    return !std::all_of(text.log_probabilities.begin(), text.log_probabilities.end(),
                        [](float x) { return std::isfinite(x); });
  });
  if (wild > 0)
    warn_of_numbers(fmt::format("the likelihoods of {} of {} texts are not finite numbers", wild, out.texts.size()),
                    out.warnings);
  return out;
}

}  // namespace orrery::verbs
