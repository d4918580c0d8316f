#include "orrery/inputs/networks/pruned_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/text_file.h"
#include "orrery/formats/huggingface/networks/weight_names.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/sanger/model_config.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/inputs/masks/sparse_limits.h"
#include "orrery/inputs/networks/stored_pattern.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::checkpoint::Tensor;
using formats::huggingface::Family;
using formats::huggingface::prefix_of;
using formats::json::Node;
using formats::sanger::ModelConfig;
using masks::Clips;
using pruning::Place;
using pruning::PlaceKind;
using File = std::shared_ptr<const base::SourceFile>;

constexpr const char* kPatternFile = "static_sparsity.json";

// The attention's module, as the family's class calls it, without the class's prefix.
std::string module_of(Family family, const Place& place) {
  switch (family) {
    case Family::kBert:
    case Family::kRoberta:
      return fmt::format("encoder.layer.{}.attention.self.", place.layer);
    case Family::kGpt2:
      return fmt::format("h.{}.attn.", place.layer);
    case Family::kBart:
      return fmt::format("{}.layers.{}.{}.", place.kind == PlaceKind::kEncoder ? "encoder" : "decoder", place.layer,
                         place.kind == PlaceKind::kCross ? "encoder_attn" : "self_attn");
  }
  return "";
}

constexpr const char* kBuffers[] = {"input_x_thresh", "input_y_thresh", "_step"};

// The tensor of a buffer of this module, which may lie in a module of its own within it; its place in the list.
std::optional<std::size_t> buffer_of(const std::vector<Tensor>& tensors, Family family, const Place& place,
                                     const char* buffer) {
  const std::string module = module_of(family, place), whole = prefix_of(family) + module;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const std::size_t from = name.rfind(whole, 0) == 0 ? whole.size() : name.rfind(module, 0) == 0 ? module.size() : 0;
    if (from == 0) continue;
    const std::string rest = name.substr(from);
    if (rest == buffer || rest == std::string("quant_matmul.") + buffer) return i;
  }
  return std::nullopt;
}

struct Read {
  std::vector<Clips> clips;
  std::size_t there = 0;  // attentions that have both thresholds
  bool any = false;
  std::vector<std::string> unset;  // buffers that are not above 0
};

Read read_clips(const CheckpointModel& model, const std::vector<Place>& places) {
  Read out;
  const std::vector<Tensor>& tensors = model.checkpoint.tensors;
  for (const Place& place : places) {
    float values[3] = {};
    int found = 0;
    for (int i = 0; i < 3; ++i) {
      const auto at = buffer_of(tensors, model.runnable.family, place, kBuffers[i]);
      const std::vector<float> numbers = at ? formats::checkpoint::as_floats(tensors[*at]) : std::vector<float>();
      if (numbers.size() == 1) values[i] = numbers[0];
      if (i == 2) continue;
      found += numbers.size() == 1;
      out.any = out.any || at;
      if (at && (numbers.size() != 1 || !(values[i] > 0) || !std::isfinite(values[i])))
        out.unset.push_back(tensors[*at].name);
    }
    out.there += found == 2;
    // A checkpoint without the number of steps has been trained all the same; one threshold alone is none.
    const base::Count step = values[2] > 0 && values[2] < 1e9F ? static_cast<base::Count>(values[2]) : 1;
    out.clips.push_back(values[0] > 0 && values[1] > 0 ? Clips{{values[0], step}, {values[1], step}} : Clips{});
  }
  return out;
}

void refuse_clips(const CheckpointModel& model, const Read& read, std::size_t places) {
  base::Diagnostics found;
  const std::size_t named = std::min<std::size_t>(read.unset.size(), 4);
  auto& said = found.error(
      "O1872",
      !read.unset.empty()
          ? fmt::format("{} clip thresholds in `{}` are not set: {}{}", read.unset.size(), model.folder,
                        fmt::join(read.unset.begin(), read.unset.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                        read.unset.size() > named ? ", ..." : "")
          : fmt::format("`{}` has clip thresholds for {} of its {} attentions", model.folder, read.there, places));
  said.note("codes are clipped at a threshold: with 0, every score would be predicted to be 0, and nothing pruned");
  said.hint(
      "train it with pruned attention (`orrery tune train --sparse-config`), or take thresholds from the texts: "
      "`--calibrate`");
  found.throw_if_errors();
}

// The file that a configuration names: beside it, from here, or from the folder above, as Sanger's scripts run.
std::string found_from(const std::string& named, const base::Location& where) {
  const fs::path folder = fs::path(where.file->name).parent_path();
  for (const fs::path& tried : {folder / named, fs::path(named), folder / ".." / named}) {
    std::error_code ignored;
    if (fs::is_regular_file(tried, ignored)) return tried.string();
  }
  base::fail("O1870", fmt::format("there is no file `{}`", named), where,
             fmt::format("it is looked for in `{}`, here, and in the folder above",
                         folder.empty() ? std::string(".") : folder.string()));
}

bool same(const Node& a, const Node& b) {
  if (a.kind != b.kind || a.truth != b.truth || a.items.size() != b.items.size() ||
      a.members.size() != b.members.size())
    return false;
  if (a.is_number() ? a.number != b.number : a.text != b.text) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i)
    if (!same(a.items[i], b.items[i])) return false;
  for (std::size_t i = 0; i < a.members.size(); ++i)
    if (a.members[i].key != b.members[i].key || !same(a.members[i].value, b.members[i].value)) return false;
  return true;
}

