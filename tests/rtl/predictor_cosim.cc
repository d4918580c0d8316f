// Jobs that a number in the stimulus draws: a tile's codes, factors and validity; every score in its cycle, thresholds
// at the end.
#include <bit>

#include "orrery/engines/accelerator/units/predictor_unit.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kWidth = RTL_WIDTH, kCodeBits = RTL_CODE_BITS, kScoreBits = RTL_SCORE_BITS;
constexpr int kDepth = 1 << (RTL_SUM_BITS - 2 * RTL_CODE_BITS), kKeys = 3 * kWidth;
const int kCountBits = std::bit_width(unsigned{kRows});

accelerator::Instance instance() {
  accelerator::Instance one;
  one.array = {kRows, 2, 4};
  one.depth = kDepth, one.code_bits = kCodeBits, one.prediction_width = kWidth;
  one.numbers.sum = {RTL_BITS, RTL_POINT}, one.numbers.score = {kScoreBits, RTL_SCORE_POINT};
  one.exponential = {RTL_TABLE_BITS, RTL_LONG != 0};
  return one;
}

class PredictorBench : public ClockedUnit {
 public:
  PredictorBench()
      : ClockedUnit({{"reset"}, {"start"}, {"job", 24}}),
        model_(std::make_unique<accelerator::PredictorUnit>(instance_, constants_)) {
    EXPECT_EQ(accelerator::widths(instance_).code_sum, RTL_SUM_BITS);
  }

  Cycle draw(Random& random) override { return {random() % 1000 == 0, random() % 4 != 0, random() >> 40}; }

 private:
  void prepare(std::uint64_t seed) {
    Random random(seed);
    tile_.rows = 1 + static_cast<base::Count>(random() % kRows);
    tile_.keys = static_cast<base::Count>(random() % (kKeys + 1));
    tile_.depth = 1 + static_cast<base::Count>(random() % kDepth);
    constants_.score_shift = static_cast<int>(14 + random() % 12);
    constants_.threshold = -static_cast<std::int64_t>(random() % (16U << 16));
    const auto draw_codes = [&](std::vector<std::int8_t>& codes, std::vector<std::uint64_t>& factors,
                                base::Count tokens) {
      const int most = (1 << (kCodeBits - 1)) - 1;
      codes.resize(static_cast<std::size_t>(tokens * tile_.depth));
      for (auto& code : codes)
        code = static_cast<std::int8_t>(static_cast<int>(random() % (2U * static_cast<unsigned>(most) + 1)) - most);
      factors.resize(static_cast<std::size_t>(tokens));
      for (auto& factor : factors) factor = (random() & 0xffff) >> random() % 8;
    };
    draw_codes(query_codes_, query_factors_, tile_.rows);
    draw_codes(key_codes_, key_factors_, tile_.keys);
    valid_.resize(static_cast<std::size_t>(tile_.keys));
    for (auto& bits : valid_) bits = random() % 8 == 0 ? 0 : random();
    tile_.query_codes = query_codes_.data(), tile_.key_codes = key_codes_.data();
    tile_.query_factors = query_factors_.data(), tile_.key_factors = key_factors_.data();
    tile_.valid = [this](base::Count row, base::Count key) {
      return (valid_[static_cast<std::size_t>(key)] >> row & 1U) != 0;
    };
  }

