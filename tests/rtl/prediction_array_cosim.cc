#include <cmath>
#include <functional>

#include "orrery/engines/accelerator/units/prediction_array.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"
#include "tests/rtl/goldens.h"

namespace orrery::rtl {
namespace {

constexpr int kBits = RTL_BITS, kSumBits = RTL_SUM_BITS, kWidth = RTL_WIDTH, kHeight = RTL_HEIGHT;
using Pe = accelerator::PredictionArray::Pe;
using Sum = accelerator::PredictionArray::Sum;

class ArrayBench : public ClockedUnit {
 public:
  ArrayBench()
      : ClockedUnit({{"reset"}, {"pe_command", 2}, {"sum_command", 2}, {"left", 4, kHeight}, {"top", 4, kWidth}}),
        model_(shape()),
        left_(kHeight),
        top_(kWidth) {}

  // Mostly the schedule: codes, then moves; now and then any command.
  void begin_episode(Random& random) override {
    calculates_ = 1 + random() % 60, moves_ = random() % (2 * kWidth), at_ = 0;
  }
  Cycle draw(Random& random) override {
    Cycle cycle = Unit::draw(random);
    cycle[0] = random() % 300 == 0;
    if (random() % 16 == 0) return cycle;
    cycle[1] = at_ < calculates_ ? 2 : at_ < calculates_ + moves_ ? 3 : 1;
    cycle[2] = at_ < calculates_ ? 0 : at_ < calculates_ + moves_ ? 2 : 1;
    if (++at_ > calculates_ + moves_) begin_episode(random);
    return cycle;
  }

  std::uint64_t exponential(int row) { return pins(dut().exponential, kBits, row); }
  std::uint64_t total(int row) { return pins(dut().total, kBits, row); }

 private:
  static accelerator::PredictionShape shape() { return {{kBits, RTL_POINT}, RTL_APPEND, kSumBits, kWidth, kHeight}; }

  bool apply(const Cycle& cycle) override {
    drive(dut().pe_command, cycle[1], 2);
    drive(dut().sum_command, cycle[2], 2);
    for (std::size_t i = 0; i < left_.size(); ++i) {
      left_[i] = static_cast<std::uint8_t>(cycle[3 + i]);
      drive(dut().left, left_[i], 4, static_cast<int>(i));
    }
    for (std::size_t i = 0; i < top_.size(); ++i) {
      top_[i] = static_cast<std::uint8_t>(cycle[3 + kHeight + i]);
      drive(dut().top, top_[i], 4, static_cast<int>(i));
    }
    return cycle[0] != 0;
  }
  void reset_model() override { model_ = accelerator::PredictionArray(shape()); }
  void step_model(const Cycle& cycle) override {
    model_.step(static_cast<Pe>(cycle[1]), cycle[2] == 3 ? Sum::kIdle : static_cast<Sum>(cycle[2]), left_, top_);
  }
  std::string after_edge(const Cycle&) override {
    std::string what;
    for (int r = 0; r < kHeight && what.empty(); ++r) {
      const auto row = static_cast<std::size_t>(r);
      what = differs("last", row, pins(dut().last, kSumBits, r), model_.score(r, kWidth - 1));
      if (what.empty()) what = differs("exponential", row, exponential(r), low(model_.exponential(r), kBits));
      if (what.empty()) what = differs("total", row, total(r), low(model_.sum(r), kBits));
    }
    return what;
  }

  accelerator::PredictionArray model_;
  std::vector<std::uint8_t> left_, top_;
  std::uint64_t calculates_ = 1, moves_ = 0, at_ = 0;
};

TEST(PredictionArray, IsTheModelInEveryCycle) {
  ArrayBench bench;
  expect_equal(bench);
}

// Codes through the array on its schedule, its sums through the exponential units and out.
struct Predicted {
  std::vector<std::vector<std::uint64_t>> exponentials;  // [cycle of the move][row]
  std::vector<std::uint64_t> sums;
};
template <class Code>
Predicted predicted(std::size_t depth, const Code& query, const Code& key) {
  ArrayBench bench;
  bench.reset();
  Cycle cycle(3 + kHeight + kWidth);
  for (std::size_t t = 0; t < depth + kWidth + kHeight; ++t) {
    cycle[1] = 2;
    for (std::size_t r = 0; r < kHeight; ++r) cycle[3 + r] = t >= r && t - r < depth ? query(r, t - r) : 0;
    for (std::size_t c = 0; c < kWidth; ++c) cycle[3 + kHeight + c] = t >= c && t - c < depth ? key(t - c, c) : 0;
    EXPECT_EQ(bench.step(cycle), "");
  }
  cycle[1] = 3;
  EXPECT_EQ(bench.step(cycle), "");
  Predicted out;
  for (int i = 0; i < kWidth; ++i) {
    out.exponentials.emplace_back();
    for (int r = 0; r < kHeight; ++r) out.exponentials.back().push_back(bench.exponential(r));
    cycle[2] = 2;
    EXPECT_EQ(bench.step(cycle), "");
  }
  for (int r = 0; r < kHeight; ++r) out.sums.push_back(bench.total(r));
  return out;
}

TEST(PredictionArray, PredictsTheRecordedScores) {
  SKIP_WITHOUT_GOLDENS();
  const Json all = golden("dense_pe_array.json");
  for (const Json& one : of(all, "cases").items) {
    const auto code = [&](const char* of_what) {
      return [&one, of_what](std::size_t i, std::size_t j) {
        return static_cast<std::uint64_t>(at(of(one, of_what), i, j));
      };
    };
    const Predicted got = predicted(8, code("Q"), code("K"));
    for (std::size_t i = 0; i < kWidth; ++i)
      for (std::size_t r = 0; r < kHeight; ++r)
        EXPECT_EQ(got.exponentials[i][r], low(at(of(one, "exp_out_raw_by_move_cycle"), i, r), kBits));
    for (std::size_t r = 0; r < kHeight; ++r) EXPECT_EQ(got.sums[r], low(at(of(one, "exp_sum_raw"), r), kBits));
  }
}

// The published test: |x - exact| / the larger < 5 % for every exponential and every row's sum.
TEST(PredictionArray, IsWithinFivePercentAsThePublishedTestAsks) {
  Random random(5);
  for (int trial = 0; trial < 20; ++trial) {
    std::uint64_t q[kHeight][8], k[8][kWidth];
    for (auto& row : q)
      for (auto& code : row) code = random() % 16;
    for (auto& row : k)
      for (auto& code : row) code = random() % 16;
    const std::function<std::uint64_t(std::size_t, std::size_t)> query = [&](std::size_t r, std::size_t d) {
      return q[r][d];
    };
    const std::function<std::uint64_t(std::size_t, std::size_t)> key = [&](std::size_t d, std::size_t c) {
      return k[d][c];
    };
    const Predicted got = predicted(8, query, key);
    const accelerator::FixedPoint format{kBits, RTL_POINT};
    for (std::size_t r = 0; r < kHeight; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < kWidth; ++c) {
        double score = 0;
        for (std::size_t d = 0; d < 8; ++d) score += static_cast<double>(q[r][d] * k[d][c]) / 256;
        sum += std::exp(score);
        EXPECT_NEAR(format.real(static_cast<std::int64_t>(got.exponentials[kWidth - 1 - c][r])) / std::exp(score), 1,
                    0.05);
      }
      EXPECT_NEAR(format.real(static_cast<std::int64_t>(got.sums[r])) / sum, 1, 0.05);
    }
  }
}

}  // namespace
}  // namespace orrery::rtl