// Keys of the configuration that say otherwise than the checkpoint's own config.json, which counts.
void warn_of_others(const ModelConfig& config, const File& given, const File& own, base::Diagnostics& warnings) {
  const Node theirs = formats::json::parse(given, "O1870"), ours = formats::json::parse(own, "O1870");
  std::vector<std::string> differ;
  const formats::json::Member* first = nullptr;
  for (const std::string& key : config.others) {
    const auto *const here = theirs.find(key), *const there = ours.find(key);
    if (there != nullptr && same(here->value, there->value)) continue;
    if (first == nullptr) first = here;
    differ.push_back(fmt::format("{} ({}; {})", key, formats::json::describe(here->value),
                                 there == nullptr ? "absent there" : formats::json::describe(there->value) + " there"));
  }
  if (differ.empty()) return;
  warnings
      .warning("O1871",
               fmt::format("{} key{} of `{}` {} not that of the checkpoint, whose config.json counts", differ.size(),
                           differ.size() == 1 ? "" : "s", given->name, differ.size() == 1 ? "is" : "are"),
               first->key_where)
      .note(fmt::format("{}", fmt::join(differ, ", ")))
      .hint("only quant_qk, normalize_qk, prune_score and static_sparsity are taken from it");
}

masks::PredictorOptions options_of(const ModelConfig& config) {
  masks::PredictorOptions options;
  options.threshold = *config.threshold;
  options.quantiser.bits = config.bits.value_or(4);
  options.quantiser.normalise = config.normalises ? masks::Normalise::kInnerProduct : masks::Normalise::kNone;
  return options;
}

std::string words_of(const masks::Pruning& pruning, const std::string& pattern) {
  std::string out;
  if (pruning.predictor) {
    const masks::PredictorOptions& p = *pruning.predictor;
    const std::string codes = pruning.quantises() ? fmt::format(" of {}-bit codes", p.quantiser.bits) : "";
    switch (p.kind) {
      case masks::PredictorKind::kThreshold:
        out = fmt::format("probabilities{} above {:g}", codes, p.threshold);
        break;
      case masks::PredictorKind::kTopK:
        out = fmt::format("the largest {:g} of a row's scores{}", p.keep, codes);
        break;
      case masks::PredictorKind::kRounds:
        out = fmt::format("two rounds{}, alpha {:g} and {:g}", codes, p.alpha[0], p.alpha[1]);
        break;
      case masks::PredictorKind::kBlocks:
        out = fmt::format("the best {:g} of blocks of {}", p.keep, p.block);
        break;
      case masks::PredictorKind::kWindow:
        out = fmt::format("the nearest {} keys and the first {}", p.window, p.sinks);
    }
  }
  if (!pattern.empty()) out += fmt::format("{}the static mask {}", out.empty() ? "" : ", within ", pattern);
  return out;
}

std::string identity_of(const masks::Pruning& pruning) {
  std::string out = fmt::format("empty {}", static_cast<int>(pruning.empty));
  if (pruning.predictor) {
    const masks::PredictorOptions& p = *pruning.predictor;
    out +=
        fmt::format(" rule {} exact {} bits {} norm {} threshold {} keep {} alpha {} {} block {} window {} {}",
                    static_cast<int>(p.kind), pruning.exact, p.quantiser.bits, static_cast<int>(p.quantiser.normalise),
                    p.threshold, p.keep, p.alpha[0], p.alpha[1], p.block, p.window, p.sinks);
  }
  if (pruning.pattern) {
    const std::vector<std::uint8_t> bits = masks::packed_of(*pruning.pattern);
    out += " pattern " + base::content_hash(std::string_view(reinterpret_cast<const char*>(bits.data()), bits.size()));
  }
  return out;
}

