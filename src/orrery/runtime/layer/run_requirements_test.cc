// What is known of a layer before it runs, what it says of impossible ones, and that running it takes no more memory.
#include "orrery/runtime/layer/run_requirements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/layer/encoder.h"
#include "orrery/runtime/layer/layer_test_util.h"

namespace orrery::layer {

std::size_t allocations();  // allocations_test.cc

namespace {

using namespace testing;

Shape bert_large(Index batch, Index length, Type type) {
  Shape shape;
  shape.batch = batch, shape.length = length, shape.width = 1024, shape.heads = 16, shape.hidden = 4096;
  shape.type = type;
  return shape;
}

TEST(Plan, OfBertLargeKeepsWhatTheGoalsSay) {
  EXPECT_LE(plan(bert_large(8, 512, Type::kBf16), true).saved, 86'000'000U);
  EXPECT_LE(plan(bert_large(8, 512, Type::kF32), true).saved, 170'000'000U);
  EXPECT_EQ(plan(bert_large(8, 512, Type::kF32), false).saved, 0U);
}

TEST(Plan, IsWhatTheLayerTakes) {
  kernels::Context context(1);
  for (const Type type : {Type::kF32, Type::kBf16}) {
    Shape shape = bert_large(8, 128, type);
    shape.width = 256, shape.heads = 4, shape.hidden = 1024;
    const Encoder layer(context, shape, Weights(shape), true);
    const std::size_t x = 8 * 128 * 256 * static_cast<std::size_t>(bytes_of(type)), token = 8 * 128;
    EXPECT_EQ(layer.saved_bytes(), 10 * x + token * (4 + 2) * 4);
    EXPECT_EQ(plan(shape, true).saved, layer.saved_bytes());
    EXPECT_EQ(plan(shape, true).passing, layer.passing_bytes());
  }
}

// 24 B L W^2 + 4 B L^2 W forwards; backwards twice the products, and five of L x L.
TEST(Plan, CountsTheOperationsOfTheClosedForm) {
  const Plan p = plan(bert_large(8, 512, Type::kBf16), true);
  double forward = 0, backward = 0, bytes = 0;
  for (const Operator& op : p.operators) {
    (op.backward ? backward : forward) += op.operations;
    bytes += op.bytes;
  }
  EXPECT_NEAR(forward / 1e9, 111.67, 0.005);
  EXPECT_NEAR((forward + backward) / 1e9, 339.3, 0.05);
  EXPECT_GT(bytes, 2 * 339e6);  // more than the operators' bound: norms and activations are computed again
}

TEST(Plan, OfAWindowCountsVisiblePairsOnly) {
  Shape shape = bert_large(2, 100, Type::kF32);
  const auto attention = [&] {
    for (const Operator& op : plan(shape, false).operators) {
      if (op.name == "attention") return op.operations;
    }
    return 0.0;
  };
  EXPECT_EQ(attention(), 4.0 * 2 * 100 * 100 * 1024);
  shape.causal = true;
  EXPECT_EQ(attention(), 4.0 * 2 * (100 * 101 / 2) * 1024);
  shape.window = 1;
  EXPECT_EQ(attention(), 4.0 * 2 * 100 * 1024);
}

std::vector<base::Diagnostic> errors_of(const Shape& shape) {
  return checked(shape).all();
}

std::string code_of(const Shape& shape) {
  const auto found = errors_of(shape);
  return found.size() == 1 ? found[0].code : std::to_string(found.size()) + " errors";
}

TEST(Plan, OfAnImpossibleShapeSaysWhatIsWrongWithIt) {
  const Shape good = bert_large(1, 8, Type::kF32);
  EXPECT_TRUE(errors_of(good).empty());
  const auto with = [&](auto change) {
    Shape s = good;
    change(s);
    return code_of(s);
  };
  EXPECT_EQ(with([](Shape& s) { s.hidden = 0; }), "O1503");
  EXPECT_EQ(with([](Shape& s) { s.window = -1; }), "O1503");
  EXPECT_EQ(with([](Shape& s) { s.cross = true; }), "O1503");  // a memory of no tokens
  EXPECT_EQ(with([](Shape& s) { s.heads = 15; }), "O1504");
  EXPECT_EQ(with([](Shape& s) { s.key_heads = 3; }), "O1504");
  EXPECT_EQ(with([](Shape& s) { s.heads = 1; }), "O1505");
  EXPECT_EQ(with([](Shape& s) { s.head_size = 513; }), "O1505");
  EXPECT_EQ(with([](Shape& s) { s.hidden = (1 << 24) + 1; }), "O1508");
  EXPECT_EQ(with([](Shape& s) { s.batch = s.length = 1 << 24; }), "O1508");
  EXPECT_EQ(with([](Shape& s) { s.head_size = 63, s.rotary = Rotary::kHalves; }), "O1509");
  EXPECT_EQ(with([](Shape& s) { s.rotary_size = 66, s.rotary = Rotary::kPairs; }), "O1509");
  EXPECT_EQ(with([](Shape& s) { s.activation = Activation::kNone; }), "O1510");
  EXPECT_EQ(with([](Shape& s) { s.type = Type::kInt8; }), "O1510");
  EXPECT_EQ(with([](Shape& s) { s.epsilon = -1; }), "O1510");
  EXPECT_EQ(with([](Shape& s) { s.batch = 0, s.heads = -3, s.epsilon = NAN; }), "3 errors");
  Shape odd = good;
  odd.width = 1000;
  EXPECT_EQ(errors_of(odd)[0].notes[0], "1000 = 16 x 62 + 8");
}

TEST(Plan, ThatTakesMoreThanThereIsShowsTheSum) {
  const Shape shape = bert_large(96, 512, Type::kF32);
  EXPECT_NO_THROW(plan(shape, true, std::size_t{8} << 30));
  try {
    plan(shape, true, std::size_t{2} << 30);
    FAIL();
  } catch (const base::InputError& e) {
    EXPECT_EQ(e.diagnostics[0].code, "O1507");
    EXPECT_EQ(e.diagnostics[0].message.find("the layer takes "), 0U) << e.diagnostics[0].message;
    EXPECT_NE(e.diagnostics[0].notes[0].find("kept for the backward pass"), std::string::npos);
  }
}

std::string thrown_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::InputError& e) {
    return e.diagnostics[0].code;
  }
  return "nothing";
}

