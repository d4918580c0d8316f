// Idea: a block is a list of matrices (`projections`) and a few small parameters. Parameters are the sum over the
// list of in x out x copies, the operations of a token that of 2 in x out x visited; attention adds, for every head and
// every token that a query sees, 2 (width of a key + width of a value) operations. Latent attention is counted as it
// is trained, keys and values expanded.
//
// Layers of one kind are counted once and multiplied. Cost: kinds x matrices.
#include "orrery/describe/workload/transformer_facts.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::workload {
namespace {

using base::checked_add;
using base::checked_multiply;
using base::Count;

Count weights(const Projection& p) {
  return checked_multiply(p.copies, checked_add(checked_multiply(p.in, p.out), p.biases));
}

Count visited_weights(const Projection& p) {
  return checked_multiply(p.visited, checked_add(checked_multiply(p.in, p.out), p.biases));
}

Count of_norm(const Norm& norm, Count width) {
  if (norm.kind == NormKind::kNone) return 0;
  return checked_multiply(width, (norm.scale ? 1 : 0) + (norm.bias ? 1 : 0));
}

Count summed(const std::vector<Count>& counts) {
  Count sum = 0;
  for (const Count count : counts) sum = checked_add(sum, count);
  return sum;
}

// An index's queries come from the latent where there is one, else from the stream.
void add_index(std::vector<Projection>& out, const Attention& a, Count width) {
  if (!a.index || !a.index->own) return;
  const Index& i = *a.index;
  const Count from = a.latent && a.latent->q_rank > 0 ? a.latent->q_rank : width;
  out.push_back({"index-Q", from, checked_multiply(i.heads, i.width)});
  out.push_back({"index-K", width, i.width});
  if (i.weighted) out.push_back({"index-weights", width, i.heads});
}

void add_attention(std::vector<Projection>& out, const Attention& a, Count width) {
  if (!a.matrices.empty()) {
    out.insert(out.end(), a.matrices.begin(), a.matrices.end());
    return;
  }
  const Count output_bias = a.output_bias ? width : 0;
  if (a.latent) {
    const Latent& l = *a.latent;
    if (l.q_rank > 0) {
      out.push_back({"Q-down", width, l.q_rank, a.query_bias ? l.q_rank : 0});
      out.push_back({"Q-up", l.q_rank, a.query()});
    } else {
      out.push_back({"Q", width, a.query()});
    }
    const Count down = checked_add(l.kv_rank, l.rope_width);
    out.push_back({"KV-down", width, down, a.key_bias ? down : 0});
    out.push_back({"KV-up", l.kv_rank, checked_multiply(a.heads, checked_add(l.nope_width, a.value_width))});
  } else {
    const Count queries = checked_multiply(a.gated ? 2 : 1, checked_multiply(a.heads, a.width));
    const Count keys = a.borrows ? 0 : checked_multiply(a.kv_heads, a.width);
    const Count values = a.borrows || a.value_is_key ? 0 : a.value();
    out.push_back({a.borrows ? "Q" : "KQV", width, summed({queries, keys, values}),
                   (a.query_bias ? queries : 0) + (a.key_bias ? keys : 0) + (a.value_bias ? values : 0)});
  }
  add_index(out, a, width);
  out.push_back({"Out", checked_multiply(a.heads, a.value_width), width, output_bias});
}

void add_cross(std::vector<Projection>& out, const Attention& a, Count width) {
  out.push_back({"cross-Q", width, a.query(), a.query_bias ? a.query() : 0});
  out.push_back({"cross-KV", width, checked_add(a.key(), a.value()),
                 (a.key_bias ? a.key() : 0) + (a.value_bias ? a.value() : 0)});
  out.back().of_source = true;
  out.push_back({"cross-Out", a.output(), width, a.output_bias ? width : 0});
}

void add_feed_forward(std::vector<Projection>& out, const std::string& prefix, const FeedForward& f, Count width,
                      Count copies, Count visited) {
  const Count up = checked_multiply(f.gated ? 2 : 1, f.inner);
  out.push_back({prefix + "FF1", width, up, f.biases ? up : 0, copies, visited});
  out.push_back({prefix + "FF2", f.inner, width, f.biases ? width : 0, copies, visited});
}

Count of_qk_norm(const Attention& a) {
  const Count each = (a.qk_norm_bias ? 2 : 1);
  switch (a.qk_norm) {
    case QkNorm::kNone:
      return 0;
    case QkNorm::kHead:
      return checked_multiply(each, (a.borrows ? 1 : 2) * a.width);
    case QkNorm::kEachHead:
    case QkNorm::kAll:
      break;
  }
  return checked_multiply(each, checked_add(a.query(), a.borrows ? 0 : a.key()));
}

Count small_of_attention(const Attention& a) {
  Count sum = summed({of_qk_norm(a), a.sinks ? a.heads : 0, a.small_parameters});
  if (a.latent) sum = summed({sum, a.latent->q_rank, a.latent->kv_rank});  // norms of the latents, scales only
  return sum;
}

// How many layers are of each kind, with weights of their own or not.
std::vector<Count> layers_of(const Stack& stack, bool own_weights) {
  std::vector<Count> count(stack.kinds.size(), 0);
  std::size_t most = stack.layers.size();
  if (own_weights && stack.weight_sets > 0) most = std::min(most, static_cast<std::size_t>(stack.weight_sets));
  for (std::size_t i = 0; i < most; ++i) ++count[static_cast<std::size_t>(stack.layers[i])];
  return count;
}

struct Sum {
  Count total = 0, active = 0;
  void add(Count parameters) { add(parameters, parameters); }
  void add(Count parameters, Count met) {
    total = checked_add(total, parameters);
    active = checked_add(active, met);
  }
};

std::string part_of(const std::string& projection) {
  if (projection == "router") return "routers";
  if (projection.starts_with("layer-")) return "other matrices of layers";
  if (projection.starts_with("expert")) return "routed experts";
  if (projection.starts_with("shared")) return "shared experts";
  if (projection.starts_with("FF")) return "feed-forward";
  if (projection.starts_with("cross")) return "cross attention";
  return "";
}

constexpr const char* kAhead = "layers that predict ahead";

class Counter {
 public:
  explicit Counter(const Transformer& model) : model_(model) {}

