// What an engine does when it starts: it loads the weights, runs a step of the most tokens to see what that needs, and
// makes blocks of what is left.
//
//   vLLM          share x total - weights - activations - graphs and libraries
//   TensorRT-LLM  share x (total - weights - activations - graphs and libraries)
//   SGLang        share x total - weights: the share leaves room for activations and graphs
//
// A block holds `block_tokens` tokens of a layer; layers that keep the same tokens stand side by side in groups, and
// all groups have blocks of one size so that they share a pool (vLLM's hybrid cache manager): a group has as many
// layers as the rarest kind has (as the most frequent, if that has less than a quarter more), the last one of a kind is
// padded. Of layers with a window, a sequence holds blocks for window - 1 + the tokens of a step at most, and one more,
// since a window begins inside of a block. Where some layers keep states of scans, a block has as many tokens as make
// it as large as a state, rounded up to 16. A latent is the same for all heads, so that every tensor rank keeps all of
// it; of keys and values, a rank keeps those of its heads, at least one. Blocks of latents have at least 64 tokens on
// vLLM (FlashMLA's). One block is nobody's (vLLM's null block).
//
// Entries of several tokens (DeepSeek-V4; vLLM's pull requests 42258 and 43447): a block has 256 tokens, which are 64
// or 2 entries of a layer, all growing layers side by side; the windows beside them have blocks of 64 tokens, which are
// taken from the same pool: as many as their layers' bytes fill, an assumption, as is that other engines do the same.
// The states of what joins tokens are left out: 4 to 128 tokens a sequence and layer.
//
// Activations: the widest operator of a layer at max_batched_tokens, its input and output beside the stream and its
// residual, or the logits of max_sequences in 32 bits, twice. Graphs and libraries: 1.5 GB, an assumption.
#include "orrery/engines/serving/model/kv_memory.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr double kGraphsAndLibraries = 1.5e9;
constexpr double kActivationBytes = 2;  // of an element
constexpr Count kLatentBlock = 64;
constexpr Count kStateRounding = 16;
constexpr Count kJoinedBlock = 256, kWindowBlock = 64;  // DeepSeek-V4's

// Bytes that a token leaves in a layer, on a rank.
double token_bytes(const ServedLayers& kind, const Deployment& d) {
  const double width = machine::bytes_per_element(d.cache_precision);
  if (kind.latent > 0) return kind.entry_bytes(width);
  const Count heads = base::ceil_divide(kind.kv_heads, d.tp);
  return static_cast<double>(heads * (kind.key_width + kind.value_width)) * width;
}

double activation_bytes(const ServedModel& model, const Deployment& d) {
  double widest = 0;
  for (const ServedLayers& kind : model.kinds) {
    double inner = kind.activations;
    if (kind.experts > 0)
      inner = std::max(inner, static_cast<double>(kind.top_k) *
                                  static_cast<double>(kind.expert_up + kind.expert_inner + kind.width));
    widest = std::max(widest, 2 * static_cast<double>(kind.width) + inner / static_cast<double>(d.tp));
  }
  const double step = static_cast<double>(d.max_batched_tokens) * widest * kActivationBytes;
  const double logits = 2 * 4.0 * static_cast<double>(d.max_sequences) * static_cast<double>(model.outputs);
  return std::max(step, logits);
}

// Kinds that keep the same tokens, put together.
std::vector<CacheGroup> kinds_of(const ServedModel& model) {
  std::vector<CacheGroup> out;
  for (const ServedLayers& kind : model.kinds) {
    const bool state = kind.state > 0;
    if (!state && kind.heads == 0) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const CacheGroup& group) {
      return group.state == state && group.span == kind.span;
    });
    if (same != out.end())
      same->layers += kind.layers;
    else
      out.push_back({kind.layers, kind.span, state});
  }
  return out;
}

Count layers_of_group(const std::vector<CacheGroup>& kinds) {
  Count least = base::kMostCount, most = 0;
  for (const CacheGroup& kind : kinds) least = std::min(least, kind.layers), most = std::max(most, kind.layers);
  return 4 * most < 5 * least ? most : least;
}

bool joins(const ServedModel& model) {
  return std::any_of(model.kinds.begin(), model.kinds.end(),
                     [](const ServedLayers& kind) { return kind.compressed > 1; });
}

