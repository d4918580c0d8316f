// A plain transformer is one stack of at most six kinds of layers: dense ones in front, dense ones later and mixtures,
// each with attention to all tokens or within a window. The front is a kind of its own even where dense layers come
// again, so that who spreads layers over a pipeline knows it as the front.
//
// Sizes of a description that was read are the same words said of it; setting one changes the blocks that have the
// part. Cost: layers + kinds.
#include "orrery/describe/workload/plain_transformer.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery::workload {
namespace {

using base::Count;

bool mixes(const Block& block) {
  return std::holds_alternative<Experts>(block.feed_forward);
}

// Gives every layer the kind that `changed` makes of its own; the role tells apart what it makes of one kind.
template <typename Change>
void rewrite(Stack& stack, const Change& changed) {
  std::map<std::pair<int, int>, int> known;
  std::vector<Block> kinds;
  for (std::size_t i = 0; i < stack.layers.size(); ++i) {
    Block block = stack.kinds[static_cast<std::size_t>(stack.layers[i])];
    const int role = changed(static_cast<Count>(i), block);
    const auto [at, added] = known.try_emplace({stack.layers[i], role}, static_cast<int>(kinds.size()));
    if (added) kinds.push_back(std::move(block));
    stack.layers[i] = at->second;
  }
  if (!kinds.empty()) stack.kinds = std::move(kinds);
}

FeedForward dense(const PlainTransformer& sizes) {
  return {sizes.ffn, sizes.gated, sizes.biases};
}

void size(Experts& experts, const PlainTransformer& sizes) {
  const PlainExperts& e = sizes.experts;
  experts.count = e.count;
  experts.top_k = e.top_k;
  experts.expert = {e.ffn, sizes.gated, experts.expert.biases, experts.expert.clamped};
  experts.shared = e.shared;
  experts.shared_expert = {base::checked_multiply(e.shared, e.ffn), sizes.gated, experts.shared_expert.biases};
  experts.max_groups = e.max_nodes;
}

// The first layers are dense, after those every n-th one is a mixture.
void place_mixtures(Stack& stack, const PlainTransformer& sizes) {
  const PlainExperts& e = sizes.experts;
  const Count every = std::max<Count>(1, e.every);
  Experts like;
  like.expert.biases = like.shared_expert.biases = sizes.biases;
  for (const Block& block : stack.kinds)
    if (const auto* experts = std::get_if<Experts>(&block.feed_forward)) like = *experts;
  size(like, sizes);
  rewrite(stack, [&](Count layer, Block& block) {
    const bool front = layer < e.dense_layers;
    const bool mixture = e.count > 0 && !front && (layer - e.dense_layers + 1) % every == 0;
    if (mixture)
      block.feed_forward = like;
    else
      block.feed_forward = dense(sizes);
    return mixture ? 2 : front && e.count > 0 ? 1 : 0;
  });
}

// Spread evenly over the layers.
void place_windows(Stack& stack, const PlainTransformer& sizes) {
  const auto all = static_cast<Count>(stack.layers.size());
  const Count near = sizes.window > 0 ? std::min(sizes.windowed_layers, all) : 0;
  rewrite(stack, [&](Count layer, Block& block) {
    auto* a = std::get_if<Attention>(&block.mixer);
    if (a == nullptr) return 0;
    const bool within = (layer + 1) * near / all > layer * near / all;
    a->reach = !within ? Reach::kAll : sizes.chunked ? Reach::kChunk : Reach::kWindow;
    a->span = within ? sizes.window : 0;
    return within ? 1 : 0;
  });
}

void size(Attention& a, const PlainTransformer& sizes) {
  a.heads = sizes.heads;
  a.kv_heads = sizes.kv_heads;
  const PlainLatent& l = sizes.latent;
  if (l.kv_rank > 0) {
    a.latent = Latent{l.q_rank, l.kv_rank, l.rope_width, l.nope_width};
    a.width = base::checked_add(l.nope_width, l.rope_width);
    a.value_width = l.value_width;
    return;
  }
  const bool alike = a.width == a.value_width || a.latent.has_value();
  a.latent.reset();
  a.width = sizes.head_width;
  if (alike) a.value_width = sizes.head_width;
}

// What stands around the layers and is as wide as they are.
void widen(Transformer& model, Count was, Count now) {
  const auto follow = [&](Count& size) {
    if (size == was) size = now;
  };
  Stack& stack = model.stacks.back();
  for (auto* list : {&stack.into, &stack.out_of, &model.head.transform, &model.head.extra})
    for (Projection& p : *list) {
      follow(p.in);
      follow(p.out);
      follow(p.biases);
    }
  follow(stack.width);
  follow(stack.entry_width);
  follow(stack.position_width);
  follow(model.head.width);
  follow(model.head.norm_width);
}

// As many layers as asked: those there are, then again in the order in which they repeat, or the last kind.
void resize(Stack& stack, Count layers) {
  std::vector<int>& list = stack.layers;
  if (layers < static_cast<Count>(list.size())) {
    list.resize(static_cast<std::size_t>(std::max<Count>(layers, 0)));
    return;
  }
  std::size_t front = 0;
  while (front < list.size() && list[front] == list[0]) ++front;
  if (std::find(list.begin() + static_cast<std::ptrdiff_t>(front), list.end(), list[0]) != list.end()) front = 0;
  if (front == list.size()) front = 0;
  std::size_t period = 1;
  const auto repeats = [&] {
    for (std::size_t i = front + period; i < list.size(); ++i)
      if (list[i] != list[i - period]) return false;
    return true;
  };
  while (!repeats()) ++period;
  if (2 * period > list.size() - front) period = 1;
  list.reserve(static_cast<std::size_t>(layers));
  while (static_cast<Count>(list.size()) < layers) list.push_back(list[list.size() - period]);
}

// Of a list of mixtures and dense layers, how many come first and the step between mixtures behind them.
void tell_mixtures(const Stack& stack, PlainExperts& experts) {
  const auto mixture = [&](int kind) { return mixes(stack.kinds[static_cast<std::size_t>(kind)]); };
  const auto all = static_cast<Count>(stack.layers.size());
  const Count mixtures = std::count_if(stack.layers.begin(), stack.layers.end(), mixture);
  const Count first = std::find_if(stack.layers.begin(), stack.layers.end(), mixture) - stack.layers.begin();
  experts.dense_layers = first;
  experts.every = 1;
  if (mixtures == 0 || mixtures == all - first) return;
  // The step whose count is right, with as many dense layers in front as that needs.
  for (Count every = 2; every * mixtures <= all; ++every) {
    const Count front = std::min(first, all - every * mixtures);
    if ((all - front) / every != mixtures) continue;
    experts.dense_layers = front;
    experts.every = every;
    return;
  }
}

base::Field dimension(const char* path, Count& member, const char* text) {
  return base::whole_field(path, member, 1, base::kUnbounded, text);
}

// Of experts and latents, 0 says that there are none.
base::Field part(const char* path, Count& member, const char* text) {
  return base::whole_field(path, member, 0, base::kUnbounded, text);
}

}  // namespace

