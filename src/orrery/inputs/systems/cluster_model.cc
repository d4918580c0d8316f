#include "orrery/inputs/systems/cluster_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/describe/workload/transformer_facts.h"

namespace orrery::verbs {
namespace {

using base::Count;
using workload::PlainTransformer;
using workload::Transformer;

constexpr Count kMostLayers = Count{1} << 24;

// Fields that say something only beside others.
std::string lacks_another(const Transformer& transformer, const PlainTransformer& sizes, const std::string& path) {
  if ((path == "window" || path == "chunked") && sizes.window > 0 && sizes.windowed_layers == 0)
    return "none of its layers has a window: set `model.windowed_layers` as well";
  if (path == "windowed_layers" && sizes.windowed_layers > 0 && sizes.window == 0)
    return "it has no window: set `model.window` as well";
  if (path == "chunked" && sizes.chunked && sizes.window == 0)
    return "it has no window: set `model.window` and `model.windowed_layers` as well";
  if (path.starts_with("experts.") && path != "experts.count" && sizes.experts.count == 0)
    return "it has no mixture of experts: set `model.experts.count` as well";
  if (path.starts_with("latent.") && path != "latent.kv_rank" && sizes.latent.kv_rank == 0)
    return "it has no latent attention: set `model.latent.kv_rank` as well";
  if ((path == "kv_heads" || path == "head_width") && sizes.latent.kv_rank > 0)
    return "its attention is latent: every head has keys and values of its own, as wide as `model.latent` says";
  // Of one width that others are told by, no part may be lost.
  if ((path == "hidden" || path == "heads") && sizes.head_width == 0 && sizes.latent.kv_rank == 0 && sizes.heads > 0 &&
      sizes.hidden % sizes.heads != 0)
    return fmt::format("{} heads do not divide a width of {}: set `model.head_width` as well", sizes.heads,
                       sizes.hidden);
  if (path != "ffn") return "";
  const auto& kinds = transformer.decoder().kinds;
  const bool dense = std::any_of(kinds.begin(), kinds.end(), [](const workload::Block& block) {
    return std::holds_alternative<workload::FeedForward>(block.feed_forward);
  });
  const workload::PlainExperts& e = sizes.experts;
  if (dense || e.count == 0 || e.dense_layers > 0 || e.every > 1) return "";
  return "all of its layers hold a mixture of experts: set `model.experts.ffn`";
}

}  // namespace

cluster::Description training_description(const Transformer& transformer, const base::Overrides& overrides) {
  cluster::Description out;
  out.sizes = workload::sizes_of(transformer);
  out.as.seq = transformer.training_sequence.value_or(workload::default_sequence(transformer));
  out.as.attention =
      transformer.decoder().learned_positions ? cluster::Attention::kMaterialised : cluster::Attention::kFlash;
  const base::Fields known = cluster::fields(out);
  base::Diagnostics found;
  const auto refuse = [&](const base::Override& set, const std::string& why) {
    if (!why.empty())
      found
          .error("O1363", fmt::format("`model.{}` cannot be set of `{}`: {}", set.path, transformer.name, why),
                 base::OverrideText(set, "model.").path())
          .hint("`orrery catalog show` lists the kinds of its layers");
  };
  for (const base::Override& set : overrides) {
    const base::OverrideText shown(set, "model.");
    const base::Field* field = base::asked_field(known, set, shown, "O1361", "a model", found);
    if (field == nullptr) continue;
    out.said.insert(set.path);
    if (set.path == "seq" && transformer.decoder().fixed_tokens > 0)
      refuse(set, fmt::format("its sequences always have {} tokens", transformer.decoder().fixed_tokens));
    if (set.path != "seq" && set.path != "attention") refuse(set, workload::refusal(transformer, set.path));
    if (!field->set(set.value))
      found.error("O1362", fmt::format("`model.{}` must be {}, but is `{}`", set.path, field->values, set.value),
                  shown.value());
  }
  found.throw_if_errors();
  for (const base::Override& set : overrides) refuse(set, lacks_another(transformer, out.sizes, set.path));
  found.throw_if_errors();
  return out;
}

namespace {

// Sizes with their defaults, 0 for parts that are not there.
PlainTransformer shown(PlainTransformer sizes) {
  const PlainTransformer whole = workload::completed(sizes);
  sizes.kv_heads = whole.kv_heads;
  sizes.head_width = whole.head_width;
  if (sizes.ffn > 0 || sizes.heads > 0) sizes.ffn = whole.ffn;
  return sizes;
}

}  // namespace

TrainingModel training_model(const Transformer& transformer, cluster::Description description) {
  TrainingModel out;
  if (description.sizes.layers > kMostLayers)
    base::fail("O1300", fmt::format("the model has impossible sizes: layers is {}", description.sizes.layers));
  try {
    out.transformer = description.sizes == workload::sizes_of(transformer)
                          ? transformer
                          : workload::with_sizes(transformer, description.sizes, description.said);
    out.prepared = cluster::prepared(out.transformer, description.as);
    out.description = std::move(description);
    out.description.sizes = shown(out.description.sizes);
  } catch (const base::OverflowError&) {
    base::fail("O1300", fmt::format("sizes of `{}` that are made of sizes cannot be counted", transformer.name));
  }
  return out;
}

TrainingModel training_model(const Transformer& transformer, const base::Overrides& overrides) {
  return training_model(transformer, training_description(transformer, overrides));
}

void warn_of_default_sequence(const Transformer& transformer, base::Diagnostics& warnings) {
  if (transformer.training_sequence || transformer.decoder().fixed_tokens > 0) return;
  const Count seq = workload::default_sequence(transformer);
  const std::optional<Count>& longest = transformer.max_positions;
  if (longest && *longest <= seq) return;
  const auto place = transformer.places.find("max_positions");
  warnings
      .warning("O1382", fmt::format("training sequences of {} tokens are assumed: nothing says how long they are", seq),
               place == transformer.places.end() ? base::Location{} : place->second)
      .note(longest ? fmt::format("`{}` takes sequences of up to {} tokens", transformer.name, *longest)
                    : fmt::format("nor does `{}` say how long they can be", transformer.name))
      .hint("`--seq N` says it for this run");
}

}  // namespace orrery::verbs
