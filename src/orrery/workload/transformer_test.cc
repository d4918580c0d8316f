#include "orrery/workload/transformer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "orrery/base/refused_test_util.h"

namespace orrery::workload {
namespace {

using base::Count;

TransformerConfig bert_large() {
  TransformerConfig config;
  config.name = "bert-large";
  config.hidden = 1024;
  config.layers = 24;
  config.heads = 16;
  config.feed_forward = 4096;
  return config;
}

TransformerConfig llama3_8b() {
  TransformerConfig config;
  config.name = "llama3-8b";
  config.hidden = 4096;
  config.layers = 32;
  config.heads = 32;
  config.kv_heads = 8;
  config.feed_forward = 14336;
  config.gated = true;
  config.rms_norm = true;
  return config;
}

Count bound(const Operator& op, const char* dimension) {
  return op.einsum.dimensions[op.einsum.dimension_index(dimension)].bound;
}

const Operator& named(const std::vector<Operator>& block, const std::string& name) {
  return *std::find_if(block.begin(), block.end(), [&](const Operator& op) { return op.name == name; });
}

struct Shape {
  const char* name;
  Count e, d, l, instances;
};

void expect_shapes(const std::vector<Operator>& block, const std::vector<Shape>& shapes) {
  ASSERT_EQ(block.size(), shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    SCOPED_TRACE(shapes[i].name);
    EXPECT_EQ(block[i].name, shapes[i].name);
    EXPECT_EQ(block[i].einsum.name, shapes[i].name);
    EXPECT_EQ(bound(block[i], "E"), shapes[i].e);
    EXPECT_EQ(bound(block[i], "D"), shapes[i].d);
    EXPECT_EQ(bound(block[i], "L"), shapes[i].l);
    EXPECT_EQ(block[i].instances, shapes[i].instances);
  }
}

TEST(TransformerBlock, BertLargeAt4096HasTheShapesOfTimeloopExperiments) {
  expect_shapes(transformer_block(bert_large(), 1, 4096), {{"KQV", 1024, 3072, 4096, 1},
                                                           {"KTQ", 64, 4096, 4096, 16},
                                                           {"softmax", 4096, 2, 4096, 16},
                                                           {"VScores", 4096, 64, 4096, 16},
                                                           {"Out", 1024, 1024, 4096, 1},
                                                           {"layernorm", 1024, 3, 4096, 2},
                                                           {"FF1", 1024, 4096, 4096, 1},
                                                           {"FF2", 4096, 1024, 4096, 1}});
}

TEST(TransformerBlock, Llama3NarrowsKeysAndValuesDoublesFf1AndSweepsTwice) {
  expect_shapes(transformer_block(llama3_8b(), 2, 128), {{"KQV", 4096, 6144, 256, 1},
                                                         {"KTQ", 128, 128, 128, 64},
                                                         {"softmax", 128, 2, 128, 64},
                                                         {"VScores", 128, 128, 128, 64},
                                                         {"Out", 4096, 4096, 256, 1},
                                                         {"layernorm", 4096, 2, 256, 2},
                                                         {"FF1", 4096, 28672, 256, 1},
                                                         {"FF2", 14336, 4096, 256, 1}});
}

TEST(TransformerBlock, OnlySoftmaxAndLayernormAreNormalisations) {
  for (const Operator& op : transformer_block(bert_large(), 1, 64))
    EXPECT_EQ(op.role == OperatorRole::kNormalisation, op.name == "softmax" || op.name == "layernorm") << op.name;
}

TransformerConfig any_config() {
  TransformerConfig config;
  config.name = "random";
  config.kv_heads = *rc::gen::inRange<Count>(1, 9);
  config.heads = config.kv_heads * *rc::gen::inRange<Count>(1, 9);
  config.head_dim = *rc::gen::inRange<Count>(1, 200);
  config.hidden = *rc::gen::inRange<Count>(1, 5000);
  config.feed_forward = *rc::gen::inRange<Count>(1, 20000);
  config.layers = *rc::gen::inRange<Count>(1, 100);
  config.gated = *rc::gen::arbitrary<bool>();
  config.rms_norm = *rc::gen::arbitrary<bool>();
  return config;
}

TEST(TransformerBlock, OperationsEqualTheClosedFormula) {
  EXPECT_TRUE(rc::check([] {
    const TransformerConfig c = any_config();
    const Count batch = *rc::gen::inRange<Count>(1, 17);
    const Count seq = *rc::gen::inRange<Count>(1, 9000);
    const Count l = batch * seq;
    const Count scores = c.heads * batch * seq * seq;
    const Count matmuls = l * c.hidden * (c.heads + 2 * c.kv_heads) * c.head_dim + 2 * scores * c.head_dim +
                          l * c.heads * c.head_dim * c.hidden + (c.gated ? 3 : 2) * l * c.hidden * c.feed_forward;
    const Count sweeps = 2 * scores + 2 * (c.rms_norm ? 2 : 3) * l * c.hidden;
    RC_ASSERT(operations(transformer_block(c, batch, seq)) == matmuls + sweeps);
  }));
}

TEST(TransformerBlock, ABatchOfBDoesBTimesTheOperations) {
  EXPECT_TRUE(rc::check([] {
    const TransformerConfig c = any_config();
    const Count batch = *rc::gen::inRange<Count>(1, 17);
    const Count seq = *rc::gen::inRange<Count>(1, 3000);
    RC_ASSERT(operations(transformer_block(c, batch, seq)) == batch * operations(transformer_block(c, 1, seq)));
  }));
}

TEST(TransformerBlock, FullKeyValueHeadsEqualTheDefault) {
  TransformerConfig stated = bert_large();
  stated.kv_heads = 16;
  stated.head_dim = 64;
  EXPECT_EQ(operations(transformer_block(stated, 3, 77)), operations(transformer_block(bert_large(), 3, 77)));
}

TEST(TransformerBlock, FewerKeyValueHeadsTouchKqvAlone) {
  TransformerConfig grouped = bert_large();
  grouped.kv_heads = 4;
  const auto plain = transformer_block(bert_large(), 1, 256);
  const auto narrow = transformer_block(grouped, 1, 256);
  EXPECT_EQ(bound(named(narrow, "KQV"), "D"), (16 + 2 * 4) * 64);
  for (const Operator& op : plain) {
    if (op.name == "KQV") continue;
    EXPECT_EQ(named(narrow, op.name).einsum.operations(), op.einsum.operations()) << op.name;
    EXPECT_EQ(named(narrow, op.name).instances, op.instances) << op.name;
  }
}

base::Codes codes(const TransformerConfig& config, Count batch, Count seq) {
  return base::codes_of([&] { transformer_block(config, batch, seq); });
}

using base::Codes;

TEST(TransformerBlock, EverythingWrongIsReportedAtOnce) {
  TransformerConfig config = bert_large();
  config.heads = 15;
  config.kv_heads = 4;
  config.feed_forward = 0;
  EXPECT_EQ(codes(config, 0, -1), (Codes{"O0910", "O0912", "O0911", "O0913", "O0913"}));
}

TEST(TransformerBlock, NegativeCountsOfOptionalFieldsAreRefused) {
  TransformerConfig config = bert_large();
  config.kv_heads = -1;
  config.head_dim = -64;
  EXPECT_EQ(codes(config, 1, 1), (Codes{"O0910", "O0910"}));
}

TEST(TransformerBlock, AHeadWidthOfItsOwnNeedNotDivideTheModel) {
  TransformerConfig config = bert_large();
  config.heads = 15;
  config.head_dim = 80;
  EXPECT_EQ(codes(config, 1, 16), Codes{});
}

TEST(TransformerBlock, ProductsBeyond64BitsAreNamed) {
  EXPECT_EQ(codes(bert_large(), 1, Count{1} << 40), (Codes{"O0914", "O0914", "O0914"}));
  EXPECT_EQ(codes(bert_large(), Count{1} << 40, Count{1} << 40), (Codes{"O0914"}));
  TransformerConfig config = bert_large();
  config.feed_forward = Count{1} << 62;
  config.gated = true;
  EXPECT_EQ(codes(config, 1, 1), (Codes{"O0914"}));
}

TEST(TransformerBlock, MessagesPointWhereTheFieldWasWritten) {
  TransformerConfig config = bert_large();
  config.heads = 15;
  config.places["heads"] = {std::make_shared<base::SourceFile>(base::SourceFile{"config.json", ""}), 7, 3, 5};
  base::Diagnostics found;
  complete(config, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_EQ(found.all()[0].primary.where.line, 7);
}

}  // namespace
}  // namespace orrery::workload