// So that the folder that is stored prunes as it was trained: always in the same order.
void note_keys(const masks::Pruning& pruning, const File& own, const File& pattern, CheckpointModel& model) {
  const Node keys = formats::json::parse(own, "O1870");
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty() || keys.find(key) != nullptr) model.added_keys.emplace_back(key, value.empty() ? "null" : value);
  };
  const bool rule = pruning.predictor && pruning.predictor->kind == masks::PredictorKind::kThreshold;
  const masks::PredictorOptions p = pruning.predictor.value_or(masks::PredictorOptions{});
  const bool codes = rule && !pruning.exact;
  add("quant_qk", codes ? fmt::format(R"({{"method": "sym", "bitwidth": {}}})", p.quantiser.bits) : "");
  add("normalize_qk", codes && p.quantiser.normalise == masks::Normalise::kInnerProduct ? R"("inner_product")" : "");
  add("prune_score", rule ? fmt::format(R"({{"method": "probablity_threshold", "threshold": {}}})", p.threshold) : "");
  add("static_sparsity", pattern ? fmt::format("\"{}\"", kPatternFile) : "");
  if (pattern) model.added_files.emplace_back(kPatternFile, pattern->text);
}

// A kind of mask by name, as a file.
File pattern_file(const std::string& kind) {
  if (kind.ends_with(".json")) return base::read_file(kind);
  static constexpr std::pair<const char*, const char*> kFiles[] = {
      {"dense", R"({"class": "DenseSparsityConfig"})"},
      {"fixed", R"({"class": "FixedSparsityConfig"})"},
      {"longformer", R"({"class": "BSLongformerSparsityConfig"})"},
      {"bigbird", R"({"class": "BigBirdSparsityConfig"})"},
      {"hugebird",
       R"({"class": "BigBirdSparsityConfig", "block": 32, "num_random_blocks": 3, "num_global_blocks": 2})"},
      {"block-structured", R"({"class": "BlockStructuredRandomSparsityConfig"})"}};
  for (const auto& [name, text] : kFiles)
    if (kind == name) return std::make_shared<const base::SourceFile>(base::SourceFile{kind, text});
  return nullptr;
}

}  // namespace

const char* name_of(ClipsFrom from) {
  switch (from) {
    case ClipsFrom::kNothing:
      return "none";
    case ClipsFrom::kCheckpoint:
      return "checkpoint";
    case ClipsFrom::kTexts:
      return "texts";
    case ClipsFrom::kTraining:
      return "training";
  }
  return "";
}

PrunedModel open_pruning(const PruningRequest& request, CheckpointModel& model, Unclipped unclipped) {
  PrunedModel out;
  const network::Description& d = model.runnable.description;
  const File own = base::read_file((fs::path(model.folder) / "config.json").string());
  ModelConfig config;
  if (!request.config.empty() && request.config != "none") {
    const File given = base::read_file(request.config);
    model.inputs.push_back(base::file_input(*given));
    config = formats::sanger::read_model_config(given, model.warnings);
    warn_of_others(config, given, own, model.warnings);
    if (!config.prunes() && !request.predictor && request.pattern.empty())
      base::fail("O1870", fmt::format("`{}` prunes nothing", request.config), {given, 0, 0},
                 "give it `prune_score` or `static_sparsity`");
  } else if (request.config.empty()) {
    config = formats::sanger::read_model_config(own, model.warnings);
  }
  masks::Pruning pruning;
  pruning.scaled_queries = model.runnable.family == Family::kBart;
  pruning.empty = request.empty.value_or(pruning.empty);
  if (request.predictor) {
    pruning.predictor = request.predictor;
  } else if (config.threshold) {
    pruning.predictor = options_of(config);
    pruning.exact = !config.bits;
  }
  std::string kind = request.pattern;
  if (kind.empty() && !config.pattern.empty()) kind = found_from(config.pattern, config.pattern_where);
  File pattern;
  // A random mask's bits are the checkpoint's, if it has them: made anew they would be others.
  std::vector<Tensor>& tensors = model.checkpoint.tensors;
  if (has_stored_pattern(tensors)) {
    const auto tokens = static_cast<base::Count>(model.most_tokens());
    if (!kind.empty() && request.pattern.empty()) {
      pruning.pattern = std::make_shared<const masks::Mask>(stored_pattern(tensors, d.encoder.layer.heads, tokens));
      pattern = pattern_file(kind);
    } else {
      model.warnings.warning("O1883", fmt::format("the static mask that `{}` holds is not used", model.folder))
          .note(kind.empty() ? "`static_sparsity` does not ask for it" : fmt::format("`{}` takes its place", kind));
      if (unclipped == Unclipped::kLearn) drop_stored_patterns(tensors);
    }
  }
  if (!kind.empty() && !pruning.pattern) {
    const MaskPattern read = read_mask_pattern(kind);
    const auto tokens = static_cast<base::Count>(model.most_tokens());
    const double bits = check_mask_pattern(read, tokens, d.encoder.layer.heads);
    demand_room(base::Budget(base::Limits()), bits / 8, "the mask");
    model.inputs.insert(model.inputs.end(), read.inputs.begin(), read.inputs.end());
    model.warnings.append(read.warnings);
    pruning.pattern =
        std::make_shared<const masks::Mask>(static_mask(read.pattern, tokens, d.encoder.layer.heads, 0));
    pattern = pattern_file(kind);
    if (!pattern && unclipped == Unclipped::kLearn)
      base::fail(
          "O1870", fmt::format("a config.json cannot say `{}`: what is trained could not be told from it", kind), {},
          "take a mask that Sanger has: dense, fixed, longformer, bigbird, hugebird, block-structured, or a file");
  }
  note_keys(pruning, own, pattern, model);
  if (!pruning.prunes()) return out;
  out.network.emplace(d, pruning);
  out.rule = words_of(pruning, kind.empty() ? "" : fs::path(kind).filename().string());
  out.identity = identity_of(pruning);
  if (!pruning.quantises()) return out;
  const Read read = read_clips(model, out.network->places());
  const std::size_t places = read.clips.size();
  const bool set = read.there == places && read.unset.empty();
  if (unclipped == Unclipped::kLearn) {
    out.clips = ClipsFrom::kTraining;
  } else if (request.calibrate || (!read.any && unclipped == Unclipped::kCalibrate)) {
    out.clips = ClipsFrom::kTexts;
    return out;
  } else if (!set) {
    refuse_clips(model, read, places);
  } else {
    out.clips = ClipsFrom::kCheckpoint;
  }
  for (std::size_t i = 0; i < places; ++i) out.network->core(i).clips = read.clips[i];
  return out;
}

