// Reading config.json: the family's function (families/) says which key holds which size, and what the absence of a key
// means; it is fixed by the `transformers` library's configuration classes. Whether the feed-forward network is gated
// and which norm is used follow from the family's code, not from `hidden_act`, which names only the non-linearity. What
// no getter asked for is looked up in the tables of keys.h. Cost: linear in the text.
#include "orrery/formats/huggingface/huggingface_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/workload/layers_ahead.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/formats/huggingface/activations.h"
#include "orrery/formats/huggingface/families/config_keys.h"
#include "orrery/formats/huggingface/families/described_family.h"
#include "orrery/formats/huggingface/families/registry.h"
#include "orrery/formats/huggingface/families/towers.h"
#include "orrery/formats/huggingface/families/unread_types.h"
#include "orrery/formats/huggingface/keys.h"
#include "orrery/formats/huggingface/nearest_family.h"
#include "orrery/formats/huggingface/value_types.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/formats/json/json_places.h"

namespace orrery::formats::huggingface {
namespace {

using json::Member;
using json::Node;

// Keys that this reader takes itself, whatever the family.
constexpr std::string_view kOwn[] = {"model_type",  "architectures", "_name_or_path",        "_title",
                                     "_source",     "_sequence",     "_quantization_config", "tie_word_embeddings",
                                     "expert_dtype"};

// Keys of windows and chunks, which may be left out of account although they are read.
bool is_reach(std::string_view key) {
  return key == "sliding_window" || key == "attention_chunk_size" || key == "local_attention";
}

bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class Reader {
 public:
  Reader(const std::shared_ptr<const base::SourceFile>& file, const ReadOptions& options)
      : file_(file), options_(options), strict_(options.strictness == Strictness::kCatalogue) {}

  ConfigDocument read() {
    parse();
    parse_beside();
    object_ = &tree_;
    descend();
    report_duplicates();
    find_family();
    found().throw_if_errors();
    keys_.emplace(*object_, whole(), found());
    for (const auto& size : family_->sizes)
      if (outer_ || size.first == "max_position_embeddings") lent_.push_back(size);
    keys_->lend_sizes(lent_);
    keys_->own_sizes(family_->sizes);
    const Node* type = value("model_type");
    if (!options_.like.empty() && type != nullptr && type->text != family_->model_type) keys_->of_another_type();
    read_model();
    if (strict_) {
      demand_catalogue_form();
    } else {
      check_keys();
    }
    for (const std::string& key : options_.ignored) check_ignored(key);
    found().throw_if_errors();
    return std::move(result_);
  }

 private:
  base::Diagnostics& found() { return result_.diagnostics; }
  base::Location whole() const { return {file_, 0, 0, 1}; }

  void parse() {
    const std::size_t first = file_->text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    const bool as_json = first == std::string::npos || file_->text[first] == '{' || file_->text[first] == '[';
    tree_ = json::parse_pythons(file_, "O0900",
                                as_json ? "config.json is strict JSON: double quotes, no comments, no trailing commas"
                                        : "a model's config.json begins with `{`: is this the right file?");
    if (!tree_.is_object())
      base::fail("O0900", fmt::format("a model's config.json is a JSON object, but this is {}", kind_of(tree_)),
                 json::place_at(file_, file_->text.find_first_not_of(" \t\r\n")));
  }

  // NVIDIA's ModelOpt writes how weights are stored into a file beside config.json, older versions only there.
  void parse_beside() {
    constexpr std::string_view kThis = "config.json", kBeside = "hf_quant_config.json";
    const std::string& path = file_->name;
    std::error_code none;
    if (strict_ || !path.ends_with(kThis) || path.ends_with(kBeside) || !std::filesystem::exists(path, none)) return;
    const std::string other = path.substr(0, path.size() - kThis.size()) + std::string(kBeside);
    if (!std::filesystem::exists(other, none)) return;
    const Node whole = json::parse_pythons(base::read_file(other), "O0900", "it is strict JSON");
    const Member* says = whole.find("quantization");
    const Member* algorithm = says == nullptr ? nullptr : says->value.find("quant_algo");
    if (algorithm == nullptr) {
      found()
          .warning("O0926", fmt::format("`{}` gives no `quant_algo` in `quantization`", kBeside), whole.where)
          .note("it is left out of account");
    } else {
      Node& in = algorithm->value.is_null() ? caches_beside_ : beside_;  // null: caches alone are converted
      in.kind = Node::Kind::kObject;
      in.where = says->value.where;
      in.members.push_back({"quantization_config", says->key_where, says->value});
    }
  }

  // Where config.json says something itself, that counts, as loaders have it.
  void read_widths_beside() {
    if (!caches_beside_.members.empty()) {
      base::Diagnostics unsaid;
      take_caches(read_widths(caches_beside_, nullptr, options_.ignored, false, unsaid).quantisation);
    }
    if (beside_.members.empty()) return;
    const WeightWidths other =
        read_widths(beside_, nullptr, options_.ignored, options_.outside == Outside::kWarned, found());
    if (!says_quantised()) {
      widths_.quantisation = other.quantisation;
      return;
    }
    take_caches(other.quantisation);
    const std::string& method = widths_.quantisation.method;
    if (options_.outside != Outside::kWarned || (method != "modelopt" && method != "compressed_tensors")) return;
    base::Diagnostics unsaid;
    const StoredWeights here = stored_weights(result_.transformer, widths_, unsaid);
    const StoredWeights there =
        stored_weights(result_.transformer, {widths_.bits, widths_.stated, other.quantisation}, unsaid);
    if (here.converted == there.converted && here.bits == there.bits) return;
    found()
        .warning("O0926",
                 fmt::format("`hf_quant_config.json` converts {} parameters, mostly {} bits wide, and config.json "
                             "{}, mostly {} bits wide",
                             there.converted, there.bits, here.converted, here.bits),
                 beside_.members.front().key_where)
        .note("what config.json says counts");
  }

  void take_caches(const Quantisation& other) {
    Quantisation& own = widths_.quantisation;
    if (!own.caches) own.caches = other.caches, own.unknown_caches = other.unknown_caches;
  }

  bool says_quantised() const {
    for (const Node* in : {object_, outer_})
      for (const std::string_view key : {"quantization_config", "compression_config"})
        if (const Member* own = in == nullptr ? nullptr : in->find(key); own != nullptr && !own->value.is_null())
          return true;
    return false;
  }

  const Node* value(std::string_view key) const {
    const Member* member = object_->find(key);
    return member == nullptr ? nullptr : &member->value;
  }

  // A model of several towers keeps the language model's keys in `text_config`.
  void descend() {
    // Qwen's models of all media have several language models; the first one reads and writes text.
    if (const Member* thinker = tree_.find("thinker_config"); thinker != nullptr && thinker->value.is_object())
      object_ = &thinker->value;
    const Member* inner = object_->find("text_config");
    if (strict_ || inner == nullptr || !inner->value.is_object()) return;
    const Node* type = value("model_type");
    const Family* known = type != nullptr && type->is_text() ? huggingface::find_family(type->text) : nullptr;
    if (known != nullptr && object_->find("hidden_size") != nullptr) return;
    if (known != nullptr) text_type_ = known->text_type;
    outer_ = object_;
    object_ = &inner->value;
    if (const Member* again = object_->find("text_config"); again != nullptr && again->value.is_object())
      found()
          .error("O0903", "a `text_config` stands inside of a `text_config`", again->key_where)
          .also(inner->key_where, "the outer one")
          .hint("a model of several parts has one, with the keys of its language model");
  }

  void report_duplicates() { report_duplicates(tree_); }

  // In every object: text, towers, quantisation.
  void report_duplicates(const Node& node) {
    for (const Node& item : node.items) report_duplicates(item);
    if (!node.is_object()) return;
    for (const json::Repeated& twice : json::repeated(node)) {
      const std::string message = fmt::format("`{}` is given twice", twice.last->key);
      base::Diagnostic& diagnostic = strict_ ? found().error("O0904", message, twice.last->key_where)
                                             : found().warning("O0904", message, twice.last->key_where);
      diagnostic.label("this one counts").also(twice.first->key_where, "given here first");
    }
    for (const Member& member : node.members) report_duplicates(member.value);
  }

  // Another number is another version of a family, and no slip.
  static std::string digits(std::string text) {
    std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
    return text;
  }

  // Of a type that nobody knows: what its keys say of it.
  void note_costs(base::Diagnostic& unknown) const {
    constexpr int kMost = 6;
    int noted = 0;
    for (const Member& member : object_->members)
      if (const CostlyKey* costly = find_costly_key(member.key); costly != nullptr && !costly->outside &&
                                                                 !says_nothing(member.value) &&
                                                                 member.value.text != "0" && ++noted <= kMost)
        unknown.note(fmt::format("by `{}`, {}", member.key, costly->effect));
  }

  // Of a document of the user's: the file's type where the document has it, else the document's first.
  static const Family* own_family(const std::string& path, const Node* type) {
    const std::vector<Family>& all = families_of(base::read_file(path));
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Family& one) { return type != nullptr && one.model_type == type->text; });
    return same != all.end() ? &*same : &all.front();
  }

