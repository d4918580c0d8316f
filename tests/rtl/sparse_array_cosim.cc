#include <cmath>
#include <numeric>

#include "tests/rtl/goldens.h"
#include "tests/rtl/sparse_array_bench.h"

namespace orrery::rtl {
namespace {

constexpr int kRows = RTL_ROWS, kPes = RTL_PES;

class ArrayBench : public SparseStimulus {
 public:
  ArrayBench() : SparseStimulus({{kBits, RTL_POINT}, kPes, kPorts, kRows}) {}

  std::uint64_t accumulator(int pe) { return pins(dut().accumulators, kBits, pe); }
  std::uint64_t exponential(int pe) { return pins(dut().exponentials, kBits, pe); }
  std::uint64_t sum(int row) { return pins(dut().sums, kBits, row); }
  std::uint64_t output(int row) { return pins(dut().o, kBits, row); }

 private:
  bool apply(const Cycle& cycle) override {
    decode(cycle);
    drive(dut().c3, c3(cycle), 2);
    drive(dut().c5, c5(cycle), 3);
    drive(dut().clear, cycle[kClear], 1);
    drive_words();
    for (int r = 0; r < kRows; ++r) drive(dut().left, low(left_[static_cast<std::size_t>(r)], kBits), kBits, r);
    for (int m = 0; m < kPorts; ++m) drive(dut().top, low(top_[static_cast<std::size_t>(m)], kBits), kBits, m);
    return cycle[kReset] != 0;
  }
  std::string before_edge(const Cycle& cycle) override {
    std::string what;
    if (static_cast<Sums>(c3(cycle)) != Sums::kChain) return what;
    for (int r = 0; r < kRows && what.empty(); ++r)
      what = differs("o", static_cast<std::size_t>(r), output(r), low(model_.output(r, words_), kBits));
    return what;
  }
  std::string after_edge(const Cycle&) override {
    std::string what;
    for (int r = 0; r < kRows && what.empty(); ++r) {
      what = differs("sums", static_cast<std::size_t>(r), sum(r), low(model_.sum(r), kBits));
      if (what.empty())
        what =
            differs("maxima", static_cast<std::size_t>(r), pins(dut().maxima, kBits, r), low(model_.maximum(r), kBits));
      for (int j = 0; j < kPes && what.empty(); ++j) {
        const int pe = r * kPes + j;
        const auto index = static_cast<std::size_t>(pe);
        what =
            differs("accumulators", index, pins(dut().accumulators, kBits, pe), low(model_.accumulator(r, j), kBits));
        if (what.empty())
          what =
              differs("exponentials", index, pins(dut().exponentials, kBits, pe), low(model_.exponential(r, j), kBits));
      }
    }
    return what;
  }
};

TEST(SparseArray, IsTheModelInEveryCycle) {
  ArrayBench bench;
  expect_equal(bench, std::max(1, kRows * kPes / 32));  // fewer cycles of a larger array
}

// A block through the array on its schedule: scores, exponentials, values, sums.
struct Block {
  std::vector<std::vector<std::int64_t>> q, k, v;    // [row][depth], [depth][port], [port][depth]
  std::vector<std::vector<std::uint64_t>> selected;  // [row][PE], ascending
};
struct Attended {
  std::vector<std::uint64_t> accumulators, exponentials, sums;  // [row][PE] and [row]
  std::vector<std::vector<std::uint64_t>> outputs;              // [cycle of the values][row]
};
Attended attended(const Block& block) {
  ArrayBench bench;
  bench.reset();
  const std::size_t depth = block.k.size(), cells = kRows * kPes;
  Cycle cycle(SparseStimulus::kC1 + 3 * cells + kRows + kPorts);
  const std::size_t left = SparseStimulus::kC1 + 3 * cells, top = left + kRows;
  for (std::size_t i = 0; i < cells; ++i)
    cycle[SparseStimulus::kC1 + i] = cycle[SparseStimulus::kC1 + cells + i] = block.selected[i / kPes][i % kPes];
  cycle[SparseStimulus::kC3] = 2;
  for (std::size_t t = 0; t < depth + kPorts + kRows; ++t) {
    for (std::size_t r = 0; r < kRows; ++r)
      cycle[left + r] = t >= r && t - r < depth ? low(block.q[r][t - r], kBits) : 0;
    for (std::size_t m = 0; m < kPorts; ++m)
      cycle[top + m] = t >= m && t - m < depth ? low(block.k[t - m][m], kBits) : 0;
    EXPECT_EQ(bench.step(cycle), "");
  }
  cycle[SparseStimulus::kC3] = 1, cycle[SparseStimulus::kC5] = 1;
  EXPECT_EQ(bench.step(cycle), "");
  Attended out;
  for (int i = 0; i < kRows * kPes; ++i) {
    out.accumulators.push_back(bench.accumulator(i));
    out.exponentials.push_back(bench.exponential(i));
  }
  cycle[SparseStimulus::kC3] = 3, cycle[SparseStimulus::kC5] = 0;
  for (std::size_t i = 0; i < cells; ++i) {
    const std::uint64_t next = i % kPes + 1 < kPes ? block.selected[i / kPes][i % kPes + 1] : kPorts;
    cycle[SparseStimulus::kC1 + i] = kPorts;
    cycle[SparseStimulus::kC1 + 2 * cells + i] = next - block.selected[i / kPes][i % kPes] - 1;
  }
  for (std::size_t t = 0; t < depth + kPorts + kRows; ++t) {
    for (std::size_t m = 0; m < kPorts; ++m)
      cycle[top + m] = t >= m && t - m < depth ? low(block.v[m][t - m], kBits) : 0;
    EXPECT_EQ(bench.step(cycle), "");
    out.outputs.emplace_back();
    for (int r = 0; r < kRows; ++r) out.outputs.back().push_back(bench.output(r));
  }
  cycle[SparseStimulus::kC3] = 1, cycle[SparseStimulus::kC5] = 2;
  for (int t = 0; t < kPes; ++t) EXPECT_EQ(bench.step(cycle), "");
  for (int r = 0; r < kRows; ++r) out.sums.push_back(bench.sum(r));
  return out;
}

#if RTL_ROWS == 8
TEST(SparseArray, ComputesTheRecordedBlocks) {
  SKIP_WITHOUT_GOLDENS();
  const Json all = golden("sparse_pe_array.json");
  for (const Json& one : of(all, "cases").items) {
    const auto table = [&](const char* what) {
      std::vector<std::vector<std::int64_t>> values;
      for (const Json& row : of(one, what).items) {
        values.emplace_back();
        for (const Json& number : row.items) values.back().push_back(whole(number) * 4096);
      }
      return values;
    };
    Block block{table("Q16"), table("K16"), table("V16"), {}};
    for (const Json& row : of(one, "select").items) {
      block.selected.emplace_back();
      for (const Json& port : row.items) block.selected.back().push_back(static_cast<std::uint64_t>(whole(port)));
    }
    const Attended got = attended(block);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < kPes; ++j) {
        EXPECT_EQ(got.accumulators[r * kPes + j], low(at(of(one, "score_acc_raw"), r, j), kBits));
        EXPECT_EQ(got.exponentials[r * kPes + j], low(at(of(one, "score_exp_raw"), r, j), kBits));
      }
      for (std::size_t t = 0; t < got.outputs.size(); ++t)
        EXPECT_EQ(got.outputs[t][r], low(at(of(one, "out_raw_per_stage2_cycle"), t, r), kBits));
      EXPECT_EQ(got.sums[r], low(at(of(one, "score_sum_raw"), r), kBits));
    }
  }
}

