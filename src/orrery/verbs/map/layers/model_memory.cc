#include "orrery/verbs/map/layers/model_memory.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/describe/workload/transformer_facts.h"

namespace orrery::verbs {
namespace {

using base::checked_add;
using base::checked_multiply;
using base::Count;

// Of a sequence, in one layer.
Count cached(const workload::Attention& a, Count tokens) {
  const Count each = a.latent ? checked_add(a.latent->kv_rank, a.latent->rope_width) : checked_add(a.key(), a.value());
  return checked_multiply(each, a.reach == workload::Reach::kAll ? tokens : std::min(tokens, a.span));
}

// Of all sequences and layers.
Count caches(const workload::Transformer& model, const workload::Phase& phase) {
  const workload::Stack& stack = model.decoder();
  if (!stack.causal) return 0;
  const Count tokens = checked_add(phase.tokens, phase.cached);
  const workload::Stack* encoder = model.encoder();
  const Count source = encoder != nullptr && encoder->fixed_tokens > 0 ? encoder->fixed_tokens : tokens;
  Count sum = workload::state_elements(model);
  for (const int kind : stack.layers) {
    const workload::Block& block = stack.kinds[static_cast<std::size_t>(kind)];
    if (const auto* a = std::get_if<workload::Attention>(&block.mixer)) sum = checked_add(sum, cached(*a, tokens));
    if (block.cross) sum = checked_add(sum, cached(*block.cross, source));
  }
  return checked_multiply(phase.batch, sum);
}

// What one instance reads and writes besides weights. Scores and values read keys and values, which are cached.
Count moved(const workload::Operator& op) {
  std::vector<Count> extents;
  for (const workload::Dimension& dimension : op.einsum.dimensions) extents.push_back(dimension.bound);
  Count words = 0;
  for (std::size_t s = 0; s < op.einsum.dataspaces.size(); ++s)
    if (op.einsum.dataspaces[s].name != "Weights")
      words = checked_add(words, op.einsum.volume(static_cast<int>(s), extents));
  return words;
}

std::string size_text(double bytes) {
  return bytes >= 1e12  ? fmt::format("{:.2f} TB", bytes / 1e12)
         : bytes >= 1e9 ? fmt::format("{:.2f} GB", bytes / 1e9)
         : bytes >= 1e6 ? fmt::format("{:.2f} MB", bytes / 1e6)
                        : fmt::format("{:g} bytes", bytes);
}

}  // namespace

ModelMemory model_memory(const workload::Transformer& model, const workload::Phase& phase,
                         const std::vector<workload::Operator>& operators) {
  ModelMemory out;
  out.weights_words = workload::parameters(model).total;
  out.cache_words = caches(model, phase);
  for (const workload::Operator& op : operators) out.activation_words = std::max(out.activation_words, moved(op));
  return out;
}

void hold_against(const machine::Chip& chip, const std::string& model, ModelMemory& memory,
                  base::Diagnostics& warnings) {
  const machine::Storage& storage = chip.storages.back();
  memory.storage = storage.name;
  memory.word_bits = storage.word_bits;
  if (!storage.capacity_words) return;
  const double bytes = storage.word_bits / 8.0;
  memory.capacity_bytes = static_cast<double>(*storage.capacity_words) * static_cast<double>(storage.instances) * bytes;
  if (memory.bytes() <= *memory.capacity_bytes) return;
  warnings
      .warning("O1011",
               fmt::format("`{}` takes {} of `{}`, which holds {}", model, size_text(memory.bytes()), storage.name,
                           size_text(*memory.capacity_bytes)),
               storage.capacity_where)
      .note(fmt::format("weights {} + caches {} + activations {} = {} words of {} bits",
                        base::grouped(static_cast<double>(memory.weights_words)),
                        base::grouped(static_cast<double>(memory.cache_words)),
                        base::grouped(static_cast<double>(memory.activation_words)),
                        base::grouped(static_cast<double>(memory.words())), storage.word_bits))
      .note("figures are those of a storage that holds them; each layer by itself may fit")
      .hint(fmt::format("divide the model among chips, take a smaller batch or cache, or say how large it is: "
                        "`--set arch.{}.depth=WORDS`",
                        storage.name));
}

}  // namespace orrery::verbs