  Parameters run() {
    add("token table", checked_multiply(model_.tables, checked_multiply(model_.vocab, model_.embedding_width)));
    add("token types", checked_multiply(model_.token_types, model_.embedding_width));
    add("layers' tables", checked_multiply(model_.layer_rows, model_.layer_width));
    for (const Stack& stack : model_.stacks) count(stack);
    for (const Stack& tower : model_.towers) add(tower.name, all_of(tower));
    head();
    for (const Part& part : result_.parts) {
      result_.total = checked_add(result_.total, part.parameters);
      result_.active = checked_add(result_.active, part.active);
      if (part.name == "token table" || part.name == "token types" || part.name == "layers' tables" ||
          part.name == "positions")
        result_.embedding = checked_add(result_.embedding, part.parameters);
    }
    std::erase_if(result_.parts, [](const Part& part) { return part.parameters == 0; });
    return std::move(result_);
  }

 private:
  void add(const std::string& name, Count parameters) { add(name, parameters, parameters); }
  void add(const std::string& name, Count parameters, Count active) {
    const auto found =
        std::find_if(result_.parts.begin(), result_.parts.end(), [&](const Part& part) { return part.name == name; });
    Part& part = found == result_.parts.end() ? result_.parts.emplace_back(Part{name, 0, 0}) : *found;
    part.parameters = checked_add(part.parameters, parameters);
    part.active = checked_add(part.active, active);
  }