  void find_family() {
    const Node* type = value("model_type");
    std::string name = options_.like;
    if (name.ends_with(".yaml") || name.ends_with(".yml") || name.find('/') != std::string::npos) {
      family_ = own_family(name, type);
    } else if (!name.empty()) {
      family_ = huggingface::find_family(name);
    } else if (type == nullptr && !text_type_.empty()) {
      name = text_type_;
      family_ = huggingface::find_family(name);
    } else if (type == nullptr) {
      base::Diagnostic& missing =
          found().error("O0902", "`model_type` is missing: it says which keys to expect", whole());
      // Old files do without; their keys give the family away.
      if (value("n_embd"))
        missing.hint("this looks like GPT-2: add \"model_type\": \"gpt2\"");
      else if (value("rms_norm_eps"))
        missing.hint("this looks like Llama: add \"model_type\": \"llama\"");
      else if (value("hidden_size"))
        missing.hint("this looks like BERT: add \"model_type\": \"bert\"");
      else if (value("attn_heads") && value("num_blocks"))
        hint_calculon(missing);
      return;
    } else if (!type->is_text()) {
      found().error("O0903", "`model_type` must be a text, but is " + kind_of(*type), type->where);
      return;
    } else {
      name = type->text;
      family_ = huggingface::find_family(name);
    }
    if (family_ != nullptr && (outer_ || family_->text_type.empty() || value("hidden_size"))) return;
    const std::vector<std::string> known = model_types();
    base::Diagnostic& unknown =
        found().error(family_ ? "O0902" : "O0901",
                      family_ ? fmt::format("a config.json of type `{}` must have a `text_config`", family_->model_type)
                              : fmt::format("models of type `{}` are not understood", name.substr(0, 60)),
                      type != nullptr && options_.like.empty() ? type->where : whole());
    if (family_) return;
    // A language model's type may be known by that of the whole alone.
    const std::string_view own = why_unread(name);
    const std::string_view why = own.empty() ? why_unread(outer_type()) : own;
    if (!why.empty()) unknown.note(fmt::format("what no kind of layer here says: {}", why));
    unknown.note(fmt::format("understood: {}", base::joined(known, ", ")));
    note_costs(unknown);
    const std::string near = base::closest(name, known);
    const bool slip = !near.empty() && base::edit_distance(name, near) == 1 && digits(name) == digits(near);
    unknown.hint(slip ? base::did_you_mean(near) : way_to_read(name, !why.empty()));
  }

