// Idea: the matrices of every kind of layer are named as families name their modules. Patterns that name one layer are
// kept by layer; the others are asked once for each kind. A matrix of `in` x `out` weights in groups of a x b has
// ceil(in / a) ceil(out / b) scales. What is no matrix (tables, norms, biases) is never converted.
//
// Cost: kinds x matrices x patterns, and for patterns of one layer, that layer's matrices.
#include "orrery/formats/huggingface/checkpoint_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "orrery/base/text/text.h"
#include "orrery/describe/workload/transformer_facts.h"

namespace orrery::formats::huggingface {
namespace {

using base::checked_add;
using base::checked_multiply;
using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::Projection;
using workload::Recurrence;
using workload::Stack;

using Names = std::vector<std::string>;

// A matrix as one of the family's modules; what we hold side by side may be several.
struct Matrix {
  Count in = 0, out = 0, copies = 1;
  Names names;
  bool router = false, expert = false, mixer = false;
};

Names each(std::initializer_list<const char*> rooms, const std::vector<const char*>& names) {
  Names out;
  for (const char* room : rooms)
    for (const char* name : names) out.push_back(std::string(room) + (*room == '\0' ? "" : ".") + name);
  return out;
}

void add_attention(std::vector<Matrix>& out, const Attention& a, Count width, bool cross) {
  const auto rooms = [&](std::initializer_list<const char*> names) {
    return cross ? each({"encoder_attn", "EncDecAttention", "layer.1.EncDecAttention", "crossattention"}, names)
                 : each({"self_attn", "self_attention", "attn", "attention", "attention.self", "SelfAttention",
                         "layer.0.SelfAttention", "mixer"},
                        names);
  };
  const auto put = [&](Count in, Count wide, Names names) { out.push_back({in, wide, 1, std::move(names)}); };
  const Count queries = checked_multiply(a.gated ? 2 : 1, a.query());
  if (a.latent && !cross) {
    const workload::Latent& l = *a.latent;
    if (l.q_rank > 0) {
      put(width, l.q_rank, rooms({"q_a_proj"}));
      put(l.q_rank, a.query(), rooms({"q_b_proj"}));
    } else {
      put(width, a.query(), rooms({"q_proj"}));
    }
    put(width, checked_add(l.kv_rank, l.rope_width), rooms({"kv_a_proj_with_mqa", "kv_a_proj"}));
    put(l.kv_rank, checked_multiply(a.heads, checked_add(l.nope_width, a.value_width)), rooms({"kv_b_proj"}));
  } else if (!a.matrices.empty()) {
    for (const Projection& p : a.matrices) put(p.in, p.out, rooms({p.name.c_str()}));
    return;
  } else {
    put(width, queries, rooms({"q_proj", "q", "query", "qkv_proj", "query_key_value", "qkv", "c_attn", "Wqkv", "wq"}));
    const Count keys = a.borrows ? 0 : a.key(), values = a.borrows || a.value_is_key ? 0 : a.value();
    put(width, keys, rooms({"k_proj", "k", "key", "qkv_proj", "query_key_value", "qkv", "c_attn", "Wqkv", "wk"}));
    put(width, values, rooms({"v_proj", "v", "value", "qkv_proj", "query_key_value", "qkv", "c_attn", "Wqkv", "wv"}));
  }
  if (a.index && a.index->own) {
    const Count from = a.latent && a.latent->q_rank > 0 ? a.latent->q_rank : width;
    put(from, checked_multiply(a.index->heads, a.index->width),
        rooms({"indexer.wq_b", "indexer.q_proj", "index_q_proj"}));
    put(width, a.index->width, rooms({"indexer.wk", "indexer.k_proj", "index_k_proj"}));
    if (a.index->weighted) put(width, a.index->heads, rooms({"indexer.weights_proj"}));
  }
  put(a.output(), width, rooms({"o_proj", "o", "out_proj", "dense", "proj", "c_proj", "wo", "output.dense"}));
}

void add_network(std::vector<Matrix>& out, const workload::FeedForward& f, Count width, Count copies,
                 std::initializer_list<const char*> rooms, bool expert) {
  const auto put = [&](Count in, Count wide, std::initializer_list<const char*> names) {
    out.push_back({in, wide, copies, each(rooms, names), false, expert});
  };
  if (f.gated) put(width, f.inner, {"gate_proj", "w1", "gate_up_proj", "gate_up_projs", "wi_0"});
  put(width, f.inner,
      {"up_proj", "w3", "gate_up_proj", "gate_up_projs", "c_fc", "dense_h_to_4h", "fc1", "linear_fc1", "wi", "wi_1"});
  put(f.inner, width, {"down_proj", "w2", "down_projs", "c_proj", "dense_4h_to_h", "fc2", "linear_fc2", "wo"});
}

// Our names of what goes into a recurrence and out of it, and the families'.
const std::pair<std::string_view, std::vector<const char*>> kOfRecurrences[] = {
    {"in", {"in_proj"}},
    {"x", {"x_proj"}},
    {"dt", {"dt_proj"}},
    {"out", {"out_proj"}},
    {"decay", {"in_proj_ba", "in_proj_b", "in_proj_a"}},
    {"KQV-gate", {"in_proj_qkvz", "in_proj_qkv", "in_proj_z"}},
    {"KQV", {"qkv_proj"}},
    {"Out", {"out_proj"}}};

// `beside`: experts do not stand in the room of the dense network (Gemma 4).
std::vector<Matrix> matrices(const Block& block, Count width, bool beside) {
  std::vector<Matrix> out;
  if (const auto* a = std::get_if<Attention>(&block.mixer)) add_attention(out, *a, width, false);
  if (block.cross) add_attention(out, *block.cross, width, true);
  if (const Recurrence* r = workload::recurrence_of(block))
    for (const Projection& p : r->projections) {
      const auto* known = std::find_if(std::begin(kOfRecurrences), std::end(kOfRecurrences),
                                       [&](const auto& pair) { return p.name == pair.first; });
      const std::vector<const char*> called =
          known == std::end(kOfRecurrences) ? std::vector{p.name.c_str()} : known->second;
      out.push_back({p.in, p.out, p.copies, each({"mixer", "mamba", "linear_attn", "self_attn", "conv"}, called)});
    }
  for (Matrix& matrix : out) matrix.mixer = true;
  if (const auto* f = std::get_if<workload::FeedForward>(&block.feed_forward)) {
    add_network(
        out, *f, width, 1,
        {"mlp", "feed_forward", "ffn", "block_sparse_moe", "", "layer.1.DenseReluDense", "layer.2.DenseReluDense"},
        false);
  } else if (const auto* e = std::get_if<Experts>(&block.feed_forward)) {
    out.push_back(
        {width, e->count, 1,
         beside ? Names{"router.proj"}
                : each({"mlp", "feed_forward", "ffn", "block_sparse_moe", "mixer"}, {"gate", "router", "router.gate"}),
         true});
    const Count in = e->latent > 0 ? e->latent : width;
    if (beside) {
      add_network(out, e->expert, in, e->count, {"experts.*", "experts"}, true);
      add_network(out, e->shared_expert, width, 1, {"mlp"}, false);
      return out;
    }
    add_network(out, e->expert, in, e->count,
                {"mlp.experts.*", "mlp.experts", "mixer.experts.*", "block_sparse_moe.experts.*",
                 "feed_forward.experts.*", "feed_forward.experts", "ffn.experts.*"},
                true);
    if (e->shared_expert.inner > 0)
      add_network(out, e->shared_expert, width, 1,
                  {"mlp.shared_experts", "mlp.shared_expert", "mixer.shared_experts", "feed_forward.shared_expert",
                   "ffn.shared_experts", "block_sparse_moe.shared_experts", "shared_mlp"},
                  false);
    if (e->shared_gate) out.push_back({width, 1, 1, {"mlp.shared_expert_gate"}, true});
  }
  return out;
}

// Names of what is never converted, as lists of unconverted modules have them.
bool names_no_matrix(const std::string& pattern) {
  static constexpr std::array<std::string_view, 13> kPlain = {
      "norm", "embed", "wte", "wpe", "ln_", "rotary", "conv", "bias", "sinks", "correction", "dropout", "patch", "act"};
  return std::any_of(kPlain.begin(), kPlain.end(),
                     [&](std::string_view part) { return pattern.find(part) != std::string::npos; });
}

class Storing {
 public:
  Storing(const workload::Transformer& model, const WeightWidths& widths)
      : model_(model), quantisation_(widths.quantisation), used_(quantisation_.kept.size(), 0) {
    for (std::size_t i = 0; i < quantisation_.kept.size(); ++i) {
      const ModulePattern& pattern = quantisation_.kept[i];
      if (const auto layer = pattern.layer())
        by_layer_[*layer].push_back(i);
      else
        (pattern.asks_layers() ? asking_ : any_layer_).push_back(i);
    }
    for (const Quantisation::Group& group : quantisation_.groups) {
      used_targets_.emplace_back(group.targets.size(), 0);
      auto& of_layers = targets_by_layer_.emplace_back();
      for (std::size_t t = 0; t < group.targets.size(); ++t) {
        const ModulePattern& target = group.targets[t];
        of_layers[target.layer()].push_back(t);
        formats_by_layer_ = formats_by_layer_ || target.layer() || target.asks_layers();
      }
    }
  }

