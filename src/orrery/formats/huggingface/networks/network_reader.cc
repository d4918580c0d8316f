// One function a family turns keys into a description. The defaults are those of the classes in transformers. A key
// that changes what is computed, and is not modelled, is refused; the reader of config.json (huggingface_config.h)
// names the unknown ones.
//
// Source: configuration_*.py and modeling_*.py of transformers 4.30 to 5.23.
#include "orrery/formats/huggingface/networks/network_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {
namespace {

using json::Node;
using kernels::Activation;
using network::HeadKind;
using network::Index;
using network::Pick;
using network::Squash;

// Values by key, with what the class takes where there is none.
class Keys {
 public:
  Keys(const Node& root, base::Diagnostics& found) : root_(root), found_(found) {}

  // Null counts as absent, as in Python's getattr-with-default idioms of these classes.
  const json::Member* find(std::string_view key) const {
    const json::Member* const member = root_.find(key);
    return member == nullptr || member->value.is_null() ? nullptr : member;
  }
  Index count(std::string_view key, std::optional<Index> usual, Index least = 1, Index most = Index{1} << 31) {
    const json::Member* const member = find(key);
    if (member == nullptr) {
      if (!usual) found_.error("O1644", fmt::format("`{}` is missing", key), root_.where);
      return usual.value_or(least);
    }
    const auto value = member->value.is_number() ? base::whole_number(member->value.number) : std::nullopt;
    if (value && static_cast<double>(*value) == member->value.number && *value >= least && *value <= most)
      return *value;
    bad(*member, fmt::format("`{}` must be a whole number from {} to {}", key, least, most));
    return usual.value_or(least);
  }
  double real(std::string_view key, double usual, double least, double most) {
    const json::Member* const member = find(key);
    if (member == nullptr) return usual;
    if (member->value.is_number() && member->value.number >= least && member->value.number <= most)
      return member->value.number;
    bad(*member, fmt::format("`{}` must be a number from {} to {}", key, least, most));
    return usual;
  }
  double probability(std::string_view key, double usual) { return real(key, usual, 0, 0.99); }
  bool truth(std::string_view key, bool usual) {
    const json::Member* const member = find(key);
    if (member == nullptr) return usual;
    if (member->value.kind == Node::Kind::kTruth) return member->value.truth;
    bad(*member, fmt::format("`{}` must be true or false", key));
    return usual;
  }
  std::string text(std::string_view key, const char* usual) {
    const json::Member* const member = find(key);
    if (member == nullptr) return usual;
    if (member->value.is_text()) return member->value.text;
    bad(*member, fmt::format("`{}` must be a text", key));
    return usual;
  }
  std::optional<std::int32_t> token(std::string_view key, std::optional<std::int32_t> usual) {
    if (find(key) == nullptr) return usual;
    return static_cast<std::int32_t>(count(key, 0, 0, (Index{1} << 31) - 1));
  }
  // A key whose other values compute something else.
  void demand(std::string_view key, bool value, bool usual) {
    if (truth(key, usual) != value)
      bad_key(key, fmt::format("models with `{}: {}` do not run here", key, value ? "false" : "true"));
  }
  void bad_key(std::string_view key, std::string why) {
    const json::Member* const member = root_.find(key);
    if (member != nullptr)
      bad(*member, std::move(why));
    else
      found_.error("O1644", std::move(why), root_.where);
  }
  void bad(const json::Member& member, std::string why) {
    found_.error("O1644", std::move(why), member.value.where)
        .label(fmt::format("this is {}", json::describe(member.value)));
  }