  // Calculon's files of a model, whose sizes are a GPT's under other names.
  void hint_calculon(base::Diagnostic& missing) const {
    constexpr std::pair<const char*, const char*> kNames[] = {{"hidden", "n_embd"},
                                                              {"feedforward", "n_inner"},
                                                              {"attn_heads", "n_head"},
                                                              {"num_blocks", "n_layer"},
                                                              {"seq_size", "n_positions"}};
    std::string sizes;
    for (const auto& [theirs, ours] : kNames)
      if (const Node* size = value(theirs); size != nullptr && size->is_number())
        sizes += fmt::format(R"(, "{}": {})", ours, size->text.substr(0, 20));
    missing.note("this looks like a model of Calculon; its files of systems and executions are not read either")
        .hint(fmt::format(R"(write {{"model_type": "gpt2"{}, "vocab_size": 51200}})", sizes))
        .hint(
            "what its system and execution say are `--system NAME` and options of `orrery train`: --tp, --pp, --dp, "
            "...");
  }

  // Of a type that nobody knows. `apart`: its layers are known to be of no kind that is here.
  std::string way_to_read(const std::string& name, bool apart) const {
    const std::string document = "a document describes attention with a network or experts: `--like FILE.yaml`";
    if (apart) return "`--like TYPE` reads it as another type, without that";
    const std::optional<NearestFamily> near =
        options_.nearest && options_.like.empty() ? nearest_family(file_, options_, name) : std::nullopt;
    if (!near) return document;
    if (near->left_out.empty())
      return fmt::format("if it is built like `{0}`, which has all of its keys, say so: `--like {0}`; {1}", near->type,
                         document);
    constexpr std::size_t kMost = 4;
    const std::size_t more = near->left_out.size() > kMost ? near->left_out.size() - kMost : 0;
    return fmt::format(
        "the nearest is `--like {}`, which leaves out `{}`{}; {}", near->type,
        fmt::join(near->left_out.begin(), near->left_out.end() - static_cast<std::ptrdiff_t>(more), "`, `"),
        more > 0 ? fmt::format(" and {} more", more) : "", document);
  }

