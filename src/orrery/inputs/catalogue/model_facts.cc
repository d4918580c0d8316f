#include "orrery/inputs/catalogue/model_facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::verbs {
namespace {

constexpr base::Count kCachedBytes = 2;

}  // namespace

bool is_beyond_positions(const workload::Transformer& model, base::Count tokens) {
  // A table of distances has no end.
  const workload::Stack& stack = model.decoder();
  return model.max_positions && tokens > *model.max_positions && stack.distance_rows == 0 && stack.fixed_tokens == 0;
}

void warn_of_length(const ModelFile& model, base::Count tokens, base::Diagnostics& warnings) {
  const workload::Transformer& t = model.transformer;
  const workload::Stack& stack = t.decoder();
  if (!is_beyond_positions(t, tokens)) return;
  const auto place = t.places.find("max_positions");
  warnings
      .warning("O0929",
               fmt::format("a sequence of {} tokens is longer than `{}` takes: {}", tokens, model.entry.name,
                           *t.max_positions),
               place == t.places.end() ? base::Location{} : place->second)
      .note(
          stack.learned_positions
              ? "its table of positions has no row for the tokens beyond; the figures are those of a model that has"
              : "its positions are computed, and were trained on no more; the figures are those of the longer sequence")
      .hint(fmt::format("at most {}", *t.max_positions));
}

ModelFacts model_facts(const FactsRequest& request) {
  const ModelFile file = load_model(catalogue_directory(), request.model, request.use);
  const workload::Transformer& model = file.transformer;
  ModelFacts facts;
  facts.entry = file.entry;
  facts.family = model.family;
  facts.warnings = file.diagnostics;
  facts.sequence = request.sequence.value_or(workload::default_sequence(model));
  warn_of_length(file, facts.sequence, facts.warnings);
  workload::Phase phase;
  phase.tokens = facts.sequence;
  for (workload::BlockOperators& block : workload::block_operators(model, phase)) {
    BlockFacts& shown = facts.blocks.emplace_back();
    shown.stack = block.name;
    shown.kind = block.kind;
    shown.layers = block.layers;
    for (const workload::Operator& op : block.operators) {
      const auto& bounds = op.einsum.dimensions;
      const auto bound = [&](const char* name) {
        const int at = op.einsum.dimension_index(name);
        return at < 0 ? base::Count{1} : bounds[static_cast<std::size_t>(at)].bound;
      };
      shown.operators.push_back({op.name, bound("D"), bound("E"), bound("L"), op.instances});
    }
  }
  facts.not_counted = workload::model_operators(model, phase).left_out;
  if (!model.towers.empty()) facts.not_counted.emplace_back("what the vision tower does");
  const workload::Parameters parameters = workload::parameters(model);
  facts.parameters = parameters.total;
  facts.embedding_parameters = parameters.embedding;
  facts.active_parameters = parameters.active;
  facts.parts = parameters.parts;
  facts.weights = file.weights;
  for (const workload::Stack& stack : model.stacks) facts.layers += static_cast<base::Count>(stack.layers.size());
  facts.kv_cache_bytes_per_token = base::checked_multiply(kCachedBytes, workload::cache_elements(model));
  facts.kv_cache_growing_bytes_per_token = base::checked_multiply(kCachedBytes, workload::cache_elements(model, true));
  facts.state_elements = workload::state_elements(model);
  const workload::ForwardFlop flop = workload::forward_flop(model, facts.sequence);
  const double tokens = static_cast<double>(flop.tokens);
  facts.sequence = flop.tokens;  // some models' is fixed
  facts.forward_flop_per_token = (flop.products + flop.attention) / tokens;
  facts.attention_flop_per_token = flop.attention / tokens;
  facts.visible_attention_flop_per_token = flop.visible_attention / tokens;
  facts.predicted_ahead = model.predicted_ahead;
  facts.counted_ahead = model.counted_ahead;
  return facts;
}

}  // namespace orrery::verbs
