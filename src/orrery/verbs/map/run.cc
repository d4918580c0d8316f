// Layers are gathered, read, fused, searched and named.
#include "orrery/verbs/map/run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/map/layers/layer_selection.h"
#include "orrery/verbs/map/layers/layer_tasks.h"
#include "orrery/verbs/map/layers/model_memory.h"
#include "orrery/verbs/map/map_fused.h"

namespace orrery::verbs {
namespace {

// Throws InputError O2043 where level and flags are to be chosen, and something is asked for that is of one choice.
void demand_no_choice(const MapRequest& request) {
  const MapOptions& search = request.search;
  const FuseSides& fuse = request.fuse;
  const char* beside = !fuse.level.empty()                         ? "--fuse-at"
                       : fuse.reduction_free                       ? "--no-e-fusion"
                       : fuse.whole                                ? "--l-fusion"
                       : fuse.product_writes                       ? "--pay-writeback-in-matmul"
                       : !request.layer.empty()                    ? "--layer"
                       : !request.attention_array.empty()          ? "--attention-array"
                       : search.front                              ? "--pareto"
                       : search.certify                            ? "--certify"
                       : !search.why.empty()                       ? "--why"
                       : search.factors != nest::Factors::kPerfect ? "--factors"
                       : !search.pads.empty()                      ? "--pad"
                                                                   : nullptr;
  if (!beside) return;
  base::fail(
      "O2043", fmt::format("`--fuse auto` and `{}` exclude each other", beside), {},
      "let it choose first, then ask about one side alone: `--layer NAME --fuse-at LEVEL` and the options it shows");
}

bool is_timeloop(const MapRequest& request) {
  const std::vector<std::string>& names = request.compat.names;
  return std::find(names.begin(), names.end(), "timeloop") != names.end();
}

FuseSides fuse_of(const MapRequest& request) {
  FuseSides fuse = request.fuse;
  fuse.as_scripts = is_timeloop(request);
  return fuse;
}

}  // namespace

void fuse_at_word(const std::string& word, MapRequest& request) {
  if (word == "DRAM" && !is_timeloop(request))
    request.fuse = {};
  else
    request.fuse.level = word;
}

AskedLayers ask_layers(const MapRequest& request, const AskHow& how, Estimators& estimators) {
  GatheredLayers layers;
  layers.how = &how;
  gather_layers(request, layers);
  ReadLayers read = read_all(layers, request, estimators);
  // A storage that no chip has is refused, although no layer here may be fused at it.
  const auto has_level = [&](const LayerQuestion& question) {
    return question.chip->storage_index(request.fuse.level) >= 0;
  };
  if (how.as_scripts && !request.fuse.level.empty() && !read.questions.empty() &&
      std::none_of(read.questions.begin(), read.questions.end(), has_level))
    fuse_side(fuse_of(request), read.questions.front());
  for (std::size_t i = 0; i < read.questions.size(); ++i)
    if (!how.as_scripts || is_followed(read.questions[i].name, layers.stems[i]))
      fuse_side(fuse_of(request), read.questions[i]);
  AskedLayers asked;
  asked.title = layers.title;
  asked.blocks = layers.blocks;
  asked.questions = std::move(read.questions);
  name_layers(layers.stems, asked.questions);
  asked.normalisation = layers.normalisation;
  asked.normalisation.resize(asked.questions.size());
  asked.inputs = inputs_of(layers, std::move(read.inputs));
  asked.warnings = std::move(read.warnings);
  if (layers.work && request.layer.empty() && how.only.empty() && !asked.questions.empty())
    hold_against(*asked.questions.front().chip, layers.work->model, layers.work->memory, layers.warnings);
  asked.warnings.append(layers.warnings);
  return asked;
}

namespace {

// `fused`: level and flags of each pair are chosen, and told there; null: as the request says.
MapAnswer answer_of(const MapRequest& request, std::vector<FusedPair>* fused) {
  GatheredLayers layers;
  gather_layers(request, layers);

  MapOptions search = request.search;
  if (request.interruptible) search.limits.stop = request.interruptible();
  Estimators estimators(request.estimators);
  ReadLayers read = read_all(layers, request, estimators);
  for (LayerQuestion& question : read.questions) fuse_side(fuse_of(request), question);
  if (search.limits.threads <= 0) search.limits.threads = std::min(std::max(1, read.threads), base::thread_count(0));
  MapAnswer answer;
  if (layers.work && request.layer.empty())
    hold_against(*read.questions.front().chip, layers.work->model, layers.work->memory, layers.warnings);
  if (!layers.attention.rows.empty()) {
    layers.attention.cycle_seconds = common_cycle_seconds(read.questions);
    price(layers.attention);
    warn_of_array(layers.attention, layers.warnings);
  }
  if (fused) {
    name_layers(layers.stems, read.questions);
    FusedLayers chosen = map_fused(read.questions, search);
    answer.mapped = std::move(chosen.mapped);
    *fused = std::move(chosen.pairs);
  } else {
    answer.mapped = map_layers(read.questions, search);
  }
  answer.mapped.attention = std::move(layers.attention);
  for (const MappedLayer& layer : answer.mapped.layers)
    if (layer.certified && layer.certified->finished && !layer.certified->agrees)
      throw base::InternalError(fmt::format("`{}` is not certified: {}", layer.name, layer.certified->complaint));

  answer.mapped.inputs = inputs_of(layers, std::move(read.inputs));
  read.warnings.append(answer.mapped.warnings);
  read.warnings.append(layers.warnings);
  answer.mapped.warnings = std::move(read.warnings);
  if (!fused) name_layers(layers.stems, answer.mapped.layers);
  answer.title = layers.title;
  answer.blocks = layers.blocks;
  answer.work = layers.work;
  if (!layers.title.empty() && !request.layer.empty()) {
    const std::string& selected = answer.mapped.layers.front().name;
    answer.title += fmt::format(", layer {} only", selected);
    if (layers.blocks > 0) answer.selected = selected;
  }
  return answer;
}

}  // namespace

std::optional<double> MapAnswer::tokens_per_s() const {
  const auto found = [](const MappedLayer& layer) { return layer.found(); };
  if (!work || !selected.empty() || !std::all_of(mapped.layers.begin(), mapped.layers.end(), found)) return {};
  const double seconds = totals(mapped.layers, mapped.attention.rows).seconds * static_cast<double>(blocks);
  if (!(seconds > 0)) return {};
  return static_cast<double>(work->batch) * static_cast<double>(work->tokens) / seconds;
}

MapAnswer map(const MapRequest& request) {
  return answer_of(request, nullptr);
}

FusedAnswer map_with_chosen_fusion(const MapRequest& request) {
  demand_no_choice(request);
  FusedAnswer answer;
  answer.map = answer_of(request, &answer.fused);
  return answer;
}

}  // namespace orrery::verbs
