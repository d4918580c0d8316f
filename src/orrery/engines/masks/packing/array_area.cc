// Sum of a PE's parts times the PEs, and a row's query registers and the ports' times the rows. Constant time.
//
//   multiplexer  W inputs of b bits: b (W - 1) cells that choose between two
//   registers    acc and score of a PE, its buf (ports - pes sums), ports words of queries and of keys a row
//   arithmetic   a multiplier and an adder a PE
#include "orrery/engines/masks/packing/array_area.h"

#include <cmath>

namespace orrery::masks {
namespace {

// um^2 at 45 nm.
constexpr double kMultiplier8 = 282, kMultiplier32 = 3495;  // Horowitz, ISSCC 2014, as catalog/tables/published.csv
constexpr double kAdder8 = 36, kAdder32 = 137;              // the same
constexpr double kRegisterBit = 5.98;  // Aladdin, ISCA 2014, as catalog/tables/accelergy_library.csv
// MUX2_X1 of the NanGate 45 nm library, 1.33 x 1.4 um: its LEF, as OpenROAD has it in test/Nangate45.
constexpr double kMux2 = 1.33 * 1.4;

// Through both published points by a power law of the width.
double by_width(double at8, double at32, Count bits) {
  return at8 * std::pow(static_cast<double>(bits) / 8, std::log(at32 / at8) / std::log(4.0));
}
double mux(Count inputs, Count bits) {
  return kMux2 * static_cast<double>((inputs - 1) * bits);
}

}  // namespace

ArrayDesign array_design(const PackArray& array, const ArrayWords& words) {
  ArrayDesign design;
  design.array = array;
  design.query_mux = array.ports + 2;
  design.key_mux = array.ports + 1;
  design.delay_registers = array.ports - array.pes;
  design.delay_mux = design.delay_registers + 1;
  design.control = control_bits(array);
  design.control_bits = design.control.all() * array.slots();
  const auto pes = static_cast<double>(array.slots()), rows = static_cast<double>(array.rows);
  design.arithmetic =
      pes * (by_width(kMultiplier8, kMultiplier32, words.data) + by_width(kAdder8, kAdder32, words.sum));
  design.multiplexers =
      pes * (mux(design.query_mux, words.data) + mux(design.key_mux, words.data) + mux(design.delay_mux, words.sum));
  const Count bits_of_pe = words.sum * (2 + design.delay_registers) + design.control.all();
  design.registers =
      kRegisterBit * (pes * static_cast<double>(bits_of_pe) + rows * static_cast<double>(2 * array.ports * words.data));
  return design;
}

std::vector<std::string> array_area_sources() {
  return {
      "published: multipliers and adders of 8 and 32 bits at 45 nm (Horowitz, ISSCC 2014), between by a power law; "
      "registers (Aladdin, ISCA 2014)",
      "published: a cell that chooses between two bits, 1.862 um^2 (MUX2_X1 of the NanGate 45 nm library)",
      "assumed: a multiplexer of W inputs is W - 1 of these cells a bit",
      "left out: exponential units, wires between ports and PEs, memories, the controller"};
}

}  // namespace orrery::masks
