// Reading config.json: one row of a table per family (families.h) says which key holds which size.
//
// What the keys mean is fixed by the `transformers` library's configuration classes (BertConfig, GPT2Config,
// ...): a null or absent `n_inner` is 4 n_embd, a null `num_key_value_heads` is
// `num_attention_heads`, an absent one what the family's class has, an absent `head_dim` is the width divided by the
// heads. Whether the feed-forward is gated and which norm is used follow from the family's code, not from `hidden_act`,
// which names only the non-linearity. What is not read is looked up in the tables of keys.h. Cost: linear in the text.
#include "orrery/formats/huggingface/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "orrery/base/edit_distance.h"
#include "orrery/formats/huggingface/class_parameters.h"
#include "orrery/formats/huggingface/families.h"
#include "orrery/formats/huggingface/keys.h"
#include "orrery/formats/huggingface/value_types.h"
#include "orrery/formats/json/document.h"
#include "orrery/formats/json/places.h"

namespace orrery::formats::huggingface {
namespace {

using formats::json::KeyPlace;
using formats::json::place_at;
using formats::json::top_level_keys;
namespace json = formats::json;

constexpr std::string_view kTied = "tie_word_embeddings";
constexpr std::string_view kSequence = "_sequence";  // ours: tokens of a sequence in training
constexpr std::string_view kWindow = "sliding_window";
constexpr std::array<std::string_view, 5> kLatentKeys = {"q_lora_rank", "kv_lora_rank", "qk_rope_head_dim",
                                                         "qk_nope_head_dim", "v_head_dim"};

class Reader {
 public:
  Reader(const std::shared_ptr<const base::SourceFile>& file, const ReadOptions& options)
      : file_(file), options_(options), strict_(options.strictness == Strictness::kCatalogue) {}

  ConfigDocument read() {
    parse();
    keys_ = top_level_keys(file_);
    descend();
    report_duplicates();
    find_family();
    result_.diagnostics.throw_if_errors();
    read_sizes();
    if (strict_) {
      demand_catalogue_form();
    } else {
      check_keys();
    }
    for (const std::string& key : options_.ignored) check_ignored(key);
    result_.config.places[""] = {file_, 0, 0, 1};
    // Sizes that could not be read are 0; what `complete` would say of them is not news.
    if (!result_.diagnostics.has_errors()) result_.config = workload::complete(result_.config, result_.diagnostics);
    // A catalogue's entry is counted as its paper counts: blocks and tables.
    if (!result_.diagnostics.has_errors() && !strict_) count_parameters();
    result_.diagnostics.throw_if_errors();
    return std::move(result_);
  }

 private:
  void parse() {
    try {
      document_ = nlohmann::json::parse(file_->text);
    } catch (const nlohmann::json::parse_error& error) {
      const std::string what = error.what();
      const std::size_t colon = what.find(": ");
      const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
      base::fail("O0900", "this is not JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)),
                 place_at(file_, byte),
                 begins_as_json() ? "config.json is strict JSON: double quotes, no comments, no trailing commas"
                                  : "a model's config.json begins with `{`: is this the right file?");
    } catch (const nlohmann::json::out_of_range& error) {
      // The exception knows no byte, but quotes the number.
      const std::string what = error.what();
      const std::size_t open = what.find('\''), close = what.rfind('\'');
      const std::string number =
          open < close && close != std::string::npos ? what.substr(open + 1, close - open - 1) : "";
      const std::string shown = number.size() > 24 ? number.substr(0, 24) + "..." : number;
      base::fail("O0900", fmt::format("the number {} is larger than any that JSON can carry", shown),
                 place_at(file_, file_->text.find(number), static_cast<int>(std::max<std::size_t>(1, number.size()))));
    }
    if (!document_.is_object())
      base::fail("O0900", fmt::format("a model's config.json is a JSON object, but this is {}", kind(document_)),
                 place_at(file_, file_->text.find_first_not_of(" \t\r\n")));
  }

  bool begins_as_json() const {
    const std::size_t first = file_->text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    return first == std::string::npos || file_->text[first] == '{' || file_->text[first] == '[';
  }

  static bool is_whole(const nlohmann::json& value) {
    return value.is_number_float() && value.get<double>() == std::floor(value.get<double>());
  }