void warn_of_dense(CheckpointModel& model) {
  const File own = base::read_file((fs::path(model.folder) / "config.json").string());
  base::Diagnostics ignored;
  if (!formats::sanger::read_model_config(own, ignored).prunes()) return;
  model.warnings
      .warning("O1877", fmt::format("the model of `{}` prunes attention, and what it generates is computed densely",
                                    model.folder))
      .hint("`orrery tune eval` and `orrery sparse run` prune as it was trained");
}

void check_masks(const network::Network::Size& size, const network::Description& description) {
  const network::Index longest = std::max(size.length, size.target_length);
  const base::Count row = base::ceil_divide(longest, masks::kWordBits) * masks::kWordBits;
  const double bits = static_cast<double>(size.sequences) * static_cast<double>(description.encoder.layer.heads) *
                      static_cast<double>(longest) * static_cast<double>(row);
  if (bits <= static_cast<double>(masks::kMostMaskBits)) return;
  base::fail("O1803",
             fmt::format("a mask of {} sequences, {} heads and {} x {} bits is larger than {} bits", size.sequences,
                         description.encoder.layer.heads, longest, row, masks::kMostMaskBits),
             {}, "take fewer texts at once (`--batch`), or cut them (`--max-tokens`)");
}

void PrunedFigures::watch(PrunedModel& pruned) {
  rule = pruned.rule;
  clips = pruned.clips;
  for (std::size_t i = 0; i < pruned.network->places().size(); ++i) {
    pruning::PrunedAttention& core = pruned.network->core(i);
    core.told = [this, &core] {
      const masks::Prediction& last = core.prediction();
      masks.push_back(masks::measure(last.mask, {}, last.emptied));
      emptied += static_cast<base::Count>(last.emptied.size());
    };
  }
}

void store_clips(const PrunedModel& pruned, CheckpointModel& model) {
  if (!pruned.network || !pruned.network->pruning().quantises()) return;
  std::vector<Tensor>& tensors = model.checkpoint.tensors;
  const Family family = model.runnable.family;
  for (std::size_t i = 0; i < pruned.network->places().size(); ++i) {
    const Place& place = pruned.network->places()[i];
    const Clips& clips = pruned.network->core(i).clips;
    const float values[] = {clips.query.value, clips.key.value, static_cast<float>(clips.query.step)};
    std::string module = prefix_of(family) + module_of(family, place) + "quant_matmul.";
    for (const char* const buffer : kBuffers)
      if (const auto at = buffer_of(tensors, family, place, buffer))
        module = tensors[*at].name.substr(0, tensors[*at].name.size() - std::strlen(buffer));
    for (int b = 0; b < 3; ++b) {
      const auto bytes = std::make_shared<std::string>(sizeof(float), '\0');
      std::memcpy(bytes->data(), &values[b], sizeof(float));
      Tensor tensor{module + kBuffers[b], formats::checkpoint::Element::kF32, {1}, *bytes, bytes};
      const auto at = buffer_of(tensors, family, place, kBuffers[b]);
      if (at)
        tensors[*at] = std::move(tensor);
      else
        tensors.push_back(std::move(tensor));
    }
  }
}

}  // namespace orrery::verbs
