// Co-simulation of a hardware module with its C++ model: both get the same random inputs every cycle, and everything
// that the module shows must be what the model says, every cycle. A difference is shrunk to the shortest stimulus that
// shows it.
//
// A module's bench derives from Unit. A stimulus is a list of cycles, a cycle a number for each input; any numbers of
// the fields' widths must be a legal stimulus, so that shrinking (shrink.cc) can drop cycles and zero numbers at will:
// a bench whose module has a protocol makes legal ones of them in `step`.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace orrery::rtl {

struct Field {
  const char* name;
  int bits = 1, count = 1;  // `count` numbers of `bits` bits
};
using Cycle = std::vector<std::uint64_t>;  // the numbers of all fields, field after field
using Random = std::mt19937_64;

class Unit {
 public:
  explicit Unit(std::vector<Field> fields) : fields_(std::move(fields)) {}
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  virtual ~Unit() = default;

  virtual void reset() = 0;  // module and model
  // One cycle of both; what differs, or nothing.
  virtual std::string step(const Cycle& cycle) = 0;
  // Inputs of the next cycle. The default draws every number evenly.
  virtual Cycle draw(Random& random);
  virtual void begin_episode(Random&) {}
  // Writes the module's coverage there.
  virtual void write_coverage(const std::string& file) = 0;

  const std::vector<Field>& fields() const { return fields_; }
  std::size_t numbers() const;

 private:
  std::vector<Field> fields_;
};

struct Difference {
  std::size_t cycle = 0;
  std::string what;
};
// From a reset on.
std::optional<Difference> run(Unit& unit, const std::vector<Cycle>& stimulus);

// The least stimulus found that makes a difference still: no cycle can be dropped, no number zeroed.
std::vector<Cycle> shrink(Unit& unit, std::vector<Cycle> stimulus);
std::string text_of(const Unit& unit, const std::vector<Cycle>& stimulus, const Difference& difference);

// Random episodes of `most` cycles at most until `cycles` are done; nothing, or the shortest failing stimulus as text.
std::string cosimulate(Unit& unit, std::size_t cycles, std::size_t most = 400, std::uint64_t seed = 1);

// What ORRERY_COSIM_CYCLES says, else 100,000.
std::size_t cosim_cycles();

// How many points were reached, of all; the others by their names.
struct Reached {
  std::size_t all = 0, reached = 0;
  std::vector<std::string> holes;
  double share() const { return all == 0 ? 1 : static_cast<double>(reached) / static_cast<double>(all); }
};
// Lines: Verilator's, each block of statements and each branch of them, by FILE:LINE, once for all instances of a
// module. Bits, of modules that are verilated with them: each bit of each net, by FILE:LINE NET[BIT], which must have
// changed.
struct Coverage {
  Reached lines, bits;
};
Coverage coverage(Unit& unit);

}  // namespace orrery::rtl