  static std::string kind(const nlohmann::json& value) {
    if (value.is_null()) return "null";
    if (value.is_number_float())
      return (is_whole(value) ? "written as the float " : "the fractional number ") + value.dump();
    if (value.is_number()) return "the number " + value.dump();
    if (value.is_array()) return "a list";
    if (value.is_object()) return "an object";
    if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
    return "the text \"" + value.get<std::string>().substr(0, 60) + "\"";
  }

  const KeyPlace* place(std::string_view key) const {
    const auto found = std::find_if(keys_.rbegin(), keys_.rend(), [&](const KeyPlace& k) { return k.key == key; });
    return found == keys_.rend() ? nullptr : &*found;
  }

  base::Location value_place(std::string_view key) const {
    const KeyPlace* found = place(key);
    return found ? found->value_where : base::Location{file_, 0, 0, 1};
  }

  void report_duplicates() {
    std::vector<const KeyPlace*> sorted;
    for (const KeyPlace& key : keys_) sorted.push_back(&key);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const KeyPlace* a, const KeyPlace* b) { return a->key < b->key; });
    for (std::size_t i = 1; i < sorted.size(); ++i) {
      if (sorted[i]->key != sorted[i - 1]->key) continue;
      const std::string message = fmt::format("`{}` is given twice", sorted[i]->key);
      base::Diagnostic& diagnostic = strict_ ? result_.diagnostics.error("O0904", message, sorted[i]->key_where)
                                             : result_.diagnostics.warning("O0904", message, sorted[i]->key_where);
      diagnostic.label("this one counts").also(sorted[i - 1]->key_where, "given here first");
    }
  }

  void find_family() {
    const auto type = document_.find("model_type");
    if (type == document_.end()) {
      base::Diagnostic& missing =
          result_.diagnostics.error("O0902", "`model_type` is missing: it says which keys to expect", {file_, 0, 0, 1});
      // Old files do without; their keys give the family away.
      if (document_.contains("n_embd"))
        missing.hint("this looks like GPT-2: add \"model_type\": \"gpt2\"");
      else if (document_.contains("rms_norm_eps"))
        missing.hint("this looks like Llama: add \"model_type\": \"llama\"");
      else if (document_.contains("hidden_size"))
        missing.hint("this looks like BERT: add \"model_type\": \"bert\"");
      return;
    }
    if (!type->is_string()) {
      result_.diagnostics.error("O0903", "`model_type` must be a text, but is " + kind(*type),
                                value_place("model_type"));
      return;
    }
    const auto name = type->get<std::string>();
    family_ = huggingface::find_family(name);
    if (family_) return;
    const std::vector<std::string> known = model_types();
    base::Diagnostic& unknown = result_.diagnostics.error(
        "O0901", fmt::format("models of type `{}` are not understood", name.substr(0, 60)), value_place("model_type"));
    unknown.note(fmt::format("understood: {}", fmt::join(known, ", ")));
    unknown.hint(base::did_you_mean(name, known));
  }

  // The value of `key`, or nothing when absent or null; wrong types are reported.
  std::optional<base::Count> size(std::string_view key, const char* field) {
    if (key.empty()) return std::nullopt;
    const auto found = document_.find(key);
    if (found == document_.end() || found->is_null()) return std::nullopt;
    result_.config.places[field] = value_place(key);
    const bool unsigned_fits = found->is_number_unsigned() && found->get<std::uint64_t>() <= INT64_MAX;
    if (unsigned_fits || (found->is_number_integer() && !found->is_number_unsigned())) return found->get<base::Count>();
    result_.diagnostics
        .error("O0903", fmt::format("`{}` must be a whole number, but is {}", key, kind(*found)), value_place(key))
        .label("a whole number of 1 or more")
        .hint(whole_text(*found));
    return std::nullopt;
  }

  // "write 4096" for 4096.0, where that is near enough to be meant.
  static std::string whole_text(const nlohmann::json& value) {
    constexpr double kMost = 1e15;
    if (!is_whole(value) || !(value.get<double>() >= 1 && value.get<double>() <= kMost)) return {};
    return fmt::format("write {:.0f}", value.get<double>());
  }