TEST(Plan, HoldsForEveryCall) {
  kernels::Context context(1);
  Shape shape;
  EXPECT_EQ(thrown_by([&] { Encoder(context, shape, Weights(shape), true); }), "O1503");
  shape.width = 10, shape.heads = 5, shape.hidden = 4, shape.batch = 2, shape.length = 3;
  Shape other = shape;
  other.hidden = 5;
  EXPECT_EQ(thrown_by([&] { Encoder(context, shape, Weights(other), true); }), "O1512");
  Encoder layer(context, shape, Weights(shape), true), plain(context, shape, Weights(shape), false);
  std::vector<float> x(60), y(60);
  Weights gradients(shape), too_few(other);
  const Index lengths[] = {3, 4}, negative[] = {-1, 3};
  EXPECT_EQ(thrown_by([&] { layer.infer(x.data(), y.data(), lengths); }), "O1506");
  EXPECT_EQ(thrown_by([&] { layer.infer(x.data(), y.data(), negative); }), "O1506");
  EXPECT_EQ(thrown_by([&] { layer.forward(x.data(), y.data(), {0, 1, 0, 0}, 0); }), "O1511");
  EXPECT_EQ(thrown_by([&] { layer.forward(x.data(), y.data(), {0, 0, NAN, 0}, 0); }), "O1511");
  Input in;
  in.x = x.data(), in.length = 4;
  EXPECT_EQ(thrown_by([&] { layer.infer(in, y.data()); }), "O1513");
  EXPECT_THROW(layer.backward(x.data(), y.data(), gradients), base::InternalError);  // before forward
  EXPECT_THROW(plain.forward(x.data(), y.data(), {}, 0), base::InternalError);       // not made for training
  layer.forward(x.data(), y.data(), {}, 0);
  EXPECT_EQ(thrown_by([&] { layer.backward(x.data(), y.data(), too_few); }), "O1512");
}

