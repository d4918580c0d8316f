#include "orrery/formats/sanger/pattern_json.h"

#include <gtest/gtest.h>

#include "orrery/formats/sanger/load_balance_csv.h"

namespace orrery::formats::sanger {
namespace {

using masks::PatternKind;

PatternFile read(const std::string& text, base::Diagnostics* warnings = nullptr) {
  base::Diagnostics ignored;
  return read_pattern(std::make_shared<const base::SourceFile>(base::SourceFile{"mask.json", text}),
                      warnings == nullptr ? ignored : *warnings);
}

std::vector<std::string> codes_of(const std::string& text) {
  std::vector<std::string> codes;
  try {
    read(text);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& one : error.diagnostics) codes.push_back(one.code);
  }
  return codes;
}
using Codes = std::vector<std::string>;

TEST(PatternJson, ReadsEveryParameterOfEveryClass) {
  auto p = read(R"({"class": "FixedSparsityConfig", "block": 8, "num_local_blocks": 6, "num_global_blocks": 2,
                    "attention": "unidirectional", "horizontal_global_attention": true,
                    "num_different_global_patterns": 3, "different_layout_per_head": true})")
               .pattern;
  EXPECT_EQ(p.kind, PatternKind::kFixed);
  EXPECT_EQ(p.block, 8);
  EXPECT_EQ(p.local_blocks, 6);
  EXPECT_EQ(p.global_blocks, 2);
  EXPECT_EQ(p.different_global_patterns, 3);
  EXPECT_TRUE(p.unidirectional && p.horizontal && p.per_head);
  p = read(R"({"class": "BSLongformerSparsityConfig", "num_sliding_window_blocks": 5, "global_block_indices": [0, 7],
               "global_block_end_indices": [2, 9]})")
          .pattern;
  EXPECT_EQ(p.window_blocks, 5);
  EXPECT_EQ(p.global_ranges, (std::vector<std::pair<base::Count, base::Count>>{{0, 2}, {7, 9}}));
  p = read(R"({"class": "BigBirdSparsityConfig", "num_random_blocks": 4, "num_global_blocks": 0})").pattern;
  EXPECT_EQ(p.random_blocks, 4);
  EXPECT_EQ(p.global_blocks, 0);
  p = read(R"({"class": "BlockStructuredRandomSparsityConfig", "block_shape": [32, 16], "pe_array_shape": [4, 2]})")
          .pattern;
  EXPECT_EQ(p.block_rows, 32);
  EXPECT_EQ(p.block_columns, 16);
  EXPECT_EQ(p.array_rows, 4);
  EXPECT_EQ(p.array_columns, 2);
  EXPECT_EQ(read(R"({"class": "DenseSparsityConfig"})").pattern.kind, PatternKind::kDense);
}

TEST(PatternJson, NamesEveryProblemAtOnceAndWarnsOfKeysThatMeanNothing) {
  EXPECT_EQ(codes_of("[]"), Codes{"O1814"});
  EXPECT_EQ(codes_of("{"), Codes{"O1814"});
  EXPECT_EQ(codes_of("{}"), Codes{"O1813"});
  EXPECT_EQ(codes_of(R"({"class": 3})"), Codes{"O1813"});
  EXPECT_EQ(codes_of(R"({"class": "VariableSparsityConfig"})"), Codes{"O1813"});
  EXPECT_EQ(codes_of(R"({"class": "FixedSparsityConfig", "block": 1.5, "attention": "both",
                         "horizontal_global_attention": 1, "num_local_blocks": -4})"),
            (Codes{"O1814", "O1814", "O1814", "O1814"}));
  EXPECT_EQ(codes_of(R"({"class": "BlockStructuredRandomSparsityConfig", "block_shape": [64]})"), Codes{"O1814"});
  base::Diagnostics warnings;
  const auto p = read(R"({"class": "DenseSparsityConfig", "block": 16})", &warnings).pattern;
  EXPECT_EQ(warnings.all().size(), 1U);
  EXPECT_EQ(p.block, masks::Pattern().block);
}

TEST(LoadBalanceCsv, HasSangersColumnsAndSixDecimals) {
  masks::Measured m;
  m.load_balance = {0.1234567, 1, 0, 0.5};
  m.overall_sparsity = 1.0 / 3;
  EXPECT_EQ(
      load_balance_csv({m}),
      "50%-no-skip,50%-skip,25%-no-skip,25%-skip,overall-sparsity\n0.123457,1.000000,0.000000,0.500000,0.333333\n");
}

}  // namespace
}  // namespace orrery::formats::sanger