#endif

// The published test: sixteenths in [0, 1], unnormalised outputs and sums within 5 %.
TEST(SparseArray, IsWithinFivePercentAsThePublishedTestAsks) {
  Random random(9);
  constexpr std::size_t kDepth = 8;
  const accelerator::FixedPoint format{kBits, RTL_POINT};
  const auto real = [&](std::uint64_t x) { return format.real(sign_extended(x, kBits)); };
  for (int trial = 0; trial < 20; ++trial) {
    const auto table = [&](std::size_t rows, std::size_t columns) {
      std::vector<std::vector<std::int64_t>> values(rows, std::vector<std::int64_t>(columns));
      for (auto& row : values)
        for (auto& value : row) value = static_cast<std::int64_t>(random() % 17) << (RTL_POINT - 4);
      return values;
    };
    Block block{table(kRows, kDepth), table(kDepth, kPorts), table(kPorts, kDepth), {}};
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<std::uint64_t> ports(kPorts);
      std::iota(ports.begin(), ports.end(), 0U);
      std::shuffle(ports.begin(), ports.end(), random);
      ports.resize(kPes);
      std::sort(ports.begin(), ports.end());
      block.selected.push_back(ports);
    }
    const Attended got = attended(block);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<double> exact(kDepth);
      double sum = 0;
      for (const std::uint64_t port : block.selected[r]) {
        double score = 0;
        for (std::size_t d = 0; d < kDepth; ++d) score += format.real(block.q[r][d]) * format.real(block.k[d][port]);
        sum += std::exp(score);
        for (std::size_t n = 0; n < kDepth; ++n) exact[n] += std::exp(score) * format.real(block.v[port][n]);
      }
      EXPECT_NEAR(real(got.sums[r]) / sum, 1, 0.05);
      for (std::size_t n = 0; n < kDepth; ++n)
        EXPECT_NEAR(real(got.outputs[n + r + kPorts][r]), exact[n], 0.05 * exact[n] + 1e-9);
    }
  }
}

}  // namespace
}  // namespace orrery::rtl
