// What is asked: a graph of einsums, a chip, and what may be done with them.
//
// An einsum walks over its rank variables and touches tensors; a rank of a tensor is one variable (no sums of
// variables: windows are not expressed here). Another einsum may call the same rank of the same tensor otherwise:
// K[tokens, head] is K[m, h] where it is made and K[p, h] where scores are computed.
//
// The chip is a line of storages, fan-outs and units, outside in: `position` orders them. The outermost storage holds
// everything. Energies are per bit and per operation, rates per unit of time, all in units that the caller chooses.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::fused {

using base::Count;
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// --- The work ---

struct Variable {
  std::string name;
  Count bound = 1;
};

enum class TensorKind { kInput, kWeight, kIntermediate, kOutput };

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::kInput;
  std::vector<std::string> ranks;
  double bits = 8;  // of a word
};

// `variables[r]` walks over rank r of the tensor.
struct Access {
  int tensor = 0;
  std::vector<int> variables;
};

// Whether a storage holds an einsum's tensor.
enum class Keep { kMay, kMust, kNever };

// What an einsum may spread over a fan-out, and what the fan-out saves.
struct FanoutRule {
  std::vector<bool> allowed;  // by place in Einsum::variables; empty: all
  std::vector<bool> shares;   // by access: instances that want the same word (or add to it) cost one word; empty: all
  double min_usage = 0;       // share of the instances that has to be used, or as many as can be if fewer can
};

struct Einsum {
  std::string name;
  std::vector<int> variables;    // in Problem::variables
  std::vector<Access> accesses;  // the output is the last one
  int unit = 0;                  // in Machine::units; storages and fan-outs inside of it are not there for this einsum
  bool copy = false;             // output = its one input: words move once, nothing is computed
  double times = 1;              // equal copies, one after the other
  // What differs from the machine's and the tensors' own figures; empty: nothing does.
  std::vector<std::vector<Keep>> keep;    // [storage][access]; empty: kMay
  std::vector<std::vector<double>> bits;  // [storage][access]: of a word there
  std::vector<double> capacity;           // [storage]: bits of an instance
  std::vector<FanoutRule> fanouts;        // [fanout]

  int output() const { return static_cast<int>(accesses.size()) - 1; }
};

// --- The chip ---

enum class Ports {
  kShared,   // reads and writes take turns
  kSeparate  // reads and writes run side by side
};

struct Storage {
  std::string name;
  int position = 0;
  double capacity = kUnlimited;  // bits of an instance
  double read_energy = 0;        // of a bit
  double write_energy = 0;
  double read_rate = kUnlimited;  // bits per unit of time, of an instance
  double write_rate = kUnlimited;
  Ports ports = Ports::kShared;
  double leakage = 0;     // energy per unit of time, of all instances
  bool exchange = false;  // einsums may hand intermediates on here; stands outside every fan-out
};

struct Fanout {
  std::string name;
  int position = 0;
  Count ways = 1;
};

struct Unit {
  std::string name;
  int position = 0;
  double energy = 0;         // of an operation
  double rate = kUnlimited;  // operations per unit of time, of an instance
  double leakage = 0;        // energy per unit of time, of all instances
};

struct Machine {
  std::vector<Storage> storages;  // outside in: positions rise; the first holds everything
  std::vector<Fanout> fanouts;    // positions rise
  std::vector<Unit> units;
  double leakage = 0;  // of what is none of these
};

// --- What the user demands of exchanged tensors ---

struct FuseRule {
  int tensor = 0;
  int at = -1;               // storage; -1: free
  bool loops_given = false;  // whether `loops` are the ranks that the loops above its tile step, outside in
  std::vector<int> loops;    // ranks of the tensor
  std::vector<Count> tile;   // by rank of the tensor: its size in the exchanged tile, 0: free; empty: all free
};

struct Problem {
  std::vector<Variable> variables;
  std::vector<Tensor> tensors;
  std::vector<Einsum> einsums;  // in an order in which they can run
  Machine machine;
  std::vector<FuseRule> fuse;
};

// What is wrong with a problem, in words, or "" when nothing is: indices, a cycle or an order that cannot run, tensors
// that are made twice, an exchange level inside a fan-out, an empty fan-out, bounds below 1.
std::string fault(const Problem& problem);

// First and last einsum that touch a tensor; -1 where none does.
struct Life {
  int first = -1;
  int last = -1;
};
std::vector<Life> lives(const Problem& problem);

}  // namespace orrery::fused
