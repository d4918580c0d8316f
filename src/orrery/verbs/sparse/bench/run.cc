// The block is what Sanger compares its array with: projections to queries, keys and values, attention, the output's
// projection; random numbers, no dropout. One run to warm up, then ten groups of ten, each group's mean in ms.
#include "orrery/verbs/sparse/bench/run.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/inputs/systems/layer_data.h"
#include "orrery/runtime/kernels/attention.h"
#include "orrery/runtime/kernels/product.h"

namespace orrery::verbs {
namespace {

using base::Count;
using kernels::Index;

constexpr int kGroups = 10, kRuns = 10;
constexpr Count kLengths[] = {128, 384, 512};
constexpr double kMostElements = 1e9;

struct Size {
  const char* name;
  Count width, heads;
  bool causal;
};
// gpt2-small is what the script calls gpt2-base, and -medium the same size as its -large.
constexpr Size kModels[] = {{"bert-base", 768, 12, false},   {"bert-large", 1024, 16, false},
                            {"gpt2-small", 768, 12, true},   {"gpt2-base", 768, 12, true},
                            {"gpt2-medium", 1024, 16, true}, {"gpt2-large", 1024, 16, true},
                            {"bart-base", 768, 12, false},   {"bart-large", 1024, 16, false}};
constexpr const char* kAll[] = {"bert-base", "gpt2-small", "bart-base"};

const Size& size_named(const std::string& name) {
  for (const Size& one : kModels)
    if (name == one.name) return one;
  base::fail("O1880", fmt::format("there is no attention block `{}`", name), {},
             base::did_you_mean(name, sparse_bench_models(),
                                fmt::format("there are {}", base::joined(sparse_bench_models(), ", "))));
}

class Block {
 public:
  Block(kernels::Context& context, const Size& size, Count batch, Count tokens, kernels::Type type)
      : context_(context),
        size_(size),
        batch_(batch),
        tokens_(tokens),
        type_(type),
        x_(type, batch * tokens * size.width),
        qkv_(type, 3 * x_.count()),
        heads_(type, x_.count()),
        y_(type, x_.count()) {
    draw(x_, 1, 0);
    LayerTensor weights(kernels::Type::kF32, 4 * size.width * size.width);
    draw(weights, 1, 1);
    for (Index i = 0; i < weights.count(); ++i)
      weights.set(i, weights.get(i) / std::sqrt(static_cast<double>(size.width)));
    const auto* const data = static_cast<const float*>(weights.data());
    into_ = packed(data, 3 * size.width);
    out_ = packed(data + 3 * size.width * size.width, size.width);
    bias_.assign(static_cast<std::size_t>(3 * size.width), 0.01F);
  }

  void run() {
    multiply(x_, size_.width, into_, 3 * size_.width, qkv_);
    kernels::Attention a;
    a.type = type_, a.batch = batch_, a.heads = a.key_heads = size_.heads, a.queries = a.keys = tokens_;
    a.size = a.value_size = size_.width / size_.heads;
    a.scale = 1 / std::sqrt(static_cast<double>(a.size));
    if (size_.causal) a.reach_ahead = 0;
    const Index row = 3 * size_.width;
    const auto part = [&](Index which) {
      return kernels::Vectors{static_cast<char*>(qkv_.data()) + which * size_.width * kernels::bytes_of(type_),
                              tokens_ * row, a.size, row};
    };
    a.query = part(0), a.key = part(1), a.value = part(2);
    a.out = {heads_.data(), tokens_ * size_.width, a.size, size_.width};
    kernels::attend(context_, a);
    multiply(heads_, size_.width, out_, size_.width, y_);
  }

  double sum() const {
    double sum = 0;
    for (Index i = 0; i < y_.count(); ++i) sum += y_.get(i);
    return sum;
  }

