// A rule is one of four: `8`, always that; `KEY`, a key that a file must have; `{absent: 8}` and `{key: KEY, absent:
// 8}`, what the usual or the named key holds, 8 where a file has none. Of several keys the first one that is there
// counts, and two that disagree are found. Cost: linear in the document and in the layers; 0.1 ms for a document of 30
// lines.
#include "orrery/formats/huggingface/families/described_family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "orrery/base/text/text.h"
#include "orrery/formats/huggingface/families/experts.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::huggingface {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::QkNorm;
using Rule = yaml::Node;

// The document's rules, applied to the keys of one config.json.
class Described {
 public:
  Described(const Rule& document, Reading& r) : document_(document), r_(r) {}

  void read() {
    hidden_ = sized(r_, key_of(at("", "hidden"), {"hidden_size"}));
    layers_key_ = key_of(at("", "layers"), {"num_hidden_layers"});
    layers_ = layers_of(r_, layers_key_);
    read_block();
    Attention far = attend();
    Attention near = far;
    const std::function<bool(Count)> windowed = window(near);
    std::vector<Block> kinds(4, block_);
    kinds[0].mixer = kinds[1].mixer = far;
    kinds[2].mixer = kinds[3].mixer = near;
    std::function<bool(Count)> mixing = [](Count) { return false; };
    if (at("mixture") != nullptr) {
      kinds[1].feed_forward = kinds[3].feed_forward = experts_of();
      mixing = mixed_layers();
      if (fixed("mixture", "norm_behind", false)) kinds[1].norms = kinds[3].norms = block_.norms + 1;
    }
    if (at("mixture") == nullptr || at("mixture", "layers") != nullptr || at("mixture", "listed") != nullptr ||
        at("network", "inner") != nullptr)
      kinds[0].feed_forward = kinds[2].feed_forward =
          FeedForward{size("network", "inner", {"intermediate_size"}, {}), fixed("network", "gated", true),
                      flag("network", "bias", "mlp_bias")};
    if (const auto limit = number("attention", "softcap"); limit && *limit > 0)
      for (Block& kind : kinds) std::get<Attention>(kind.mixer).softcap = true;
    workload::Stack stack = decoder(hidden_, block_.norm);
    add_layers(stack, layers_, kinds, [&](Count layer) { return (windowed(layer) ? 2 : 0) + (mixing(layer) ? 1 : 0); });
    positions(r_, stack, key_of(at("", "positions"), {"max_position_embeddings"}), false);
    vocabulary(r_, hidden_, key_of(at("", "vocab"), {"vocab_size"}));
    logits(r_, fixed("logits", "tied", false), flag("logits", "bias", ""));
    r_.model.stacks.push_back(std::move(stack));
    const Rule* ahead = at("", "predicted_ahead");
    const bool alike = ahead != nullptr && ahead->scalar == "alike";
    if (alike || fixed("", "predicted_ahead", false)) r_.model.predicted_ahead = predicted_ahead(r_);
    r_.model.ahead.known = alike;
    know();
  }

 private:
  const Rule* at(const char* section, const char* field = nullptr) const {
    const Rule* node = *section == 0 ? &document_ : document_.find(section);
    return node == nullptr || field == nullptr ? node : node->find(field);
  }

  void bad(const Rule& node, std::string what, std::string way = {}) {
    wrong_family(r_.keys.found(), node.where, std::move(what), std::move(way));
  }

  // The keys of a rule: those that it names, else the usual ones.
  std::string_view key_of(const Rule* rule, const std::vector<std::string_view>& usual) {
    std::vector<std::string_view> keys;
    const Rule* named = rule == nullptr ? nullptr : rule->is_map() ? rule->find("key") : rule;
    if (named != nullptr && named->is_scalar()) keys.push_back(named->scalar);
    if (named != nullptr)
      for (const Rule& one : named->items) keys.push_back(one.scalar);
    if (keys.empty()) keys = usual;
    return keys.size() == 1 ? keys.front() : r_.keys.spelled(keys);
  }

  Count in_range(const Rule& rule, Count value) {
    if (value >= 0 && value <= kLargestSize) return value;
    bad(rule, fmt::format("a size is 0 to {}, but this is {}", kLargestSize, value));
    return 1;
  }