  base::Count required(std::string_view key, const char* field) {
    if (!document_.contains(key) || document_.find(key)->is_null()) missing_.emplace_back(key);
    return size(key, field).value_or(0);
  }

  void read_sizes() {
    workload::TransformerConfig& config = result_.config;
    config.family = family_->model_type;
    config.name = family_->model_type;
    if (const auto name = document_.find("_name_or_path"); name != document_.end() && name->is_string())
      if (!name->get<std::string>().empty()) config.name = name->get<std::string>();
    config.gated = family_->gated;
    config.rms_norm = family_->rms_norm;
    config.hidden = required(family_->hidden, "hidden");
    config.layers = required(family_->layers, "layers");
    config.heads = required(family_->heads, "heads");
    config.kv_heads = optional_size(family_->kv_heads, "kv_heads");
    if (!document_.contains(family_->kv_heads)) config.kv_heads = family_->absent_kv_heads;
    if (config.kv_heads > 0 && config.heads > 0 && !document_.contains(family_->kv_heads) &&
        config.heads % config.kv_heads != 0)
      result_.diagnostics.error("O0902",
                                fmt::format("`{}` is missing, and {}, which its class has then, do not divide {} heads",
                                            family_->kv_heads, config.kv_heads, config.heads),
                                value_place(family_->heads));
    config.head_dim = optional_size(family_->head_dim, "head_dim");
    if (family_->default_feed_forward) {
      config.feed_forward = optional_size(family_->feed_forward, "feed_forward");
      if (config.feed_forward == 0 && __builtin_mul_overflow(config.hidden, 4, &config.feed_forward))
        result_.diagnostics.error("O0914", fmt::format("4 x `{}` cannot be counted in 64 bits", family_->hidden),
                                  value_place(family_->hidden));
    } else {
      config.feed_forward = required(family_->feed_forward, "feed_forward");
    }
    config.vocab = optional_size(family_->vocab, "vocab");
    config.max_positions = size(family_->max_positions, "max_positions");
    if (config.max_positions && family_->model_type == "roberta") reserve_positions();
    if (config.head_dim == 0 && family_->head_width > 0) config.head_dim = family_->head_width;
    config.biases = family_->biases && flag("enable_bias").value_or(true);
    config.dropout = drops();
    config.learned_positions = family_->learned_positions;
    config.causal = family_->causal || (reads("is_decoder") && flag("is_decoder").value_or(false));
    config.tied_embedding = flag(kTied).value_or(!family_->untied);
    config.training_sequence = size(kSequence, "training_sequence");
    if (family_->latent) read_latent();
    if (family_->mixture) read_experts();
    read_window();
    check_values();
    report_missing();
  }

  void check_values() {
    const json::Node tree = json::parse(file_, "O0900");
    const json::Node& object = outer_keys_.empty() ? tree : tree.find("text_config")->value;
    check_value_types(object, options_.ignored, result_.diagnostics);
    if (missing_.empty())
      check_layer_counts(object, std::string(family_->layers), result_.config.layers, options_.ignored,
                         result_.diagnostics);
  }

  // RoBERTa counts positions from the padding's token + 1, so that its table has rows that no sequence reaches.
  void reserve_positions() {
    std::optional<base::Count>& positions = result_.config.max_positions;
    result_.config.position_rows = *positions;
    const auto padding = document_.find("pad_token_id");
    const bool given = padding != document_.end() && padding->is_number_integer();
    const double rows = (given ? padding->get<double>() : 1) + 1;  // RobertaConfig's default is 1
    if (rows >= 1 && rows < static_cast<double>(*positions)) *positions -= static_cast<base::Count>(rows);
  }

