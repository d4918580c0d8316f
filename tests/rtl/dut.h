// A Verilated module and the pins of its ports. Every bench is compiled with a Vdut of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

#include <Vdut.h>
#include <Vdut___024root.h>
#include <verilated.h>
#include <verilated_cov.h>

#include "tests/rtl/cosim.h"

namespace orrery::rtl {

// Field `index` of `bits` bits of a port, whether that is a number or an array of words.
template <class Port>
std::uint64_t pins(const Port& port, int bits, int index = 0) {
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const int first = bits * index;
  if constexpr (std::is_integral_v<Port>) {
    return (static_cast<std::uint64_t>(port) >> first) & mask;
  } else {
    std::uint64_t value = 0;
    for (int have = 0; have < bits;) {
      const int at = first + have, offset = at % 32;
      value |= (static_cast<std::uint64_t>(port[static_cast<std::size_t>(at / 32)]) >> offset) << have;
      have += 32 - offset;
    }
    return value & mask;
  }
}

template <class Port>
void drive(Port& port, std::uint64_t value, int bits, int index = 0) {
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const int first = bits * index;
  value &= mask;
  if constexpr (std::is_integral_v<Port>) {
    port = static_cast<Port>((static_cast<std::uint64_t>(port) & ~(mask << first)) | (value << first));
  } else {
    for (int have = 0; have < bits;) {
      const int at = first + have, offset = at % 32, here = std::min(bits - have, 32 - offset);
      const std::uint32_t ones = here == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << here) - 1;
      auto& word = port[static_cast<std::size_t>(at / 32)];
      word = (word & ~(ones << offset)) | ((static_cast<std::uint32_t>(value >> have) & ones) << offset);
      have += here;
    }
  }
}

// The low bits of a number that the model holds sign-extended.
inline std::uint64_t low(std::int64_t value, int bits) {
  return static_cast<std::uint64_t>(value) & (bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1);
}
inline std::int64_t sign_extended(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

inline std::string differs(const char* what, std::size_t index, std::uint64_t module, std::uint64_t model) {
  if (module == model) return {};
  return std::string(what) + "[" + std::to_string(index) + "] is " + std::to_string(module) + ", the model's " +
         std::to_string(model);
}

class DutUnit : public Unit {
 public:
  explicit DutUnit(std::vector<Field> fields)
      : Unit(std::move(fields)),
        context_(std::make_unique<VerilatedContext>()),
        dut_(std::make_unique<Vdut>(context_.get())) {}
  ~DutUnit() override { dut_->final(); }

  void write_coverage(const std::string& file) override { context_->coveragep()->write(file.c_str()); }

 protected:
  Vdut& dut() { return *dut_; }

 private:
  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vdut> dut_;
};

}  // namespace orrery::rtl
