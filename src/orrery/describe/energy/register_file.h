// Memories put together from registers and comparators, as Accelergy's plug-in for Aladdin's tables does.
//
// A register file of `depth` words of `width` bits: an access goes to a word's registers, and each word's comparator
// looks at the address.
//
//   E(access)    = E(register, width bits) + depth * E(comparator, address bits)
//   leak, area   = depth * (that of width registers + that of a comparator)          address bits = ceil(log2 depth)
//
// Where an action says so (`data_delta: 0`, `address_delta: 0`), the data or the address are those of the access
// before, and their part costs nothing. A FIFO (push, pop) has one comparator, of its two pointers. A `storage` that
// says no more is a register file up to 128 words of 32 bits, as far as the plug-in takes one for a small SRAM; above
// it is an SRAM.
//
// The plug-in counts registers of one word in leak and area, which is a slip: a file of 64 words has 64 of them.
// Cost: two queries of the tables.
#pragma once

#include <memory>

#include "orrery/describe/energy/library.h"

namespace orrery::energy {

// A `storage` that is small enough for registers.
bool is_small_storage(const Query& query);

class RegisterFile : public Estimator {
 public:
  RegisterFile(std::shared_ptr<const Library> registers, std::shared_ptr<const Library> comparators)
      : registers_(std::move(registers)), comparators_(std::move(comparators)) {}

  std::string_view name() const override { return "regfile"; }
  std::vector<std::string> classes() const override { return {"regfile", "FIFO"}; }
  std::optional<double> accuracy(const Query& query) const override;
  Answer estimate(const Query& query) const override;

 private:
  std::shared_ptr<const Library> registers_, comparators_;
};

}  // namespace orrery::energy
