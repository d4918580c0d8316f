// What the layer of runtime/layer/encoder.h does is compared with what the description asks for, point by point; a
// layer that would be run as another one is refused. A bias that only some projections have is run as one that all
// have, at zero.
#include "orrery/verbs/tune/runnable_layer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/formats/huggingface/layer_details.h"
#include "orrery/inputs/catalogue/model_facts.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Activation;
using workload::Attention;
using workload::Block;
using workload::Stack;
using workload::Transformer;

constexpr std::pair<const char*, Activation> kActivations[] = {
    {"relu", Activation::kRelu},          {"gelu", Activation::kGelu},
    {"gelu_python", Activation::kGelu},   {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"geglu", Activation::kGelu},         {"gelu_python_tanh", Activation::kGeluTanh},
    {"silu", Activation::kSilu},          {"gelu_accurate", Activation::kGeluTanh},
    {"swish", Activation::kSilu},         {"swiglu", Activation::kSilu},
    {"reglu", Activation::kRelu}};

// Collects what does not run.
class Unsupported {
 public:
  explicit Unsupported(const std::string& model) : model_(model) {}
  void because(bool so, const std::string& what, const base::Location& where = {}) {
    if (!so) return;
    last_ = &found_.error("O1520", fmt::format("this layer of `{}` does not run here: {}", model_, what), where);
  }
  // What all of them have in common is said once.
  void end() {
    if (last_ == nullptr) return;
    last_->note("layers that run have attention, perhaps a second one to an encoder's output, and a dense network")
        .hint("`--layer N` chooses another layer, `orrery catalog show` lists the kinds; `orrery train` models all");
    found_.throw_if_errors();
  }

 private:
  std::string model_;
  base::Diagnostics found_;
  base::Diagnostic* last_ = nullptr;
};

void read_attention(const Attention& a, layer::Shape& shape, Unsupported& no) {
  shape.heads = a.heads;
  shape.key_heads = a.kv_heads;
  shape.head_size = a.width;
  shape.causal = a.causal;
  shape.qkv_bias = a.query_bias || a.key_bias || a.value_bias;
  shape.out_bias = a.output_bias;
  no.because(a.latent.has_value(), "keys and values are expanded from a latent");
  no.because(!a.latent && a.value_width != a.width,
             fmt::format("values are {} wide, queries and keys {}", a.value_width, a.width));
  no.because(a.reach == workload::Reach::kChunk, fmt::format("tokens see their own chunk of {}", a.span));
  no.because(a.reach == workload::Reach::kWindow && !a.causal, fmt::format("its window of {} looks both ways", a.span));
  if (a.reach == workload::Reach::kWindow) shape.window = a.span;
  no.because(a.qk_norm != workload::QkNorm::kNone, "queries and keys are normalised");
  no.because(a.sinks, "heads have a score that belongs to no token");
  no.because(a.gated, "the output of attention is gated");
  no.because(a.softcap, "scores pass a tanh");
}

void read_cross(const Attention& own, const Attention& cross, layer::Shape& shape, Unsupported& no) {
  shape.cross = true;
  no.because(cross.heads != own.heads || cross.kv_heads != own.kv_heads || cross.width != own.width,
             "attention to the encoder has other heads than the layer's own");
  shape.qkv_bias = shape.qkv_bias || cross.query_bias || cross.key_bias || cross.value_bias;
  shape.out_bias = shape.out_bias || cross.output_bias;
}

void read_details(const formats::huggingface::LayerDetails& details, const std::string& model, layer::Shape& shape,
                  Unsupported& no, base::Diagnostics& warnings) {
  const auto* known = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const auto& row) { return details.activation == row.first; });
  const bool runs = known != std::end(kActivations);
  no.because(!runs, fmt::format("its activation is `{}`", details.activation.substr(0, 60)), details.activation_where);
  if (runs) shape.activation = known->second;
  no.because(details.distances, "scores have a term for the distance of two tokens");
  using formats::huggingface::Turning;
  shape.rotary = details.turning == Turning::kNone     ? layer::Rotary::kNone
                 : details.turning == Turning::kHalves ? layer::Rotary::kHalves
                                                       : layer::Rotary::kPairs;
  if (shape.rotary != layer::Rotary::kNone) {
    shape.rotary_base = details.turning_base;
    const auto turned = static_cast<layer::Index>(details.turned_share * static_cast<double>(shape.head()) / 2) * 2;
    shape.rotary_size = details.turned > 0 ? details.turned : turned;
    if (shape.rotary_size == 0) shape.rotary = layer::Rotary::kNone;  // a share too small for one pair
  }
  if (details.epsilon > 0) shape.epsilon = static_cast<float>(details.epsilon);
  if (details.score_scale) shape.score_scale = static_cast<float>(*details.score_scale);
  std::vector<std::string> bent = details.bent;
  if (details.score_scale && shape.score_scale == 0) bent.emplace_back("scores are not multiplied by 0");
  if (bent.empty()) return;
  base::Diagnostic& other =
      warnings.warning("O1524", fmt::format("the layer that runs computes other numbers than that of `{}`", model));
  for (const std::string& each : bent) other.note(each);
  other.hint("times are the same, outputs are not");
}

