// Every tensor has memory of its own, as Substation's layer has; parts of the stack of keys, queries and values lie
// within it (keys, queries, values, in this order), so that split and merge move nothing. Contractions are products
// with strides (contraction_run.h), fused kernels strided operators (fused_kernels.h).
#include "orrery/runtime/tuning/graph_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/tuning/contractions/contraction_run.h"

namespace orrery::tuning {
namespace {

using kernels::Type;

std::string renamed(std::string letters, std::string_view from, std::string_view to) {
  for (char& letter : letters)
    if (const std::size_t at = from.find(letter); at < to.size()) letter = to[at];
  return letters;
}

bool same_letters(std::string a, std::string b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

const ContractionLayout* layout_of(const ContractionSpace& space, const std::string& a, const std::string& b,
                                   const std::string& c) {
  for (const ContractionLayout& one : space.layouts)
    if (one.a == a && one.b == b && one.c == c) return &one;
  return nullptr;
}

std::string known_layout(const Graph& graph, const LayoutChoice& choice, const Use& use) {
  const auto at = choice.layouts.find(use.variable);
  return at == choice.layouts.end() ? "" : renamed(at->second, graph.variable(use.variable)->dims, use.dims);
}

// Of a split or merge: the stack, and its parts in the order in which they lie there.
std::pair<std::string, std::vector<std::string>> stack_of(const Operator& op) {
  const std::vector<Use>& uses = op.kind == Kind::kSplit ? op.outputs : op.inputs;
  std::vector<std::string> parts(3);
  for (const Use& use : uses) {
    const char last = use.variable.back();
    parts[last == 'K' ? 0 : last == 'Q' ? 1 : 2] = use.variable;
  }
  return {(op.kind == Kind::kSplit ? op.inputs : op.outputs).front().variable, parts};
}

// Two operators of one kernel draw masks of their own; each place of dropout has its probability.
struct Drop {
  const char* name;
  double layer::Dropout::*probability;
};
constexpr Drop kDrops[] = {{"softmax", &layer::Dropout::attention},
                           {"bdrln1", &layer::Dropout::first},
                           {"bad", &layer::Dropout::hidden},
                           {"bdrln2", &layer::Dropout::second}};

template <class Function>
void each_index(const Sizes& sizes, const std::string& dims, const std::string& layout, Function f) {
  std::vector<std::size_t> extents, strides(dims.size()), at(dims.size(), 0);
  std::size_t stride = 1;
  for (std::size_t i = layout.size(); i-- > 0;) {
    strides[dims.find(layout[i])] = stride;
    stride *= static_cast<std::size_t>(sizes[layout[i]]);
  }
  for (const char letter : dims) extents.push_back(static_cast<std::size_t>(sizes[letter]));
  std::size_t place = 0;
  for (std::size_t n = 0; n < stride; ++n) {
    f(n, place);
    for (std::size_t d = dims.size(); d-- > 0;) {
      place += strides[d];
      if (++at[d] < extents[d]) break;
      place -= strides[d] * extents[d];
      at[d] = 0;
    }
  }
}

}  // namespace

std::vector<std::string> faults_of(const Graph& graph, const LayoutChoice& choice) {
  std::vector<std::string> out;
  for (const Variable& variable : graph.variables) {
    const auto at = choice.layouts.find(variable.name);
    if (at == choice.layouts.end()) {
      out.push_back(fmt::format("`{}` has no layout", variable.name));
    } else if (!same_letters(at->second, variable.dims)) {
      out.push_back(
          fmt::format("`{}` of `{}` is no order of its dimensions {}", at->second, variable.name, variable.dims));
    }
  }
  if (!out.empty()) return out;
  for (const auto& [one, other] : graph.equal) {
    const std::string& a = choice.layouts.find(one)->second;
    const std::string& b = choice.layouts.find(other)->second;
    if (a != b) out.push_back(fmt::format("`{}` is {} and `{}` is {}, but they are one", one, a, other, b));
  }
  for (const Operator& op : graph.operators) {
    if (op.kind == Kind::kContraction) {
      const std::string a = known_layout(graph, choice, op.inputs[0]), b = known_layout(graph, choice, op.inputs[1]),
                        c = known_layout(graph, choice, op.outputs[0]);
      if (layout_of(contraction_space(op.einsum, graph.sizes), a, b, c) == nullptr)
        out.push_back(
            fmt::format("`{}`: {},{}->{} is no product of matrices with a unit stride each", op.name, a, b, c));
    } else if (op.kind == Kind::kSplit || op.kind == Kind::kMerge) {
      const auto [stack, parts] = stack_of(op);
      const std::string whole = choice.layouts.find(stack)->second;
      for (const std::string& part : parts) {
        const std::string layout = choice.layouts.find(part)->second;
        if (whole != "q" + renamed(layout, "k", "j"))
          out.push_back(fmt::format("`{}` is {} and its part `{}` is {}", stack, whole, part, layout));
      }
    }
  }
  return out;
}

GraphRun::GraphRun(kernels::Context& context, const Graph& graph, const LayoutChoice& choice, Type type,
                   const layer::Dropout& dropout)
    : context_(context), graph_(graph), choice_(choice), dropout_(dropout) {
  ORRERY_CHECK(faults_of(graph, choice).empty(), "a choice of layouts that runs");
  make_tensors(type);
  for (const Operator& op : graph.operators)
    if (op.kind == Kind::kContraction || op.kind == Kind::kKernel) steps_.push_back(step_of(op, type));
}

double GraphRun::bytes(const Graph& graph, Type type) {
  double out = 0;
  for (const Variable& variable : graph.variables)
    out += static_cast<double>(graph.sizes.words(variable.dims)) * kernels::bytes_of(type);
  return out;
}

void GraphRun::make_tensors(Type type) {
  std::map<std::string, bool> parameter, part;
  for (const Operator& op : graph_.operators) {
    if (op.kind == Kind::kSplit || op.kind == Kind::kMerge)
      for (const std::string& name : stack_of(op).second) part[name] = true;
    if (op.kind != Kind::kKernel) continue;
    const FusedKernel& kernel = *fused_kernel(op.benchmark());
    for (const auto* uses : {&op.inputs, &op.outputs})
      for (const Use& use : *uses)
        for (const FusedColumn& column : kernel.columns)
          if (column.name == use.column && column.parameter) parameter[use.variable] = true;
  }
  for (const Variable& variable : graph_.variables) {
    Tensor tensor;
    tensor.type = parameter[variable.name] ? Type::kF32 : type;
    tensor.dims = variable.dims, tensor.layout = choice_.layouts.find(variable.name)->second;
    tensor.words = static_cast<std::size_t>(graph_.sizes.words(variable.dims));
    if (!part[variable.name]) {
      memory_.emplace_back(tensor.words * static_cast<std::size_t>(kernels::bytes_of(tensor.type)));
      tensor.data = memory_.back().data();
    }
    tensors_[variable.name] = tensor;
  }
  for (const Operator& op : graph_.operators) {
    if (op.kind != Kind::kSplit && op.kind != Kind::kMerge) continue;
    const auto [stack, parts] = stack_of(op);
    char* from = static_cast<char*>(tensor(stack).data);
    for (const std::string& name : parts) {
      tensor(name).data = from;
      from += tensor(name).words * static_cast<std::size_t>(kernels::bytes_of(type));
    }
  }
}

GraphRun::Step GraphRun::step_of(const Operator& op, Type type) const {
  Step step;
  step.op = &op;
  for (const auto* uses : {&op.inputs, &op.outputs})
    for (const Use& use : *uses) {
      const Tensor& t = tensor(use.variable);
      step.bytes += static_cast<double>(t.words) * kernels::bytes_of(t.type);
    }
  if (op.kind == Kind::kContraction) {
    const ContractionSpace space = contraction_space(op.einsum, graph_.sizes);
    const ContractionLayout* layout =
        layout_of(space, known_layout(graph_, choice_, op.inputs[0]), known_layout(graph_, choice_, op.inputs[1]),
                  known_layout(graph_, choice_, op.outputs[0]));
    const double alpha = op.scaled ? 1 / std::sqrt(static_cast<double>(graph_.sizes['p'])) : 1;
    step.products.push_back(product_of(layout->call, layout->swapped, tensor(op.inputs[0].variable).data,
                                       tensor(op.inputs[1].variable).data, tensor(op.outputs[0].variable).data, type,
                                       alpha));
    const kernels::Product& p = step.products.back();
    const auto library = choice_.libraries.find(op.outputs[0].variable);
    if (library != choice_.libraries.end() && BlasLibrary::takes(p)) step.library = library->second;
    step.operations = 2.0 * static_cast<double>(p.rows) * static_cast<double>(p.columns) *
                      static_cast<double>(p.depth) * static_cast<double>(p.batch);
    return step;
  }
  const FusedKernel& kernel = *fused_kernel(op.benchmark());
  FusedChoice choice;
  std::map<std::string, std::string, std::less<>> variables;
  for (const auto* uses : {&op.inputs, &op.outputs})
    for (const Use& use : *uses) {
      choice.layouts[use.column] = known_layout(graph_, choice_, use);
      variables[use.column] = use.variable;
    }
  const auto specials = choice_.specials.find(op.name);
  for (const std::string& special : kernel.specials) {
    const std::string_view letters = kernel.choices(special);
    char letter = letters.back();
    if (specials != choice_.specials.end()) {
      const auto given = specials->second.find(special);
      if (given != specials->second.end()) letter = given->second;
    }
    choice.specials[special] = letters.find(letter) == std::string_view::npos ? letters.back() : letter;
  }
  FusedRun run;
  run.sizes = graph_.sizes, run.type = type;
  for (std::uint32_t i = 0; i < std::size(kDrops); ++i)
    if (op.name == kDrops[i].name) run.drop = dropout_.*kDrops[i].probability, run.stream = i;
  run.data = [&](std::string_view column) { return tensor(variables.find(column)->second).data; };
  step.runs = runs_of(kernel, choice, run);
  return step;
}

void GraphRun::pass(bool backward) {
  for (const Step& step : steps_) {
    if (step.op->backward != backward) continue;
    const double start = profile_ == nullptr ? 0 : profile_->now();
    for (const kernels::Product& product : step.products)
      step.library != nullptr ? step.library->multiply(context_, product) : kernels::multiply(context_, product);
    for (const kernels::Strided& run : step.runs) kernels::run(context_, run);
    if (profile_ != nullptr)
      profile_->add({step.op->name, backward, start, profile_->now() - start, step.operations, step.bytes});
  }
}

void GraphRun::forward(std::uint64_t seed) {
  for (Step& step : steps_)
    for (kernels::Strided& run : step.runs) run.seed = seed;
  pass(false);
}

void GraphRun::backward() {
  pass(true);
}

void GraphRun::set(std::string_view variable, const std::vector<float>& values) {
  const Tensor& t = tensor(variable);
  ORRERY_CHECK(values.size() == t.words, "a number for every element");
  each_index(graph_.sizes, t.dims, t.layout, [&](std::size_t n, std::size_t place) {
    if (t.type == Type::kBf16) {
      static_cast<kernels::Bf16*>(t.data)[place] = kernels::to_bf16(values[n]);
    } else {
      static_cast<float*>(t.data)[place] = values[n];
    }
  });
}

std::vector<float> GraphRun::get(std::string_view variable) const {
  const Tensor& t = tensor(variable);
  std::vector<float> out(t.words);
  each_index(graph_.sizes, t.dims, t.layout, [&](std::size_t n, std::size_t place) {
    out[n] = t.type == Type::kBf16 ? kernels::from_bf16(static_cast<const kernels::Bf16*>(t.data)[place])
                                   : static_cast<const float*>(t.data)[place];
  });
  return out;
}

std::vector<float> GraphRun::tokens(std::string_view variable) const {
  const std::vector<float> values = get(variable);
  std::vector<float> out(values.size());
  over_tokens(variable, [&](std::size_t n, std::size_t token) { out[token] = values[n]; });
  return out;
}

namespace {

// Heads and their elements: ours are [h][p], Substation's canonical order is p, h. `rows` stand before, `inner` behind.
std::vector<float> heads_swapped(const float* from, std::size_t outer, std::size_t inner, std::size_t behind) {
  std::vector<float> out(outer * inner * behind);
  for (std::size_t a = 0; a < outer; ++a)
    for (std::size_t b = 0; b < inner; ++b)
      for (std::size_t c = 0; c < behind; ++c) out[(b * outer + a) * behind + c] = from[(a * inner + b) * behind + c];
  return out;
}

constexpr std::size_t kGraphRunParts[] = {1, 0, 2};  // of ours (queries, keys, values), in the order of the stack

}  // namespace

void GraphRun::set_weights(const layer::Weights& w) {
  const auto h = static_cast<std::size_t>(graph_.sizes['h']), p = static_cast<std::size_t>(graph_.sizes['p']);
  const std::size_t i = h * p;
  std::vector<float> stack;
  const char* biases[] = {"BK", "BQ", "BV"};
  for (std::size_t q = 0; q < 3; ++q) {
    const std::vector<float> part = heads_swapped(w.qkv.data() + kGraphRunParts[q] * i * i, h, p, i);
    stack.insert(stack.end(), part.begin(), part.end());
    set(biases[q], heads_swapped(w.qkv_bias.data() + kGraphRunParts[q] * i, h, p, 1));
  }
  set("WKQV", stack);
  std::vector<float> out(i * i);  // [i][h][p] to p h i
  for (std::size_t row = 0; row < i; ++row)
    for (std::size_t a = 0; a < h; ++a)
      for (std::size_t b = 0; b < p; ++b) out[(b * h + a) * i + row] = w.out[row * i + a * p + b];
  set("WO", out);
  set("BO", w.out_bias), set("S1", w.scale1), set("B1", w.shift1);
  set("LINW1", w.up), set("LINB1", w.up_bias), set("LINW2", w.down), set("LINB2", w.down_bias);
  set("S2", w.scale2), set("B2", w.shift2);
}

layer::Weights GraphRun::gradients(const layer::Shape& shape) const {
  layer::Weights w(shape);
  const auto h = static_cast<std::size_t>(graph_.sizes['h']), p = static_cast<std::size_t>(graph_.sizes['p']);
  const std::size_t i = h * p;
  const std::vector<float> stack = get("DWKQV"), out = get("DWO");
  const char* biases[] = {"DBK", "DBQ", "DBV"};
  for (std::size_t q = 0; q < 3; ++q) {
    const std::vector<float> part = heads_swapped(stack.data() + q * i * i, p, h, i);
    std::copy(part.begin(), part.end(), w.qkv.begin() + static_cast<std::ptrdiff_t>(kGraphRunParts[q] * i * i));
    const std::vector<float> bias = heads_swapped(get(biases[q]).data(), p, h, 1);
    std::copy(bias.begin(), bias.end(), w.qkv_bias.begin() + static_cast<std::ptrdiff_t>(kGraphRunParts[q] * i));
  }
  for (std::size_t row = 0; row < i; ++row)
    for (std::size_t a = 0; a < h; ++a)
      for (std::size_t b = 0; b < p; ++b) w.out[row * i + a * p + b] = out[(b * h + a) * i + row];
  w.out_bias = get("DBO"), w.scale1 = get("DS1"), w.shift1 = get("DB1");
  w.up = get("DLINW1"), w.up_bias = get("DLINB1"), w.down = get("DLINW2"), w.down_bias = get("DLINB2");
  w.scale2 = get("DS2"), w.shift2 = get("DB2");
  return w;
}

}  // namespace orrery::tuning
