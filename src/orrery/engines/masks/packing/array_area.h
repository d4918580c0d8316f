// What an array of other proportions takes: multiplexers, control bits, registers and an estimate of its area.
#pragma once

#include "orrery/engines/masks/packing/control_words.h"

namespace orrery::masks {

// Word lengths; Sanger's are 16 bits of data and sums of 32.
struct ArrayWords {
  Count data = 16, sum = 32;
};

struct ArrayDesign {
  PackArray array;
  Count query_mux = 0, key_mux = 0;  // inputs of the two multiplexers of a PE
  Count delay_mux = 0;               // inputs of the one that c4 drives
  ControlBits control;               // of a PE
  Count control_bits = 0;            // of a configuration of the array
  Count delay_registers = 0;         // words of buf in a PE
  // um^2 at 45 nm.
  double arithmetic = 0, registers = 0, multiplexers = 0;
  double area() const { return arithmetic + registers + multiplexers; }
};

ArrayDesign array_design(const PackArray& array, const ArrayWords& words = {});

// Where the figures come from and what is assumed or left out, a sentence each.
std::vector<std::string> array_area_sources();

}  // namespace orrery::masks
