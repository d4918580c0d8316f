// A transformer block, operator by operator.
//
// With x the residual stream of L = batch * tokens columns of H elements, h query heads of width a, g key/value heads,
// feed-forward width F, and S tokens that a query sees, one block of an encoder or decoder (Vaswani et al., "Attention
// is all you need", 2017, section 3) is
//
//   operator    E (reduced)   D (produced)     L (columns)   instances
//   KQV         H             (h + 2g) a       batch tokens  1          all three projections side by side
//   KTQ         a             S                h/g tokens    g batch    scores of the heads that share keys
//   softmax     S             2 sweeps         h/g tokens    g batch    sum of exponentials; scale
//   VScores     S             a                h/g tokens    g batch    values weighted by scores
//   Out         h a           H                batch tokens  1
//   layernorm   H             3 sweeps         batch tokens  2          mean; variance; scale and shift
//   FF1         H             F (2F if gated)  batch tokens  1          gate and up projections side by side
//   FF2         F             H                batch tokens  1
//
// The names and the split are those of Timeloop-Experiments, so that results compare. RMSNorm (Zhang and Sennrich,
// 2019) subtracts no mean: 2 sweeps.
//
// The causal mask is not exploited: KTQ and VScores are the full rectangles, as the chips modelled here compute them. A
// window of w tokens or a chunk of c is: prefill computes it in blocks of w queries that see 2 w keys (the first w of
// them in the block before), and of c queries that see c; decoding sees what the window or the chunk still holds.
//
// Grouped-query attention (Ainslie et al., 2023) makes keys and values narrower. The queries of a group multiply the
// same keys: they are columns of one product, tokens h / g of them, for each of g heads. A rank of their own would add
// nothing: keys and values have neither tokens nor heads as a rank, queries and scores have both, so that loops over
// either reuse the same data, and what two loops can do one can. In prefill `heads_apart` makes each head an instance
// of its own, whose keys are read anew, as Timeloop-Experiments has it.
//
// Latent attention (DeepSeek-V2, arXiv 2405.04434) expands keys and values in prefill; in decoding the expansion is
// absorbed into the queries and the outputs (section 2.1.2 there), so that scores read the latents themselves.
//
// Where an index picks keys (DeepSeek-V3.2, arXiv 2512.02556) and there are more than it picks, its scores are those of
// all keys, and each query's heads meet the picked ones: latents are then absorbed in prefill, too. To sort the scores
// is no GEMM.
//
// A mixture's tokens are spread evenly: each of the experts that any token visits has an equal share of the visits,
// rounded up.
#include "orrery/describe/workload/transformer_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/describe/workload/transformer_facts.h"

namespace orrery::workload {
namespace {

using base::Count;

constexpr Count kMostTokens = Count{1} << 60;  // with windows added, still 64 bits

base::Location place_of(const Transformer& model, const char* field) {
  const auto exact = model.places.find(field);
  if (exact != model.places.end()) return exact->second;
  const auto whole = model.places.find("");
  return whole != model.places.end() ? whole->second : base::Location{};
}

// Multiplies; an overflow is reported once, with the product's name.
class Products {
 public:
  Products(const Transformer& model, base::Diagnostics& found) : model_(model), found_(found) {}

  Count operator()(const std::string& what, std::initializer_list<std::pair<const char*, Count>> factors) {
    Count product = 1;
    std::string arithmetic;
    bool fits = true;
    for (const auto& [name, value] : factors) {
      arithmetic += fmt::format("{}{} ({})", arithmetic.empty() ? "" : " x ", value, name);
      fits = fits && !__builtin_mul_overflow(product, value, &product);
    }
    if (fits) return product;
    found_
        .error("O0914", fmt::format("{} of `{}` cannot be counted in 64 bits", what, model_.name), place_of(model_, ""))
        .note(arithmetic + " exceeds 9223372036854775807");
    return 1;
  }

