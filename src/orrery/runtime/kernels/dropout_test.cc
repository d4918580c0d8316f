#include "orrery/runtime/kernels/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/diagnostics/check.h"
#include "orrery/runtime/kernels/level_test_util.h"

namespace orrery::kernels {
namespace {

// The known answers that the authors of Philox publish with their code.
TEST(Philox, GivesThePublishedAnswers) {
  using Four = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}), (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Dropout, OfARowIsTheDefinitionElementByElementAtEveryLevel) {
  testing::Random random(1);
  for (const Level level : levels()) {
    for (int trial = 0; trial < 200; ++trial) {
      const double probability = random.pick({0.0, 1e-5, 0.1, 0.5, 0.9, 0.99999});
      const DropPattern pattern = drop_pattern(probability, static_cast<std::uint64_t>(random(0, INT64_MAX - 1)),
                                               static_cast<std::uint32_t>(random(0, 1000)));
      const auto row = static_cast<std::uint64_t>(random(0, Index{1} << 40));
      const Index columns = random.size(1000);
      std::vector<std::uint16_t> bits((columns + 127) / 128 * 8);
      table_of(level)->kept(pattern, row, columns, bits.data());
      for (Index c = 0; c < columns; ++c) {
        ASSERT_EQ(bits[c / 16] >> c % 16 & 1, keeps(pattern, row, static_cast<std::uint64_t>(c)))
            << name_of(level) << " " << c;
      }
    }
  }
}

// Frequencies of what is dropped, of pairs that lie beside and below each other, and of equal places in two streams,
// within five standard deviations of what independent draws have.
TEST(Dropout, HasTheStatisticsOfIndependentDraws) {
  const Level level = levels().back();
  for (const double probability : {0.1, 0.25, 0.5}) {
    const DropPattern pattern = drop_pattern(probability, 42, 0), other = drop_pattern(probability, 42, 1);
    const double p = pattern.threshold / 65536.0;
    EXPECT_NEAR(p, probability, 1.0 / 131072);
    EXPECT_FLOAT_EQ(pattern.scale * static_cast<float>(1 - p), 1);
    const Index rows = 1000, columns = 1024;
    double dropped = 0, beside = 0, below = 0, across = 0;
    std::vector<std::uint16_t> above(64), here(64), there(64);
    const auto gone = [](const std::vector<std::uint16_t>& bits, Index c) { return (bits[c / 16] >> c % 16 & 1) == 0; };
    for (Index row = 0; row < rows; ++row) {
      table_of(level)->kept(pattern, static_cast<std::uint64_t>(row), columns, here.data());
      table_of(level)->kept(other, static_cast<std::uint64_t>(row), columns, there.data());
      for (Index c = 0; c < columns; ++c) {
        dropped += gone(here, c);
        beside += gone(here, c) && gone(here, (c + 1) % columns);
        below += row > 0 && gone(here, c) && gone(above, c);
        across += gone(here, c) && gone(there, c);
      }
      above = here;
    }
    const auto check = [&](double count, double draws, double chance, const char* what) {
      EXPECT_NEAR(count, draws * chance, 5 * std::sqrt(draws * chance * (1 - chance))) << what << " at " << probability;
    };
    const double draws = static_cast<double>(rows * columns);
    check(dropped, draws, p, "single");
    check(beside, draws, p * p, "beside");
    check(below, draws - columns, p * p, "below");
    check(across, draws, p * p, "streams");
  }
}

TEST(Dropout, OfAProbabilityOutsideItsRangeIsRefused) {
  EXPECT_THROW(drop_pattern(1, 0, 0), base::InternalError);
  EXPECT_THROW(drop_pattern(-0.1, 0, 0), base::InternalError);
  EXPECT_THROW(drop_pattern(std::nan(""), 0, 0), base::InternalError);
}

}  // namespace
}  // namespace orrery::kernels
