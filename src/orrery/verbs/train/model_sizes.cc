#include "orrery/verbs/train/model_sizes.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "orrery/formats/json/json_places.h"

namespace orrery::verbs {
namespace {

// Where a size of the model was given, in the words of who gave it: an option, `--set`, or a key of its config.json.
struct GivenSize {
  std::string name;
  base::Location where;
};

GivenSize given_size(const std::string& field, const char* config_field, const ModelFile& file,
                     const TrainRequest& request) {
  for (auto set = request.overrides.rbegin(); set != request.overrides.rend(); ++set)
    if (set->path == "model." + field) return {set->path, base::OverrideText(*set).value()};
  if (field == "seq" && request.seq) {
    const std::string value = std::to_string(*request.seq);
    return {"--seq",
            {std::make_shared<base::SourceFile>(base::SourceFile{"<--seq>", "--seq " + value}), 1, 7,
             static_cast<int>(value.size())}};
  }
  const auto place = file.transformer.places.find(config_field);
  if (place == file.transformer.places.end()) return {"model." + field, {file.file, 0, 0, 1}};
  for (const formats::json::KeyPlace& key : formats::json::top_level_keys(file.file))
    if (key.value_where.line == place->second.line && key.value_where.column == place->second.column)
      return {key.key, place->second};
  return {"model." + field, place->second};
}

}  // namespace

void bound_sizes(const cluster::Description& of, const ModelFile& file, const TrainRequest& request) {
  struct Bounded {
    const char* field;
    const char* config_field;
    base::Count size;
  };
  const workload::PlainTransformer& model = of.sizes;
  const char* sequence = file.transformer.training_sequence ? "training_sequence" : "max_positions";
  base::Diagnostics found;
  for (const Bounded& bounded : std::initializer_list<Bounded>{
           {"layers", "layers", model.layers},
           {"hidden", "hidden", model.hidden},
           {"heads", "heads", model.heads},
           {"kv_heads", "kv_heads", model.kv_heads},
           {"head_width", "head_dim", model.head_width},
           {"ffn", "feed_forward", model.ffn},
           {"vocab", "vocab", model.vocab},
           {"seq", sequence, of.as.seq},
           {"position_rows", "max_positions",
            of.as.seq > cluster::kMostInModel ? 0 : file.transformer.decoder().position_rows},
           {"experts.count", "experts", model.experts.count},
           {"experts.ffn", "experts_feed_forward", model.experts.ffn},
           {"experts.shared", "shared_experts", model.experts.shared},
           {"latent.q_rank", "q_rank", model.latent.q_rank},
           {"latent.kv_rank", "latent", model.latent.kv_rank},
           {"latent.rope_width", "rope_width", model.latent.rope_width},
           {"latent.nope_width", "nope_width", model.latent.nope_width},
           {"latent.value_width", "value_width", model.latent.value_width}}) {
    if (bounded.size <= cluster::kMostInModel) continue;
    const GivenSize given = given_size(bounded.field, bounded.config_field, file, request);
    found.error(
        "O1374",
        fmt::format("`{}` is {}: sizes up to {} are understood", given.name, bounded.size, cluster::kMostInModel),
        given.where);
  }
  found.throw_if_errors();
}

void warn_of_longer_table(const TrainingModel& of, const ModelFile& file, const TrainRequest& request,
                          base::Diagnostics& warnings) {
  const std::optional<base::Count>& positions = file.transformer.max_positions;
  const workload::Stack& stack = of.transformer.decoder();
  const cluster::Model& model = of.prepared;
  if (!stack.learned_positions || !positions || model.seq <= *positions) return;
  const base::Count rows = std::max(stack.position_rows, *positions);
  const GivenSize given = given_size("seq", "training_sequence", file, request);
  warnings
      .warning("O1381",
               fmt::format("the model has {} learned positions, fewer than the {} tokens of a sequence", *positions,
                           model.seq),
               given.where)
      .note(model.seq > rows
                ? fmt::format("its table is taken to have a row for each token: ({} - {}) x {} = {} parameters "
                              "more than the model has",
                              model.seq, rows, model.hidden, (model.seq - rows) * model.hidden)
                : fmt::format("its table has {} rows, which are taken as they are", rows))
      .hint(fmt::format("the model as it is takes sequences up to `--seq {}`", *positions));
}

}  // namespace orrery::verbs