  void count(const Stack& stack) {
    add("positions",
        checked_multiply(stack.position_rows, stack.position_width > 0 ? stack.position_width : stack.width));
    for (const Projection& p : stack.into) add("into the stack", weights(p));
    for (const Projection& p : stack.out_of) add("out of the stack", weights(p));
    add("norms around the layers", of_norm(stack.entry, stack.entry_width > 0 ? stack.entry_width : stack.width));
    add("norms around the layers", of_norm(stack.exit, stack.width));
    add("other", stack.other_parameters);
    const std::vector<Count> layers = layers_of(stack, true);
    for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
      const Block& block = stack.kinds[k];
      const std::string mixer = std::holds_alternative<Recurrence>(block.mixer) ? "recurrences" : "attention";
      for (const Projection& p : projections(block, stack.width)) {
        const std::string named = block.ahead ? kAhead : part_of(p.name);
        add(named.empty() ? mixer : named, checked_multiply(layers[k], weights(p)),
            checked_multiply(layers[k], visited_weights(p)));
      }
      add(block.ahead ? kAhead : "norms and small parameters",
          checked_multiply(layers[k], small_parameters(block, stack.width)));
      const auto* attention = std::get_if<Attention>(&block.mixer);
      if (stack.distance_rows > 0 && attention != nullptr && !counted_distances(stack))
        add("distances", checked_multiply(stack.distance_rows, attention->heads));
    }
  }

  static Count all_of(const Stack& stack) {
    Transformer alone;
    alone.stacks = {stack};
    return Counter(alone).run().total;
  }

  // One table a stack.
  bool counted_distances(const Stack& stack) { return std::exchange(distances_of_, &stack) == &stack; }

  void head() {
    const Head& head = model_.head;
    for (const auto* list : {&head.transform, &head.extra})
      for (const Projection& p : *list) add("head", weights(p));
    add("head", of_norm(head.norm, head.norm_width));
    const Count width = head.transform.empty() ? model_.decoder().width : head.transform.back().out;
    const Count matrix = head.tied ? 0 : checked_multiply(head.outputs, head.width > 0 ? head.width : width);
    result_.head = checked_add(matrix, !head.tied && head.bias ? head.outputs : 0);
    add("head", checked_add(matrix, head.bias ? head.outputs : 0));
    if (model_.ahead.own_logits)
      add(kAhead, checked_multiply(model_.counted_ahead, checked_multiply(head.outputs, model_.decoder().width)));
  }

  const Transformer& model_;
  Parameters result_;
  const Stack* distances_of_ = nullptr;
};

double flop_of(const Projection& p) {
  return 2.0 * static_cast<double>(p.in) * static_cast<double>(p.out) * static_cast<double>(p.visited);
}

double tokens_of(const Stack& stack, Count seq) {
  return static_cast<double>(stack.fixed_tokens > 0 ? stack.fixed_tokens : seq);
}

double score_flop(const Attention& a) {
  return 2.0 * static_cast<double>(a.heads) * static_cast<double>(a.width + a.value_width);
}

}  // namespace

const Recurrence* recurrence_of(const Block& block) {
  return block.beside ? &*block.beside : std::get_if<Recurrence>(&block.mixer);
}

std::vector<std::string> peculiarities(const Transformer& model) {
  std::vector<std::string> out;
  const auto note = [&](bool has, const char* what) {
    if (has && std::find(out.begin(), out.end(), what) == out.end()) out.emplace_back(what);
  };
  note(model.layer_rows > 0, "a table of tokens for its layers");
  for (const Stack& stack : model.stacks)
    for (const Block& block : stack.kinds) {
      if (const auto* a = std::get_if<Attention>(&block.mixer)) {
        note(a->index.has_value(), "attention to keys that an index picks");
        note(a->borrows, "layers that use the keys and values of others");
        note(a->value_is_key, "values made of its keys");
        note(!a->matrices.empty(), "attention with matrices of its own kind");
      }
      if (const auto* e = std::get_if<Experts>(&block.feed_forward)) {
        note(e->latent > 0, "experts that work on a latent");
        note(e->idle > 0, "experts that do nothing");
      }
      note(block.beside.has_value(), "scans beside its attention");
      note(block.ahead, "layers that predict tokens beyond the next");
      note(!block.extra.empty() && !block.ahead, "matrices of layers that belong to neither attention nor network");
    }
  return out;
}