  void run(StoredWeights& out, base::Diagnostics& found) {
    out_ = &out;
    out.kinds.resize(model_.decoder().kinds.size());
    for (const Stack& stack : model_.stacks) store(stack, false);
    for (const Stack& tower : model_.towers) store(tower, true);
    if (const workload::Head& head = model_.head; !head.tied && head.outputs > 0) {
      const Count width = head.width > 0 ? head.width : model_.decoder().width;
      const ModuleName name = {false, std::nullopt, {"lm_head", "embed_out", "output"}};
      const bool stays = kept(name, any_layer_);
      convert({width, head.outputs, 1, name.names}, name, quantisation_.head && !stays, 1, &out.head);
    }
    report(found);
  }

 private:
  void store(const Stack& stack, bool tower) {
    const std::size_t own = stack.weight_sets > 0
                                ? std::min(stack.layers.size(), static_cast<std::size_t>(stack.weight_sets))
                                : stack.layers.size();
    // Layers of which no pattern speaks are alike.
    std::vector<Count> plain(stack.kinds.size(), 0);
    constexpr std::size_t kMostAsked = 4096;  // layers; no model has as many
    const bool ask = (!asking_.empty() || formats_by_layer_) && own <= kMostAsked;
    for (std::size_t i = 0; i < own; ++i) {
      const auto kind = static_cast<std::size_t>(stack.layers[i]);
      const auto layer = static_cast<Count>(i);
      const auto told = by_layer_.find(layer);
      const bool ahead = stack.kinds[kind].ahead;
      if (told == by_layer_.end() && !ask && !ahead) {
        ++plain[kind];
        continue;
      }
      std::vector<std::size_t> patterns = any_layer_;
      if (told != by_layer_.end()) patterns.insert(patterns.end(), told->second.begin(), told->second.end());
      for (std::size_t p = 0; ahead && p < quantisation_.kept.size(); ++p)
        if (quantisation_.kept[p].of_prediction() && quantisation_.kept[p].layer()) patterns.push_back(p);
      if (ask) patterns.insert(patterns.end(), asking_.begin(), asking_.end());
      store(stack, stack.kinds[kind], tower, layer, patterns, 1);
    }
    for (std::size_t k = 0; k < stack.kinds.size(); ++k)
      if (plain[k] > 0) store(stack, stack.kinds[k], tower, 0, any_layer_, plain[k]);
    if (!tower) return;
    for (const Projection& p : stack.out_of) {
      const ModuleName name = {
          true,
          std::nullopt,
          {p.name, "merger.mlp.0", "merger.mlp.2", "merger.linear_fc1", "merger.linear_fc2", "linear_1", "linear_2"}};
      const bool stays = kept(name, any_layer_);
      convert({p.in, p.out, p.copies, name.names}, name, quantisation_.tower && !stays, 1);
    }
  }