 private:
  const Transformer& model_;
  base::Diagnostics& found_;
};

// How the queries of a sequence meet keys: `blocks` products of `queries` columns on `keys` rows.
struct Meeting {
  std::string prefix;
  Count blocks = 1, queries = 1, keys = 1;
};

// In prefill, the rows of a window or chunk are computed in blocks as long as it is, the last one as long as what is
// left. Where the blocks would cost more than the whole rectangle, that is computed.
std::vector<Meeting> meetings(const Attention& a, Count tokens, Count cached) {
  const Count all = tokens + cached;
  const std::vector<Meeting> whole = {{"", 1, tokens, all}};
  if (a.reach == Reach::kAll || a.span >= all) return whole;
  const bool chunked = a.reach == Reach::kChunk;
  const std::string prefix = chunked ? "chunk-" : "window-";
  if (cached > 0) {
    const Count kept = chunked ? cached % a.span : std::min(cached, a.span - 1);
    return {{prefix, 1, tokens, kept + tokens}};
  }
  // What a block sees besides its own tokens: of a causal window, the block before; of an encoder's, half on each side.
  const Count beside = chunked ? 0 : a.span;
  std::vector<Meeting> out;
  const Count blocks = tokens / a.span, rest = tokens % a.span;
  const bool starts_alone = !chunked && a.causal;
  if (starts_alone) out.push_back({prefix + "first-", 1, a.span, a.span});
  if (const Count more = blocks - (starts_alone ? 1 : 0); more > 0)
    out.push_back({prefix, more, a.span, std::min(tokens, a.span + beside)});
  if (rest > 0) out.push_back({prefix + "last-", 1, rest, std::min(tokens, rest + beside)});
  double scores = 0;
  for (const Meeting& met : out)
    scores += static_cast<double>(met.blocks) * static_cast<double>(met.queries) * static_cast<double>(met.keys);
  return scores < static_cast<double>(tokens) * static_cast<double>(all) ? out : whole;
}

class Builder {
 public:
  Builder(const Transformer& model, const Phase& phase) : model_(model), phase_(phase), product_(model, found_) {}

  ProductsAround around() {
    check();
    ProductsAround out;
    for (const Stack& stack : model_.stacks) {
      if (!enter(stack)) continue;
      operators_ = &out.before;
      for (const Projection& p : stack.into) multiply_rows(p);
      operators_ = &out.behind;
      for (const Projection& p : stack.out_of) multiply_rows(p);
    }
    operators_ = &out.behind;
    const Head& head = model_.head;
    if (head.at_one_token) columns_ = phase_.batch;
    for (const Projection& p : head.transform) multiply(p);
    const Count wide = head.transform.empty() ? model_.decoder().width : head.transform.back().out;
    if (head.outputs > 0) {
      multiply({"logits", head.width > 0 ? head.width : wide, head.outputs});
      out.behind.back().instances += model_.counted_ahead;
    }
    found_.throw_if_errors();
    return out;
  }

  std::vector<BlockOperators> run() {
    check();
    std::vector<BlockOperators> out;
    for (const Stack& stack : model_.stacks) {
      if (!enter(stack)) continue;
      std::vector<Count> layers(stack.kinds.size(), 0);
      for (const int kind : stack.layers) ++layers[static_cast<std::size_t>(kind)];
      for (std::size_t k = 0; k < stack.kinds.size(); ++k) out.push_back(block(stack.kinds[k], layers[k]));
      source_tokens_ = tokens_;
    }
    found_.throw_if_errors();
    return out;
  }

 private:
  // False: it ran with the first tokens.
  bool enter(const Stack& stack) {
    const bool encodes = &stack != &model_.stacks.back() || !stack.causal;
    if (encodes && phase_.cached > 0) return false;
    stack_ = &stack;
    tokens_ = stack.fixed_tokens > 0 ? stack.fixed_tokens : phase_.tokens;
    columns_ = product_("the tokens", {{"batch", phase_.batch}, {"sequence", tokens_}});
    return true;
  }

  // Some are applied to other rows than the stack's tokens.
  void multiply_rows(const Projection& p) {
    const Count columns = p.rows > 0 ? product_("the rows", {{"batch", phase_.batch}, {"rows", p.rows}}) : columns_;
    add(p.name, matmul(p.name, p.out, p.in, columns), 1);
  }