std::vector<Projection> projections(const Block& block, Count width) {
  std::vector<Projection> out;
  if (const auto* attention = std::get_if<Attention>(&block.mixer)) add_attention(out, *attention, width);
  if (const auto* recurrence = std::get_if<Recurrence>(&block.mixer))
    out.insert(out.end(), recurrence->projections.begin(), recurrence->projections.end());
  if (block.beside) out.insert(out.end(), block.beside->projections.begin(), block.beside->projections.end());
  if (block.cross) add_cross(out, *block.cross, width);
  if (const auto* dense = std::get_if<FeedForward>(&block.feed_forward)) {
    add_feed_forward(out, "", *dense, width, 1, 1);
  } else if (const auto* experts = std::get_if<Experts>(&block.feed_forward)) {
    const Count routed = checked_add(experts->count, experts->idle), latent = experts->latent;
    out.push_back({"router", width, routed, experts->router_bias ? routed : 0});
    if (latent > 0) out.push_back({"expert-latent-down", width, latent});
    add_feed_forward(out, "expert-", experts->expert, latent > 0 ? latent : width, experts->count, experts->top_k);
    if (latent > 0) out.push_back({"expert-latent-up", latent, width});
    if (experts->shared_expert.inner > 0) add_feed_forward(out, "shared-", experts->shared_expert, width, 1, 1);
    if (experts->shared_gate) out.push_back({"shared-gate", width, 1});
  }
  out.insert(out.end(), block.extra.begin(), block.extra.end());
  return out;
}

Count small_parameters(const Block& block, Count width) {
  Count sum = checked_add(checked_multiply(block.norms, of_norm(block.norm, width)), block.extra_parameters);
  if (const auto* attention = std::get_if<Attention>(&block.mixer))
    sum = checked_add(sum, small_of_attention(*attention));
  if (block.cross) sum = checked_add(sum, small_of_attention(*block.cross));
  if (const Recurrence* recurrence = recurrence_of(block))
    sum = summed({sum, checked_multiply(recurrence->channels, recurrence->taps),
                  recurrence->convolution_bias ? recurrence->channels : 0, recurrence->small_parameters});
  return sum;
}

Count block_parameters(const Block& block, Count width) {
  Count sum = small_parameters(block, width);
  for (const Projection& p : projections(block, width)) sum = checked_add(sum, weights(p));
  return sum;
}

Parameters parameters(const Transformer& model) {
  return Counter(model).run();
}

double visible_tokens(const Attention& a, Count seq) {
  const double n = static_cast<double>(seq);
  if (a.compressed > 1) {
    // A window of single tokens, and entries for as many as the index picks.
    const auto average = [&](double most) {
      return most >= n ? (n + 1) / 2 : (most * (most + 1) / 2 + (n - most) * most) / n;
    };
    const double ratio = static_cast<double>(a.compressed);
    const double picked = a.index ? static_cast<double>(a.index->top_k) * ratio : n;
    return average(static_cast<double>(a.span)) + average(picked) / ratio;
  }
  const Count picked = a.index && a.reach == Reach::kAll ? a.index->top_k : a.reach == Reach::kAll ? seq : a.span;
  const double span = std::min(n, static_cast<double>(picked));
  if (a.reach == Reach::kChunk) {
    // Whole chunks and the rest.
    const double whole = std::floor(n / span), rest = n - whole * span;
    const auto pairs = [&](double t) { return a.causal ? t * (t + 1) / 2 : t * t; };
    return (whole * pairs(span) + pairs(rest)) / n;
  }
  if (a.causal) return (span * (span + 1) / 2 + (n - span) * span) / n;
  if (a.reach == Reach::kAll) return n;
  // `span` / 2 on either side.
  const double side = std::min(std::floor(static_cast<double>(a.span) / 2), n - 1);
  return (n * (2 * side + 1) - side * (side + 1)) / n;
}