  // "num_local_experts" is Mixtral's name, "n_routed_experts" DeepSeek's.
  void read_experts() {
    workload::TransformerConfig& config = result_.config;
    workload::ExpertsConfig experts;
    const bool routed = document_.contains("n_routed_experts");
    experts.count = required(routed ? "n_routed_experts" : "num_local_experts", "experts");
    experts.top_k = required("num_experts_per_tok", "top_k");
    experts.feed_forward = size("moe_intermediate_size", "experts_feed_forward").value_or(config.feed_forward);
    experts.shared = size("n_shared_experts", "shared_experts").value_or(0);
    experts.dense_layers = size("first_k_dense_replace", "dense_layers").value_or(0);
    experts.every = size("moe_layer_freq", "every").value_or(1);
    experts.max_nodes = size("topk_group", "max_nodes").value_or(0);  // groups of experts are nodes
    // A null is absent, and what is no number was said to be none.
    const auto demand = [&](base::Count value, base::Count least, std::string_view key) {
      const auto given = document_.find(key);
      if (value < least && given != document_.end() && given->is_number_integer())
        result_.diagnostics.error("O0910", fmt::format("`{}` must be at least {}, but is {}", key, least, value),
                                  value_place(key));
    };
    demand(experts.count, 1, routed ? "n_routed_experts" : "num_local_experts");
    demand(experts.top_k, 1, "num_experts_per_tok");
    demand(experts.feed_forward, 1, "moe_intermediate_size");
    demand(experts.shared, 0, "n_shared_experts");
    demand(experts.dense_layers, 0, "first_k_dense_replace");
    demand(experts.every, 1, "moe_layer_freq");
    demand(experts.max_nodes, 1, "topk_group");
    // Where a token may visit every group, nothing limits it.
    const std::optional<base::Count> groups = size("n_group", "groups");
    if (groups && experts.max_nodes > 0 && experts.max_nodes >= *groups) experts.max_nodes = 0;
    if (experts.count > 0 && experts.top_k > experts.count)
      result_.diagnostics
          .error("O0907", fmt::format("a token visits {} of {} experts", experts.top_k, experts.count),
                 value_place("num_experts_per_tok"))
          .hint("`num_experts_per_tok` is at most the number of experts");
    config.experts = experts;
  }

  void read_latent() {
    workload::TransformerConfig& config = result_.config;
    workload::LatentAttentionConfig latent;
    latent.q_rank = optional_size("q_lora_rank", "q_rank");
    latent.kv_rank = required("kv_lora_rank", "latent");
    latent.rope_width = required("qk_rope_head_dim", "rope_width");
    latent.nope_width = required("qk_nope_head_dim", "nope_width");
    latent.value_width = required("v_head_dim", "value_width");
    for (const std::string_view key : kLatentKeys)
      if (const auto value = document_.find(key);
          value != document_.end() && value->is_number_integer() && value->get<double>() < 1)
        result_.diagnostics.error("O0910", fmt::format("`{}` must be positive, but is {}", key, kind(*value)),
                                  value_place(key));
    __builtin_add_overflow(latent.rope_width, latent.nope_width, &config.head_dim);
    config.latent = latent;
  }

  std::optional<bool> flag(std::string_view key) {
    const auto found = document_.find(key);
    if (found == document_.end() || found->is_null()) return std::nullopt;
    if (found->is_boolean()) return found->get<bool>();
    result_.diagnostics.error("O0903", fmt::format("`{}` must be true or false, but is {}", key, kind(*found)),
                              value_place(key));
    return std::nullopt;
  }

  // A stated 0 is an error where an absent key has a meaning of its own.
  base::Count optional_size(std::string_view key, const char* field) {
    const std::optional<base::Count> value = size(key, field);
    if (value && *value == 0)
      result_.diagnostics.error("O0910", fmt::format("`{}` must be positive, but is 0", key), value_place(key))
          .hint("leave the key out for the default");
    return value.value_or(0);
  }

  void report_missing() {
    if (missing_.empty()) return;
    base::Diagnostic& missing = result_.diagnostics.error(
        "O0902",
        fmt::format("{} missing from a config.json of type `{}`: `{}`",
                    missing_.size() == 1 ? "a key is" : fmt::format("{} keys are", missing_.size()),
                    family_->model_type, fmt::join(missing_, "`, `")),
        {file_, 0, 0, 1});
    std::vector<std::string> present;
    for (const KeyPlace& key : keys_) present.push_back(key.key);
    for (const std::string& key : missing_)
      if (const KeyPlace* null = place(key))
        missing.also(null->value_where, "null says as little as no key");
      else if (const std::string near = base::closest(key, present); !near.empty() && near != key)
        missing.hint(fmt::format("is `{}` meant to be `{}`?", near, key)).also(place(near)->key_where, "written here");
  }