  static bool is_key(std::string_view text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
  }

  std::optional<Count> absent_of(const Rule* rule) {
    const Rule* absent = rule != nullptr && rule->is_map() ? rule->find("absent") : nullptr;
    if (absent == nullptr) return std::nullopt;
    const auto value = base::parse_number<Count>(absent->scalar);
    if (!value && is_key(absent->scalar)) return sized(r_, absent->scalar);
    if (!value) bad(*absent, "`absent` is a whole number, or a key");
    return in_range(*absent, value.value_or(0));
  }

  enum class Least { kZero, kOne, kNull };  // of a value that is there; kNull: 1, and null is 0
  // `absent`: where there is no rule, or none of absence; nothing: the key is required.
  Count size(const char* section, const char* field, const std::vector<std::string_view>& usual,
             std::optional<Count> absent, Least least = Least::kOne) {
    const Rule* rule = at(section, field);
    if (rule != nullptr && rule->is_scalar())
      if (const auto always = base::parse_number<Count>(rule->scalar)) return in_range(*rule, *always);
    const std::string_view key = key_of(rule, usual);
    if (rule != nullptr && !rule->is_map()) absent = std::nullopt;
    if (const auto said = absent_of(rule)) absent = said;
    if (!absent) return sized(r_, key);
    if (least == Least::kZero) return r_.keys.count(key, *absent);
    return least == Least::kNull ? r_.keys.size(key, *absent, 0) : r_.keys.size(key, *absent);
  }

  std::optional<double> number(const char* section, const char* field) {
    const Rule* rule = at(section, field);
    if (rule == nullptr) return std::nullopt;
    return r_.keys.number(key_of(rule, {field}), static_cast<double>(absent_of(rule).value_or(0)));
  }

  // `true`, `false`, `KEY` or `{key: KEY, absent: true}`.
  bool flag(const char* section, const char* field, std::string_view usual) {
    const Rule* rule = at(section, field);
    if (rule == nullptr) return false;
    if (rule->is_scalar() && (rule->scalar == "true" || rule->scalar == "false")) return rule->scalar == "true";
    const std::string_view key = key_of(rule, {usual});
    const Rule* absent = rule->is_map() ? rule->find("absent") : nullptr;
    if (absent != nullptr && absent->scalar != "true" && absent->scalar != "false")
      bad(*absent, "`absent` of a choice is true or false");
    if (key.empty()) {
      bad(*rule, fmt::format("`{}` names no key", field), "`KEY`, `{key: KEY, absent: true}`, true or false");
      return false;
    }
    return r_.keys.flag(key, absent != nullptr && absent->scalar == "true");
  }

  bool fixed(const char* section, const char* field, bool absent) {
    const Rule* rule = at(section, field);
    if (rule == nullptr) return absent;
    if (rule->scalar != "true" && rule->scalar != "false") bad(*rule, fmt::format("`{}` is true or false", field));
    return rule->scalar == "true";
  }

  // One of the names; the first where the document says nothing.
  std::size_t choice(const char* section, const char* field, const std::vector<std::string>& names) {
    const Rule* rule = at(section, field);
    if (rule == nullptr) return 0;
    const auto found = std::find(names.begin(), names.end(), rule->scalar);
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    bad(*rule, fmt::format("`{}` cannot be `{}`", field, rule->scalar),
        fmt::format("it is {}", fmt::join(names, ", ")));
    return 0;
  }

  void read_block() {
    switch (choice("", "norm", {"rms", "layer", "layer_without_bias", "plain"})) {
      case 0:
        block_.norm = rms_norm();
        break;
      case 1:
        block_.norm = layer_norm();
        break;
      case 2:
        block_.norm = layer_norm(false);
        break;
      default:
        block_.norm = {workload::NormKind::kLayer, false, false};
    }
    const std::size_t where = choice("", "norms", {"before", "behind", "around", "shared", "side_by_side"});
    const bool shared = where == 3 || flag("", "norms_shared", "");
    block_.norms = where == 2 || flag("", "norms_around", "") ? 4 : shared ? 1 : 2;
    block_.post = where == 1;
    block_.parallel = where >= 3 || shared;
    block_.extra_parameters = at("", "layer_parameters") == nullptr ? 0 : size("", "layer_parameters", {}, 0);
  }

