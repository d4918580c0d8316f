// Idea: DFModel's table of attention, kernel by kernel, written for any widths.
//
// With a query heads and g key/value heads of width d (values v), s queries, S keys of which a query sees c:
//
//   Q          a x d x h x s        K, V      g x d x h x S
//   *_GEMM_1   a x c x d x s        *_GEMM_2  a x v x c x s      PROJ_GEMM   1 x h x a v x s
//
// c is S, of a window its tokens, of a chunk those of the chunk: the widest row of scores. Causal masks are not
// exploited, as in DFModel. Plain attention is called MHA, windows and chunks WINDOW, latents MLA, attention to an
// encoder's output CROSS. Backward, the gradients of keys and values reduce over the queries of all a / g heads that
// share them and see the key.
//
// Beyond that: norms of queries and keys are a kernel each; a gate (GATE) is projected beside the queries and
// multiplies what comes before PROJ_GEMM. Latent attention (DeepSeek-V2, arXiv 2405.04434) projects down and up; the
// part of a key that carries the position, shared by all heads, is K_ROPE. One token more reads latents: the expansion
// goes into the queries (Q_ABSORB) and the outputs (V_EXPAND), section 2.1.2 there.
//
// The kernels Q to K_bwd of plain attention, with their oddities, are kosho2013/DFModel's (arXiv 2412.16432): updates
// of Q, K and V read the gradients of the attention products. Cost: a step a kernel.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orrery/describe/workload/graphs/block_kernels.h"

namespace orrery::workload {
namespace {

using base::Count;

// What one attention of a layer works on, and what its kernels are called.
struct Form {
  Form(LayerContext& layer, const Attention& attention, const std::string& name_prefix)
      : a(attention), out(layer.out), prefix(name_prefix), h(layer.width) {
    const bool cross = !prefix.empty();
    queries = layer.tokens.tokens;
    keys = cross ? layer.tokens.source : layer.out.decodes() ? layer.tokens.context : layer.tokens.tokens;
    seen = cross ? keys : seen_tokens(a, keys);
    if (!cross && layer.out.decodes() && a.reach == Reach::kChunk && a.span < keys) seen = (keys - 1) % a.span + 1;
    stem = cross ? "CROSS" : a.latent ? "MLA" : seen < keys ? "WINDOW" : "MHA";
    if (a.heads % a.kv_heads != 0)
      out.found()
          .error("O1483", fmt::format("{} key/value heads do not divide {} query heads", a.kv_heads, a.heads))
          .note("each key/value head serves the same number of query heads");
    query = out.elements("the queries", {a.heads, a.width, queries});
    output = out.elements("the output of attention", {a.heads, a.value_width, queries});
    key = out.elements("the keys", {a.kv_heads, a.width, keys});
    value = out.elements("the values", {a.kv_heads, a.value_width, keys});
    scores = out.elements("the attention scores", {a.heads, seen, queries});
  }

  std::string first() const { return stem + "_GEMM_1"; }
  std::string second() const { return stem + "_GEMM_2"; }
  // Named as `name`, of cross attention CROSS_<name>.
  std::string own(const char* name) const { return prefix + name; }
  int at(const char* name) const { return out.at(own(name)); }
  bool crosses() const { return !prefix.empty(); }
  // What a product of attention states of an input: nothing where a window leaves rows of different lengths.
  Count stated(Count elements) const { return seen == keys || out.decodes() ? elements : 0; }