  void check() {
    if (phase_.batch < 1) found_.error("O0913", fmt::format("the batch must be at least 1, but is {}", phase_.batch));
    if (phase_.tokens < 1)
      found_.error("O0913", fmt::format("the sequence must be at least 1 token long, but is {}", phase_.tokens));
    if (phase_.cached < 0)
      found_.error("O0913", fmt::format("the cache must hold at least 0 tokens, but holds {}", phase_.cached));
    Count all = 0;
    if (__builtin_add_overflow(phase_.tokens, phase_.cached, &all) || all > kMostTokens)
      found_.error("O0913", fmt::format("a sequence has at most {} tokens, cache included, but this has {} and {}",
                                        kMostTokens, phase_.tokens, phase_.cached));
    if (phase_.cached > 0 && !model_.decoder().causal)
      found_
          .error("O0923", fmt::format("`{}` has no cache: its tokens attend to those after them, too", model_.name),
                 place_of(model_, ""))
          .hint("leave `--phase` out: an encoder reads all of its tokens at once");
    found_.throw_if_errors();
  }

  BlockOperators block(const Block& block, Count layers) {
    BlockOperators out{stack_->name, stack_->kinds.size() > 1 ? kind_of(block) : "", layers, {}};
    operators_ = &out.operators;
    if (const auto* attention = std::get_if<Attention>(&block.mixer)) attend(*attention);
    if (const Recurrence* recurrence = recurrence_of(block))
      for (const Projection& p : recurrence->projections) multiply(p);
    if (block.cross) attend_to_source(*block.cross);
    norms(block);
    for (const Projection& p : projections(block, stack_->width))
      if (p.name == "router" || p.name.find("FF") != std::string::npos || p.name == "shared-gate" ||
          p.name.starts_with("expert-latent") || p.name.starts_with("layer-"))
        feed_forward(p);
    return out;
  }

  // Those of attention stand in `attend`.
  void attend(const Attention& a) {
    if (a.latent && (phase_.cached > 0 || picks(a))) return attend_to_latents(a);
    Block alone;
    alone.mixer = a;
    alone.norms = 0;
    const std::vector<Projection> matrices = projections(alone, stack_->width);
    for (const Projection& p : matrices)
      if (p.name != "Out") multiply(p);
    look_up(a);
    for (const Meeting& met : met_of(a)) core("", a, met);
    multiply(matrices.back());
  }

  // Keys of so many entries that a query meets, besides a window of single tokens: those of an index, or all.
  Count entries(const Attention& a) const {
    const Count all = (phase_.tokens + phase_.cached) / a.compressed;
    return a.index && a.reach == Reach::kAll ? std::min(all, a.index->top_k) : all;
  }

  // Whether the keys of each query are others: its heads alone then share a product.
  bool picks(const Attention& a) const { return a.compressed > 1 || entries(a) < phase_.tokens + phase_.cached; }

  std::vector<Meeting> met_of(const Attention& a) const {
    if (a.compressed > 1)
      return {{"compressed-", tokens_, 1, entries(a) + std::min(a.span, phase_.tokens + phase_.cached)}};
    if (picks(a)) return {{"index-", tokens_, 1, entries(a)}};
    return meetings(a, tokens_, phase_.cached);
  }

  // Scores of an index, of every key.
  void look_up(const Attention& a) {
    if (!a.index || !a.index->own) return;
    const Count queries = product_("the queries of an index", {{"heads", a.index->heads}, {"tokens", tokens_}});
    add("index-scores",
        matmul("index-scores", std::max<Count>(1, (tokens_ + phase_.cached) / a.compressed), a.index->width, queries),
        phase_.batch);
  }

