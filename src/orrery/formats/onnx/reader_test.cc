#include "orrery/formats/onnx/onnx_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/onnx/onnx_test_util.h"

namespace orrery::formats::onnx {
namespace {

ModelWriter small() {
  ModelWriter writer;
  writer.input("x", {-1, 8})
      .weight("w", {8, 4})
      .integers("s", {2, -1})
      .node("MatMul", {"x", "w"}, {"y"}, {}, "", "first");
  return writer.node("Reshape", {"y", "s"}, {"z"}, {{"allowzero", std::int64_t{1}}});
}

std::string code_of(const std::string& bytes) {
  const auto errors = base::refused([&] { parse(bytes, "m.onnx"); });
  return errors.empty() ? "" : errors[0].code;
}

std::string message_of(const std::string& bytes) {
  const auto errors = base::refused([&] { parse(bytes, "m.onnx"); });
  return errors.empty() ? "" : errors[0].message;
}

TEST(OnnxReader, KeepsOperatorsShapesAndSmallIntegers) {
  const Model model = small().model();
  EXPECT_EQ(model.opset, 17);
  ASSERT_EQ(model.inputs.size(), 1u);
  ASSERT_TRUE(model.inputs[0].dimensions);
  EXPECT_EQ((*model.inputs[0].dimensions)[0].symbol, "batch");
  EXPECT_EQ((*model.inputs[0].dimensions)[1].size, 8);
  ASSERT_EQ(model.tensors.size(), 2u);
  EXPECT_EQ(model.tensors[0].shape, (Shape{8, 4}));
  EXPECT_FALSE(model.tensors[0].reals);  // two bytes are no 32 values
  EXPECT_EQ(model.tensors[1].integers, (std::vector<std::int64_t>{2, -1}));
  ASSERT_EQ(model.nodes.size(), 2u);
  EXPECT_EQ(model.nodes[0].name, "first");
  EXPECT_EQ(model.nodes[1].name, "Reshape_1");
  EXPECT_EQ(model.nodes[1].integer("allowzero", 0), 1);
}

TEST(OnnxReader, TellsWhereAnOperatorBegins) {
  const std::string bytes = small().bytes();
  const Model model = parse(bytes, "m.onnx");
  for (const Node& node : model.nodes) EXPECT_EQ(bytes[static_cast<std::size_t>(node.byte)], '\x0a');
  EXPECT_LT(model.nodes[0].byte, model.nodes[1].byte);
}

TEST(OnnxReader, TakesAWeightThatIsListedAsAnInputForAWeight) {
  EXPECT_TRUE(ModelWriter().input("w", {2, 2}).weight("w", {2, 2}).model().inputs.empty());
}

TEST(OnnxReader, GivesNodesOfOneNameNamesOfTheirOwn) {
  ModelWriter writer;
  for (int i = 0; i < 3; ++i) writer.node("Relu", {"x"}, {"y"}, {}, "", "same");
  const Model model = writer.model();
  EXPECT_EQ(model.nodes[0].name, "same");
  EXPECT_NE(model.nodes[1].name, model.nodes[2].name);
}

TEST(OnnxReader, RefusesEveryBeginningOfAModelThatIsCutOff) {
  // A message may end where a field does: the graph is the second of three.
  const std::string bytes = small().bytes();
  const std::size_t behind = bytes.size() - Message().message(8, Message().number(2, 17)).bytes().size();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    if (length == behind) continue;
    EXPECT_EQ(code_of(bytes.substr(0, length)), "O0930") << length;
  }
}

TEST(OnnxReader, RefusesFieldsOfAnotherType) {
  EXPECT_NE(message_of(Message().number(7, 1).bytes()).find("field 7"), std::string::npos);
  EXPECT_EQ(code_of(Message().message(7, Message().number(1, 5)).bytes()), "O0930");
  EXPECT_EQ(code_of(Message().message(7, Message().message(1, Message().number(4, 5))).bytes()), "O0930");
}

TEST(OnnxReader, RefusesWhatIsNoProtobuf) {
  using namespace std::string_literals;
  for (const std::string& bytes : {""s, "architecture:\n"s, "\0\0\0\0"s, "\x0b\x0c"s, std::string(64, '\xff'),
                                   Message().number(1, 8).bytes(), "version https://git-lfs"s})
    EXPECT_EQ(code_of(bytes), "O0930") << bytes;
}

TEST(OnnxReader, RefusesLengthsBeyondWhatHoldsThem) {
  Message inner;
  inner.tag(1, 2);
  inner.varint(1u << 30);
  EXPECT_EQ(code_of(Message().message(7, inner).bytes()), "O0930");
  Message outer;
  outer.tag(7, 2);
  outer.varint(0xffffffffu);
  EXPECT_EQ(code_of(outer.bytes()), "O0930");
}

TEST(OnnxReader, RefusesNamesThatAreNoText) {
  ModelWriter writer;
  writer.node("Relu\x1b[31m", {"x"}, {"y"});
  EXPECT_EQ(code_of(writer.bytes()), "O0930");
}

TEST(OnnxReader, RefusesSizesBeyondBounds) {
  EXPECT_EQ(code_of(ModelWriter().weight("w", {kMostSize + 1}).bytes()), "O0931");
  EXPECT_EQ(code_of(ModelWriter().weight("w", {-4}).bytes()), "O0930");
  EXPECT_EQ(code_of(ModelWriter().weight("w", Shape(kMostRank + 1, 1)).bytes()), "O0931");
  EXPECT_EQ(code_of(ModelWriter().input("x", Shape(kMostRank + 1, 1)).bytes()), "O0931");
  EXPECT_EQ(code_of(ModelWriter().node(std::string(5000, 'x'), {}, {}).bytes()), "O0931");
}

TEST(OnnxReader, RefusesMoreOperatorsThanItCountsTo) {
  Message graph;
  const std::string node = Message().message(1, Message().text(4, "Relu")).bytes();
  std::string all;
  for (std::size_t i = 0; i <= kMostNodes; ++i) all += node;
  EXPECT_EQ(code_of(Message().message(7, graph.raw(all)).bytes()), "O0931");
}

TEST(OnnxReader, PassesOverGraphsWithinOperatorsHoweverDeep) {
  Message deep = Message().text(4, "If");
  for (int i = 0; i < 2000; ++i)
    deep = Message().text(4, "If").message(5, Message().text(1, "then").message(6, Message().message(1, deep)));
  const Model model = parse(Message().message(7, Message().message(1, deep)).bytes(), "m.onnx");
  ASSERT_EQ(model.nodes.size(), 1u);
  ASSERT_EQ(model.nodes[0].attributes.size(), 1u);
  EXPECT_TRUE(model.nodes[0].attributes[0].graph);
}

TEST(OnnxReader, AnswersToDamageWithDiagnosticsOnly) {
  const std::string bytes = small().bytes();
  std::mt19937 random(7);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      parse(damaged, "m.onnx");
    } catch (const base::InputError& error) {
      ASSERT_FALSE(error.diagnostics.empty());
    }
  }
}

}  // namespace
}  // namespace orrery::formats::onnx
