// A transformer block, operator by operator.
//
// With x the residual stream of L = batch * seq columns of H elements, h query heads of width a,
// g key/value heads, and feed-forward width F, one block of an encoder or decoder (Vaswani et al.,
// "Attention is all you need", 2017, section 3) is
//
//   operator    E (reduced)   D (produced)     L (columns)   instances
//   KQV         H             (h + 2g) a       batch seq     1          all three projections side by side
//   KTQ         a             seq              seq           h batch    scores of one head
//   softmax     seq           2 sweeps         seq           h batch    sum of exponentials; scale
//   VScores     seq           a                seq           h batch    values weighted by scores
//   Out         h a           H                batch seq     1
//   layernorm   H             3 sweeps         batch seq     2          mean; variance; scale and shift
//   FF1         H             F (2F if gated)  batch seq     1          gate and up projections side by side
//   FF2         F             H                batch seq     1
//
// The names and the split are those of Timeloop-Experiments, so that results compare.
//
// Grouped-query attention (Ainslie et al., "GQA", 2023) changes KQV alone: keys and values are narrower. Each
// query head still multiplies its own queries with (shared) keys, so KTQ and VScores keep h
// instances of the same shape; that heads of a group could share a fetch of K is a matter of fusing
// operators, not of the operators themselves.
//
// RMSNorm (Zhang and Sennrich, 2019) subtracts no mean: 2 sweeps, sum of squares and scale.
//
// The causal mask of decoders is not exploited: KTQ and VScores are the full rectangles, as the chips
// modelled here compute them. A block's multiply-accumulates, with L = batch seq, are therefore
//   L H (h + 2g) a  +  2 h a batch seq^2  +  L h a H  +  (2 or 3) L H F
// plus the sweeps of the normalisations: 2 h batch seq^2 + 2 * (3 or 2) L H.
#include "orrery/workload/transformer.h"

#include <fmt/format.h>

#include <utility>

namespace orrery::workload {
namespace {

using base::Count;

base::Location place_of(const TransformerConfig& config, const char* field) {
  const auto exact = config.places.find(field);
  if (exact != config.places.end()) return exact->second;
  const auto whole = config.places.find("");
  return whole != config.places.end() ? whole->second : base::Location{};
}

void demand_positive(const TransformerConfig& config, const char* field, Count value, const char* meaning,
                     base::Diagnostics& found) {
  if (value > 0) return;
  found
      .error("O0910", fmt::format("{} must be positive, but `{}` is {}", meaning, field, value),
             place_of(config, field))
      .label("at least 1");
}

// Multiplies; an overflow is reported once, with the product's name.
class Products {
 public:
  Products(const TransformerConfig& config, base::Diagnostics& found) : config_(config), found_(found) {}

  Count operator()(const char* what, std::initializer_list<std::pair<const char*, Count>> factors) {
    Count product = 1;
    std::string arithmetic;
    bool fits = true;
    for (const auto& [name, value] : factors) {
      arithmetic += fmt::format("{}{} ({})", arithmetic.empty() ? "" : " x ", value, name);
      fits = fits && !__builtin_mul_overflow(product, value, &product);
    }
    if (fits) return product;
    found_
        .error("O0914", fmt::format("{} of `{}` cannot be counted in 64 bits", what, config_.name),
               place_of(config_, ""))
        .note(arithmetic + " exceeds 9223372036854775807");
    return 1;
  }