  void core(const std::string& prefix, const Attention& a, const Meeting& met) {
    const std::string name = prefix + met.prefix;
    Count heads = a.heads, queries = met.queries;
    if (phase_.cached > 0 || !phase_.heads_apart || picks(a)) {
      heads = a.kv_heads;
      queries =
          product_("the queries of a group", {{"heads of a group", a.heads / a.kv_heads}, {"tokens", met.queries}});
    }
    const Count instances =
        product_("the attention heads", {{"heads", heads}, {"batch", phase_.batch}, {"blocks", met.blocks}});
    add(name + "KTQ", matmul(name + "KTQ", met.keys, a.width, queries), instances, OperatorRole::kMatmul,
        CorePart::kScores);
    add(name + "softmax", normalisation(name + "softmax", queries, met.keys + (a.sinks ? 1 : 0), 2), instances,
        OperatorRole::kNormalisation, CorePart::kSoftmax);
    add(name + "VScores", matmul(name + "VScores", a.value_width, met.keys, queries), instances, OperatorRole::kMatmul,
        CorePart::kValues);
  }

  void attend_to_latents(const Attention& a) {
    const Latent& l = *a.latent;
    Block alone;
    alone.mixer = a;
    const std::vector<Projection> matrices = projections(alone, stack_->width);
    for (const Projection& p : matrices)
      if (p.name != "Out" && p.name != "KV-up") multiply(p);
    add("Q-absorb", matmul("Q-absorb", l.kv_rank, l.nope_width, columns_), a.heads);
    Attention shared = a;
    shared.kv_heads = 1;
    shared.width = l.kv_rank + l.rope_width;
    shared.value_width = l.kv_rank;
    look_up(a);
    for (const Meeting& met : met_of(a)) core("", shared, met);
    add("V-expand", matmul("V-expand", a.value_width, l.kv_rank, columns_), a.heads);
    multiply(matrices.back());
  }

  // Keys and values of the source are made once, with the first tokens.
  void attend_to_source(const Attention& a) {
    Block alone;
    alone.cross = a;
    for (const Projection& p : projections(alone, stack_->width)) {
      if (p.of_source) {
        if (phase_.cached == 0)
          add(p.name,
              matmul(p.name, p.out, p.in, product_("the source", {{"batch", phase_.batch}, {"tokens", source()}})), 1);
      } else if (p.name == "cross-Out") {
        core("cross-", a, {"", 1, tokens_, source()});
        multiply(p);
      } else {
        multiply(p);
      }
    }
  }

  // Where the encoder does not run, the source is taken to be as long as the cache.
  Count source() const {
    if (const Stack* encoder = model_.encoder(); encoder != nullptr && encoder->fixed_tokens > 0)
      return encoder->fixed_tokens;
    return phase_.cached > 0 ? phase_.cached : source_tokens_;
  }

  void norms(const Block& block) {
    if (block.norm.kind == NormKind::kNone || block.norms == 0) return;
    const Count sweeps = block.norm.kind == NormKind::kRms ? 2 : 3;
    add("layernorm", normalisation("layernorm", columns_, stack_->width, sweeps), block.norms,
        OperatorRole::kNormalisation);
  }

  void multiply(const Projection& p) { add(p.name, matmul(p.name, p.out, p.in, columns_), 1); }

  void feed_forward(const Projection& p) {
    if (p.copies == 1) return multiply(p);
    const Count visits = product_("the visits of experts", {{"tokens", columns_}, {"experts of a token", p.visited}});
    const Count experts = std::min(p.copies, visits);
    add(p.name, matmul(p.name, p.out, p.in, base::ceil_divide(visits, experts)), experts);
  }

  void add(const std::string& name, Einsum einsum, Count instances, OperatorRole role = OperatorRole::kMatmul,
           CorePart part = CorePart::kNone) {
    const auto& bounds = einsum.dimensions;
    product_(name, {{bounds[0].name.c_str(), bounds[0].bound},
                    {bounds[1].name.c_str(), bounds[1].bound},
                    {bounds[2].name.c_str(), bounds[2].bound},
                    {"instances", instances}});
    operators_->push_back({name, std::move(einsum), instances, role, part});
  }