  // A model of several towers keeps the language model's keys in `text_config`.
  void descend() {
    const auto type = document_.find("model_type");
    const auto inner = document_.find("text_config");
    if (strict_ || inner == document_.end() || !inner->is_object()) return;
    if (type != document_.end() && type->is_string() && huggingface::find_family(type->get<std::string>())) return;
    const json::Node tree = json::parse(file_, "O0900");
    outer_keys_ = keys_;
    keys_.clear();
    for (const json::Member& member : tree.find("text_config")->value.members)
      keys_.push_back({member.key, member.key_where, member.value.where});
    outer_ = document_;
    document_ = document_["text_config"];
  }

  bool reads(std::string_view key) const {
    const std::vector<std::string_view> known = keys_read(*family_);
    return std::find(known.begin(), known.end(), key) != known.end();
  }

  // Whether masks are drawn and kept: as the probabilities say, where one is given.
  bool drops() const {
    bool given = false, some = false;
    const auto look = [&](std::string_view key) {
      const auto value = document_.find(key);
      if (value == document_.end() || !value->is_number()) return;
      given = true;
      some = some || value->get<double>() > 0;
    };
    for (const std::string_view key : hidden_dropouts()) look(key);
    if (family_->dropout)
      for (const std::string_view key : attention_dropouts()) look(key);
    return given ? some : family_->dropout;
  }

  // Tokens that attention sees, where any layer has such a window.
  void read_window() {
    const auto kinds = document_.find("layer_types");
    bool some_windowed = true;
    if (kinds != document_.end() && kinds->is_array()) {
      some_windowed = false;
      for (const nlohmann::json& kind : *kinds) {
        some_windowed = some_windowed || kind == "sliding_attention";
        if (!kind.is_string() || kind == "full_attention" || kind == "sliding_attention" || ignored("layer_types"))
          continue;
        refuse("layer_types", "some of the layers mix tokens by something else than attention to all of them");
        break;
      }
    }
    if (ignored(kWindow)) return;
    const std::optional<bool> used = flag("use_sliding_window");
    if (!used.value_or(family_->model_type != "qwen2")) return;  // Qwen2Config's default is none
    std::optional<base::Count> window = size(kWindow, "window");
    if (!document_.contains(kWindow) && family_->absent_window > 0) window = family_->absent_window;
    if (window && *window <= 0) {
      result_.diagnostics
          .error("O0910", fmt::format("`{}` must be positive, but is {}", kWindow, *window), value_place(kWindow))
          .hint("null says that there is none");
      return;
    }
    const std::optional<base::Count> full_layers = size("max_window_layers", "full_layers");
    if (!window || !some_windowed) return;
    // The classes of other families do not look at the key, though files of theirs carry it.
    const bool counts = family_->absent_full_layers > 0 && document_.contains("max_window_layers");
    const base::Count full = counts ? full_layers.value_or(0) : family_->absent_full_layers;
    if (full >= result_.config.layers && (kinds == document_.end() || kinds->is_null())) return;
    result_.config.window = window;
  }

  void count_parameters() {
    ClassSwitches switches;
    switches.attention_bias = reads("attention_bias") && flag("attention_bias").value_or(family_->biases);
    switches.mlp_bias = reads("mlp_bias") && flag("mlp_bias").value_or(false);
    if (family_->model_type == "opt") {
      switches.no_biases = !flag("enable_bias").value_or(true);
      switches.plain_norms = !flag("layer_norm_elementwise_affine").value_or(true);
      switches.final_norm =
          flag("do_layer_norm_before").value_or(true) && !flag("_remove_final_layer_norm").value_or(false);
    }
    if (reads("type_vocab_size")) switches.token_types = size("type_vocab_size", "token_types").value_or(2);
    const auto architectures = document_.find("architectures");
    if (architectures != document_.end() && architectures->is_array() && !architectures->empty() &&
        architectures->front().is_string())
      switches.architecture = architectures->front().get<std::string>();
    if (result_.config.learned_positions && family_->model_type != "roberta")
      result_.config.position_rows = result_.config.max_positions.value_or(0);
    if (!count_class_parameters(*family_, switches, result_.config))
      result_.diagnostics
          .warning("O0921",
                   fmt::format("`{}` does not end in logits over the vocabulary; it is taken for a model that does",
                               switches.architecture.substr(0, 60)),
                   value_place("architectures"))
          .note("parameters, time and memory are those of the family's class for modelling language")
          .hint("what differs is outside of the blocks: one matrix, or none");
  }