  Attention attend() {
    const std::string_view heads = key_of(at("attention", "heads"), {"num_attention_heads"});
    AttentionKeys named;
    named.heads = heads;
    if (at("attention", "latent") != nullptr) return with_details(latents(heads));
    const Rule* kv = at("attention", "kv_heads");
    const Rule* width = at("attention", "width");
    const Count key_heads = size("attention", "kv_heads", {named.kv_heads}, 0, Least::kNull);
    const Count each = size("attention", "width", {named.width}, 0, Least::kNull);
    named.kv_heads = key_of(kv, {named.kv_heads});
    named.width = key_of(width, {named.width});
    Attention a = attention_of(r_, hidden_, sized(r_, heads), key_heads, each, named);
    if (at("attention", "value_width") != nullptr) a.value_width = size("attention", "value_width", {"v_head_dim"}, {});
    return with_details(a);
  }

  // Keys and values of all heads come out of one latent.
  Attention latents(std::string_view heads) {
    Attention a = attention(r_, hidden_, {heads, "", "", 0, 1});
    r_.keys.know({"num_key_value_heads", "head_dim"});  // the latents are expanded for every head
    if (at("attention", "value_width") != nullptr) {
      a.value_width = size("attention", "value_width", {"v_head_dim"}, {}, Least::kNull);
      if (a.value_width == 0) a.value_width = hidden_ / std::max<Count>(1, a.heads);
    }
    make_latent(r_, a, absent_of(at("attention", "latent")).value_or(0));
    return a;
  }

  Attention with_details(Attention a) {
    bias_all(a, flag("attention", "bias", "attention_bias"));
    if (at("attention", "output_bias") != nullptr) a.output_bias = flag("attention", "output_bias", "");
    constexpr QkNorm kNorms[] = {QkNorm::kNone, QkNorm::kHead, QkNorm::kEachHead, QkNorm::kAll};
    a.qk_norm = kNorms[choice("attention", "qk_norm", {"none", "head", "each_head", "all"})];
    if (at("attention", "qk_norm_if") != nullptr && !flag("attention", "qk_norm_if", "use_qk_norm"))
      a.qk_norm = QkNorm::kNone;
    a.qk_norm_bias = fixed("attention", "qk_norm_bias", false) && a.qk_norm != QkNorm::kNone;
    if (flag("attention", "gate", "")) gate_without_bias(a);
    a.sinks = flag("attention", "sinks", "");
    return a;
  }

  // Has `near` reach as far as the window; which layers do.
  std::function<bool(Count)> window(Attention& near) {
    const auto none = [](Count) { return false; };
    if (at("window") == nullptr) return none;
    const Rule* used = at("window", "if");
    const Rule* absent = used != nullptr && used->is_map() ? used->find("absent") : nullptr;
    const Count span = huggingface::window(r_, absent_of(at("window", "size")).value_or(0), used != nullptr,
                                           absent != nullptr && absent->scalar == "true");
    reach_window(near, span);
    if (at("window", "layer_types") != nullptr &&
        choice("window", "layer_types", {"read", "passed", "required"}) == 1) {
      pass_layer_types(r_, {span > 0 ? "sliding_attention" : "full_attention"});
      return [span](Count) { return span > 0; };
    }
    if (span > 0 && choice("window", "layer_types", {"read", "passed", "required"}) == 2) require_layer_types();
    LayerRule rule = [](Count) { return "full_attention"; };
    const Rule* every = at("window", "every");
    if (every != nullptr && r_.keys.given("layer_types")) {
      const std::string_view key = key_of(every, {"sliding_window_pattern"});  // "LLLG" of EXAONE says the same
      r_.keys.know_all(std::span(&key, 1));
    } else if (every != nullptr) {
      const Count period = std::max<Count>(1, size("window", "every", {"sliding_window_pattern"}, {}));
      const Count last = choice("window", "full", {"last", "first"}) == 0 ? 1 : 0;
      rule = [=](Count layer) { return (layer + last) % period != 0 ? "sliding_attention" : "full_attention"; };
    } else if (at("window", "from") != nullptr) {
      const Count first = size("window", "from", {"max_window_layers"}, {}, Least::kZero);
      rule = [=](Count layer) { return span > 0 && layer >= first ? "sliding_attention" : "full_attention"; };
    } else if (at("window", "layer_types") == nullptr) {
      return [span](Count) { return span > 0; };
    }
    const std::vector<std::string> types =
        layer_types(r_, layers_key_, layers_, rule, {"full_attention", "sliding_attention"});
    return [span, types](Count layer) {
      return span > 0 && types[static_cast<std::size_t>(layer)] == "sliding_attention";
    };
  }