PlainTransformer completed(PlainTransformer sizes) {
  if (sizes.kv_heads == 0) sizes.kv_heads = sizes.heads;
  if (sizes.head_width == 0 && sizes.heads > 0) sizes.head_width = sizes.hidden / sizes.heads;
  if (sizes.ffn == 0) sizes.ffn = base::checked_multiply(4, sizes.hidden);
  return sizes;
}

Transformer plain_transformer(const PlainTransformer& asked) {
  const PlainTransformer sizes = completed(asked);
  Transformer model;
  model.vocab = sizes.vocab;
  model.embedding_width = sizes.vocab > 0 ? sizes.hidden : 0;
  model.dropout = sizes.dropout;
  model.head.tied = sizes.tied_embedding;
  model.head.outputs = sizes.vocab;
  Stack& stack = model.stacks.emplace_back();
  stack.name = sizes.causal ? "decoder" : "encoder";
  stack.width = sizes.hidden;
  stack.causal = sizes.causal;
  stack.learned_positions = sizes.learned_positions;
  Block block;
  block.norm = {sizes.biases ? NormKind::kLayer : NormKind::kRms, true, sizes.biases};
  Attention a;
  size(a, sizes);
  a.causal = sizes.causal;
  a.query_bias = a.key_bias = a.value_bias = a.output_bias = sizes.biases;
  block.mixer = a;
  stack.kinds = {block};
  stack.layers.assign(static_cast<std::size_t>(std::max<Count>(0, sizes.layers)), 0);
  place_mixtures(stack, sizes);
  place_windows(stack, sizes);
  return model;
}