 private:
  const Node& root_;
  base::Diagnostics& found_;
};

constexpr Index kMostClasses = 100'000;

struct NamedActivation {
  std::string_view name;
  Activation activation;
  Squash squash;
};
constexpr std::array kActivations{
    NamedActivation{"gelu", Activation::kGelu, Squash::kGelu},
    NamedActivation{"gelu_new", Activation::kGeluTanh, Squash::kGeluTanh},
    NamedActivation{"gelu_pytorch_tanh", Activation::kGeluTanh, Squash::kGeluTanh},
    NamedActivation{"gelu_fast", Activation::kGeluTanh, Squash::kGeluTanh},
    NamedActivation{"gelu_python", Activation::kGelu, Squash::kGelu},
    NamedActivation{"relu", Activation::kRelu, Squash::kRelu},
    NamedActivation{"silu", Activation::kSilu, Squash::kSilu},
    NamedActivation{"swish", Activation::kSilu, Squash::kSilu},
};

NamedActivation activation(Keys& keys, std::string_view key, const char* usual) {
  const std::string name = keys.text(key, usual);
  std::vector<std::string> known;
  for (const NamedActivation& one : kActivations) {
    if (one.name == name) return one;
    known.emplace_back(one.name);
  }
  keys.bad_key(key,
               fmt::format("the activation `{}` does not run here; these do: {}", name, base::joined(known, ", ")));
  return kActivations[0];
}

struct Reader {
  Keys keys;
  const Node& root;
  const HeadChoice& choice;
  RunnableModel out;
  base::Diagnostics& found;

  network::Description& d() { return out.description; }

  std::string architecture() const {
    const json::Member* const list = root.find("architectures");
    const bool given = list != nullptr && list->value.kind == Node::Kind::kList && !list->value.items.empty();
    return given ? list->value.items[0].text : "";
  }

  HeadKind kind() {
    if (choice.kind) return *choice.kind;
    const std::string name = architecture();
    const auto ends = [&](std::string_view end) {
      return name.size() >= end.size() && name.substr(name.size() - end.size()) == end;
    };
    if (ends("ForSequenceClassification"))
      return keys.text("problem_type", classes() == 1 ? "regression" : "") == "regression" ? HeadKind::kRegression
                                                                                           : HeadKind::kClassification;
    if (ends("ForQuestionAnswering")) return HeadKind::kSpans;
    if (ends("ForMaskedLM") || ends("ForPreTraining")) return HeadKind::kMaskedWords;
    if (ends("LMHeadModel") || ends("ForCausalLM") || ends("ForConditionalGeneration")) return HeadKind::kNextWord;
    return HeadKind::kNone;
  }

  Index classes() {
    if (choice.classes) return *choice.classes;
    if (const json::Member* const names = keys.find("id2label"); names != nullptr && names->value.is_object())
      return static_cast<Index>(names->value.members.size());
    return keys.count("num_labels", 2, 1, kMostClasses);
  }

  void label_names() {
    const json::Member* const names = keys.find("id2label");
    if (choice.classes || names == nullptr || !names->value.is_object()) return;
    const std::size_t count = names->value.members.size();
    if (count > kMostClasses) return keys.bad(*names, fmt::format("`id2label` has more than {} entries", kMostClasses));
    std::map<std::string_view, const Node*> by_key;
    for (const json::Member& member : names->value.members) by_key[member.key] = &member.value;
    for (std::size_t i = 0; i < count; ++i) {
      const auto name = by_key.find(std::to_string(i));
      if (name == by_key.end() || !name->second->is_text())
        return keys.bad(*names, fmt::format("`id2label` has {} entries, and none named {}", count, i));
      out.labels.push_back(name->second->text);
    }
  }

  void common(Index width, double epsilon) {
    d().width = width;
    d().epsilon = static_cast<float>(epsilon);
    d().head.kind = kind();
    switch (d().head.kind) {
      case HeadKind::kClassification:
        d().head.outputs = classes();
        label_names();
        break;
      case HeadKind::kRegression:
        d().head.outputs = 1;
        break;
      case HeadKind::kSpans:
        d().head.outputs = 2;
        break;
      default:
        d().head.outputs = d().embedding.words;
    }
  }
  bool picks_one() const {
    return out.description.head.kind == HeadKind::kClassification || out.description.head.kind == HeadKind::kRegression;
  }

  Index heads(const std::string& key, Index usual, Index width) {
    const Index count = keys.count(key, usual);
    if (width % count != 0) keys.bad_key(key, fmt::format("{} heads do not divide the width {}", count, width));
    return count;
  }

  layer::Shape post_norm_layer(Index width, Index heads, Index hidden, Activation function, double epsilon) {
    layer::Shape shape;
    shape.width = width, shape.heads = heads, shape.hidden = hidden;
    shape.activation = function;
    shape.epsilon = static_cast<float>(epsilon);
    return shape;
  }

