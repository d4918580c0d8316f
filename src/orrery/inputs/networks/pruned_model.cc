#include "orrery/inputs/networks/pruned_model.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/sanger/model_config.h"
#include "orrery/inputs/masks/mask_pattern.h"
#include "orrery/inputs/masks/sparse_limits.h"
#include "orrery/inputs/networks/stored_clips.h"
#include "orrery/inputs/networks/stored_pattern.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using formats::checkpoint::Tensor;
using formats::huggingface::Family;
using formats::json::Node;
using formats::sanger::ModelConfig;
using File = std::shared_ptr<const base::SourceFile>;

constexpr const char* kPatternFile = "static_sparsity.json";

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
                           base::plural(differ.size()), given->name, base::plural(differ.size(), "is", "are")),
               first->key_where)
      .note(base::joined(differ, ", "))
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
    pruning.pattern = std::make_shared<const masks::Mask>(static_mask(read.pattern, tokens, d.encoder.layer.heads, 0));
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
  const StoredClips read = read_clips(model, out.network->places());
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

}  // namespace orrery::verbs
