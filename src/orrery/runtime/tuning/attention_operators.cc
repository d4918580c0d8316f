// Attention: keys, queries and values by one contraction where they are of one input and as many (algebraic fusion; a
// stack of other rows where there are fewer keys), scores, softmax, weighted values, and the map back to the width.
#include "orrery/runtime/tuning/operator_writer.h"

namespace orrery::tuning {
namespace {

// Letters and tensors of one attention.
struct Attention {
  const layer::Shape& shape;
  const SubLayer& sub;
  std::string heads, key_heads, keys;  // letters: of queries' heads, of keys' heads, of positions of keys
  std::string rows;                    // stacked queries, keys and values

  Attention(const layer::Shape& of, const SubLayer& names) : shape(of), sub(names) {
    const bool shared = shape.kv_heads() != shape.heads;
    heads = shared ? "gt" : "h";
    key_heads = shared ? "g" : "h";
    keys = cross() ? "l" : "k";
    rows = shared ? "r" : "qph";
  }
  bool cross() const { return !sub.prefix.empty(); }
  std::string name(const char* tensor) const { return sub.prefix + tensor; }
  std::string op(const char* name_of) const { return sub.word + name_of; }
  std::string queries_dims() const { return "p" + heads + "bj"; }
  std::string keys_dims() const { return "p" + key_heads + "b" + keys; }
  std::string scores_dims() const { return heads + "bj" + keys; }
  std::string out_dims() const { return "p" + heads + "i"; }
  bool turns() const { return shape.rotary != layer::Rotary::kNone && !cross(); }
};

struct Three {
  std::string queries, keys, values;
};

Three made(OperatorWriter& to, const Attention& a, const char* queries, const char* keys, const char* values) {
  return {to.tensor(a.name(queries), a.queries_dims()), to.tensor(a.name(keys), a.keys_dims()),
          to.tensor(a.name(values), a.keys_dims())};
}

Three biases(OperatorWriter& to, const Attention& a) {
  return {to.weight(a.name("BQ"), "p" + a.heads), to.weight(a.name("BK"), "p" + a.key_heads),
          to.weight(a.name("BV"), "p" + a.key_heads)};
}

// From the input to queries, keys and values, without biases and turns.
Three project(OperatorWriter& to, const Attention& a, const std::string& input) {
  const Three raw = made(to, a, "WQQ", "WKK", "WVV");
  if (a.cross()) {
    const std::string heads = a.key_heads;
    to.contraction(a.op("Q"), "p" + a.heads + "i,ibj->" + a.queries_dims(),
                   to.weight(a.name("WQ"), "p" + a.heads + "i"), input, raw.queries);
    to.contraction(a.op("KV-fused"), "vp" + heads + "e,ebl->vp" + heads + "bl",
                   to.weight(a.name("WKV"), "vp" + heads + "e"), to.tensor("MEMORY", "ebl", Role::kInput),
                   a.name("WKKWVV"));
    to.parts(a.op("KV-split"), {a.name("WKKWVV")}, {raw.keys, raw.values});
    return raw;
  }
  to.contraction("QKV-fused", a.rows + "i,ibj->" + a.rows + "bj", to.weight("WKQV", a.rows + "i"), input, "WKKWQQWVV");
  to.parts("QKV-split", {"WKKWQQWVV"}, {raw.queries, raw.keys, raw.values});
  return raw;
}

Three biased(OperatorWriter& to, const Attention& a, const Three& raw) {
  if (!a.shape.qkv_bias) return raw;
  const Three with = a.turns() ? made(to, a, "QQ_biased", "KK_biased", "VV") : made(to, a, "QQ", "KK", "VV");
  const Three b = biases(to, a);
  if (a.cross()) {
    to.plain(a.op("query bias"), a.queries_dims(), 1, {raw.queries, b.queries}, {with.queries});
    to.plain(a.op("key and value bias"), "v" + a.keys_dims(), 1, {raw.keys, b.keys, raw.values, b.values},
             {with.keys, with.values});
  } else {
    to.plain("input bias", a.rows + "bj", 1, {raw.keys, b.keys, raw.values, b.values, raw.queries, b.queries},
             {with.keys, with.values, with.queries});
  }
  return with;
}

// Rotary positions: two products and a sum an element.
Three turned(OperatorWriter& to, const Attention& a, const Three& from) {
  if (!a.turns()) return from;
  const Three with = made(to, a, "QQ", "KK", "VV");
  to.plain("rotary", "zbj", 3, {from.queries, from.keys}, {with.queries, with.keys});
  return {with.queries, with.keys, from.values};
}

Three prepared(const Attention& a) {
  const bool same = !a.shape.qkv_bias;
  const std::string q = a.turns() || !same ? "QQ" : "WQQ", k = a.turns() || !same ? "KK" : "WKK";
  return {a.name(q.c_str()), a.name(k.c_str()), a.name(same ? "WVV" : "VV")};
}

}  // namespace

void attention_forward(OperatorWriter& to, const SubLayer& sub, const std::string& input) {
  const Attention a(to.shape(), sub);
  const Three x = turned(to, a, biased(to, a, project(to, a, input)));
  const std::string scores = a.scores_dims();
  to.contraction(a.op("QKT"), a.keys_dims() + "," + a.queries_dims() + "->" + scores, x.keys, x.queries,
                 a.name("BETA"));
  to.plain(a.op("scaled softmax"), scores, 4, {a.name("BETA")}, {to.tensor(a.name("ALPHA"), scores)}, a.keys).what =
      Class::kNormalisation;
  std::string weights = a.name("ALPHA");
  if (to.drops()) {
    to.plain(a.op("attn dropout"), scores, 1, {weights},
             {to.tensor(a.name("ATTN_DROP"), scores), to.tensor(a.name("ATTN_DROP_MASK"), scores)});
    weights = a.name("ATTN_DROP");
  }
  to.contraction(a.op("gamma"), a.keys_dims() + "," + scores + "->" + a.queries_dims(), x.values, weights,
                 a.name("GAMMA"));
  to.contraction(a.op("out"), a.out_dims() + "," + a.queries_dims() + "->bij", to.weight(a.name("WO"), a.out_dims()),
                 a.name("GAMMA"), sub.mapped);
}

std::string attention_backward(OperatorWriter& to, const SubLayer& sub, const std::string& input,
                               const std::string& gradient) {
  const Attention a(to.shape(), sub);
  const Three x = prepared(a);
  const std::string scores = a.scores_dims(), q = a.queries_dims(), k = a.keys_dims();
  to.contraction(a.op("dXout"), a.out_dims() + ",bij->" + q, a.name("WO"), gradient, a.name("DGAMMA"));
  to.contraction(a.op("dWout"), q + ",bij->" + a.out_dims(), a.name("GAMMA"), gradient, to.gradient(a.name("WO")));
  to.contraction(a.op("dX1gamma"), k + "," + q + "->" + scores, x.values, a.name("DGAMMA"), a.name("DATTN_DROP"));
  to.contraction(a.op("dX2gamma"), q + "," + scores + "->" + k, a.name("DGAMMA"),
                 a.name(to.drops() ? "ATTN_DROP" : "ALPHA"), a.name("DVV"));
  std::string of_weights = a.name("DATTN_DROP");
  if (to.drops()) {
    to.plain(a.op("attn dropout dX"), scores, 1, {of_weights, a.name("ATTN_DROP_MASK")},
             {to.tensor(a.name("DALPHA"), scores)});
    of_weights = a.name("DALPHA");
  }
  to.plain(a.op("scaled softmax dX"), scores, 4, {of_weights, a.name("ALPHA")}, {to.tensor(a.name("DBETA"), scores)},
           a.keys)
      .what = Class::kNormalisation;
  Three d{a.name(a.turns() ? "DQQ_turned" : "DQQ"), a.name(a.turns() ? "DKK_turned" : "DKK"), a.name("DVV")};
  to.contraction(a.op("dX1QKT"), k + "," + scores + "->" + q, x.keys, a.name("DBETA"), d.queries);
  to.contraction(a.op("dX2QKT"), q + "," + scores + "->" + k, x.queries, a.name("DBETA"), d.keys);
  if (a.turns()) {
    const Three with = made(to, a, "DQQ", "DKK", "DVV");
    to.plain("rotary dX", "zbj", 3, {d.queries, d.keys}, {with.queries, with.keys});
    d = with;
  }
  const auto sum = [&](const char* name, const std::string& space, const Names& reads, const Names& weights) {
    Names sums;
    for (const std::string& one : weights) sums.push_back(to.gradient(one));
    to.plain(a.op(name), space, 1, reads, sums, "bj");
  };
  if (!a.cross()) {
    to.parts("QKV-merge", {d.queries, d.keys, d.values}, {to.tensor("DKKQQVV", a.rows + "bj")});
    to.contraction("dXQKV-fused", a.rows + "i," + a.rows + "bj->ibj", "WKQV", "DKKQQVV", "DXATT");
    to.contraction("dWQKV-fused", "ibj," + a.rows + "bj->" + a.rows + "i", input, "DKKQQVV", to.gradient("WKQV"));
    if (a.shape.qkv_bias) {
      const Three b = biases(to, a);
      sum("input bias dW", a.rows + "bj", {d.keys, d.values, d.queries}, {b.keys, b.values, b.queries});
    }
    return "DXATT";
  }
  const std::string heads = a.key_heads;
  to.contraction(a.op("dXQ"), "p" + a.heads + "i," + q + "->ibj", a.name("WQ"), d.queries, a.name("DXATT"));
  to.contraction(a.op("dWQ"), "ibj," + q + "->p" + a.heads + "i", input, d.queries, to.gradient(a.name("WQ")));
  to.parts(a.op("KV-merge"), {d.keys, d.values}, {to.tensor(a.name("DKKVV"), "vp" + heads + "bl")});
  to.contraction(a.op("dXKV-fused"), "vp" + heads + "e,vp" + heads + "bl->ebl", a.name("WKV"), a.name("DKKVV"),
                 to.tensor("DMEMORY", "ebl", Role::kOutput));
  to.contraction(a.op("dWKV-fused"), "ebl,vp" + heads + "bl->vp" + heads + "e", "MEMORY", a.name("DKKVV"),
                 to.gradient(a.name("WKV")));
  if (a.shape.qkv_bias) {
    const Three b = biases(to, a);
    sum("query bias dW", q, {d.queries}, {b.queries});
    Names sums{to.gradient(b.keys), to.gradient(b.values)};
    to.plain(a.op("key and value bias dW"), "v" + k, 1, {d.keys, d.values}, sums, "bl");
  }
  return a.name("DXATT");
}

}  // namespace orrery::tuning