// Of DeepSeek-V4, on the fullest stage.
void add_joined(const ServedModel& model, const Deployment& d, KvMemory& out) {
  const double width = machine::bytes_per_element(d.cache_precision);
  const double stage = static_cast<double>(base::ceil_divide(model.layers, d.pp)) / static_cast<double>(model.layers);
  Count layers = 0, span = 0;
  double window = 0;
  for (const ServedLayers& kind : model.kinds) {
    if (kind.heads == 0) continue;
    const double of = static_cast<double>(kind.layers) * stage;
    if (kind.compressed > 1) {
      layers += kind.layers;
      out.block_bytes +=
          of * static_cast<double>(base::ceil_divide(kJoinedBlock, kind.compressed)) * kind.entry_bytes(width);
    }
    span = std::max(span, kind.span);
    window += of * static_cast<double>(kWindowBlock * kind.latent) * width;
  }
  out.block_tokens = kJoinedBlock;
  out.groups.push_back({layers, 0, false});
  const Count beside = base::saturated(std::ceil(window / out.block_bytes));
  for (Count g = 0; g < beside; ++g) out.groups.push_back({layers, span, false, kWindowBlock});
  out.blocks = std::max<Count>(0, base::saturated(std::floor(out.caches / out.block_bytes)) - 1);
}

}  // namespace

Count KvMemory::blocks_for(Count context, Count step_tokens) const {
  Count sum = 0;
  for (const CacheGroup& group : groups) {
    const Count size = group.tokens > 0 ? group.tokens : block_tokens;
    if (group.state) {
      ++sum;
    } else if (group.span == 0 || group.span - 1 + step_tokens >= context) {
      sum += base::ceil_divide(context, size);
    } else {
      sum += base::ceil_divide(group.span - 1 + step_tokens, size) + 1;
    }
  }
  return sum;
}

Count KvMemory::tokens() const {
  const Count growing = std::count_if(groups.begin(), groups.end(),
                                      [](const CacheGroup& group) { return !group.state && group.span == 0; });
  return growing == 0 ? 0 : blocks / growing * block_tokens;
}

KvMemory kv_memory(const ServedModel& model, const cluster::System& system, const Deployment& d) {
  KvMemory out;
  out.total = system.accelerator.memory_bytes;
  out.weights = weight_bytes(model, d);
  out.activations = activation_bytes(model, d);
  out.graphs = kGraphsAndLibraries;
  const double rest = out.total - out.weights - out.activations - out.graphs;
  switch (d.engine) {
    case Engine::kVllm:
      out.caches = rest - (1 - d.memory_share) * out.total;
      break;
    case Engine::kTensorRtLlm:
      out.caches = rest > 0 ? d.memory_share * rest : rest;
      break;
    case Engine::kSglang:
      out.caches = d.memory_share * out.total - out.weights;
      break;
  }
  if (joins(model)) {
    add_joined(model, d, out);
    return out;
  }
  out.block_tokens = d.block_tokens;
  double token = 0, state = 0;
  bool latent = false;
  for (const ServedLayers& kind : model.kinds) {
    if (kind.heads > 0) token = std::max(token, token_bytes(kind, d));
    state = std::max(state, kind.state * kActivationBytes / static_cast<double>(d.tp));
    latent = latent || kind.latent > 0;
  }
  if (latent && d.engine == Engine::kVllm) out.block_tokens = std::max(out.block_tokens, kLatentBlock);
  if (state > 0 && token > 0)
    out.block_tokens =
        std::max(out.block_tokens,
                 base::ceil_divide(base::saturated(std::ceil(state / token)), kStateRounding) * kStateRounding);
  std::vector<CacheGroup> kinds = kinds_of(model);
  if (kinds.empty()) return out;
  const Count side = layers_of_group(kinds);
  // Of the fullest stage.
  const Count on_stage = std::max<Count>(1, base::ceil_divide(side, d.pp));
  for (const CacheGroup& kind : kinds)
    for (Count first = 0; first < kind.layers; first += side) out.groups.push_back({on_stage, kind.span, kind.state});
  const double page = token > 0 ? token * static_cast<double>(out.block_tokens) : state;
  out.block_bytes = page * static_cast<double>(on_stage);
  out.blocks = std::max<Count>(0, base::saturated(std::floor(out.caches / out.block_bytes)) - 1);
  return out;
}

double KvMemory::users(Count tokens, Count step_tokens) const {
  const auto room = static_cast<double>(blocks - blocks_for(tokens, step_tokens));
  return 1 + std::max(0.0, room / static_cast<double>(blocks_for(tokens, 1)));
}

double max_concurrency(const KvMemory& memory, const Deployment& d, Count context) {
  const Count each = memory.blocks_for(context, std::min(d.max_batched_tokens, context));
  return each == 0 ? static_cast<double>(d.max_sequences)
                   : static_cast<double>(memory.blocks) / static_cast<double>(each);
}

bool cuts_prompts(const KvMemory& memory, const Deployment& d, Count longest, Count context) {
  const Count held = base::saturated(max_concurrency(memory, d, context));
  const Count beside = std::max<Count>(0, std::min(d.max_sequences, held) - 1);
  return longest > d.max_batched_tokens - beside * d.queries();
}

}  // namespace orrery::serving