  void read_model() {
    workload::Transformer& model = result_.transformer;
    model.family = model.name = family_->model_type;
    if (const Node* name = value("_name_or_path"); name != nullptr && name->is_text() && !name->text.empty())
      model.name = name->text;
    keys_->know_all(kOwn);
    model.places[""] = whole();
    Reading reading{*keys_, model, outer_, &options_.ignored, outer_type()};
    try {
      family_->document ? read_described(*family_, reading) : family_->read(reading);
      if (!ignored("vision_config"))
        tower_keys_ = read_vision_tower(reading, outer_ != nullptr ? *outer_ : *object_, outer_type());
    } catch (const base::OverflowError&) {
      return refuse_to_count();
    }
    model.training_sequence = keys_->optional_size("_sequence");  // ours: tokens of a sequence in training
    model.dropout = drops();
    check_value_types(*object_, keys_->read(), options_.ignored, found());
    check_activations(*object_, options_.ignored, found());
    widths_ = read_widths(*object_, outer_, options_.ignored, options_.outside == Outside::kWarned, found());
    keys_->report_missing(family_->model_type);
    if (options_.ahead) count_ahead();
    if (found().has_errors()) return;
    place_sizes();
    bound_parameters();
    if (found().has_errors()) return;
    read_widths_beside();
    base::Diagnostics unnamed;
    result_.weights = stored_weights(model, widths_, unnamed);
    if (options_.outside == Outside::kWarned) found().append(unnamed);
    if (!strict_) check_head();
  }

  // As many modules that predict ahead as are asked for.
  void count_ahead() {
    workload::Transformer& model = result_.transformer;
    if (*options_.ahead < 0) {
      model.predicted_ahead = 0;
      return;
    }
    const base::Count stated = model.predicted_ahead, asked = *options_.ahead > 0 ? *options_.ahead : stated;
    std::string wrong, way = "without `--mtp` the answer is that of the layers before them";
    if (!model.ahead.known && stated == 0) {
      wrong =
          fmt::format("of models of type `{}` no layers that predict tokens beyond the next are known", model.family);
    } else if (!model.ahead.known) {
      wrong = fmt::format("what predicts tokens beyond the next in models of type `{}` is not known", model.family);
    } else if (asked == 0) {
      wrong = "the file states no layers that predict tokens beyond the next";
      way = "where its checkpoint has some, say how many: `--mtp 1`";
    } else if (stated > 0 && asked > stated) {
      wrong = fmt::format("{} modules that predict tokens beyond the next are asked for, but the file states {}", asked,
                          stated);
      way = fmt::format("`--mtp {}`, or `--mtp` alone", stated);
    }
    if (!wrong.empty()) {
      found().error("O0918", wrong, whole()).hint(way);
    } else if (options_.ahead_apart) {
      model.predicted_ahead = asked;
    } else if (!found().has_errors()) {
      model = workload::with_ahead(std::move(model), asked);
    }
  }

