// A stack of blocks as the sizes of the cluster's model, which knows two kinds of block: dense, and with a mixture of
// experts. What that model cannot say is refused; what it does not count (norms of queries, biases of some projections)
// is carried along as parameters of a layer, so that memory and gradients are exact. Cost: layers + kinds.
#include "orrery/scenario/cluster_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/cluster/fields.h"
#include "orrery/workload/transformer_facts.h"

namespace orrery::scenario {
namespace {

using base::Count;
using workload::Attention;
using workload::Block;
using workload::Experts;
using workload::FeedForward;
using workload::Stack;
using workload::Transformer;

constexpr Count kLongest = 2048;  // where nothing says how long a training sequence is

// What the cluster's model has no word for.
std::vector<std::string> inexpressible(const Transformer& model) {
  std::vector<std::string> out;
  const auto note = [&](bool is, const char* what) {
    if (is && std::find(out.begin(), out.end(), what) == out.end()) out.emplace_back(what);
  };
  const Stack& stack = model.decoder();
  note(model.stacks.size() > 1, "an encoder beside its decoder");
  note(model.vocab == 0, "no vocabulary");
  note(stack.weight_sets > 0, "layers that share their weights");
  note(model.embedding_width != stack.width && model.vocab > 0, "a table of tokens that is not as wide as its layers");
  const Attention *first = nullptr, *near = nullptr;
  const FeedForward* dense = nullptr;
  const Experts* mixture = nullptr;
  for (const Block& block : stack.kinds) {
    const auto* a = std::get_if<Attention>(&block.mixer);
    note(a == nullptr, "layers that mix tokens by something else than attention");
    if (a != nullptr) {
      note(std::holds_alternative<std::monostate>(block.feed_forward), "layers without a feed-forward network");
      note(a->gated, "gated attention");
      note(first != nullptr && (first->query() != a->query() || first->key() != a->key()),
           "attention of several sizes");
      note(!a->latent && a->value_width != a->width, "values that are not as wide as keys");
      first = a;
      if (a->reach != workload::Reach::kAll) {
        note(near != nullptr && (near->reach != a->reach || near->span != a->span), "windows of several lengths");
        near = a;
      }
    }
    if (const auto* f = std::get_if<FeedForward>(&block.feed_forward)) {
      note(dense != nullptr && dense->inner != f->inner, "feed-forward networks of several widths");
      dense = f;
    }
    if (const auto* e = std::get_if<Experts>(&block.feed_forward)) {
      note(e->expert.inner > 0 && e->shared_expert.inner % e->expert.inner != 0,
           "a shared expert whose width is no multiple of the others'");
      mixture = e;
    }
  }
  note(dense != nullptr && mixture != nullptr && dense->gated != mixture->expert.gated,
       "experts unlike its dense layers");
  return out;
}

void refuse_inexpressible(const Transformer& model) {
  base::Diagnostics found;
  const auto whole = model.places.find("");
  for (const std::string& what : inexpressible(model))
    found
        .error("O0915", fmt::format("`{}` has {}, which a training run's model cannot express", model.name, what),
               whole == model.places.end() ? base::Location{} : whole->second)
        .hint("`orrery catalog show` counts its parameters and operations, and `orrery map` its operators on a chip");
  found.throw_if_errors();
}

// Which layers hold a mixture: the cluster's model says it by the first that do not, and a step.
void place_mixtures(const Stack& stack, cluster::Model& model) {
  const auto mixes = [&](int kind) {
    return std::holds_alternative<Experts>(stack.kinds[static_cast<std::size_t>(kind)].feed_forward);
  };
  const Count all = static_cast<Count>(stack.layers.size());
  const Count mixtures = std::count_if(stack.layers.begin(), stack.layers.end(), mixes);
  const Count dense = std::find_if(stack.layers.begin(), stack.layers.end(), mixes) - stack.layers.begin();
  model.experts.dense_layers = dense;
  model.experts.every = 1;
  if (mixtures == 0 || mixtures == all - dense) return;
  // The step whose count is right, with as many dense layers in front as that needs.
  for (Count every = 2; every * mixtures <= all; ++every) {
    const Count front = std::min(dense, all - every * mixtures);
    if ((all - front) / every != mixtures) continue;
    model.experts.dense_layers = front;
    model.experts.every = every;
    return;
  }
}

void place_windows(const Stack& stack, cluster::Model& model) {
  for (const int kind : stack.layers) {
    const auto& a = std::get<Attention>(stack.kinds[static_cast<std::size_t>(kind)].mixer);
    if (a.reach == workload::Reach::kAll) continue;
    ++model.windowed_layers;
    model.window = a.span;
    model.chunked = a.reach == workload::Reach::kChunk;
  }
}

// Parameters that the cluster's own formula does not know: of a layer on average, and of the rest.
void count_others(const Transformer& transformer, cluster::Model& model) {
  const cluster::Model filled = cluster::completed(model);
  const cluster::LayerShape shape = cluster::layer_shape(filled);
  const double mixtures = static_cast<double>(cluster::expert_layers(filled));
  const double layers = static_cast<double>(filled.layers);
  const double known =
      layers * (shape.attention_params + shape.small_params) + (layers - mixtures) * shape.feed_forward_params +
      mixtures * (static_cast<double>(filled.experts.shared + filled.experts.count) * shape.expert_params +
                  static_cast<double>(filled.hidden * filled.experts.count));
  const Stack& stack = transformer.decoder();
  double blocks = 0;
  for (const int kind : stack.layers)
    blocks += static_cast<double>(workload::block_parameters(stack.kinds[static_cast<std::size_t>(kind)], stack.width));
  model.other_layer_params = (blocks - known) / layers;
  model.other_params = 0;
  const double all = static_cast<double>(workload::parameters(transformer).total);
  model.other_params = all - cluster::parameters(cluster::completed(model));
}

}  // namespace

cluster::Model training_model(const Transformer& transformer) {
  refuse_inexpressible(transformer);
  const Stack& stack = transformer.decoder();
  cluster::Model model;
  model.name = transformer.name;
  model.layers = static_cast<Count>(stack.layers.size());
  model.hidden = stack.width;
  const auto& a = std::get<Attention>(stack.kinds.front().mixer);
  model.heads = a.heads;
  model.kv_heads = a.kv_heads == a.heads ? 0 : a.kv_heads;
  const bool usual_heads = a.heads > 0 && a.width == stack.width / a.heads;
  model.head_width = usual_heads ? 0 : a.width;
  for (const Block& block : stack.kinds) {
    if (const auto* dense = std::get_if<FeedForward>(&block.feed_forward)) {
      model.ffn = dense->inner;
      model.gated = dense->gated;
      model.biases = dense->biases && block.norm.bias;
    } else if (const auto* mixture = std::get_if<Experts>(&block.feed_forward)) {
      model.experts.count = mixture->count;
      model.experts.top_k = mixture->top_k;
      model.experts.ffn = mixture->expert.inner;
      model.experts.shared = mixture->shared_expert.inner / std::max<Count>(1, mixture->expert.inner);
      model.experts.max_nodes = mixture->max_groups;
      model.gated = mixture->expert.gated;
      if (model.ffn == 0) model.ffn = mixture->expert.inner;
      if (!std::holds_alternative<FeedForward>(stack.kinds.front().feed_forward)) model.biases = false;
    }
  }
  if (model.experts.count > 0) place_mixtures(stack, model);
  place_windows(stack, model);
  if (model.ffn == 4 * stack.width) model.ffn = 0;
  model.causal = stack.causal;
  model.dropout = transformer.dropout;
  model.learned_positions = stack.learned_positions;
  model.tied_embedding = transformer.head.tied;
  model.vocab = transformer.vocab;
  model.seq = transformer.training_sequence.value_or(transformer.max_positions.value_or(kLongest));
  model.attention = stack.learned_positions ? cluster::Attention::kMaterialised : cluster::Attention::kFlash;
  if (a.latent)
    model.latent = {a.latent->q_rank, a.latent->kv_rank, a.latent->rope_width, a.latent->nope_width, a.value_width};
  // A catalogue's entry is counted as its paper counts: blocks and tables.
  if (!transformer.as_paper_counts) {
    model.position_rows = stack.position_rows;
    count_others(transformer, model);
  }
  return model;
}

cluster::Model training_model(const Transformer& transformer, const base::Overrides& overrides) {
  cluster::Model model = training_model(transformer);
  const base::Fields known = cluster::fields(model);
  base::Diagnostics found;
  for (const base::Override& set : overrides) {
    const base::OverrideText shown(set, "model.");
    const base::Field* field = base::asked_field(known, set, shown, "O1361", "a model", found);
    if (field && !field->set(set.value))
      found.error("O1362", fmt::format("`model.{}` must be {}, but is `{}`", set.path, field->values, set.value),
                  shown.value());
  }
  found.throw_if_errors();
  // They were counted at the sizes of the file: of other sizes only what follows from sizes is known.
  for (const base::Override& set : overrides)
    if (set.path != "seq" && set.path != "attention" && set.path != "layers" && set.path != "dropout")
      model.other_layer_params = model.other_params = 0;
  return model;
}

}  // namespace orrery::scenario
