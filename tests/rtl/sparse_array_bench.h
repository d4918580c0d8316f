// Random commands, words and numbers for an array of PEs, or a row of it.
#pragma once

#include "orrery/array/sparse_array.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {

constexpr int kBits = RTL_BITS, kPorts = RTL_PORTS, kPortBits = RTL_PORT_BITS, kDelayBits = RTL_DELAY_BITS;
using Sums = array::SparseArray::Sums;
using Exp = array::SparseArray::Exponentials;

class SparseStimulus : public ClockedUnit {
 public:
  enum At : std::size_t { kReset, kClear, kC3, kC5, kC1 };

  explicit SparseStimulus(const array::SparseShape& shape)
      : ClockedUnit({{"reset"},
                     {"clear"},
                     {"c3", 2},
                     {"c5", 2},
                     {"c1", kPortBits, shape.rows * shape.pes},
                     {"c2", kPortBits, shape.rows * shape.pes},
                     {"c4", kDelayBits, shape.rows * shape.pes},
                     {"left", kBits, shape.rows},
                     {"top", kBits, kPorts}}),
        shape_(shape),
        model_(shape),
        pes_(static_cast<std::size_t>(shape.rows * shape.pes)),
        words_{std::vector<std::uint16_t>(pes_), std::vector<std::uint16_t>(pes_), std::vector<std::uint16_t>(pes_)},
        left_(static_cast<std::size_t>(shape.rows)),
        top_(kPorts) {}

  // Phases of some cycles, each of one command; words hold during a phase. Numbers are small or any.
  Cycle draw(Random& random) override {
    if (phase_.empty() || random() % 12 == 0) phase_ = Unit::draw(random);
    Cycle cycle = phase_;
    cycle[kReset] = random() % 300 == 0;
    cycle[kClear] = random() % 32 == 0;
    if (random() % 8 == 0) cycle[kC3] = random() % 4;
    const int bits = random() % 4 == 0 ? kBits : kBits / 2 + 3;
    for (std::size_t i = kC1 + 3 * pes_; i < cycle.size(); ++i)
      cycle[i] = low(sign_extended(random() >> (64 - bits), bits), kBits);
    return cycle;
  }

 protected:
  void decode(const Cycle& cycle) {
    const auto chain = static_cast<std::uint64_t>(shape_.ports - shape_.pes);
    for (std::size_t i = 0; i < pes_; ++i) {
      words_.a[i] = static_cast<std::uint16_t>(cycle[kC1 + i]);
      words_.b[i] = static_cast<std::uint16_t>(cycle[kC1 + pes_ + i]);
      words_.delay[i] = static_cast<std::uint16_t>(cycle[kC1 + 2 * pes_ + i] % (chain + 1));
    }
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] = sign_extended(cycle[kC1 + 3 * pes_ + i], kBits);
    for (std::size_t i = 0; i < top_.size(); ++i)
      top_[i] = sign_extended(cycle[kC1 + 3 * pes_ + left_.size() + i], kBits);
  }
  void drive_words() {
    for (std::size_t i = 0; i < pes_; ++i) {
      drive(dut().c1, words_.a[i], kPortBits, static_cast<int>(i));
      drive(dut().c2, words_.b[i], kPortBits, static_cast<int>(i));
      drive(dut().c4, words_.delay[i], kDelayBits, static_cast<int>(i));
    }
  }
  void reset_model() override { model_ = array::SparseArray(shape_); }
  void step_model(const Cycle& cycle) override {
    model_.step(static_cast<Sums>(cycle[kC3]), cycle[kC5] == 3 ? Exp::kIdle : static_cast<Exp>(cycle[kC5]),
                cycle[kClear] != 0, words_, left_.data(), top_.data());
  }

  array::SparseShape shape_;
  array::SparseArray model_;
  std::size_t pes_;
  array::SparseArray::Words words_;
  std::vector<std::int64_t> left_, top_;

 private:
  Cycle phase_;
};

}  // namespace orrery::rtl