  bool ignored(std::string_view key) const {
    return std::find(options_.ignored.begin(), options_.ignored.end(), key) != options_.ignored.end();
  }

  void refuse(std::string_view key, std::string_view effect) {
    result_.diagnostics
        .error("O0917", fmt::format("`{}` changes what the model costs, and is not modelled", key), place_of(key))
        .note(fmt::format("with it {}", effect))
        .hint(way_out(key));
  }

  // For a reader that does not know what will be asked of the model.
  void warn_of_outside(std::string_view key, std::string_view effect) {
    result_.diagnostics
        .warning("O0917", fmt::format("`{}` changes what the model costs, and is not modelled", key), place_of(key))
        .note(fmt::format("with it {}", effect))
        .note("`train` stops at it; `map` and `graph` ask for blocks only, which do not depend on it")
        .hint(way_out(key));
  }

  // Grouped queries are modelled, under another name: to ignore them would answer for a dearer model.
  std::string way_out(std::string_view key) const {
    if (!family_->kv_heads.empty() && !document_.contains(family_->kv_heads)) {
      if (key == "num_kv_heads") return fmt::format("did you mean `{}`?", family_->kv_heads);
      if (key == "multi_query" || key == "multi_query_attention")
        return fmt::format("say it as \"{}\": 1, which is modelled", family_->kv_heads);
    }
    return fmt::format("without it: `--ignore {}`; the answer then is that of the model without it", key);
  }

  base::Location place_of(std::string_view key) const {
    for (const std::vector<KeyPlace>* keys : {&keys_, &outer_keys_})
      for (const KeyPlace& known : *keys)
        if (known.key == key) return known.key_where;
    return {file_, 0, 0, 1};
  }

  bool inactive(const CostlyKey& costly, const nlohmann::json& value) const {
    if (value.is_null()) return true;
    const bool nothing = (value.is_boolean() && !value.get<bool>()) || (value.is_number() && value.get<double>() == 0);
    const auto equals = [&](base::Count size) { return value.is_number() && value.get<double>() == double(size); };
    switch (costly.inactive) {
      case Inactive::kNull:
        return false;
      case Inactive::kFalse:
        return nothing || (value.is_array() && value.empty());
      case Inactive::kEmpty:
        return nothing || (value.is_structured() && value.empty()) || value == "";
      case Inactive::kOne:
        return nothing || equals(1);
      case Inactive::kHidden:
        return equals(result_.config.hidden);
      case Inactive::kHeads:
        return equals(result_.config.heads);
      case Inactive::kAbsolute:
        break;
    }
    return value == "absolute" || value == "rotary" || value == "rope" || value == "learned";
  }

  // Every key is read, known not to matter, refused because it does, or named because nobody knows.
  void check_keys() {
    check_object(document_, keys_);
    if (!outer_keys_.empty()) check_object(outer_, outer_keys_);
  }

  void check_object(const nlohmann::json& object, const std::vector<KeyPlace>& keys) {
    std::vector<std::string> known;
    for (const std::string_view key : keys_read(*family_)) known.emplace_back(key);
    const bool outer = &keys == &outer_keys_;
    for (const KeyPlace& key : keys) {
      const auto value = object.find(key.key);
      if (value == object.end() || key.key.starts_with("_") || (outer && key.key == "text_config")) continue;
      if (std::find(known.begin(), known.end(), key.key) != known.end() || ignored(key.key)) continue;
      if (const CostlyKey* costly = find_costly_key(key.key)) {
        if (inactive(*costly, *value)) continue;
        if (!costly->outside || options_.outside == Outside::kRefused)
          refuse(key.key, costly->effect);
        else if (options_.outside == Outside::kWarned)
          warn_of_outside(key.key, costly->effect);
      } else if (why_harmless(key.key).empty() && missing_.empty()) {  // it may be what is missing, said above
        std::vector<std::string> candidates = known;
        for (const CostlyKey& other : costly_keys()) candidates.emplace_back(other.key);
        // A key that is there already cannot be what was meant.
        std::erase_if(candidates, [&](const std::string& candidate) { return object.contains(candidate); });
        result_.diagnostics
            .warning("O0916", fmt::format("nothing is known about `{}`", key.key.substr(0, 60)), key.key_where)
            .note("it is left out of account: neither is it read, nor is it on the list of keys that do not matter")
            .hint(base::did_you_mean(key.key, candidates,
                                     fmt::format("if it does not matter here, say so: `--ignore {}`", key.key)));
      }
    }
  }