  void bert(Family family) {
    out.family = family;
    const bool roberta = family == Family::kRoberta;
    const Index width = keys.count("hidden_size", 768);
    const double epsilon = keys.real("layer_norm_eps", 1e-12, 0, 1);
    const NamedActivation function = activation(keys, "hidden_act", "gelu");
    if (keys.text("position_embedding_type", "absolute") != "absolute")
      keys.bad_key("position_embedding_type", "only models with absolute positions run here");
    keys.demand("is_decoder", false, false);
    out.pad = keys.token("pad_token_id", roberta ? 1 : 0).value_or(0);
    network::EmbeddingShape& embedding = d().embedding;
    embedding.words = keys.count("vocab_size", roberta ? 50265 : 30522);
    embedding.positions = keys.count("max_position_embeddings", 512);
    embedding.types = keys.count("type_vocab_size", 2, 0);
    embedding.first_position = roberta ? out.pad + 1 : 0;
    embedding.norm = true;
    d().encoder.layer = post_norm_layer(width, heads("num_attention_heads", 12, width),
                                        keys.count("intermediate_size", 3072), function.activation, epsilon);
    d().encoder.layers = keys.count("num_hidden_layers", 12);
    const double hidden = keys.probability("hidden_dropout_prob", 0.1);
    d().dropout.layer.attention = keys.probability("attention_probs_dropout_prob", 0.1);
    d().dropout.layer.first = d().dropout.layer.second = d().dropout.embedding = hidden;
    common(width, epsilon);
    d().dropout.head = keys.probability("classifier_dropout", hidden);
    network::HeadShape& head = d().head;
    if (picks_one()) {
      head.pick = Pick::kFirst, head.dense = true, head.squash = Squash::kTanh, head.drop_first = roberta;
    } else if (head.kind == HeadKind::kMaskedWords) {
      head.dense = head.norm = head.tied = true;
      head.squash = roberta ? Squash::kGelu : function.squash;
      d().dropout.head = 0;
      keys.demand("tie_word_embeddings", true, true);
    } else if (head.kind == HeadKind::kSpans) {
      d().dropout.head = 0;
    } else if (head.kind == HeadKind::kNextWord) {
      keys.bad_key("architectures",
                   "an encoder of this kind does not predict the next word; `mlm` is its language task");
    }
  }

  void gpt2() {
    out.family = Family::kGpt2;
    const Index width = keys.count("n_embd", 768);
    const double epsilon = keys.real("layer_norm_epsilon", 1e-5, 0, 1);
    const NamedActivation function = activation(keys, "activation_function", "gelu_new");
    keys.demand("scale_attn_weights", true, true);
    keys.demand("scale_attn_by_inverse_layer_idx", false, false);
    keys.demand("add_cross_attention", false, false);
    network::EmbeddingShape& embedding = d().embedding;
    embedding.words = keys.count("vocab_size", 50257);
    embedding.positions = keys.count(keys.find("n_positions") != nullptr ? "n_positions" : "n_ctx", 1024);
    layer::Shape& shape = d().encoder.layer;
    shape = post_norm_layer(width, heads("n_head", 12, width), keys.count("n_inner", 4 * width), function.activation,
                            epsilon);
    shape.norms = layer::Place::kPre;
    shape.causal = true;
    d().encoder.layers = keys.count("n_layer", 12);
    d().encoder.final_norm = true;
    d().dropout.layer.attention = keys.probability("attn_pdrop", 0.1);
    d().dropout.layer.first = d().dropout.layer.second = keys.probability("resid_pdrop", 0.1);
    d().dropout.embedding = keys.probability("embd_pdrop", 0.1);
    out.end = keys.token("eos_token_id", 50256);
    out.pad = keys.token("pad_token_id", 0).value_or(0);
    common(width, epsilon);
    network::HeadShape& head = d().head;
    if (picks_one()) head.pick = Pick::kLast, head.bias = false;
    if (head.kind == HeadKind::kNextWord) {
      head.tied = true, head.bias = false;
      keys.demand("tie_word_embeddings", true, true);
    }
    if (head.kind == HeadKind::kMaskedWords)
      keys.bad_key("architectures", "a causal model does not fill masks; `causal` is its language task");
  }