 private:
  kernels::Precision precision() const {
    return type_ == kernels::Type::kBf16 ? kernels::Precision::kBf16 : kernels::Precision::kF32;
  }
  // [outputs][inputs], as layers have them.
  kernels::PackedOperand packed(const float* data, Count outputs) {
    const kernels::Operand b{data, kernels::Type::kF32, 1, size_.width, 0};
    return kernels::pack(context_, b, size_.width, outputs, precision(), {});
  }
  void multiply(const LayerTensor& from, Count depth, const kernels::PackedOperand& by, Count columns,
                LayerTensor& to) {
    kernels::Product p;
    p.rows = batch_ * tokens_, p.columns = columns, p.depth = depth;
    p.precision = precision();
    p.a = {from.data(), type_, depth, 1, 0};
    p.packed_b = &by;
    p.bias = bias_.data();
    p.c = {to.data(), type_, columns, 0};
    kernels::multiply(context_, p);
  }

  kernels::Context& context_;
  const Size& size_;
  Count batch_, tokens_;
  kernels::Type type_;
  LayerTensor x_, qkv_, heads_, y_;
  kernels::PackedOperand into_, out_;
  std::vector<float> bias_;
};

}  // namespace

std::vector<std::string> sparse_bench_models() {
  std::vector<std::string> names;
  for (const Size& one : kModels) names.emplace_back(one.name);
  return names;
}

SparseBench sparse_bench(const SparseBenchRequest& request) {
  const base::Budget budget(request.limits);
  kernels::Context context(request.limits.threads);
  SparseBench out;
  out.isa = kernels::name_of(context.table().level);
  out.threads = context.threads();
  out.type = request.type;
  std::vector<std::pair<std::string, Count>> asked;
  if (request.all)
    for (const char* const name : kAll)
      for (const Count tokens : kLengths) asked.emplace_back(name, tokens);
  else
    asked.emplace_back(request.model, request.tokens);
  for (const auto& [name, tokens] : asked) {
    const Size& size = size_named(name);
    const double elements =
        3.0 * static_cast<double>(request.batch) * static_cast<double>(tokens) * static_cast<double>(size.width);
    if (elements > kMostElements)
      base::fail(
          "O1880",
          fmt::format("{} x {} tokens of {} features are {:.3g} numbers of queries, keys and values, more than {:g}",
                      request.batch, tokens, size.width, elements, kMostElements),
          {}, "give a smaller --batch_size or --seq_len");
    if (budget.spent()) {
      out.ended_early = true;
      break;
    }
    Block block(context, size, request.batch, tokens, request.type);
    BenchedBlock& row = out.blocks.emplace_back();
    row.model = name, row.batch = request.batch, row.tokens = tokens, row.width = size.width, row.heads = size.heads;
    block.run();
    for (int group = 0; group < kGroups && !out.ended_early; ++group) {
      const base::Stopwatch clock;
      for (int run = 0; run < kRuns; ++run) block.run();
      row.groups.push_back(clock.seconds() * 1e3 / kRuns);
      out.ended_early = budget.spent();
    }
    for (const double one : row.groups) row.mean += one / static_cast<double>(row.groups.size());
    for (const double one : row.groups)
      row.deviation += (one - row.mean) * (one - row.mean) / static_cast<double>(row.groups.size());
    row.deviation = std::sqrt(row.deviation);
    if (out.ended_early) break;
  }
  out.published = published_speedups();
  return out;
}

std::vector<PublishedFigure> published_speedups() {
  const std::string source = "L. Lu et al., MICRO 2021, abstract";
  return {{"Sanger's array over this block on a V100 GPU", source, 4.64},
          {"Sanger's array over this block on a Threadripper 3970X CPU", source, 22.7}};
}

std::string bench_csv(const SparseBench& answer) {
  std::vector<std::string> models;
  std::map<Count, std::map<std::string, double>> rows;
  for (const BenchedBlock& one : answer.blocks) {
    if (std::find(models.begin(), models.end(), one.model) == models.end()) models.push_back(one.model);
    rows[one.tokens][one.model] = one.mean;
  }
  std::string out = fmt::format(",{}\n", base::joined(models, ","));
  for (const auto& [tokens, of] : rows) {
    out += fmt::format("{}", tokens);
    for (const std::string& model : models) out += of.count(model) > 0 ? fmt::format(",{:.6f}", of.at(model)) : ",";
    out += "\n";
  }
  return out;
}

}  // namespace orrery::verbs