ForwardFlop forward_flop(const Transformer& model, Count seq) {
  ForwardFlop flop;
  double source = 0;
  for (const Stack& stack : model.stacks) {
    const double tokens = tokens_of(stack, seq);
    for (const auto* list : {&stack.into, &stack.out_of})
      for (const Projection& p : *list)
        flop.products += (p.rows > 0 ? static_cast<double>(p.rows) : tokens) * flop_of(p);
    const std::vector<Count> layers = layers_of(stack, false);
    for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
      const auto times = static_cast<double>(layers[k]);
      const Block& block = stack.kinds[k];
      for (const Projection& p : projections(block, stack.width))
        flop.products += times * (p.of_source ? source : tokens) * flop_of(p);
      if (const auto* a = std::get_if<Attention>(&block.mixer)) {
        flop.attention += times * tokens * tokens * score_flop(*a);
        flop.visible_attention += times * tokens * visible_tokens(*a, static_cast<Count>(tokens)) * score_flop(*a);
        if (a->index && a->index->own) {
          const double index = times * tokens * 2 * static_cast<double>(a->index->heads * a->index->width);
          flop.attention += index * tokens;
          flop.visible_attention += index * (a->causal ? (tokens + 1) / 2 : tokens);
        }
      }
      if (block.cross) {
        const double cross = times * tokens * source * score_flop(*block.cross);
        flop.attention += cross;
        flop.visible_attention += cross;
      }
    }
    source = tokens;
    flop.tokens = static_cast<Count>(tokens);
  }
  const Head& head = model.head;
  const double tokens = head.at_one_token ? 1 : static_cast<double>(flop.tokens);
  double width = static_cast<double>(model.decoder().width);
  for (const Projection& p : head.transform) {
    flop.products += tokens * flop_of(p);
    width = static_cast<double>(p.out);
  }
  if (head.width > 0) width = static_cast<double>(head.width);
  flop.products +=
      static_cast<double>(1 + model.counted_ahead) * tokens * 2 * width * static_cast<double>(head.outputs);
  return flop;
}

Count cache_elements(const Attention& a) {
  const Count index = a.index && a.index->own ? a.index->width : 0;
  if (a.borrows) return index;
  const bool one = a.value_is_key && !a.matrices.empty();  // no norm tells a value from its key
  const Count keys =
      a.latent ? checked_add(a.latent->kv_rank, a.latent->rope_width) : checked_add(a.key(), one ? 0 : a.value());
  return checked_add(keys, index) / a.compressed;
}

Count cache_elements(const Transformer& model, bool growing) {
  Count sum = 0;
  const Stack& stack = model.decoder();
  if (!stack.causal) return 0;
  const std::vector<Count> layers = layers_of(stack, false);
  for (std::size_t k = 0; k < stack.kinds.size(); ++k) {
    const auto* a = std::get_if<Attention>(&stack.kinds[k].mixer);
    // A window as long as the longest sequence never fills.
    const bool bounded =
        a != nullptr && a->reach != Reach::kAll && !(model.max_positions && a->span >= *model.max_positions);
    if (a == nullptr || (growing && bounded)) continue;
    sum = checked_add(sum, checked_multiply(layers[k], cache_elements(*a)));
  }
  return sum;
}

std::optional<Count> shortest_reach(const Transformer& model) {
  std::optional<Count> shortest;
  for (const Stack& stack : model.stacks)
    for (const Block& block : stack.kinds)
      if (const auto* a = std::get_if<Attention>(&block.mixer); a != nullptr && a->reach != Reach::kAll)
        shortest = std::min(shortest.value_or(a->span), a->span);
  return shortest;
}

Count default_sequence(const Transformer& model) {
  constexpr Count kLongest = 4096, kUnknown = 512;
  if (model.natural_tokens > 0) return model.natural_tokens;
  return std::min(model.max_positions.value_or(kUnknown), kLongest);
}

Count state_elements(const Transformer& model) {
  Count sum = 0;
  const Stack& stack = model.decoder();
  const std::vector<Count> layers = layers_of(stack, false);
  for (std::size_t k = 0; k < stack.kinds.size(); ++k)
    if (const Recurrence* recurrence = recurrence_of(stack.kinds[k]))
      sum = checked_add(sum, checked_multiply(layers[k], recurrence->state()));
  return sum;
}

}  // namespace orrery::workload