// A layer is chosen by its kind, of which layers that turn and layers that do not may be one.
void warn_of_turns(const LayerRequest& request, const formats::huggingface::LayerDetails& details, Count index,
                   base::Diagnostics& warnings) {
  using formats::huggingface::Turning;
  if (request.layer || !details.turns_differ) return;
  warnings
      .warning("O1522", fmt::format("some layers of `{}` turn queries and keys by their positions, and some do not",
                                    request.model))
      .note(fmt::format("layer {} is run, which does{}", index + 1, details.turning == Turning::kNone ? " not" : ""))
      .hint("`--layer N` chooses another");
}

void read_block(const LayerRequest& request, const ModelFile& file, const Stack& stack, Count index,
                RunnableLayer& out) {
  const Block& block = stack.kinds[static_cast<std::size_t>(stack.layers[static_cast<std::size_t>(index)])];
  Unsupported no(out.model);
  layer::Shape& shape = out.shape;
  shape.width = stack.width;
  shape.norms = block.post ? layer::Place::kPost : layer::Place::kPre;
  shape.centred = block.norm.kind == workload::NormKind::kLayer;
  shape.shift = block.norm.bias;
  const auto* attention = std::get_if<Attention>(&block.mixer);
  no.because(std::holds_alternative<workload::Recurrence>(block.mixer), "its mixer is a scan, not attention");
  no.because(std::holds_alternative<std::monostate>(block.mixer), "it has no attention");
  if (attention != nullptr) {
    read_attention(*attention, shape, no);
    if (block.cross) read_cross(*attention, *block.cross, shape, no);
  }
  const auto* network = std::get_if<workload::FeedForward>(&block.feed_forward);
  const auto* experts = std::get_if<workload::Experts>(&block.feed_forward);
  workload::Transformer alone;
  alone.stacks = {stack};
  alone.stacks.front().kinds = {block};
  for (const std::string& what : workload::peculiarities(alone)) no.because(true, "it has " + what);
  no.because(experts != nullptr, experts == nullptr ? "" : fmt::format("a mixture of {} experts", experts->count));
  no.because(std::holds_alternative<std::monostate>(block.feed_forward), "it has no feed-forward network");
  if (network != nullptr) {
    shape.hidden = network->inner;
    shape.gated = network->gated;
    shape.network_bias = network->biases;
  }
  no.because(block.norm.kind == workload::NormKind::kNone, "it has no norms");
  no.because(block.parallel, "attention and network read the same input side by side");
  const int wanted = block.cross ? 3 : 2;
  no.because(block.norms != wanted && !block.parallel,
             fmt::format("it has {} norms, where such layers have {}", block.norms, wanted));
  formats::huggingface::LayerDetails details = formats::huggingface::layer_details(
      file.file, file.transformer, stack, {index, shape.window > 0, shape.gated, std::max<Count>(1, shape.head())});
  const auto biases_differ = [](const Attention& a) {
    return a.query_bias != a.key_bias || a.key_bias != a.value_bias;
  };
  if (attention != nullptr && (biases_differ(*attention) || (block.cross && biases_differ(*block.cross))))
    details.bent.emplace_back("queries, keys and values all have a bias");
  read_details(details, out.model, shape, no, out.warnings);
  warn_of_turns(request, details, index, out.warnings);
  no.end();
}

Count usual_kind(const Stack& stack) {
  std::vector<Count> count(stack.kinds.size());
  for (const int kind : stack.layers) ++count[static_cast<std::size_t>(kind)];
  return std::max_element(count.begin(), count.end()) - count.begin();
}

// From 0.
Count chosen_layer(const LayerRequest& request, const Stack& stack, RunnableLayer& out) {
  if (stack.layers.empty()) base::fail("O1522", fmt::format("`{}` has no layers", request.model), {}, "");
  Count kind = usual_kind(stack);
  if (request.layer) {
    const auto layers = static_cast<Count>(stack.layers.size());
    if (*request.layer < 1 || *request.layer > layers)
      base::fail(
          "O1522",
          fmt::format("there is no layer {}: the {} of `{}` has {}", *request.layer, stack.name, request.model, layers),
          {}, fmt::format("give `--layer` from 1 to {}", layers));
    kind = stack.layers[static_cast<std::size_t>(*request.layer - 1)];
  } else if (stack.kinds.size() > 1) {
    out.warnings
        .warning("O1522", fmt::format("the {} of `{}` has layers of {} kinds; one of the commonest is run", stack.name,
                                      request.model, stack.kinds.size()))
        .hint("`--layer N` chooses another");
  }
  out.layers = std::count(stack.layers.begin(), stack.layers.end(), static_cast<int>(kind));
  if (request.layer) return *request.layer - 1;
  return std::find(stack.layers.begin(), stack.layers.end(), static_cast<int>(kind)) - stack.layers.begin();
}