  // Of a class whose own rule no document can say.
  void require_layer_types() {
    if (r_.keys.given("layer_types")) return;
    r_.keys.found()
        .error("O0902", "`layer_types` is missing: it says which layers see all tokens", r_.keys.where(""))
        .hint(
            "a list of \"full_attention\" and \"sliding_attention\", an item for each layer; files that "
            "`save_pretrained` wrote have it");
  }

  Experts experts_of() {
    const bool bias = flag("mixture", "bias", "mlp_bias");
    const Count inner = size("mixture", "inner", {"moe_intermediate_size"}, {});
    const Rule *count = at("mixture", "experts"), *per_token = at("mixture", "per_token");
    Experts e = experts(r_, key_of(count, {"num_experts", "num_local_experts"}),
                        key_of(per_token, {"num_experts_per_tok"}), absent_of(count).value_or(0),
                        absent_of(per_token).value_or(0), {inner, fixed("network", "gated", true), bias});
    if (at("mixture", "shared") != nullptr) e.shared = size("mixture", "shared", {"n_shared_experts"}, 0, Least::kZero);
    e.shared_expert = {e.shared * inner, e.expert.gated, flag("mixture", "shared_bias", "mlp_bias")};
    if (at("mixture", "shared_inner") != nullptr) {
      e.shared_expert.inner = size("mixture", "shared_inner", {"shared_expert_intermediate_size"}, 0, Least::kZero);
      if (e.shared == 0) e.shared = e.shared_expert.inner > 0 ? 1 : 0;
    }
    e.shared_gate = fixed("mixture", "shared_gate", false);
    e.router_bias = flag("mixture", "router_bias", "");
    if (fixed("mixture", "groups", false)) limit_groups(r_, e, 1, 1);
    return e;
  }

  std::function<bool(Count)> mixed_layers() {
    const std::size_t rule = choice("mixture", "layers", {"all", "after_first", "steps"});
    std::function<bool(Count)> is_mixture = [](Count) { return true; };
    if (rule == 1) {
      const Rule* dense = at("mixture", "dense_layers");
      is_mixture = after_first(r_, layers_, absent_of(dense).value_or(0), key_of(dense, {"first_k_dense_replace"}));
    } else if (rule == 2) {
      is_mixture = sparse_steps(r_, layers_);
    }
    if (const Rule* marks = at("mixture", "marked"); marks != nullptr) {
      const std::string_view key = key_of(marks, {""});
      if (key.empty()) bad(*marks, "`marked` is the key that marks mixtures");
      is_mixture = marked_layers(r_.keys, key, layers_, is_mixture);
    }
    return fixed("mixture", "listed", false) ? mixture_layers(r_, layers_, is_mixture) : is_mixture;
  }

  void know() {
    const Rule* known = at("", "known");
    if (known == nullptr) return;
    if (!known->is_sequence()) bad(*known, "`known` is a list of keys");
    for (const Rule& key : known->items) {
      const std::string_view name = key.scalar;
      r_.keys.know_all(std::span(&name, 1));
    }
  }

  const Rule& document_;
  Reading& r_;
  std::string_view layers_key_;
  Count hidden_ = 0, layers_ = 0;
  Block block_;
};

}  // namespace

void read_described(const Family& family, Reading& r) {
  Described(*family.document, r).read();
}

}  // namespace orrery::formats::huggingface
