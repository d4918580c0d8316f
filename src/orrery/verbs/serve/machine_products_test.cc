#include "orrery/verbs/serve/machine_products.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace orrery::verbs {
namespace {

using base::Count;

// Says what it is asked, and takes times that no straight line has.
class Asked final : public machine::OperatorModel {
 public:
  double matrix_product_seconds(const machine::MatrixProduct& p) const override {
    rows.insert(p.m);
    return static_cast<double>(p.m * p.m) + 1;
  }
  std::optional<double> attention_seconds(const machine::Operator& one) const override {
    asked.push_back(one);
    const machine::MatrixProduct& p = one.product;
    if (p.k > 512) return std::nullopt;
    return 3 + static_cast<double>(p.batch * p.m * p.n) * one.share;
  }
  double memory_bound_seconds(double bytes) const override { return bytes; }
  double issue_seconds() const override { return 5e-6; }

  mutable std::set<Count> rows;
  mutable std::vector<machine::Operator> asked;
};

machine::Operator attention(Count batch, Count queries, Count keys, double share, Count width = 64) {
  machine::Operator out;
  out.kind = machine::OperatorKind::kAttention;
  out.product = {batch, queries, keys, width, machine::Precision::kBf16};
  out.value_width = 64;
  out.share = share;
  return out;
}

TEST(MachineProducts, AreMeasuredAtPowersOfTwoAndOnStraightLinesBetween) {
  const Asked asked;
  const MachineProducts products(asked);
  for (const Count m : {1, 2, 64, 1024})
    EXPECT_EQ(products.matrix_product_seconds({1, m, 8, 8}), asked.matrix_product_seconds({1, m, 8, 8}));
  EXPECT_DOUBLE_EQ(products.matrix_product_seconds({1, 96, 8, 8}), (64 * 64 + 128 * 128) / 2.0 + 1);
  EXPECT_EQ(products.matrix_product_seconds({1, 0, 8, 8}), 0);
  for (Count m = 1; m < 3000; m += 7) products.matrix_product_seconds({1, m, 8, 8});
  for (const Count m : asked.rows) EXPECT_TRUE(std::has_single_bit(static_cast<std::uint64_t>(m))) << m;
}

TEST(MachineProducts, DecodingReadsAsManyKeysAndValuesAsItIsAsked) {
  const Asked asked;
  const MachineProducts products(asked);
  EXPECT_DOUBLE_EQ(*products.attention_seconds(attention(8, 4, 512, 1)), 3 + 8 * 4 * 512);
  EXPECT_DOUBLE_EQ(*products.attention_seconds(attention(12, 4, 768, 1)), 3 + 12 * 4 * 768);
  // Of more than no cache keeps, a part is measured, and the rest takes as long.
  asked.asked.clear();
  const double many = *products.attention_seconds(attention(4096, 4, 4096, 1));
  for (const machine::Operator& one : asked.asked)
    EXPECT_LE(static_cast<double>(one.product.batch * one.product.n * (64 + 64) * 2), 256e6);
  EXPECT_GT(many, 4096.0 * 4 * 4096);
  EXPECT_LT(many, 1.01 * 4096.0 * 4 * 4096);
}

TEST(MachineProducts, PromptsTakeForEachVisiblePairWhatOneOfAsManyKeysTakes) {
  const Asked asked;
  const MachineProducts products(asked);
  const double whole = *products.attention_seconds(attention(8, 1024, 1024, 0.5));
  EXPECT_DOUBLE_EQ(whole, 3 + 8 * 1024 * 1024 * 0.5);
  // Two of them in a step, and the second half of one: as their pairs.
  EXPECT_DOUBLE_EQ(*products.attention_seconds(attention(8, 2048, 1024, 0.5)), 2 * whole);
  EXPECT_DOUBLE_EQ(*products.attention_seconds(attention(8, 512, 1024, 0.75)), 0.75 * whole);
  // Long ones are not measured.
  asked.asked.clear();
  products.attention_seconds(attention(8, 100000, 100000, 0.5));
  for (const machine::Operator& one : asked.asked) EXPECT_LE(one.product.n, 4096);
}

TEST(MachineProducts, AttentionThatNoKernelHasIsItsProducts) {
  const Asked asked;
  const MachineProducts products(asked);
  const machine::Operator wide = attention(4, 2, 256, 1, 576);
  EXPECT_FALSE(products.attention_seconds(wide));
  EXPECT_EQ(products.cost(wide).seconds, 2 * asked.matrix_product_seconds({4, 2, 256, 576}));
}

}  // namespace
}  // namespace orrery::verbs