PlainTransformer sizes_of(const Transformer& model) {
  const Stack& stack = model.decoder();
  PlainTransformer sizes;
  sizes.biases = false;
  for (const Stack& each : model.stacks) sizes.layers += static_cast<Count>(each.layers.size());
  sizes.hidden = stack.width;
  sizes.vocab = model.vocab;
  sizes.causal = stack.causal;
  sizes.dropout = model.dropout;
  sizes.learned_positions = stack.learned_positions;
  sizes.tied_embedding = model.head.tied;
  const Attention* first = nullptr;
  for (const Block& block : stack.kinds) {
    const auto* a = std::get_if<Attention>(&block.mixer);
    if (a != nullptr && first == nullptr) first = a;
    if (const auto* plain = std::get_if<FeedForward>(&block.feed_forward)) {
      sizes.ffn = plain->inner;
      sizes.gated = plain->gated;
      sizes.biases = plain->biases && block.norm.bias;
    } else if (const auto* experts = std::get_if<Experts>(&block.feed_forward)) {
      const Count inner = experts->expert.inner;
      sizes.experts = {experts->count, experts->top_k, inner, experts->shared_expert.inner / std::max<Count>(1, inner)};
      sizes.experts.max_nodes = experts->max_groups;
      sizes.gated = experts->expert.gated;
      if (sizes.ffn == 0) sizes.ffn = inner;
      if (!std::holds_alternative<FeedForward>(stack.kinds.front().feed_forward)) sizes.biases = false;
    }
  }
  if (sizes.ffn == 4 * stack.width) sizes.ffn = 0;
  if (sizes.experts.count > 0) tell_mixtures(stack, sizes.experts);
  for (const int kind : stack.layers) {
    const auto* a = std::get_if<Attention>(&stack.kinds[static_cast<std::size_t>(kind)].mixer);
    if (a == nullptr || a->reach == Reach::kAll) continue;
    ++sizes.windowed_layers;
    sizes.window = a->span;
    sizes.chunked = a->reach == Reach::kChunk;
  }
  if (first == nullptr) return sizes;
  sizes.heads = first->heads;
  sizes.kv_heads = first->kv_heads == first->heads ? 0 : first->kv_heads;
  sizes.head_width = first->heads > 0 && first->width == stack.width / first->heads ? 0 : first->width;
  if (first->latent)
    sizes.latent = {first->latent->q_rank, first->latent->kv_rank, first->latent->rope_width, first->latent->nope_width,
                    first->value_width};
  return sizes;
}

base::Fields fields(PlainTransformer& sizes) {
  using base::truth_field;
  PlainExperts& experts = sizes.experts;
  PlainLatent& latent = sizes.latent;
  return {
      dimension("layers", sizes.layers, "transformer blocks"),
      dimension("hidden", sizes.hidden, "width of the residual stream"),
      dimension("heads", sizes.heads, "query heads"),
      dimension("kv_heads", sizes.kv_heads, "key/value heads; default: as many as `heads`"),
      dimension("head_width", sizes.head_width, "default: `hidden` / `heads`"),
      dimension("ffn", sizes.ffn, "inner width of the feed-forward network; default: 4 `hidden`"),
      dimension("vocab", sizes.vocab, "tokens of the vocabulary"),
      part("window", sizes.window, "tokens that attention sees in some layers; 0: all tokens in every layer"),
      part("windowed_layers", sizes.windowed_layers, "so many layers have the window"),
      part("experts.count", experts.count, "routed experts; 0: a dense model"),
      part("experts.top_k", experts.top_k, "experts that a token visits"),
      part("experts.ffn", experts.ffn, "inner width of one expert"),
      part("experts.shared", experts.shared, "experts that every token visits"),
      part("experts.dense_layers", experts.dense_layers, "the first layers, which stay dense"),
      dimension("experts.every", experts.every, "after those, every n-th layer is a mixture"),
      part("experts.max_nodes", experts.max_nodes, "a token's experts lie in at most so many nodes; 0: no limit"),
      part("latent.q_rank", latent.q_rank, "of latent attention's queries; 0: projected directly"),
      part("latent.kv_rank", latent.kv_rank, "of its keys and values; 0: no latent attention"),
      part("latent.rope_width", latent.rope_width, "of a head: the part that carries the position"),
      part("latent.nope_width", latent.nope_width, "of a head: the rest of query and key"),
      part("latent.value_width", latent.value_width, "of a head's value"),
      truth_field("gated", sizes.gated, "gate and up projections side by side (SwiGLU)"),
      truth_field("causal", sizes.causal, "a token attends to itself and those before it"),
      truth_field("chunked", sizes.chunked, "those layers see their own chunk of `window` tokens, not the last ones"),
      truth_field("biases", sizes.biases, "of projections and norms"),
      truth_field("dropout", sizes.dropout, "masks are drawn and kept"),
      truth_field("learned_positions", sizes.learned_positions, "a table of positions has parameters"),
      truth_field("tied_embedding", sizes.tied_embedding, "the logits use the embedding's matrix"),
  };
}

