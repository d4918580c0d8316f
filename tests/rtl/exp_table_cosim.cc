#include <cmath>

#include "tests/rtl/bench.h"

namespace orrery::rtl {
namespace {

constexpr std::uint64_t kEntries = std::uint64_t{1} << RTL_TABLE_BITS;

class TableBench : public DutUnit {
 public:
  TableBench() : DutUnit({{"index", RTL_TABLE_BITS}}) {}

  void reset() override {}
  std::string step(const Cycle& cycle) override {
    drive(dut().index, cycle[0], RTL_TABLE_BITS);
    dut().eval();
    return differs("entry", cycle[0], dut().entry, entry(cycle[0]));
  }

 private:
  // 2^a - a in the middle of an interval, that of 0 in the first.
  static std::uint64_t entry(std::uint64_t index) {
    const long double a = index == 0 ? 0 : (static_cast<long double>(index) + 0.5L) / kEntries;
    return static_cast<std::uint64_t>(std::floor(std::ldexp(std::exp2(a) - a, RTL_FRACTION) + 0.5L));
  }
};

TEST(ExpTable, HasTheNearestNumbers) {
  TableBench bench;
  expect_equal(bench);
}

}  // namespace
}  // namespace orrery::rtl