 private:
  const TransformerConfig& config_;
  base::Diagnostics& found_;
};

}  // namespace

TransformerConfig complete(TransformerConfig config, base::Diagnostics& found) {
  demand_positive(config, "hidden", config.hidden, "the model's width", found);
  demand_positive(config, "layers", config.layers, "the number of blocks", found);
  demand_positive(config, "heads", config.heads, "the number of attention heads", found);
  demand_positive(config, "feed_forward", config.feed_forward, "the feed-forward width", found);
  if (config.kv_heads < 0) demand_positive(config, "kv_heads", config.kv_heads, "the number of key/value heads", found);
  if (config.head_dim < 0) demand_positive(config, "head_dim", config.head_dim, "the width of a head", found);

  if (config.kv_heads == 0) config.kv_heads = config.heads;
  if (config.heads > 0 && config.kv_heads > 0 && config.heads % config.kv_heads != 0)
    found.error("O0912", "the key/value heads do not divide the query heads", place_of(config, "kv_heads"))
        .label(fmt::format("{} key/value heads", config.kv_heads))
        .also(place_of(config, "heads"), fmt::format("{} query heads", config.heads))
        .note(fmt::format("{} / {} leaves {}: each key/value head serves the same number of query heads", config.heads,
                          config.kv_heads, config.heads % config.kv_heads));

  if (config.head_dim == 0 && config.hidden > 0 && config.heads > 0) {
    if (config.hidden % config.heads != 0)
      found.error("O0911", "the heads do not divide the model's width", place_of(config, "heads"))
          .label(fmt::format("{} heads", config.heads))
          .also(place_of(config, "hidden"), fmt::format("width {}", config.hidden))
          .note(fmt::format("{} / {} leaves {}", config.hidden, config.heads, config.hidden % config.heads))
          .hint("give the width of a head (`head_dim`) where it is not the model's width divided by the heads");
    config.head_dim = config.hidden / config.heads;
  }
  return config;
}

void refuse_window(const TransformerConfig& config, Count seq, base::Diagnostics& found) {
  if (!config.window || *config.window >= seq) return;
  found
      .error("O0918",
             fmt::format("attention of `{}` sees {} tokens, and a sequence has {}", config.name, *config.window, seq),
             place_of(config, "window"))
      .note("attention within a window is not modelled; attention to all tokens would cost more")
      .hint(fmt::format("up to {} tokens the window makes no difference: `--seq {}`", *config.window, *config.window))
      .hint("to model attention to all tokens instead: `--ignore sliding_window`");
}

std::vector<Operator> transformer_block(const TransformerConfig& given, Count batch, Count seq) {
  base::Diagnostics found;
  const TransformerConfig config = complete(given, found);
  refuse_window(config, seq, found);
  for (const bool experts : {true, false}) {
    if (experts ? !config.experts : !config.latent) continue;
    found
        .error("O0915",
               fmt::format("a block of `{}` has {}, which the eight operators of a block cannot express", config.name,
                           experts ? "a mixture of experts" : "latent attention"),
               place_of(config, experts ? "experts" : "latent"))
        .hint("`orrery train` takes such models; for one product of it, use `orrery map --gemm M,K,N`");
  }
  if (batch < 1) found.error("O0913", fmt::format("the batch must be at least 1, but is {}", batch));
  if (seq < 1) found.error("O0913", fmt::format("the sequence must be at least 1 token long, but is {}", seq));
  found.throw_if_errors();

  Products product(config, found);
  const Count columns = product("the tokens", {{"batch", batch}, {"sequence", seq}});
  const Count attentions = product("the attention heads", {{"heads", config.heads}, {"batch", batch}});
  const Count attended = product("the heads' joint width", {{"heads", config.heads}, {"head width", config.head_dim}});
  const Count kv_width = product("the keys' and values' width",
                                 {{"keys and values", 2}, {"heads", config.kv_heads}, {"head width", config.head_dim}});
  const Count branches = config.gated ? 2 : 1;
  const Count inner = product("the feed-forward width", {{"gate and up", branches}, {"width", config.feed_forward}});
  Count projected = 0;
  if (__builtin_add_overflow(attended, kv_width, &projected))
    found.error("O0914", fmt::format("the width of KQV of `{}` cannot be counted in 64 bits", config.name))
        .note(fmt::format("{} + {} exceeds 9223372036854775807", attended, kv_width));
  found.throw_if_errors();

  const Count norm_sweeps = config.rms_norm ? 2 : 3;
  const auto matmul_role = OperatorRole::kMatmul;
  const auto norm_role = OperatorRole::kNormalisation;
  std::vector<Operator> block = {
      {"KQV", matmul("KQV", projected, config.hidden, columns), 1, matmul_role},
      {"KTQ", matmul("KTQ", seq, config.head_dim, seq), attentions, matmul_role},
      {"softmax", normalisation("softmax", seq, seq, 2), attentions, norm_role},
      {"VScores", matmul("VScores", config.head_dim, seq, seq), attentions, matmul_role},
      {"Out", matmul("Out", config.hidden, attended, columns), 1, matmul_role},
      {"layernorm", normalisation("layernorm", columns, config.hidden, norm_sweeps), 2, norm_role},
      {"FF1", matmul("FF1", inner, config.hidden, columns), 1, matmul_role},
      {"FF2", matmul("FF2", config.hidden, config.feed_forward, columns), 1, matmul_role},
  };
  for (const Operator& op : block) {
    const auto& bounds = op.einsum.dimensions;
    product(op.name.c_str(), {{bounds[0].name.c_str(), bounds[0].bound},
                              {bounds[1].name.c_str(), bounds[1].bound},
                              {bounds[2].name.c_str(), bounds[2].bound},
                              {"instances", op.instances}});
  }
  found.throw_if_errors();
  return block;
}

Count operations(const std::vector<Operator>& block) {
  Count sum = 0;
  for (const Operator& op : block)
    sum = base::checked_add(sum, base::checked_multiply(op.instances, op.einsum.operations()));
  return sum;
}

}  // namespace orrery::workload