namespace {

// What a description has that sizes of one layer cannot say.
struct Variety {
  bool attention = false, other_mixers = false, no_feed_forward = false, odd_shared = false;
  bool heads = false, widths = false, values = false, windows = false, experts = false;  // of several sizes

  explicit Variety(const Stack& stack) {
    const Attention *first = nullptr, *near = nullptr;
    const FeedForward* plain = nullptr;
    const Experts* mixture = nullptr;
    for (const Block& block : stack.kinds) {
      const auto* a = std::get_if<Attention>(&block.mixer);
      other_mixers = other_mixers || a == nullptr;
      no_feed_forward = no_feed_forward || std::holds_alternative<std::monostate>(block.feed_forward);
      if (const auto* f = std::get_if<FeedForward>(&block.feed_forward)) {
        widths = widths || (plain != nullptr && plain->inner != f->inner);
        plain = f;
      }
      if (const auto* e = std::get_if<Experts>(&block.feed_forward)) {
        experts = experts || (mixture != nullptr && (mixture->count != e->count || mixture->top_k != e->top_k ||
                                                     mixture->expert.inner != e->expert.inner ||
                                                     mixture->shared_expert.inner != e->shared_expert.inner));
        mixture = e;
        odd_shared = odd_shared || (e->expert.inner > 0 && e->shared_expert.inner % e->expert.inner != 0);
      }
      if (a == nullptr) continue;
      attention = true;
      heads = heads || (first != nullptr &&
                        (first->heads != a->heads || first->kv_heads != a->kv_heads || first->width != a->width));
      values = values || (!a->latent && a->width != a->value_width);
      first = a;
      if (a->reach == Reach::kAll) continue;
      windows = windows || (near != nullptr && (near->reach != a->reach || near->span != a->span));
      near = a;
    }
  }
};

bool one_of(const std::string& path, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return path == name; });
}

}  // namespace