void read_model(const LayerRequest& request, RunnableLayer& out) {
  const ModelFile file = load_model(catalogue_directory(), request.model,
                                    {request.ignored, formats::huggingface::Outside::kPassed, request.like});
  const Transformer& model = file.transformer;
  out.warnings = file.diagnostics;
  out.inputs.push_back(base::file_input(*file.file));
  out.inputs.insert(out.inputs.end(), file.ignored.begin(), file.ignored.end());
  out.model = request.model;
  out.drops = model.dropout;
  const bool encodes = request.stack == "encoder" && model.stacks.size() > 1;
  const Stack& stack = encodes ? model.stacks.front() : model.decoder();
  if (request.stack && model.stacks.size() == 1 && *request.stack != stack.name)
    base::fail("O1522", fmt::format("`{}` has no {}: it is one stack of layers", request.model, *request.stack), {},
               "leave `--stack` out");
  out.stack = model.stacks.size() > 1 ? stack.name : "";
  const Count index = chosen_layer(request, stack, out);
  const Count tokens =
      request.seq.value_or(stack.fixed_tokens > 0 ? stack.fixed_tokens : workload::default_sequence(model));
  if (stack.fixed_tokens > 0 && tokens != stack.fixed_tokens)
    base::fail("O1522", fmt::format("a sequence of `{}` always has {} tokens", request.model, stack.fixed_tokens), {},
               "leave `--seq` out");
  out.shape.length = tokens;
  if (!encodes) warn_of_length(file, tokens, out.warnings);
  read_block(request, file, stack, index, out);
  if (out.shape.cross) {
    const Stack* encoder = model.encoder();
    const Count fixed = encoder == nullptr ? 0 : encoder->fixed_tokens;
    out.shape.memory_length = request.source.value_or(fixed > 0 ? fixed : tokens);
    out.shape.memory_width = encoder == nullptr ? 0 : encoder->width;
  } else if (request.source) {
    base::fail("O1522", "this layer does not attend to an encoder's output, so it has no `--source`", {},
               "leave it out");
  }
}

void read_sizes(const LayerRequest& request, RunnableLayer& out) {
  base::Diagnostics found;
  const auto lacks = [&](bool missing, const char* option) {
    if (missing)
      found.error("O1521", fmt::format("the layer to run has no size: `{}` is missing", option))
          .hint("give `--model NAME`, or `--emb-size N --num-heads N`; `orrery catalog models` lists the models");
  };
  lacks(!request.width, "--emb-size");
  lacks(!request.heads, "--num-heads");
  const auto alone = [&](bool given, const char* option) {
    if (given)
      found.error("O1521", fmt::format("`{}` belongs to a model, and none is given", option))
          .hint("add `--model NAME`, or leave it out");
  };
  alone(request.layer.has_value(), "--layer");
  alone(request.stack.has_value(), "--stack");
  alone(request.source.has_value(), "--source");
  alone(!request.like.empty(), "--like");
  alone(!request.ignored.empty(), "--ignore");
  found.throw_if_errors();
  layer::Shape& shape = out.shape;
  constexpr Count kWidest = Count{1} << 24;  // four times that is a size, too
  shape.width = *request.width;
  shape.heads = *request.heads;
  shape.key_heads = request.key_heads.value_or(0);
  shape.hidden = request.hidden.value_or(4 * std::min(*request.width, kWidest));
  shape.length = request.seq.value_or(512);
  shape.activation = request.activation.value_or(Activation::kRelu);
  shape.gated = request.gated;
  shape.norms = request.pre_norm ? layer::Place::kPre : layer::Place::kPost;
  shape.causal = request.causal;
}

void refuse_sizes(const LayerRequest& request) {
  base::Diagnostics found;
  const auto beside = [&](bool given, const char* option) {
    if (given)
      found.error("O1521", fmt::format("`{}` is given, but the layer is that of `--model {}`", option, request.model))
          .hint("leave one of the two out");
  };
  beside(request.width.has_value(), "--emb-size");
  beside(request.heads.has_value(), "--num-heads");
  beside(request.key_heads.has_value(), "--kv-heads");
  beside(request.hidden.has_value(), "--ffn");
  beside(request.activation.has_value(), "--activation");
  beside(request.gated, "--gated");
  beside(request.pre_norm, "--pre-norm");
  beside(request.causal, "--causal");
  found.throw_if_errors();
}

}  // namespace

RunnableLayer runnable_layer(const LayerRequest& request) {
  RunnableLayer out;
  if (request.model.empty()) {
    read_sizes(request, out);
  } else {
    refuse_sizes(request);
    read_model(request, out);
  }
  out.shape.batch = request.batch.value_or(request.model.empty() ? 8 : 1);
  out.shape.type = request.type;
  layer::checked(out.shape).throw_if_errors();
  return out;
}

std::string activation_name(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "ReLU";
    case Activation::kGelu:
      return "GELU";
    case Activation::kGeluTanh:
      return "GELU by tanh";
    case Activation::kSilu:
      return "SiLU";
    default:
      return "none";
  }
}

std::string type_name(kernels::Type type) {
  switch (type) {
    case kernels::Type::kBf16:
      return "bf16";
    case kernels::Type::kF16:
      return "fp16";
    case kernels::Type::kF64:
      return "fp64";
    default:
      return "fp32";
  }
}

}  // namespace orrery::verbs