  void bart() {
    out.family = Family::kBart;
    const Index width = keys.count("d_model", 1024);
    const NamedActivation function = activation(keys, "activation_function", "gelu");
    constexpr double kEpsilon = 1e-5;  // of torch's LayerNorm
    const auto stack = [&](const char* side, network::StackShape& to) {
      to.layer = post_norm_layer(width, heads(fmt::format("{}_attention_heads", side), 16, width),
                                 keys.count(fmt::format("{}_ffn_dim", side), 4096), function.activation, kEpsilon);
      to.layers = keys.count(fmt::format("{}_layers", side), 12);
    };
    stack("encoder", d().encoder);
    stack("decoder", d().decoder);
    d().decoder.layer.causal = d().decoder.layer.cross = true;
    network::EmbeddingShape& embedding = d().embedding;
    embedding.words = keys.count("vocab_size", 50265);
    embedding.first_position = 2;  // the class adds two rows to the table
    embedding.positions = keys.count("max_position_embeddings", 1024) + embedding.first_position;
    embedding.scale = keys.truth("scale_embedding", false) ? std::sqrt(static_cast<float>(width)) : 1.0F;
    embedding.norm = true;
    d().later = embedding;
    const double dropped = keys.probability("dropout", 0.1);
    d().dropout.layer.attention = d().dropout.layer.cross_attention = keys.probability("attention_dropout", 0);
    d().dropout.layer.first = d().dropout.layer.second = d().dropout.layer.cross = d().dropout.embedding = dropped;
    d().dropout.layer.hidden = keys.probability("activation_dropout", 0);
    if (keys.real("encoder_layerdrop", 0, 0, 1) != 0) keys.bad_key("encoder_layerdrop", "layers are not dropped here");
    if (keys.real("decoder_layerdrop", 0, 0, 1) != 0) keys.bad_key("decoder_layerdrop", "layers are not dropped here");
    out.pad = keys.token("pad_token_id", 1).value_or(1);
    out.end = keys.token("eos_token_id", 2);
    out.begin = keys.token("decoder_start_token_id", 2);
    out.forced_begin = keys.token("forced_bos_token_id", std::nullopt);
    common(width, kEpsilon);
    network::HeadShape& head = d().head;
    if (picks_one()) {
      head.pick = Pick::kLast, head.dense = head.drop_first = true, head.squash = Squash::kTanh;
      d().dropout.head = keys.probability("classifier_dropout", keys.probability("classif_dropout", 0));
    }
    if (head.kind == HeadKind::kNextWord || head.kind == HeadKind::kMaskedWords) {
      head.kind = HeadKind::kNextWord;
      head.tied = true, head.bias_learns = false;
      keys.demand("tie_word_embeddings", true, true);
    }
  }
};

struct Known {
  std::string_view type;
  void (*read)(Reader&);
};
constexpr std::array kKnown{
    Known{"bert", [](Reader& reader) { reader.bert(Family::kBert); }},
    Known{"roberta", [](Reader& reader) { reader.bert(Family::kRoberta); }},
    Known{"camembert", [](Reader& reader) { reader.bert(Family::kRoberta); }},
    Known{"xlm-roberta", [](Reader& reader) { reader.bert(Family::kRoberta); }},
    Known{"gpt2", [](Reader& reader) { reader.gpt2(); }},
    Known{"bart", [](Reader& reader) { reader.bart(); }},
};

}  // namespace

RunnableModel read_runnable(const std::shared_ptr<const base::SourceFile>& file, const HeadChoice& head) {
  const Node root = json::parse(file, "O1644");
  if (!root.is_object()) base::fail("O1644", "config.json must be an object", root.where);
  const json::Member* const type = root.find("model_type");
  std::vector<std::string> names;
  for (const Known& known : kKnown) names.emplace_back(known.type);
  if (type == nullptr || !type->value.is_text())
    base::fail("O1643", "config.json does not say its `model_type`", type == nullptr ? root.where : type->value.where,
               fmt::format("these run here: {}", base::joined(names, ", ")));
  const auto known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& k) { return k.type == type->value.text; });
  if (known == kKnown.end())
    base::fail("O1643", fmt::format("models of type `{}` do not run here", type->value.text), type->value.where,
               fmt::format("these do: {}", base::joined(names, ", ")));
  base::Diagnostics found;
  Reader reader{Keys(root, found), root, head, {}, found};
  known->read(reader);
  found.throw_if_errors();
  reader.out.diagnostics = found;
  return std::move(reader.out);
}

}  // namespace orrery::formats::huggingface