  void store(const Stack& stack, const Block& block, bool tower, Count layer, const std::vector<std::size_t>& patterns,
             Count layers) {
    const bool decodes = &stack == &model_.decoder();
    StoredKind* kind = decodes ? &out_->kinds[static_cast<std::size_t>(&block - stack.kinds.data())] : nullptr;
    for (const Matrix& matrix : matrices(block, stack.width, model_.family.starts_with("gemma4"))) {
      ModuleName name = {tower, layer, matrix.names};
      if (block.ahead) name.ahead = layer - first_ahead();
      const bool stays = kept(name, patterns);  // every pattern is told that it was of use
      const bool may = (!tower || quantisation_.tower) && (!matrix.router || quantisation_.routers) &&
                       (matrix.expert || !quantisation_.experts_only);
      StoredPart* part = kind == nullptr ? nullptr
                         : matrix.expert ? &kind->experts
                         : matrix.router ? &kind->router
                         : matrix.mixer  ? &kind->mixer
                                         : &kind->network;
      convert(matrix, name, may && !stays, layers, part);
    }
  }

  bool kept(const ModuleName& name, const std::vector<std::size_t>& patterns) {
    bool any = false;
    for (const std::size_t i : patterns) {
      if (any && used_[i] != 0) continue;
      if (!quantisation_.kept[i].picks(name)) continue;
      used_[i] = 1;
      any = true;
    }
    return any;
  }