  // The module's reads of codes, factors and validity.
  void serve() {
    const auto element = static_cast<base::Count>(dut().element), pass = static_cast<base::Count>(dut().pass);
    const auto code = [&](const std::vector<std::int8_t>& codes, base::Count token, base::Count tokens) {
      return token < tokens && element < tile_.depth ? codes[static_cast<std::size_t>(token * tile_.depth + element)]
                                                     : std::int8_t{3};
    };
    for (int r = 0; r < kRows; ++r) {
      drive(dut().query_codes, low(code(query_codes_, r, tile_.rows), kCodeBits), kCodeBits, r);
      drive(dut().query_factors, r < tile_.rows ? query_factors_[static_cast<std::size_t>(r)] : 7, 16, r);
    }
    for (int c = 0; c < kWidth; ++c)
      drive(dut().key_codes, low(code(key_codes_, pass * kWidth + c, tile_.keys), kCodeBits), kCodeBits, c);
    const auto factor_key = static_cast<std::size_t>(dut().factor_key),
               score_key = static_cast<std::size_t>(dut().score_key);
    drive(dut().key_factor, factor_key < key_factors_.size() ? key_factors_[factor_key] : 9, 16);
    for (int r = 0; r < kRows; ++r)
      drive(dut().valid, score_key < valid_.size() ? valid_[score_key] >> r & 1U : 1, 1, r);
  }
  bool apply(const Cycle& cycle) override {
    starts_ = !model_->busy() && cycle[1] != 0 && cycle[0] == 0;
    if (starts_) prepare(cycle[2]);
    drive(dut().start, starts_ ? 1 : 0, 1);
    drive(dut().rows, static_cast<std::uint64_t>(tile_.rows), kCountBits);
    drive(dut().keys, static_cast<std::uint64_t>(tile_.keys), RTL_KEY_BITS);
    drive(dut().depth, static_cast<std::uint64_t>(tile_.depth), RTL_DEPTH_BITS);
    drive(dut().shift, static_cast<std::uint64_t>(constants_.score_shift), 6);
    drive(dut().log2_threshold, low(constants_.threshold, 24), 24);
    dut().clk = 0;
    dut().eval();
    serve();
    return cycle[0] != 0;
  }
  void reset_model() override {
    was_busy_ = false;
    model_ = std::make_unique<accelerator::PredictorUnit>(instance_, constants_);
    saturated_ = 0, ended_ = false;
  }
  void step_model(const Cycle&) override {
    ended_ = false;
    if (starts_) {
      model_ = std::make_unique<accelerator::PredictorUnit>(instance_, constants_);
      model_->begin(tile_);
      saturated_ = 0;
    } else if (model_->busy()) {
      model_->step();
      ended_ = !model_->busy();
    }
  }
  std::string before_edge(const Cycle&) override {
    last_ = dut().last != 0;
    there_ = dut().score_valid != 0, key_ = static_cast<base::Count>(dut().score_key);
    saturated_ += dut().saturated;
    for (int r = 0; r < kRows; ++r) scores_[static_cast<std::size_t>(r)] = pins(dut().scores, kScoreBits, r);
    return {};
  }
  std::string after_edge(const Cycle& cycle) override {
    std::string what = differs("busy", 0, dut().busy, model_->busy() ? 1 : 0);
    // What was said to be the last cycle was it.
    if (what.empty() && !starts_ && was_busy_ && cycle[0] == 0)
      what = differs("last", 0, last_ ? 1 : 0, model_->busy() ? 0 : 1);
    was_busy_ = model_->busy();
    const bool leaves = there_;
    there_ = false;
    if (what.empty())
      what = differs("saturated", 0, static_cast<std::uint64_t>(saturated_),
                     static_cast<std::uint64_t>(model_->saturated()));
    if (leaves && what.empty() && key_ >= tile_.keys) return "a score of a key that there is not";
    for (base::Count r = 0; leaves && r < tile_.rows && what.empty(); ++r)
      what = differs("scores", static_cast<std::size_t>(r), scores_[static_cast<std::size_t>(r)],
                     low(model_->score(key_, r), kScoreBits));
    for (base::Count r = 0; ended_ && r < tile_.rows && what.empty(); ++r)
      what = differs("thresholds", static_cast<std::size_t>(r),
                     pins(dut().thresholds, kScoreBits + 8, static_cast<int>(r)),
                     low(model_->threshold(r), kScoreBits + 8));
    return what;
  }

  int machine_state() override { return dut().rootp->predictor__DOT__state; }

  const accelerator::Instance instance_ = instance();
  accelerator::PredictionConstants constants_ = [] {
    accelerator::PredictionConstants one;
    one.score_shift = 20;
    return one;
  }();
  std::unique_ptr<accelerator::PredictorUnit> model_;
  accelerator::PredictedTile tile_;
  std::vector<std::int8_t> query_codes_, key_codes_;
  std::vector<std::uint64_t> query_factors_, key_factors_, valid_;
  std::vector<std::uint64_t> scores_ = std::vector<std::uint64_t>(kRows);
  base::Count saturated_ = 0, key_ = 0;
  bool starts_ = false, last_ = false, was_busy_ = false, there_ = false, ended_ = false;
};

TEST(Predictor, PredictsTheModelsScoresAndThresholdsInTheModelsCycles) {
  PredictorBench bench;
  expect_equal(bench);
  enum { kIdle, kClear, kCalculate, kDrain, kLast, kThresholds };
  expect_transitions(bench, {{kIdle, kClear},
                             {kIdle, kLast},
                             {kClear, kCalculate},
                             {kCalculate, kDrain},
                             {kDrain, kClear},
                             {kDrain, kLast},
                             {kLast, kThresholds},
                             {kThresholds, kIdle}});
}

}  // namespace
}  // namespace orrery::rtl