TEST(Plan, IsAllTheMemoryThatRunningTakes) {
  for (const Type type : {Type::kF32, Type::kBf16, Type::kF64}) {
    Random random(5);
    Setting s;
    s.shape.batch = 2, s.shape.length = 30, s.shape.width = 32, s.shape.heads = 4, s.shape.key_heads = 2;
    s.shape.hidden = 48, s.shape.type = type, s.shape.cross = true, s.shape.memory_length = 11, s.shape.gated = true;
    s.shape.rotary = Rotary::kHalves;
    s.lengths = {20, 30};
    draw_weights(s, random);
    const Tensor x = random_rows(s, random, s.x), memory = random_rows(s, random, s.memory, true);
    Tensor y = x, dx = x, dm = memory;
    kernels::Context context(2);
    Encoder layer(context, s.shape, s.weights, true);
    Weights gradients(s.shape);
    Profile profile;
    layer.attach(&profile);
    std::size_t in_step = 0;
    for (int step = 0; step < 4; ++step) {
      const std::size_t before = allocations();
      profile.clear();
      layer.forward(input_of(s, x, &memory), y.data(), {0.1, 0.1, 0.1, 0.1, 0.1, 0.1}, step);
      layer.backward(x.data(), {dx.data(), dm.data(), step % 2 == 1}, gradients);
      layer.set_weights(s.weights);
      in_step = allocations() - before;
    }
    EXPECT_EQ(in_step, 0U) << static_cast<int>(type);
  }
}

TEST(Profile, HasEveryOperatorOfBothPassesInTurn) {
  Random random(5);
  Setting s;
  s.shape.batch = 2, s.shape.length = 40, s.shape.width = 32, s.shape.heads = 4, s.shape.hidden = 64;
  draw_weights(s, random);
  const Tensor x = random_rows(s, random, s.x);
  Tensor y = x, dx = x;
  kernels::Context context(1);
  Encoder layer(context, s.shape, s.weights, true);
  Weights gradients(s.shape);
  Profile profile;
  layer.forward(x.data(), y.data(), {}, 1);
  EXPECT_TRUE(profile.operators().empty());  // detached
  layer.attach(&profile);
  layer.forward(x.data(), y.data(), {}, 1);
  layer.backward(x.data(), dx.data(), gradients);
  std::map<std::string_view, double> planned;
  for (const Operator& op : plan(s.shape, true).operators) planned[op.name] += op.operations;
  double end = 0;
  std::map<std::string_view, double> ran;
  for (const Operator& op : profile.operators()) {
    EXPECT_GE(op.start, end) << op.name;  // one after the other
    EXPECT_GE(op.seconds, 0) << op.name;
    EXPECT_GT(op.bytes, 0) << op.name;
    EXPECT_EQ(op.backward, op.name.substr(0, 2) == "d_" || op.name.find("again") != std::string_view::npos) << op.name;
    end = op.start + op.seconds;
    ran[op.name] += op.operations;
  }
  for (const auto* name :
       {"qkv", "attention", "out", "up", "down", "d_norm2", "d_down weights", "d_down input", "d_up weights",
        "d_up input", "d_norm1", "d_out weights", "d_out input", "d_attention", "d_qkv weights", "d_qkv input"}) {
    ASSERT_TRUE(ran.count(name)) << name;
    EXPECT_EQ(ran[name], planned[name]) << name;
  }
  layer.attach(nullptr);
  const std::size_t count = profile.operators().size();
  layer.infer(x.data(), y.data());
  EXPECT_EQ(profile.operators().size(), count);
}

}  // namespace
}  // namespace orrery::layer