  // Of a group, those that may pick it: published lists name every matrix of every layer.
  std::vector<std::size_t> targets_of(std::size_t group, const ModuleName& name) const {
    std::vector<std::size_t> out;
    const auto add = [&](const std::optional<Count>& layer) {
      const auto found = targets_by_layer_[group].find(layer);
      if (found != targets_by_layer_[group].end()) out.insert(out.end(), found->second.begin(), found->second.end());
    };
    add(std::nullopt);
    if (name.layer) add(name.layer);
    if (name.ahead && name.ahead != name.layer) add(name.ahead);
    return out;
  }

  // Of the first group that picks it. Other targets may mean the same matrix: each is told that it was of use.
  const StoredFormat* format_of(const ModuleName& name) {
    const StoredFormat* format = nullptr;
    for (std::size_t g = 0; g < quantisation_.groups.size(); ++g) {
      const Quantisation::Group& group = quantisation_.groups[g];
      bool picked = group.targets.empty();
      for (const std::size_t t : targets_of(g, name)) {
        if ((picked && used_targets_[g][t] != 0) || !group.targets[t].picks(name)) continue;
        used_targets_[g][t] = 1;
        picked = true;
      }
      if (picked && format == nullptr) format = &group.format;
    }
    return format;
  }

  void convert(const Matrix& matrix, const ModuleName& name, bool converted, Count layers, StoredPart* part = nullptr) {
    if (!converted) return;
    const StoredFormat* format = format_of(name);
    if (format == nullptr || matrix.in < 1 || matrix.out < 1) return;
    const Count copies = checked_multiply(layers, matrix.copies);
    const Count weights = checked_multiply(copies, checked_multiply(matrix.in, matrix.out));
    const auto groups_of = [](Count all, Count group) { return group > 0 ? base::ceil_divide(all, group) : 1; };
    const double groups = static_cast<double>(groups_of(matrix.in, format->group_in)) *
                          static_cast<double>(groups_of(matrix.out, format->group_out));
    out_->converted = checked_add(out_->converted, weights);
    const double scales =
        static_cast<double>(copies) *
        (groups * format->scale_bits + static_cast<double>(matrix.in) * format->input_bits + format->module_bits) / 8;
    const double bytes = static_cast<double>(weights) * format->bits / 8;
    out_->scale_bytes += scales;
    out_->bytes += bytes;
    if (part != nullptr) {
      part->weights += weights;
      part->bytes += bytes + scales;
      if (machine::bytes_per_element(format->products) > machine::bytes_per_element(part->products))
        part->products = format->products;
    }
    by_bits_[format->bits] += static_cast<double>(weights);
    for (const auto& [bits, count] : by_bits_)
      if (count >= by_bits_[out_->bits]) out_->bits = bits;
  }

  Count first_ahead() const {
    const Stack& stack = model_.decoder();
    const auto first = std::find_if(stack.layers.begin(), stack.layers.end(),
                                    [&](int kind) { return stack.kinds[static_cast<std::size_t>(kind)].ahead; });
    return static_cast<Count>(first - stack.layers.begin());
  }

