// Idea: field by field, with one table of names for overrides. Cost: nothing to speak of.
#include "orrery/scenario/cluster_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/diagnostic.h"
#include "orrery/base/edit_distance.h"

namespace orrery::scenario {
namespace {

using base::Count;

constexpr Count kLongest = 2048;  // where nothing says how long a training sequence is

struct Field {
  std::string name;
  Count* size = nullptr;
  bool* flag = nullptr;
};

std::vector<Field> fields(cluster::Model& m) {
  return {{"layers", &m.layers},
          {"hidden", &m.hidden},
          {"heads", &m.heads},
          {"kv_heads", &m.kv_heads},
          {"head_width", &m.head_width},
          {"ffn", &m.ffn},
          {"vocab", &m.vocab},
          {"seq", &m.seq},
          {"experts.count", &m.experts.count},
          {"experts.top_k", &m.experts.top_k},
          {"experts.ffn", &m.experts.ffn},
          {"experts.shared", &m.experts.shared},
          {"experts.dense_layers", &m.experts.dense_layers},
          {"experts.every", &m.experts.every},
          {"experts.max_nodes", &m.experts.max_nodes},
          {"latent.q_rank", &m.latent.q_rank},
          {"latent.kv_rank", &m.latent.kv_rank},
          {"latent.rope_width", &m.latent.rope_width},
          {"latent.nope_width", &m.latent.nope_width},
          {"latent.value_width", &m.latent.value_width},
          {"gated", nullptr, &m.gated},
          {"causal", nullptr, &m.causal},
          {"biases", nullptr, &m.biases},
          {"dropout", nullptr, &m.dropout},
          {"learned_positions", nullptr, &m.learned_positions},
          {"tied_embedding", nullptr, &m.tied_embedding}};
}

bool set(cluster::Model& model, const Field& field, const std::string& text) {
  if (field.flag) {
    *field.flag = text == "true";
    return text == "true" || text == "false";
  }
  if (!field.size) {
    model.attention = text == "flash" ? cluster::Attention::kFlash : cluster::Attention::kMaterialised;
    return text == "flash" || text == "materialised";
  }
  Count value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  *field.size = value;
  return failure == std::errc() && end == text.data() + text.size() && value >= 0;
}

}  // namespace

cluster::Model training_model(const workload::TransformerConfig& config) {
  cluster::Model model;
  model.name = config.name;
  model.layers = config.layers;
  model.hidden = config.hidden;
  model.heads = config.heads;
  model.kv_heads = config.kv_heads == config.heads ? 0 : config.kv_heads;
  const bool usual_heads = config.heads > 0 && config.head_dim == config.hidden / config.heads;
  model.head_width = usual_heads ? 0 : config.head_dim;
  model.ffn = config.feed_forward == 4 * config.hidden ? 0 : config.feed_forward;
  model.gated = config.gated;
  model.causal = config.causal;
  model.biases = config.biases;
  model.dropout = config.dropout;
  model.learned_positions = config.learned_positions;
  model.tied_embedding = config.tied_embedding;
  model.vocab = config.vocab;
  model.position_rows = config.position_rows;
  model.other_layer_params = config.each_layer_parameters;
  model.other_params = config.outside_parameters;
  model.seq = config.training_sequence.value_or(config.max_positions.value_or(kLongest));
  model.attention = config.learned_positions ? cluster::Attention::kMaterialised : cluster::Attention::kFlash;
  if (config.latent)
    model.latent = {config.latent->q_rank, config.latent->kv_rank, config.latent->rope_width, config.latent->nope_width,
                    config.latent->value_width};
  if (config.experts)
    model.experts = {config.experts->count,    config.experts->top_k,        config.experts->feed_forward,
                     config.experts->shared,   config.experts->dense_layers, config.experts->every,
                     config.experts->max_nodes};
  return model;
}

cluster::Model training_model(const workload::TransformerConfig& config,
                              const std::vector<std::pair<std::string, std::string>>& overrides) {
  cluster::Model model = training_model(config);
  std::vector<Field> known = fields(model);
  known.push_back({"attention"});
  base::Diagnostics found;
  for (const auto& [name, text] : overrides) {
    const auto file =
        std::make_shared<base::SourceFile>(base::SourceFile{"<--set>", fmt::format("model.{}={}", name, text)});
    const auto field =
        std::find_if(known.begin(), known.end(), [&wanted = name](const Field& f) { return f.name == wanted; });
    if (field == known.end()) {
      std::vector<std::string> names;
      for (const Field& f : known) names.push_back(f.name);
      found.error("O1361", fmt::format("a model has no field `{}`", name), {file, 1, 7, static_cast<int>(name.size())})
          .note(fmt::format("it has: {}", fmt::join(names, ", ")))
          .hint(base::did_you_mean(name, names));
    } else if (!set(model, *field, text)) {
      found.error("O1362",
                  fmt::format("`model.{}` must be {}, but is `{}`", name,
                              field->flag   ? "true or false"
                              : field->size ? "a whole number from 0 on"
                                            : "materialised or flash",
                              text),
                  {file, 1, 8 + static_cast<int>(name.size()), std::max(1, static_cast<int>(text.size()))});
    }
  }
  found.throw_if_errors();
  // They were counted at the sizes of the file: of other sizes only what follows from sizes is known.
  for (const auto& [name, text] : overrides)
    if (name != "seq" && name != "attention" && name != "layers" && name != "dropout")
      model.other_layer_params = model.other_params = 0;
  return model;
}

}  // namespace orrery::scenario