  // By names that do not depend on the family, too.
  void place_sizes() {
    static const std::pair<const char*, std::vector<const char*>> kNames[] = {
        {"hidden", {"hidden_size", "n_embd", "d_model", "dim", "n_embed"}},
        {"layers", {"num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers"}},
        {"heads", {"num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"}},
        {"kv_heads", {"num_key_value_heads", "num_kv_heads"}},
        {"head_dim", {"head_dim", "d_kv"}},
        {"feed_forward", {"intermediate_size", "n_inner", "ffn_dim", "hidden_dim", "d_ff", "ffn_hidden_size"}},
        {"vocab", {"vocab_size"}},
        {"q_rank", {"q_lora_rank"}},
        {"latent", {"kv_lora_rank"}},
        {"rope_width", {"qk_rope_head_dim"}},
        {"nope_width", {"qk_nope_head_dim"}},
        {"value_width", {"v_head_dim"}},
        {"experts_feed_forward", {"moe_intermediate_size"}},
        {"shared_experts", {"n_shared_experts"}},
        {"training_sequence", {"_sequence"}}};
    for (const auto& [field, keys] : kNames)
      for (const char* key : keys)
        if (keys_->read().contains(key) && keys_->has(key)) {
          result_.transformer.places[field] = keys_->where(key);
          break;
        }
  }

  void bound_parameters() {
    try {
      workload::parameters(result_.transformer);
      // Of two bytes each.
      base::checked_multiply(2, workload::cache_elements(result_.transformer));
      workload::state_elements(result_.transformer);
    } catch (const base::OverflowError&) {
      refuse_to_count();
    }
  }

  void refuse_to_count() {
    found().error(
        "O0914",
        fmt::format("the parameters and caches of `{}` cannot be counted in 64 bits", result_.transformer.name),
        whole());
  }

  // Of the whole file.
  std::string outer_type() const {
    const Member* type = (outer_ != nullptr ? outer_ : object_)->find("model_type");
    return type != nullptr && type->value.is_text() ? type->value.text : std::string();
  }

  // Whether masks are drawn and kept: as the probabilities say, where one is given.
  bool drops() {
    bool given = false, some = false;
    const auto look = [&](std::string_view key) {
      keys_->know_all(std::span(&key, 1));
      const Node* node = value(key);
      if (node == nullptr || !node->is_number()) return;
      given = true;
      some = some || node->number > 0;
    };
    for (const std::string_view key : hidden_dropouts()) look(key);
    for (const std::string_view key : attention_dropouts())
      if (family_->dropout)
        look(key);
      else
        keys_->know_all(std::span(&key, 1));
    return given ? some : family_->dropout;
  }

  // Classes with another head than the family's for modelling language.
  void check_head() {
    const std::vector<std::string> classes = keys_->texts("architectures");
    if (classes.empty()) return;
    const std::string& name = classes.front();
    const workload::Stack& stack = result_.transformer.decoder();
    const bool images = family_->model_type == "vit";
    for (const std::string_view usual : {"ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForConditionalGeneration"})
      if (!images && ends_with(name, usual)) return;
    if (images && ends_with(name, "ForImageClassification")) return;
    if (family_->model_type == "bert" && ends_with(name, "ForPreTraining")) {
      // A pooler, and which sentence comes next.
      result_.transformer.head.extra.push_back({"pooler", stack.width, stack.width, stack.width});
      result_.transformer.head.extra.push_back({"next sentence", stack.width, 2, 2});
      return;
    }
    if (options_.outside == Outside::kPassed) return;  // it is outside of the blocks
    found()
        .warning("O0921",
                 fmt::format("`{}` does not end in logits over the vocabulary; it is taken for a model that does",
                             name.substr(0, 60)),
                 keys_->value("architectures")->items.front().where)
        .note("parameters, time and memory are those of the family's class for modelling language")
        .hint("what differs is outside of the blocks: one matrix, or none");
  }

