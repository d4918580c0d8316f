// A family's weights are listed once, as bindings; loading and storing walk the list. Queries, keys and values are
// three tensors in most families and one here; GPT-2 stores its matrices as [inputs][outputs].
//
// Source: modeling_*.py of transformers. Names of BERT's norms in checkpoints converted from TensorFlow are `gamma`,
// `beta`.
#include "orrery/formats/huggingface/networks/weight_names.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::huggingface {
namespace {

using checkpoint::Tensor;
using network::HeadKind;
using network::Index;

class Lister {
 public:
  Lister(const RunnableModel& model, network::Parameters& parameters)
      : d_(model.description), p_(parameters), width_(model.description.width) {}

  std::vector<Binding> out;

  void matrix(const std::string& name, std::vector<float>& values, Index rows, Index columns, Index first_row = 0) {
    if (!values.empty()) out.push_back({name, &values, first_row * columns, rows, columns, conv1d_, head_});
  }
  void vector(const std::string& name, std::vector<float>& values, Index rows, Index first = 0) {
    if (!values.empty()) out.push_back({name, &values, first, rows, 0, false, head_});
  }
  void table(const std::string& name, std::vector<float>& values) {
    if (!values.empty())
      out.push_back({name, &values, 0, static_cast<Index>(values.size()) / width_, width_, false, head_});
  }
  void linear(const std::string& name, std::vector<float>& weights, std::vector<float>& bias, Index rows, Index columns,
              Index first = 0) {
    matrix(name + ".weight", weights, rows, columns, first);
    vector(name + ".bias", bias, rows, first);
  }
  void norm(const std::string& name, std::vector<float>& scale, std::vector<float>& shift) {
    vector(name + ".weight", scale, width_);
    vector(name + ".bias", shift, width_);
  }

  void bert(const std::string& prefix, bool roberta) {
    table(prefix + "embeddings.word_embeddings.weight", p_.embedding.words);
    table(prefix + "embeddings.position_embeddings.weight", p_.embedding.positions);
    table(prefix + "embeddings.token_type_embeddings.weight", p_.embedding.types);
    norm(prefix + "embeddings.LayerNorm", p_.embedding.scale, p_.embedding.shift);
    const Index hidden = d_.encoder.layer.hidden;
    for (std::size_t i = 0; i < p_.encoder.layers.size(); ++i) {
      layer::Weights& w = p_.encoder.layers[i];
      const std::string at = fmt::format("{}encoder.layer.{}.", prefix, i);
      for (Index part = 0; part < 3; ++part) {
        constexpr const char* kParts[] = {"query", "key", "value"};
        linear(at + "attention.self." + kParts[part], w.qkv, w.qkv_bias, width_, width_, part * width_);
      }
      linear(at + "attention.output.dense", w.out, w.out_bias, width_, width_);
      norm(at + "attention.output.LayerNorm", w.scale1, w.shift1);
      linear(at + "intermediate.dense", w.up, w.up_bias, hidden, width_);
      linear(at + "output.dense", w.down, w.down_bias, width_, hidden);
      norm(at + "output.LayerNorm", w.scale2, w.shift2);
    }
    head_ = true;
    const HeadKind kind = d_.head.kind;
    network::HeadWeights& h = p_.head;
    if (kind == HeadKind::kMaskedWords) {
      const std::string at = roberta ? "lm_head." : "cls.predictions.";
      linear(at + (roberta ? "dense" : "transform.dense"), h.dense, h.dense_bias, width_, width_);
      norm(at + (roberta ? "layer_norm" : "transform.LayerNorm"), h.scale, h.shift);
      vector(at + "bias", h.out_bias, d_.head.outputs);
      out.back().copies = {at + "decoder.bias"};
      out.front().copies = {at + "decoder.weight"};
    } else if (kind == HeadKind::kSpans) {
      linear("qa_outputs", h.out, h.out_bias, 2, width_);
    } else if (roberta && kind != HeadKind::kNone) {
      linear("classifier.dense", h.dense, h.dense_bias, width_, width_);
      linear("classifier.out_proj", h.out, h.out_bias, d_.head.outputs, width_);
    } else if (kind != HeadKind::kNone) {
      linear(prefix + "pooler.dense", h.dense, h.dense_bias, width_, width_);
      linear("classifier", h.out, h.out_bias, d_.head.outputs, width_);
    }
  }