std::string refusal(const Transformer& model, const std::string& path) {
  const Stack& stack = model.decoder();
  const Variety has(stack);
  const bool in_experts = path.starts_with("experts.");
  if (one_of(path, {"vocab", "dropout", "tied_embedding"})) return "";
  if (model.stacks.size() > 1) return "it has an encoder and a decoder, whose sizes differ";
  if (path == "layers" && stack.weight_sets > 0) return "its layers share their weights";
  if (path == "layers" && model.layer_rows > 0) return "its layers have a table whose width depends on their number";
  const bool beside =
      std::any_of(stack.kinds.begin(), stack.kinds.end(), [](const Block& b) { return !b.extra.empty(); });
  if (beside && one_of(path, {"hidden", "heads", "head_width"}))
    return "its layers have matrices besides attention and network that depend on it";
  if (one_of(path, {"layers", "learned_positions"})) return "";
  if (path == "hidden" && has.other_mixers) return "some of its layers have sizes of their own that depend on it";
  if (path == "hidden" && model.vocab > 0 && model.embedding_width != stack.width)
    return "its table of tokens is not as wide as its layers";
  const bool attends =
      one_of(path, {"heads", "kv_heads", "head_width", "causal", "window", "windowed_layers", "chunked"}) ||
      path.starts_with("latent.");
  if (attends && !has.attention) return "it has no attention";
  if (one_of(path, {"causal", "windowed_layers"}) && has.other_mixers) return "some of its layers have no attention";
  if (one_of(path, {"heads", "kv_heads", "head_width", "hidden"}) && has.heads)
    return "its attention has several sizes";
  if (path.starts_with("latent.") && (has.heads || has.values)) return "its attention has several sizes";
  if (one_of(path, {"window", "windowed_layers", "chunked"}) && has.windows) return "it has windows of several lengths";
  if (path == "ffn" && has.widths) return "its feed-forward networks have several widths";
  if (one_of(path, {"ffn", "gated", "biases"}) && has.no_feed_forward)
    return "some of its layers have no feed-forward network";
  if (in_experts && has.experts) return "its mixtures have several sizes";
  if (in_experts && (has.widths || has.no_feed_forward)) return "its layers differ in their feed-forward networks";
  if (in_experts && has.odd_shared) return "its shared expert's width is no multiple of the others'";
  return "";
}

Transformer with_sizes(Transformer model, const PlainTransformer& changed, const std::set<std::string>& said) {
  const PlainTransformer before = sizes_of(model), now = completed(changed), was = completed(before);
  const PlainExperts &mix = now.experts, &mixed = was.experts;
  model.vocab = now.vocab;
  if (model.head.outputs == was.vocab) model.head.outputs = now.vocab;
  if (model.embedding_width == 0 || model.embedding_width == was.hidden)
    model.embedding_width = now.vocab > 0 ? now.hidden : 0;
  model.dropout = now.dropout;
  model.head.tied = now.tied_embedding;
  if (model.stacks.size() > 1) return model;  // the rest is refused
  Stack& stack = model.stacks.back();
  if (now.learned_positions != was.learned_positions) {
    stack.learned_positions = now.learned_positions;
    stack.position_rows = 0;
  }
  if (now.layers != was.layers) resize(stack, now.layers);
  if (now.hidden != was.hidden) widen(model, was.hidden, now.hidden);
  stack.causal = now.causal;
  const Variety has(stack);
  for (Block& block : stack.kinds) {
    auto* a = std::get_if<Attention>(&block.mixer);
    if (a != nullptr && !has.heads) size(*a, now);
    if (a != nullptr && now.causal != was.causal) a->causal = now.causal;
    auto* plain = std::get_if<FeedForward>(&block.feed_forward);
    auto* experts = std::get_if<Experts>(&block.feed_forward);
    if (plain != nullptr && !has.widths) plain->inner = now.ffn;
    if (experts != nullptr && !has.odd_shared && !has.experts && mix.count > 0) {
      const FeedForward shared = experts->shared_expert;
      size(*experts, now);
      if (mix.shared == mixed.shared && mix.ffn == mixed.ffn) experts->shared_expert = shared;
    }
    if (now.gated != was.gated) {
      if (plain != nullptr) plain->gated = now.gated;
      if (experts != nullptr) experts->expert.gated = experts->shared_expert.gated = now.gated;
    }
    if (now.biases != was.biases) {
      block.norm.bias = now.biases;
      if (plain != nullptr) plain->biases = now.biases;
      if (experts != nullptr) experts->expert.biases = experts->shared_expert.biases = now.biases;
      if (a != nullptr) a->query_bias = a->key_bias = a->value_bias = a->output_bias = now.biases;
    }
    if (a != nullptr && a->reach != Reach::kAll && now.window > 0 && !has.windows) {
      a->span = now.window;
      a->reach = now.chunked ? Reach::kChunk : Reach::kWindow;
    }
  }
  const bool placed = mix.dense_layers != mixed.dense_layers || mix.every != mixed.every;
  if (placed || (mix.count > 0) != (mixed.count > 0)) place_mixtures(stack, now);
  const bool windows = now.windowed_layers != was.windowed_layers || (now.window > 0) != (was.window > 0);
  if (windows || said.contains("windowed_layers")) place_windows(stack, now);
  return model;
}

}  // namespace orrery::workload