  bool ignored(std::string_view key) const {
    return std::find(options_.ignored.begin(), options_.ignored.end(), key) != options_.ignored.end();
  }

  void refuse(const Member& member, std::string_view effect) {
    found()
        .error("O0917", fmt::format("`{}` changes what the model costs, and is not modelled", member.key),
               member.key_where)
        .note(fmt::format("with it {}", effect))
        .hint(way_out(member.key));
  }

  // For a reader that does not know what will be asked of the model.
  void warn_of_outside(const Member& member, std::string_view effect) {
    found()
        .warning("O0917", fmt::format("`{}` changes what the model costs, and is not modelled", member.key),
                 member.key_where)
        .note(fmt::format("with it {}", effect))
        .note("`train` stops at it; `map` and `graph` ask for blocks only, which do not depend on it")
        .hint(way_out(member.key));
  }

  // Grouped queries are modelled, under another name: to ignore them would answer for a dearer model.
  std::string way_out(std::string_view key) const {
    constexpr std::string_view kUsual = "num_key_value_heads";
    if (keys_->read().contains(kUsual) && !keys_->has(kUsual)) {
      if (key == "num_kv_heads") return fmt::format("did you mean `{}`?", kUsual);
      if (key == "multi_query" || key == "multi_query_attention")
        return fmt::format("write it as \"{}\": 1, which is modelled", kUsual);
    }
    return fmt::format("without it: `--ignore {}`; the answer then is that of the model without it", key);
  }

  bool inactive(const CostlyKey& costly, const Node& node) const {
    if (node.is_null()) return true;
    const bool nothing = (node.kind == Node::Kind::kTruth && !node.truth) || (node.is_number() && node.number == 0);
    const auto equals = [&](base::Count size) { return node.is_number() && node.number == static_cast<double>(size); };
    const bool empty = (node.kind == Node::Kind::kList && node.items.empty()) ||
                       (node.is_object() && node.members.empty()) || (node.is_text() && node.text.empty());
    const workload::Stack& stack = result_.transformer.decoder();
    switch (costly.inactive) {
      case Inactive::kNull:
        return false;
      case Inactive::kFalse:
        return nothing || (node.kind == Node::Kind::kList && empty);
      case Inactive::kEmpty:
        return nothing || empty;
      case Inactive::kOne:
        return nothing || equals(1);
      case Inactive::kHidden:
        return equals(stack.width);
      case Inactive::kHeads: {
        const auto* attention =
            stack.kinds.empty() ? nullptr : std::get_if<workload::Attention>(&stack.kinds.front().mixer);
        return attention != nullptr && equals(attention->heads);
      }
      case Inactive::kAttend:
        return node.kind == Node::Kind::kList &&
               std::all_of(node.items.begin(), node.items.end(), [](const Node& item) {
                 return item.is_text() && (item.text == "full_attention" || item.text == "sliding_attention" ||
                                           item.text == "indexed_attention");  // an index has keys of its own
               });
      case Inactive::kAbsolute:
        break;
    }
    return node.is_text() && (node.text == "absolute" || node.text == "rotary" || node.text.starts_with("rope") ||
                              node.text == "learned");
  }

  // Every key is read, known not to matter, refused because it does, or named because nobody knows.
  void check_keys() {
    if (found().has_errors()) return;
    check_object(*object_);
    if (outer_) check_object(*outer_);
    if (!says_quantised()) check_object(beside_);
    const Member* tower = tree_.find("vision_config");
    if (tower_keys_ && tower != nullptr && !ignored("vision_config")) check_tower(tower->value);
  }