  const Attention& a;
  LayerWriter& out;
  std::string prefix, stem;
  Count h = 0, queries = 1, keys = 1, seen = 1;
  Count query = 0, output = 0, key = 0, value = 0, scores = 0;  // elements
};

// The node that the first product reads as queries or keys.
int normed(const Form& f, const char* norm, const char* plain) {
  const int node = f.at(norm);
  return node != kNoNode ? node : f.at(plain);
}

Kernel held(Kernel kernel, const Form& f, Count elements_of_all) {
  kernel.unit = KernelUnit::kSystolic;  // takes no vector lanes
  kernel.memory_bytes = f.out.bytes(elements_of_all) / f.out.chips();
  return kernel;
}

// A cache of `rows` values a token: the token's own come over the edge, the others from memory.
int cache(const Form& f, const char* name, Count heads, Count rows, const std::vector<int>& from) {
  const Count others = f.crosses() ? f.seen : f.seen - 1;
  const Count read = f.out.elements("the cache", {heads, rows, std::max<Count>(others, 0)});
  return f.out.add(held(f.out.unary(f.own(name), {heads, rows, 1, f.seen}, f.out.elements("a token", {heads, rows})), f,
                        others > 0 ? read : 0),
                   from);
}

void project_queries(const Form& f, int input) {
  const Attention& a = f.a;
  if (a.latent && a.latent->q_rank > 0) {
    const Count rank = a.latent->q_rank;
    const int down = f.out.add(f.out.weighted(f.own("Q_DOWN"), {1, rank, f.h, f.queries}), {input});
    const int norm = f.out.add(
        f.out.unary(f.own("Q_NORM"), {1, rank, 1, f.queries}, f.out.elements("the latent queries", {rank, f.queries})),
        {down});
    f.out.add(f.out.weighted(f.own("Q_UP"), {a.heads, a.width, rank, f.queries}), {norm});
    return;
  }
  f.out.add(f.out.weighted(f.own("Q"), {a.heads, a.width, f.h, f.queries}), {input});
}

int queries_of(const Form& f) {
  if (f.at("Q_UP") != kNoNode) return f.at("Q_UP");
  return normed(f, "Q_NORM", "Q");
}

void norm_queries_and_keys(const Form& f, bool keys) {
  if (f.a.qk_norm == QkNorm::kNone || f.a.latent) return;
  const Attention& a = f.a;
  f.out.add(f.out.unary(f.own("Q_NORM"), {a.heads, a.width, 1, f.queries}, f.query), {f.at("Q")});
  const Count made = f.out.decodes() ? f.queries : f.keys;
  if (keys)
    f.out.add(f.out.unary(f.own("K_NORM"), {a.kv_heads, a.width, 1, made},
                          f.out.elements("the keys", {a.kv_heads, a.width, made})),
              {f.at("K")});
}

// Of a whole sequence: keys and values of all tokens.
void project_keys(const Form& f, int input) {
  const Attention& a = f.a;
  if (a.latent) {
    const Latent& l = *a.latent;
    const int down = f.out.add(f.out.weighted("KV_DOWN", {1, l.kv_rank, f.h, f.keys}), {input});
    if (l.rope_width > 0) f.out.add(f.out.weighted("K_ROPE", {1, l.rope_width, f.h, f.keys}), {input});
    const int norm = f.out.add(
        f.out.unary("KV_NORM", {1, l.kv_rank, 1, f.keys}, f.out.elements("the latents", {l.kv_rank, f.keys})), {down});
    f.out.add(f.out.weighted("K_UP", {a.heads, l.nope_width, l.kv_rank, f.keys}), {norm});
    f.out.add(f.out.weighted("V_UP", {a.heads, a.value_width, l.kv_rank, f.keys}), {norm});
    return;
  }
  for (const auto& [name, width] : {std::pair{"K", a.width}, std::pair{"V", a.value_width}}) {
    Kernel kernel = f.out.weighted(f.own(name), {a.kv_heads, width, f.h, f.keys});
    if (f.crosses()) kernel.memory_bytes = kernel.input_bytes;  // the encoder's output is read from memory
    f.out.add(std::move(kernel), {f.crosses() ? kNoNode : input});
  }
}

// What follows both products of attention.
int finish(const Form& f, int weighed, int input) {
  const Attention& a = f.a;
  if (a.gated) {
    const int gate = f.out.add(f.out.weighted("GATE", {a.heads, a.width, f.h, f.queries}), {input});
    weighed =
        f.out.add(f.out.binary("GATE_MUL", {a.heads, a.value_width, 1, f.queries}, f.output, f.query), {weighed, gate});
  }
  return f.out.add(f.out.weighted(f.own("PROJ_GEMM"), {1, f.h, a.output(), f.queries}), {weighed});
}

int softmax(const Form& f, int scores, KernelSpace space) {
  const int made = f.out.add(f.out.unary(f.own("SOFTMAX"), space, f.scores), {scores});
  return f.out.add(f.out.unary(f.own("DropOut_1"), space, f.scores), {made});
}

int on_sequence(const Form& f, int input) {
  const Attention& a = f.a;
  project_queries(f, input);
  project_keys(f, input);
  norm_queries_and_keys(f, true);
  const int query = queries_of(f), key = a.latent ? f.at("K_UP") : normed(f, "K_NORM", "K");
  const int value = a.latent ? f.at("V_UP") : f.at("V");
  const int scores =
      f.out.add(f.out.product(f.first(), {a.heads, f.seen, a.width, f.queries}, f.stated(f.query), f.stated(f.key)),
                {query, key, a.latent ? f.out.at("K_ROPE") : kNoNode});
  const int weights = softmax(f, scores, {a.heads, f.seen, 1, f.queries});
  const int weighed = f.out.add(
      f.out.product(f.second(), {a.heads, a.value_width, f.seen, f.queries}, f.stated(f.value), f.stated(f.scores)),
      {value, weights});
  return finish(f, weighed, input);
}

// One token more, its keys and values joining the cache.
int on_token(const Form& f, int input) {
  const Attention& a = f.a;
  project_queries(f, input);
  if (!f.crosses())
    for (const auto& [name, width] : {std::pair{"K", a.width}, std::pair{"V", a.value_width}})
      f.out.add(f.out.weighted(name, {a.kv_heads, width, f.h, f.queries}), {input});
  norm_queries_and_keys(f, !f.crosses());
  const int keys = cache(f, "K_cache", a.kv_heads, a.width, {f.crosses() ? kNoNode : normed(f, "K_NORM", "K")});
  const int values = cache(f, "V_cache", a.kv_heads, a.value_width, {f.crosses() ? kNoNode : f.at("V")});
  const Count held_keys = f.out.elements("the keys of the context", {a.kv_heads, a.width, f.seen});
  const Count held_values = f.out.elements("the values of the context", {a.kv_heads, a.value_width, f.seen});
  const int scores =
      f.out.add(f.out.product(f.first(), {a.heads, 1, a.width, f.seen}, f.query, held_keys), {queries_of(f), keys});
  const int weights = softmax(f, scores, {a.heads, 1, 1, f.seen});
  const int weighed = f.out.add(f.out.product(f.second(), {a.heads, a.value_width, f.seen, 1}, held_values, f.scores),
                                {weights, values});
  return finish(f, weighed, input);
}

int on_latents(const Form& f, int input) {
  const Attention& a = f.a;
  const Latent& l = *a.latent;
  const Count wide = l.kv_rank + l.rope_width;
  project_queries(f, input);
  const int down = f.out.add(f.out.weighted("KV_DOWN", {1, l.kv_rank, f.h, 1}), {input});
  const int rope = l.rope_width > 0 ? f.out.add(f.out.weighted("K_ROPE", {1, l.rope_width, f.h, 1}), {input}) : kNoNode;
  const int norm = f.out.add(f.out.unary("KV_NORM", {1, l.kv_rank, 1, 1}, l.kv_rank), {down});
  const int absorbed =
      f.out.add(f.out.weighted("Q_ABSORB", {a.heads, l.kv_rank, l.nope_width, 1}, true), {queries_of(f)});
  const int latents = cache(f, "KV_cache", 1, wide, {norm, rope});
  const Count cached = f.out.elements("the latents of the context", {wide, f.seen});
  const int scores = f.out.add(
      f.out.product(f.first(), {a.heads, 1, wide, f.seen}, f.out.elements("the queries", {a.heads, wide}), cached),
      {absorbed, l.rope_width > 0 ? queries_of(f) : kNoNode, latents});
  const int weights = softmax(f, scores, {a.heads, 1, 1, f.seen});
  const int weighed =
      f.out.add(f.out.product(f.second(), {a.heads, l.kv_rank, f.seen, 1}, 0, f.scores), {weights, latents});
  const int value = f.out.add(f.out.weighted("V_EXPAND", {a.heads, a.value_width, l.kv_rank, 1}, true), {weighed});
  return finish(f, value, input);
}

}  // namespace

Count seen_tokens(const Attention& a, Count tokens) {
  if (a.reach == Reach::kAll || a.span >= tokens) return tokens;
  if (a.reach == Reach::kChunk || a.causal) return a.span;
  return std::min(tokens, 2 * (a.span / 2) + 1);  // as many on either side
}

int attention_kernels(LayerContext& layer, const Attention& attention, const std::string& prefix, int input) {
  const Form form(layer, attention, prefix);
  if (!layer.out.decodes()) return on_sequence(form, input);
  return attention.latent ? on_latents(form, input) : on_token(form, input);
}

std::vector<int> attention_gradients(LayerContext& layer, const Attention& a, const std::string& prefix, int gradient,
                                     int input) {
  const Form f(layer, a, prefix);
  LayerWriter& out = layer.out;
  const Count h = layer.width, heads = a.heads, groups = a.kv_heads, query = a.query(), key = a.key();
  // Queries that meet one key, of all heads that share it.
  const Count met = out.elements("the queries of a group", {heads / groups, f.crosses() ? f.queries : f.seen});
  std::vector<LayerContext::Update> updates;
  const auto update = [&](const std::string& of, Count in, Count columns, Count tokens, int from, int activation) {
    layer.updates.push_back({of, 1, in, columns, tokens, from, activation});
  };

  const int projected = out.add(out.weighted(f.own("PROJ_GEMM_bwd"), {1, a.output(), h, f.queries}), {gradient});
  const int weighed = out.at(f.second());
  update(f.own("PROJ_GEMM"), a.output(), h, f.queries, gradient, a.gated ? out.at("GATE_MUL") : weighed);
  int at = projected, gate = kNoNode;
  std::vector<int> gradients;
  if (a.gated) {
    at = out.add(out.binary("GATE_MUL_bwd1", {heads, a.value_width, 1, f.queries}, f.output, f.query),
                 {projected, out.at("GATE")});
    gate =
        out.add(out.binary("GATE_MUL_bwd2", {heads, a.width, 1, f.queries}, f.output, f.output), {projected, weighed});
    gradients.push_back(out.add(out.weighted("GATE_bwd", {1, h, query, f.queries}), {gate}));
    update("GATE", h, query, f.queries, gate, input);
  }
  const bool latent = a.latent.has_value();
  const int of_scores = out.add(out.product(f.second() + "_bwd1", {heads, f.seen, a.value_width, f.queries},
                                            f.stated(f.output), f.stated(f.value)),
                                {at, latent ? out.at("V_UP") : f.at("V")});
  const int of_values = out.add(
      out.product(f.second() + "_bwd2", {groups, a.value_width, met, f.keys}, f.stated(f.output), f.stated(f.scores)),
      {at, f.at("DropOut_1")});
  int value = kNoNode;
  if (latent)
    value = out.add(out.weighted("V_UP_bwd", {1, a.latent->kv_rank, a.value(), f.keys}), {});
  else
    value = out.add(out.weighted(f.own("V_bwd"), {1, h, a.value(), f.keys}), {});
  const KernelSpace rows{heads, f.seen, 1, f.queries};
  const int dropped = out.add(out.unary(f.own("DropOut_1_bwd"), rows, f.scores), {of_scores});
  out.connect(of_values, value);
  const int soft = out.add(out.unary(f.own("SOFTMAX_bwd"), rows, f.scores), {dropped});
  const int of_queries = out.add(
      out.product(f.first() + "_bwd1", {heads, a.width, f.seen, f.queries}, f.stated(f.scores), f.stated(f.key)), {});
  const int of_keys = out.add(
      out.product(f.first() + "_bwd2", {groups, a.width, met, f.keys}, f.stated(f.scores), f.stated(f.query)), {});
  out.connect(soft, of_queries);
  out.connect(soft, of_keys);
  out.connect(latent ? out.at("K_UP") : normed(f, "K_NORM", "K"), of_queries);
  if (latent) out.connect(out.at("K_ROPE"), of_queries);
  out.connect(queries_of(f), of_keys);

  if (latent) {
    const Latent& l = *a.latent;
    const Count nope = heads * l.nope_width;
    update("V_UP", l.kv_rank, a.value(), f.keys, of_values, out.at("KV_NORM"));
    if (l.q_rank > 0) {
      const int up = out.add(out.weighted("Q_UP_bwd", {1, l.q_rank, query, f.queries}), {of_queries});
      const int norm = out.add(out.unary("Q_NORM_bwd", {1, l.q_rank, 1, f.queries},
                                         out.elements("the latent queries", {l.q_rank, f.queries})),
                               {up});
      gradients.push_back(out.add(out.weighted("Q_DOWN_bwd", {1, h, l.q_rank, f.queries}), {norm}));
      update("Q_UP", l.q_rank, query, f.queries, of_queries, out.at("Q_NORM"));
      update("Q_DOWN", h, l.q_rank, f.queries, norm, input);
    } else {
      gradients.push_back(out.add(out.weighted("Q_bwd", {1, h, query, f.queries}), {of_queries}));
      update("Q", h, query, f.queries, of_queries, input);
    }
    const int up = out.add(out.weighted("K_UP_bwd", {1, l.kv_rank, nope, f.keys}), {of_keys});
    const int norm =
        out.add(out.unary("KV_NORM_bwd", {1, l.kv_rank, 1, f.keys}, out.elements("the latents", {l.kv_rank, f.keys})),
                {value, up});
    gradients.push_back(out.add(out.weighted("KV_DOWN_bwd", {1, h, l.kv_rank, f.keys}), {norm}));
    update("K_UP", l.kv_rank, nope, f.keys, of_keys, out.at("KV_NORM"));
    update("KV_DOWN", h, l.kv_rank, f.keys, norm, input);
    if (l.rope_width > 0) {
      gradients.push_back(out.add(out.weighted("K_ROPE_bwd", {1, h, l.rope_width, f.keys}), {of_keys}));
      update("K_ROPE", h, l.rope_width, f.keys, of_keys, input);
    }
    return gradients;
  }
  int query_gradient = of_queries, key_gradient = of_keys;
  if (a.qk_norm != QkNorm::kNone) {
    query_gradient = out.add(out.unary(f.own("Q_NORM_bwd"), {heads, a.width, 1, f.queries}, f.query), {of_queries});
    key_gradient = out.add(out.unary(f.own("K_NORM_bwd"), {groups, a.width, 1, f.keys}, f.key), {of_keys});
  }
  const bool even = h % heads == 0;  // DFModel's shape; else the rows as one
  const Count parts = even ? heads : 1;
  const int back_queries =
      out.add(out.weighted(f.own("Q_bwd"), {parts, h / parts, query, f.queries}), {query_gradient});
  const int back_keys = out.add(out.weighted(f.own("K_bwd"), {parts, h / parts, key, f.keys}), {key_gradient});
  const int source = f.crosses() ? kNoNode : input;
  update(f.own("V"), h, a.value(), f.keys, of_values, source);
  update(f.own("K"), h, key, f.keys, key_gradient, source);
  update(f.own("Q"), h, query, f.queries, query_gradient, input);
  // Those of keys and values of cross attention belong to the encoder.
  if (!f.crosses()) gradients.insert(gradients.begin(), value);
  gradients.push_back(back_queries);
  if (!f.crosses()) gradients.push_back(back_keys);
  return gradients;
}

}  // namespace orrery::workload