  void gpt2() {
    const std::string prefix = "transformer.";
    table(prefix + "wte.weight", p_.embedding.words);
    table(prefix + "wpe.weight", p_.embedding.positions);
    const Index hidden = d_.encoder.layer.hidden;
    conv1d_ = true;
    for (std::size_t i = 0; i < p_.encoder.layers.size(); ++i) {
      layer::Weights& w = p_.encoder.layers[i];
      const std::string at = fmt::format("{}h.{}.", prefix, i);
      norm(at + "ln_1", w.scale1, w.shift1);
      linear(at + "attn.c_attn", w.qkv, w.qkv_bias, 3 * width_, width_);
      linear(at + "attn.c_proj", w.out, w.out_bias, width_, width_);
      norm(at + "ln_2", w.scale2, w.shift2);
      linear(at + "mlp.c_fc", w.up, w.up_bias, hidden, width_);
      linear(at + "mlp.c_proj", w.down, w.down_bias, width_, hidden);
    }
    conv1d_ = false;
    norm(prefix + "ln_f", p_.encoder.scale, p_.encoder.shift);
    head_ = true;
    if (d_.head.kind == HeadKind::kNextWord) out.front().copies = {"lm_head.weight"};
    if (d_.head.kind == HeadKind::kSpans) linear("qa_outputs", p_.head.out, p_.head.out_bias, 2, width_);
    if (d_.head.pick != network::Pick::kAll) matrix("score.weight", p_.head.out, d_.head.outputs, width_);
  }