  // Of a tower nothing but its parameters is counted: what is not read there must be harmless, or is named.
  void check_tower(const Node& tower) {
    std::vector<std::string> candidates(tower_keys_->begin(), tower_keys_->end());
    std::erase_if(candidates, [&](const std::string& key) { return tower.find(key) != nullptr; });
    constexpr int kMostGuesses = 100;
    int unknown = 0;
    for (const Member& member : tower.members) {
      const std::string& key = member.key;
      if (key.starts_with("_") || tower_keys_->contains(key) || ignored(key)) continue;
      if (!why_harmless(key).empty() || is_harmless_in_tower(key) || says_nothing(member.value)) continue;
      found()
          .warning("O0916", fmt::format("nothing is known about `{}` in `vision_config`", key.substr(0, 60)),
                   member.key_where)
          .note("it is left out of account: neither is it read, nor is it on the list of keys that do not matter")
          .hint(base::did_you_mean(key, ++unknown <= kMostGuesses ? candidates : std::vector<std::string>(),
                                   fmt::format("if it does not matter here, say so: `--ignore {}`", key)));
    }
  }

  static bool says_nothing(const Node& node) {
    return node.is_null() || (node.kind == Node::Kind::kTruth && !node.truth) ||
           (node.kind == Node::Kind::kList && node.items.empty()) || (node.is_object() && node.members.empty());
  }

  void check_object(const Node& object) {
    const auto& known = keys_->read();
    std::map<std::string_view, const Member*> last;  // of keys that are there twice, the one that counts
    for (const Member& member : object.members) last[member.key] = &member;
    // A key that is there already cannot be what was meant.
    std::vector<std::string> candidates(known.begin(), known.end());
    for (const CostlyKey& other : costly_keys()) candidates.emplace_back(other.key);
    std::erase_if(candidates, [&](const std::string& candidate) { return last.contains(candidate); });
    constexpr int kMostGuesses = 100;  // a file of so many slips is none of ours
    int unknown = 0;
    for (const Member& member : object.members) {
      const std::string& key = member.key;
      if (key.starts_with("_") || (&object == outer_ && key == "text_config")) continue;
      if (known.contains(key) || ignored(key) || last.at(key) != &member) continue;
      if (const CostlyKey* costly = find_costly_key(key)) {
        if (inactive(*costly, member.value)) continue;
        // Counted, though not trained.
        const bool counted = (key == "vision_config" && tower_keys_) ||
                             (key == "quantization_config" && !widths_.quantisation.groups.empty());
        if (counted && options_.outside != Outside::kRefused) continue;
        if (!costly->outside || options_.outside == Outside::kRefused)
          refuse(member, costly->effect);
        else if (options_.outside == Outside::kWarned)
          warn_of_outside(member, costly->effect);
      } else if (key == "sliding_window" && bounds_windows(member.value)) {
        found()
            .warning("O0927", fmt::format("the class of `{}` does not read `sliding_window`", family_->model_type),
                     member.value.where)
            .note("attention of all layers to all tokens is what it computes, and what is counted")
            .hint(fmt::format("where it does not matter, say so: `--ignore {}`", key));
      } else if (why_harmless(key).empty() && !keys_->misses_keys()) {  // it may be what is missing, said above
        const std::vector<std::string> guesses = ++unknown <= kMostGuesses ? candidates : std::vector<std::string>();
        const std::string meant = meant_by(key, guesses);
        found()
            .warning("O0916", fmt::format("nothing is known about `{}`", key.substr(0, 60)), member.key_where)
            .note("it is left out of account: neither is it read, nor is it on the list of keys that do not matter")
            .hint(meant.empty()
                      ? base::did_you_mean(key, guesses,
                                           fmt::format("if it does not matter here, say so: `--ignore {}`", key))
                      : base::did_you_mean(meant));
      }
    }
  }

  // Another family's name of a size that this one reads, and that is not there.
  static std::string meant_by(const std::string& key, const std::vector<std::string>& missing) {
    for (const std::string_view other : other_names(key))
      if (std::find(missing.begin(), missing.end(), other) != missing.end()) return std::string(other);
    return {};
  }

  // Whether a window that nobody reads would bound anything.
  bool bounds_windows(const Node& size) const {
    const Node* used = value("use_sliding_window");
    if (used != nullptr && used->kind == Node::Kind::kTruth && !used->truth) return false;
    const auto& most = result_.transformer.max_positions;
    return size.is_number() && size.number > 0 && !(most && size.number >= static_cast<double>(*most));
  }