  // What was left out is named beside the answer.
  void check_ignored(const std::string& key) {
    const auto inner = document_.find(key), outer = outer_.find(key);
    const bool there = inner != document_.end() || (outer_.is_object() && outer != outer_.end());
    if (!there) {
      std::vector<std::string> present;
      for (const KeyPlace& known : keys_) present.push_back(known.key);
      for (const KeyPlace& known : outer_keys_) present.push_back(known.key);
      result_.diagnostics
          .warning("O0919", fmt::format("there is no `{}` to ignore", key.substr(0, 60)), {file_, 0, 0, 1})
          .hint(base::did_you_mean(key, present));
      return;
    }
    if (reads(key)) {
      result_.diagnostics
          .error("O0920", fmt::format("`{}` cannot be ignored: it says what the model is", key), place_of(key))
          .hint("ignored are keys that are not modelled; change the value in a copy of the file");
      return;
    }
    const CostlyKey* costly = find_costly_key(key);
    base::Diagnostic& note = result_.diagnostics.warning(
        "O0919", fmt::format("`{}` is ignored, as asked: the answer is that of the model without it", key),
        place_of(key));
    if (costly && inner != document_.end() && !inactive(*costly, *inner))
      note.note(fmt::format("with it {}", costly->effect));
    if (!costly && !why_harmless(key).empty() && key != kWindow && key != "layer_types")
      note.note("it makes no difference: " + std::string(why_harmless(key)));
  }

  void demand_catalogue_form() {
    std::vector<std::string> known;
    for (const std::string_view key : keys_read(*family_)) known.emplace_back(key);
    for (const KeyPlace& key : keys_) {
      if (std::find(known.begin(), known.end(), key.key) != known.end()) continue;
      base::Diagnostic& unknown = result_.diagnostics.error(
          "O0905", fmt::format("unknown key `{}` in a catalogue entry", key.key), key.key_where);
      unknown.hint(base::did_you_mean(key.key, known));
    }
    if (const auto title = document_.find("_title"); title != document_.end() && title->is_string())
      result_.title = title->get<std::string>();
    else
      result_.diagnostics.error("O0902", "`_title` is missing from a catalogue entry", {file_, 0, 0, 1});
    demand_sources();
  }

  void demand_sources() {
    const auto source = document_.find("_source");
    if (source != document_.end() && source->is_object())
      for (const auto& [key, text] : source->items()) {
        if (text.is_string() && document_.contains(key))
          result_.sources.emplace_back(key, text.get<std::string>());
        else
          result_.diagnostics.error("O0906", fmt::format("`_source` of `{}` cites nothing of this entry", key),
                                    value_place("_source"));
      }
    for (const KeyPlace& key : keys_) {
      const auto value = document_.find(key.key);
      if (value == document_.end() || !value->is_number()) continue;
      const bool cited = std::any_of(result_.sources.begin(), result_.sources.end(),
                                     [&](const auto& cited_key) { return cited_key.first == key.key; });
      if (!cited)
        result_.diagnostics.error("O0906", fmt::format("the figure `{}` has no source", key.key), key.key_where)
            .hint(fmt::format("add \"{}\" to `_source`", key.key));
    }
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  const ReadOptions& options_;
  const bool strict_;
  nlohmann::json document_, outer_;
  std::vector<KeyPlace> keys_, outer_keys_;
  const Family* family_ = nullptr;
  std::vector<std::string> missing_;
  ConfigDocument result_;
};

}  // namespace

ConfigDocument read_config(const std::shared_ptr<const base::SourceFile>& file, const ReadOptions& options) {
  return Reader(file, options).read();
}

std::vector<std::string> model_types() {
  std::vector<std::string> types;
  for (const Family& family : families()) types.emplace_back(family.model_type);
  return types;
}

}  // namespace orrery::formats::huggingface
