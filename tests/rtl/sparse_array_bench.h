// Random commands, words and numbers for an array of PEs, or a row of it.
#pragma once

#include "orrery/engines/accelerator/units/sparse_array.h"
#include "tests/rtl/bench.h"
#include "tests/rtl/clocked.h"

namespace orrery::rtl {

constexpr int kBits = RTL_BITS, kPorts = RTL_PORTS, kPortBits = RTL_PORT_BITS, kDelayBits = RTL_DELAY_BITS;
using Sums = accelerator::SparseArray::Sums;
using Exp = accelerator::SparseArray::Exponentials;

class SparseStimulus : public ClockedUnit {
 public:
  enum At : std::size_t { kReset, kClear, kC3, kC5, kC1 };

  explicit SparseStimulus(const accelerator::SparseShape& shape)
      : ClockedUnit({{"reset"},
                     {"clear"},
                     {"c3", 2},
                     {"c5", 3},
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
    // A maximum, then what lies below it.
    if (at_ > 0) cycle[kC5] = at_++ == 1 ? 3 : 4, at_ %= 3, cycle[kC3] = 1;
    if (at_ == 0 && random() % 16 == 0) at_ = 1;
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
  void reset_model() override { model_ = accelerator::SparseArray(shape_); }
  void step_model(const Cycle& cycle) override {
    model_.step(static_cast<Sums>(c3(cycle)), static_cast<Exp>(c5(cycle)), cycle[kClear] != 0, words_, left_.data(),
                top_.data());
  }
  // Exponentials below the maximum are asked for only where it is one; else it is found.
  // Nothing is multiplied meanwhile: which exponential it would be is not defined.
  std::uint64_t c3(const Cycle& cycle) const { return c5(cycle) == 4 && cycle[kC3] > 1 ? 1 : cycle[kC3]; }
  std::uint64_t c5(const Cycle& cycle) const {
    if (cycle[kC5] > 4) return 0;
    if (cycle[kC5] < 4) return cycle[kC5];
    for (int r = 0; r < shape_.rows; ++r)
      for (int j = 0; j < shape_.pes; ++j)
        if (words_.a[static_cast<std::size_t>(r * shape_.pes + j)] <= kPorts &&
            model_.accumulator(r, j) > model_.maximum(r))
          return 3;
    return 4;
  }

  accelerator::SparseShape shape_;
  accelerator::SparseArray model_;
  std::size_t pes_;
  accelerator::SparseArray::Words words_;
  std::vector<std::int64_t> left_, top_;

 private:
  Cycle phase_;
  int at_ = 0;  // of the two cycles for exponentials
};

}  // namespace orrery::rtl