  // What was left out is named beside the answer.
  void check_ignored(const std::string& key) {
    const Member* inner = object_->find(key);
    const Member* outer = outer_ ? outer_->find(key) : nullptr;
    const Member* tower = tree_.find("vision_config");
    const Member* there = inner != nullptr ? inner : outer;
    if (there == nullptr && tower != nullptr) there = tower->value.find(key);
    if (there == nullptr) there = beside_.find(key);
    if (there == nullptr) {
      std::vector<std::string> present;
      for (const Node* object : {object_, outer_})
        if (object != nullptr)
          for (const Member& member : object->members) present.push_back(member.key);
      found()
          .warning("O0919", fmt::format("there is no `{}` to ignore", key.substr(0, 60)), whole())
          .hint(base::did_you_mean(key, present));
      return;
    }
    if (keys_->read().contains(key)) {
      found()
          .error("O0920", fmt::format("`{}` cannot be ignored: it says what the model is", key), there->key_where)
          .hint("ignored are keys that are not modelled; change the value in a copy of the file");
      return;
    }
    const CostlyKey* costly = find_costly_key(key);
    base::Diagnostic& note = found().warning(
        "O0919", fmt::format("`{}` is ignored, as asked: the answer is that of the model without it", key),
        there->key_where);
    if (costly && inner != nullptr && !inactive(*costly, inner->value))
      note.note(fmt::format("with it {}", costly->effect));
    if (!costly && !why_harmless(key).empty() && !is_reach(key))
      note.note("it makes no difference: " + std::string(why_harmless(key)));
  }

  void demand_catalogue_form() {
    const std::vector<std::string> known(keys_->read().begin(), keys_->read().end());
    for (const Member& member : object_->members) {
      if (keys_->read().contains(member.key)) continue;
      found()
          .error("O0905", fmt::format("unknown key `{}` in a catalogue entry", member.key), member.key_where)
          .hint(base::did_you_mean(member.key, known));
    }
    if (const Node* title = value("_title"); title != nullptr && title->is_text())
      result_.title = title->text;
    else
      found().error("O0902", "`_title` is missing from a catalogue entry", whole());
    demand_sources();
  }

  void demand_sources() {
    const Node* source = value("_source");
    if (source != nullptr && source->is_object())
      for (const Member& cited : source->members) {
        if (cited.value.is_text() && value(cited.key) != nullptr)
          result_.sources.emplace_back(cited.key, cited.value.text);
        else
          found().error("O0906", fmt::format("`_source` of `{}` cites nothing of this entry", cited.key),
                        source->where);
      }
    for (const Member& member : object_->members) {
      if (!member.value.is_number()) continue;
      const bool cited = std::any_of(result_.sources.begin(), result_.sources.end(),
                                     [&](const auto& cited_key) { return cited_key.first == member.key; });
      if (!cited)
        found()
            .error("O0906", fmt::format("the figure `{}` has no source", member.key), member.key_where)
            .hint(fmt::format("add \"{}\" to `_source`", member.key));
    }
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  const ReadOptions& options_;
  const bool strict_;
  Node tree_;
  Node beside_;                   // `quantization_config` as hf_quant_config.json has it; no members: there is none
  Node caches_beside_;            // the same where it converts caches alone
  const Node* object_ = nullptr;  // of the language model
  const Node* outer_ = nullptr;   // of the whole; null where that is the same
  std::optional<ConfigKeys> keys_;
  const Family* family_ = nullptr;
  std::string_view text_type_;
  std::vector<std::pair<std::string_view, long>> lent_;           // what the class has where the file says nothing
  std::optional<std::set<std::string, std::less<>>> tower_keys_;  // of a tower that is understood, those that were read
  WeightWidths widths_;
  ConfigDocument result_;
};

}  // namespace

ConfigDocument read_config(const std::shared_ptr<const base::SourceFile>& file, const ReadOptions& options) {
  return Reader(file, options).read();
}

std::vector<std::string> model_types() {
  std::vector<std::string> types;
  for (const Family& family : families()) types.emplace_back(family.model_type);
  for (std::string& type : described_types()) types.push_back(std::move(type));
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace orrery::formats::huggingface