  void bart_attention(const std::string& at, std::vector<float>& query, std::vector<float>& query_bias,
                      std::vector<float>& rest, std::vector<float>& rest_bias, Index first) {
    linear(at + "q_proj", query, query_bias, width_, width_);
    linear(at + "k_proj", rest, rest_bias, width_, width_, first);
    linear(at + "v_proj", rest, rest_bias, width_, width_, first + width_);
  }
  void bart_stack(const std::string& side, network::StackWeights& stack, network::EmbeddingWeights& embedding,
                  Index hidden) {
    const std::string prefix = "model." + side + ".";
    table(prefix + "embed_positions.weight", embedding.positions);
    norm(prefix + "layernorm_embedding", embedding.scale, embedding.shift);
    for (std::size_t i = 0; i < stack.layers.size(); ++i) {
      layer::Weights& w = stack.layers[i];
      const std::string at = fmt::format("{}layers.{}.", prefix, i);
      bart_attention(at + "self_attn.", w.qkv, w.qkv_bias, w.qkv, w.qkv_bias, width_);
      linear(at + "self_attn.out_proj", w.out, w.out_bias, width_, width_);
      norm(at + "self_attn_layer_norm", w.scale1, w.shift1);
      if (!w.cross_query.empty()) {
        bart_attention(at + "encoder_attn.", w.cross_query, w.cross_query_bias, w.cross_key_value,
                       w.cross_key_value_bias, 0);
        linear(at + "encoder_attn.out_proj", w.cross_out, w.cross_out_bias, width_, width_);
        norm(at + "encoder_attn_layer_norm", w.cross_scale, w.cross_shift);
      }
      linear(at + "fc1", w.up, w.up_bias, hidden, width_);
      linear(at + "fc2", w.down, w.down_bias, width_, hidden);
      norm(at + "final_layer_norm", w.scale2, w.shift2);
    }
  }
  void bart() {
    table("model.shared.weight", p_.embedding.words);
    out.back().copies = {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"};
    bart_stack("encoder", p_.encoder, p_.embedding, d_.encoder.layer.hidden);
    bart_stack("decoder", p_.decoder, p_.later, d_.decoder.layer.hidden);
    head_ = true;
    network::HeadWeights& h = p_.head;
    if (d_.head.kind == HeadKind::kNextWord) {
      matrix("final_logits_bias", h.out_bias, 1, d_.head.outputs);
    } else if (d_.head.kind == HeadKind::kSpans) {
      linear("qa_outputs", h.out, h.out_bias, 2, width_);
    } else if (d_.head.kind != HeadKind::kNone) {
      linear("classification_head.dense", h.dense, h.dense_bias, width_, width_);
      linear("classification_head.out_proj", h.out, h.out_bias, d_.head.outputs, width_);
    }
  }

 private:
  const network::Description& d_;
  network::Parameters& p_;
  Index width_;
  bool conv1d_ = false, head_ = false;
};

// A name as files may have it: with and without the class's prefix, norms as TensorFlow calls them.
std::vector<std::string> spellings(const std::string& name, const std::string& prefix) {
  std::vector<std::string> out{name};
  if (name.substr(0, prefix.size()) == prefix) out.push_back(name.substr(prefix.size()));
  for (std::size_t i = 0, count = out.size(); i < count; ++i)
    for (const auto& [now, then] :
         {std::pair{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}})
      if (const std::size_t at = out[i].rfind(now); at != std::string::npos) out.push_back(out[i].substr(0, at) + then);
  return out;
}

// Buffers of old classes, which hold no weights, and of quantisers of pruned attention.
bool is_known_buffer(const std::string& name) {
  for (const char* const end :
       {".position_ids", ".token_type_ids", ".attn.bias", ".attn.masked_bias", ".static_sparsity_mask",
        ".input_x_thresh", ".input_y_thresh", ".quant_matmul._step", ".attention.self._step"})
    if (name.size() >= std::strlen(end) && name.compare(name.size() - std::strlen(end), std::string::npos, end) == 0)
      return true;
  return false;
}

std::vector<std::int64_t> shape_of(const Binding& binding) {
  if (binding.columns == 0) return {binding.rows};
  return binding.transposed ? std::vector<std::int64_t>{binding.columns, binding.rows}
                            : std::vector<std::int64_t>{binding.rows, binding.columns};
}

Index count_of(const Binding& binding) {
  return binding.rows * std::max<Index>(1, binding.columns);
}

void transpose(const float* from, Index rows, Index columns, float* to) {
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

using ByName = std::map<std::string, const Tensor*>;

ByName by_name(const checkpoint::Checkpoint& from) {
  ByName names;
  for (const Tensor& tensor : from.tensors) names.emplace(tensor.name, &tensor);
  return names;
}

const Tensor* find(const ByName& names, const std::string& name, const std::string& prefix) {
  for (const std::string& spelling : spellings(name, prefix))
    if (const auto found = names.find(spelling); found != names.end()) return found->second;
  return nullptr;
}

bool is_floating(checkpoint::Element element) {
  using checkpoint::Element;
  return element == Element::kF64 || element == Element::kF32 || element == Element::kF16 || element == Element::kBf16;
}

}  // namespace

std::string prefix_of(Family family) {
  switch (family) {
    case Family::kBert:
      return "bert.";
    case Family::kRoberta:
      return "roberta.";
    case Family::kGpt2:
      return "transformer.";
    case Family::kBart:
      return "model.";
  }
  return "";
}

std::vector<Binding> bindings(const RunnableModel& model, network::Parameters& parameters) {
  Lister lister(model, parameters);
  switch (model.family) {
    case Family::kBert:
    case Family::kRoberta:
      lister.bert(prefix_of(model.family), model.family == Family::kRoberta);
      break;
    case Family::kGpt2:
      lister.gpt2();
      break;
    case Family::kBart:
      lister.bart();
      break;
  }
  return std::move(lister.out);
}

Loaded load(const checkpoint::Checkpoint& from, const RunnableModel& model, network::Parameters& parameters,
            base::Diagnostics& warnings) {
  const ByName names = by_name(from);
  const std::string prefix = prefix_of(model.family);
  base::Diagnostics found;
  Loaded loaded;
  std::vector<std::string> missing;
  std::set<const Tensor*> used;
  const base::Location whole{
      std::make_shared<const base::SourceFile>(base::SourceFile{from.files.empty() ? "" : from.files[0], {}}), 0, 0};
  for (const Binding& binding : bindings(model, parameters)) {
    const Tensor* tensor = find(names, binding.name, prefix);
    for (const std::string& copy : binding.copies) {
      const Tensor* const other = find(names, copy, prefix);
      if (other == nullptr) continue;
      used.insert(other);
      if (tensor == nullptr)
        tensor = other;
      else if (other->bytes.data() != tensor->bytes.data() && other->bytes != tensor->bytes)
        found.error("O1646", fmt::format("`{}` and `{}` differ, and are one weight in this model", binding.name, copy),
                    whole);
    }
    if (tensor == nullptr) {
      (binding.head ? loaded.fresh : missing).push_back(binding.name);
      continue;
    }
    used.insert(tensor);
    if (tensor->shape != shape_of(binding)) {
      found.error("O1646",
                  fmt::format("tensor `{}` is {}, and the model's is {}", tensor->name,
                              checkpoint::text_of(tensor->shape), checkpoint::text_of(shape_of(binding))),
                  whole);
      continue;
    }
    if (!is_floating(tensor->element)) {
      found.error("O1646",
                  fmt::format("tensor `{}` has elements of {}, which are not weights", tensor->name,
                              checkpoint::name_of(tensor->element)),
                  whole);
      continue;
    }
    ORRERY_CHECK(static_cast<std::size_t>(binding.first + count_of(binding)) <= binding.values->size(),
                 "a tensor's place in the weights");
    const std::vector<float> values = checkpoint::as_floats(*tensor);
    float* const to = binding.values->data() + binding.first;
    if (binding.transposed)
      transpose(values.data(), binding.columns, binding.rows, to);
    else
      std::copy(values.begin(), values.end(), to);
  }
  static constexpr std::size_t kNamed = 6;
  const auto some = [](const std::vector<std::string>& list) {
    const std::size_t named = std::min(list.size(), kNamed);
    return fmt::format("{}{}", fmt::join(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                       list.size() > named ? fmt::format(" and {} more", list.size() - named) : "");
  };
  if (!missing.empty())
    found
        .error("O1645",
               fmt::format("the checkpoint lacks {} of the model's tensors: {}", missing.size(), some(missing)), whole)
        .hint("is this the checkpoint of that config.json?");
  std::vector<std::string> unused;
  for (const Tensor& tensor : from.tensors)
    if (!used.count(&tensor) && !is_known_buffer(tensor.name)) unused.push_back(tensor.name);
  if (!unused.empty())
    warnings.warning("O1647",
                     fmt::format("{} of the checkpoint {} not used: {}",
                                 unused.size() == 1 ? "1 tensor" : fmt::format("{} tensors", unused.size()),
                                 base::plural(unused.size(), "is", "are"), some(unused)),
                     whole);
  found.throw_if_errors();
  return loaded;
}

std::vector<Tensor> stored(const checkpoint::Checkpoint& from, const RunnableModel& model,
                           network::Parameters& parameters) {
  std::vector<Tensor> out = from.tensors;
  ByName names;
  for (Tensor& tensor : out) names.emplace(tensor.name, &tensor);
  const std::string prefix = prefix_of(model.family);
  std::vector<Tensor> added;
  for (const Binding& binding : bindings(model, parameters)) {
    const auto bytes = std::make_shared<std::vector<float>>(static_cast<std::size_t>(count_of(binding)));
    const float* const values = binding.values->data() + binding.first;
    if (binding.transposed)
      transpose(values, binding.rows, binding.columns, bytes->data());
    else
      std::copy(values, values + count_of(binding), bytes->begin());
    Tensor made{binding.name,
                checkpoint::Element::kF32,
                shape_of(binding),
                {reinterpret_cast<const char*>(bytes->data()), bytes->size() * sizeof(float)},
                bytes};
    bool placed = false;
    std::vector<std::string> all = binding.copies;
    all.push_back(binding.name);
    for (const std::string& name : all)
      if (Tensor* const there = const_cast<Tensor*>(find(names, name, prefix)); there != nullptr) {
        made.name = there->name;
        *there = made;
        placed = true;
      }
    if (!placed) added.push_back(made);
  }
  out.insert(out.end(), added.begin(), added.end());
  return out;
}

}  // namespace orrery::formats::huggingface