  // The layers behind the last one predict tokens beyond the next, and are not counted.
  bool of_prediction(const ModulePattern& pattern) const {
    const auto layers = static_cast<Count>(model_.decoder().layers.size());
    bool any = pattern.of_prediction();
    for (Count i = 0; !any && i < model_.predicted_ahead; ++i) any = pattern.names_layer(layers + i);
    return any;
  }

  // Slips in names of the lists: they would pass for modules that are not there.
  void report(base::Diagnostics& found) const {
    Names kept, converted;
    for (std::size_t i = 0; i < used_.size(); ++i) note_useless(quantisation_.kept[i], used_[i], kept);
    for (std::size_t g = 0; g < used_targets_.size(); ++g)
      for (std::size_t t = 0; t < used_targets_[g].size(); ++t)
        note_useless(quantisation_.groups[g].targets[t], used_targets_[g][t], converted);
    tell(kept, "that are not converted", "as converted", found);
    tell(converted, "that are converted", "at its own width", found);
  }

  void note_useless(const ModulePattern& pattern, char used, Names& useless) const {
    if (used != 0 || names_no_matrix(pattern.text()) || of_prediction(pattern)) return;
    // Towers that are not understood are not counted, and tied logits have no matrix.
    if (model_.head.tied && pattern.text().find("lm_head") != std::string::npos) return;
    if (model_.towers.empty() && pattern.of_tower()) return;
    useless.push_back(pattern.text().substr(0, 60));
  }

  void tell(Names useless, const char* which, const char* how, base::Diagnostics& found) const {
    constexpr std::size_t kNamed = 3;
    if (useless.empty()) return;
    if (useless.size() > kNamed) useless.resize(kNamed);
    found
        .warning("O0926",
                 fmt::format("of the modules {}, `{}` {} nothing that is counted", which, base::joined(useless, "`, `"),
                             base::plural(useless.size(), "names", "name")),
                 quantisation_.where)
        .note(fmt::format("where it is a slip, the module it means is counted {}", how));
  }

  const workload::Transformer& model_;
  const Quantisation& quantisation_;
  std::vector<char> used_;
  std::vector<std::vector<char>> used_targets_;  // of every group
  // Of every group, the targets that name a layer, and (nothing) those that name none.
  std::vector<std::map<std::optional<Count>, std::vector<std::size_t>>> targets_by_layer_;
  bool formats_by_layer_ = false;
  std::map<Count, std::vector<std::size_t>> by_layer_;
  std::vector<std::size_t> any_layer_, asking_;
  std::map<int, double> by_bits_;
  StoredWeights* out_ = nullptr;
};

}  // namespace

namespace {

// DeepSeek V3's files have a bias for each expert beside the parameters, which corrects the routers' scores.
Count corrections(const workload::Transformer& model) {
  if (!model.family.starts_with("deepseek_v3")) return 0;
  Count sum = 0;
  for (const int kind : model.decoder().layers)
    if (const auto* e = std::get_if<Experts>(&model.decoder().kinds[static_cast<std::size_t>(kind)].feed_forward))
      sum = checked_add(sum, e->count);
  return sum;
}

}  // namespace

StoredWeights stored_weights(const workload::Transformer& model, const WeightWidths& widths, base::Diagnostics& found) {
  StoredWeights out;
  out.plain_bits = out.bits = widths.bits;
  out.stated = widths.stated;
  out.method = widths.quantisation.method;
  out.caches = widths.quantisation.caches, out.unknown_caches = widths.quantisation.unknown_caches;
  if (!widths.quantisation.groups.empty()) Storing(model, widths).run(out, found);
  Count plain = workload::parameters(model).total - out.converted;
  if (plain > out.converted) out.bits = out.plain_bits;
  // Tables and logits that files hold again for every module that predicts ahead.
  const Count table = base::checked_multiply(model.vocab, model.embedding_width);
  if (model.ahead.copies) plain = checked_add(plain, checked_multiply(model.counted_ahead, checked_multiply(2, table)));
  out.bytes += static_cast<double>(plain) * out.plain_bits / 8 + out.scale_bytes;
  // DeepSeek's own files have it in 32 bits, those that others converted in the width of the rest.
  out.bytes += static_cast<double>(corrections(model)) * (out.method == "fp8" ? 32 : out.plain_bits) / 8;
  return out;
}

}  // namespace orrery::formats::huggingface