  const Transformer& model_;
  const Phase& phase_;
  base::Diagnostics found_;
  Products product_;
  const Stack* stack_ = nullptr;
  Count tokens_ = 0, columns_ = 0, source_tokens_ = 0;
  std::vector<Operator>* operators_ = nullptr;
};

bool same_shape(const Einsum& a, const Einsum& b) {
  return std::equal(a.dimensions.begin(), a.dimensions.end(), b.dimensions.begin(), b.dimensions.end(),
                    [](const Dimension& x, const Dimension& y) { return x.name == y.name && x.bound == y.bound; });
}

std::string name_of(Recurrence::Kind kind) {
  switch (kind) {
    case Recurrence::Kind::kMamba:
    case Recurrence::Kind::kMamba2:
      return "scans of states, and convolutions along the tokens";
    case Recurrence::Kind::kGatedLinear:
      return "gated linear recurrences, and convolutions along the tokens";
    case Recurrence::Kind::kLinearAttention:
      return "states of linear attention";
    case Recurrence::Kind::kDelta:
      return "states of gated deltas, and convolutions along the tokens";
    case Recurrence::Kind::kConvolution:
      break;
  }
  return "convolutions along the tokens";
}

// Operators of one name and different shapes are told apart by their stack, or by a number.
void join(std::vector<BlockOperators>& blocks, std::vector<Operator>& joined) {
  for (BlockOperators& block : blocks) {
    for (Operator& op : block.operators) {
      op.instances = base::checked_multiply(op.instances, block.layers);
      const std::string plain = op.name;
      for (int number = 1;; ++number) {
        const auto same =
            std::find_if(joined.begin(), joined.end(), [&](const Operator& other) { return other.name == op.name; });
        if (same == joined.end()) {
          op.einsum.name = op.name;
          joined.push_back(std::move(op));
          break;
        }
        if (same_shape(same->einsum, op.einsum)) {
          same->instances = base::checked_add(same->instances, op.instances);
          break;
        }
        op.name = number == 1 && block.name != blocks.front().name ? block.name + "-" + plain
                                                                   : fmt::format("{}-{}", plain, number + 1);
      }
    }
  }
}

}  // namespace

std::string kind_of(const Block& block) {
  std::string out = "attention to all tokens";
  if (const auto* a = std::get_if<Attention>(&block.mixer); a == nullptr)
    out = std::holds_alternative<Recurrence>(block.mixer) ? "recurrence" : "no attention";
  else if (a->reach != Reach::kAll)
    out = fmt::format("{} of {}", a->reach == Reach::kChunk ? "chunks" : "window", a->span);
  if (block.ahead) out = "predicts ahead, " + out;
  if (const auto* experts = std::get_if<Experts>(&block.feed_forward))
    return out + fmt::format(", {} experts", experts->count);
  return std::holds_alternative<FeedForward>(block.feed_forward) ? out + ", dense" : out;
}

std::vector<BlockOperators> block_operators(const Transformer& model, const Phase& phase) {
  return Builder(model, phase).run();
}

ProductsAround products_around(const Transformer& model, const Phase& phase) {
  return Builder(model, phase).around();
}

ModelOperators model_operators(const Transformer& model, const Phase& phase, bool logits) {
  std::vector<BlockOperators> blocks = block_operators(model, phase);
  ModelOperators out;
  ProductsAround around = products_around(model, phase);
  out.around = std::move(around.before);
  if (logits)
    blocks.push_back({"head", "", 1, std::move(around.behind)});
  else
    out.around.insert(out.around.end(), around.behind.begin(), around.behind.end());
  for (const Stack& stack : model.stacks)
    for (const Block& block : stack.kinds)
      if (const Recurrence* recurrence = recurrence_of(block))
        if (const std::string name = name_of(recurrence->kind);
            std::find(out.left_out.begin(), out.left_out.end(), name) == out.left_out.end())
          out.left_out.push_back(name);
  if (blocks.size() == 1) {
    out.operators = std::move(blocks.front().operators);
    out.layers = blocks.front().layers;
    return out;
  }
  try {
    join(blocks, out.operators);
  } catch (const base::OverflowError&) {
    base::fail("O0914", fmt::format("the operators of `{}` cannot be counted in 64 bits", model.name),
               place_of(model, ""));
  }
  return out;
}

Count operations(const std::vector<Operator>& operators) {
  Count sum = 0;
  for (const Operator& op : operators)
    sum = base::checked_add(sum, base::checked_multiply(op.instances, op.einsum.operations()));
  return sum;
}

}  // namespace orrery::workload
