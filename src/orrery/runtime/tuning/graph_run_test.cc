// The layer of a layout file against layer::Encoder: outputs and every gradient.
#include "orrery/runtime/tuning/graph_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"

namespace orrery::tuning {
namespace {

layer::Shape small_of_graph_run() {
  layer::Shape shape;
  shape.batch = 3, shape.length = 20, shape.width = 48, shape.heads = 4, shape.hidden = 72;
  shape.activation = kernels::Activation::kRelu;
  return shape;
}

Graph graph_of(const layer::Shape& s) {
  return encoder_graph(Sizes::encoder(s.batch, s.length, s.heads, s.width, s.hidden));
}

// Every tensor as its dimensions stand, which runs; or with heads outermost and tokens innermost.
LayoutChoice plain(const Graph& graph) {
  LayoutChoice choice;
  for (const Variable& variable : graph.variables) choice.layouts[variable.name] = variable.dims;
  for (const char* name : {"X", "SB2", "DX", "DSB2"}) choice.layouts[name] = "bji";
  for (const char* name : {"ATT", "DATT", "DXATT"}) choice.layouts[name] = "bji";
  return choice;
}

LayoutChoice mixed(const Graph& graph, std::mt19937& random) {
  LayoutChoice choice = plain(graph);
  // Tensors that no contraction sees are free.
  for (const char* name : {"LN1", "LN1DIFF", "DROP1MASK", "LN2", "LIN2", "LN2DIFF", "DROP3MASK", "DLN2", "DRESID2",
                           "DLN1", "DRESID1", "DROP2MASK", "LIN1", "ALPHA", "LN1STD", "LN2STD"}) {
    std::string& layout = choice.layouts[name];
    std::shuffle(layout.begin(), layout.end(), random);
  }
  for (const Operator& op : graph.operators)
    if (op.kind == Kind::kKernel) {
      const FusedKernel& kernel = *fused_kernel(op.benchmark());
      for (const std::string& special : kernel.specials) {
        const std::string_view letters = kernel.choices(special);
        choice.specials[op.name][special] = letters[random() % letters.size()];
      }
    }
  return choice;
}

std::vector<float> drawn(std::size_t count, std::mt19937& random, float size = 1) {
  std::uniform_real_distribution<float> draw(-size, size);
  std::vector<float> out(count);
  for (float& x : out) x = draw(random);
  return out;
}

double off(const std::vector<float>& got, const std::vector<float>& want) {
  double worst = 0, largest = 0;
  EXPECT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double d = std::fabs(static_cast<double>(got[i]) - want[i]);
    worst = d <= worst ? worst : std::isnan(d) ? 1e9 : d;
    largest = std::max(largest, std::fabs(static_cast<double>(want[i])));
  }
  return worst / largest;
}

void expect_encoder(const LayoutChoice& choice, const Graph& graph, const layer::Shape& shape, std::mt19937& random) {
  kernels::Context context(2);
  layer::Weights weights(shape), want(shape);
  for (std::vector<float>* part : weights.all()) *part = drawn(part->size(), random, 0.2F);
  const auto words = static_cast<std::size_t>(shape.batch * shape.length * shape.width);
  const std::vector<float> x = drawn(words, random), dy = drawn(words, random);
  std::vector<float> y(words), dx(words);
  layer::Encoder encoder(context, shape, weights, true);
  encoder.forward(x.data(), y.data(), {}, 1);
  encoder.backward(dy.data(), dx.data(), want);

  ASSERT_EQ(faults_of(graph, choice), std::vector<std::string>{});
  GraphRun run(context, graph, choice, kernels::Type::kF32, {});
  run.set_weights(weights);
  run.set_tokens("X", [&](std::size_t n) { return x[n]; });
  run.set_tokens("DSB2", [&](std::size_t n) { return dy[n]; });
  run.forward(1);
  run.backward();
  EXPECT_LT(off(run.tokens("SB2"), y), 1e-5);
  EXPECT_LT(off(run.tokens("DX"), dx), 2e-5);
  const layer::Weights got = run.gradients(shape);
  const auto a = got.all(), b = static_cast<const layer::Weights&>(want).all();
  // The gradient of the keys' biases is 0: a softmax does not see what is added to all scores. Both have its noise.
  const auto keys = [&](std::vector<float> biases) {
    const auto i = static_cast<std::ptrdiff_t>(shape.width);
    biases.erase(biases.begin() + i, biases.begin() + 2 * i);
    return biases;
  };
  for (std::size_t part = 0; part < a.size(); ++part) {
    if (b[part]->empty()) continue;
    const bool biases = b[part] == &want.qkv_bias;
    EXPECT_LT(biases ? off(keys(*a[part]), keys(*b[part])) : off(*a[part], *b[part]), 5e-5) << part;
  }
}

TEST(GraphRun, ComputesWhatTheEncoderComputesForwardsAndBackwards) {
  std::mt19937 random(5);
  const layer::Shape shape = small_of_graph_run();
  const Graph graph = graph_of(shape);
  expect_encoder(plain(graph), graph, shape, random);
}

TEST(GraphRun, ComputesTheSameWhateverTheLayouts) {
  std::mt19937 random(6);
  const layer::Shape shape = small_of_graph_run();
  const Graph graph = graph_of(shape);
  for (int draw = 0; draw < 12; ++draw) expect_encoder(mixed(graph, random), graph, shape, random);
}

TEST(GraphRun, SaysWhatIsWrongWithAChoice) {
  const Graph graph = graph_of(small_of_graph_run());
  LayoutChoice choice = plain(graph);
  choice.layouts["SB2"] = "ibj";
  choice.layouts["WQQ"] = "hpbj";
  choice.layouts["GAMMA"] = "pbhj";
  const std::vector<std::string> faults = faults_of(graph, choice);
  ASSERT_GE(faults.size(), 4U);
  EXPECT_EQ(faults[0], "`SB2` is ibj and `X` is bji, but they are one");
  choice.layouts["GAMMA"] = "phb";
  choice.layouts.erase("X");
  EXPECT_EQ(faults_of(graph, choice),
            (std::vector<std::string>{"`X` has no layout", "`phb` of `GAMMA` is no order of its dimensions phbj"}));
}

TEST(GraphRun, DropsInFourPlacesWithMasksOfTheirOwn) {
  const Graph graph = graph_of(small_of_graph_run());
  kernels::Context context(1);
  std::mt19937 random(8);
  layer::Dropout dropout;
  dropout.attention = 0.5, dropout.first = 0.25, dropout.hidden = 0.1;
  GraphRun run(context, graph, plain(graph), kernels::Type::kF32, dropout);
  layer::Weights weights(small_of_graph_run());
  run.set_weights(weights);
  run.set("X", drawn(3 * 20 * 48, random));
  run.forward(3);
  const auto share = [&](const char* mask) {
    const std::vector<float> m = run.get(mask);
    return static_cast<double>(std::count(m.begin(), m.end(), 0.0F)) / static_cast<double>(m.size());
  };
  EXPECT_NEAR(share("ATTN_DROP_MASK"), 0.5, 0.04);
  EXPECT_NEAR(share("DROP1MASK"), 0.25, 0.04);
  EXPECT_NEAR(share("DROP2MASK"), 0.1, 0.03);
  EXPECT_EQ(share("DROP3MASK"), 0);
}

}  // namespace
}  // namespace orrery::tuning
