// The mappings of one einsum that an answer can use, by interface: what other einsums see of them.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "orrery/engines/fused/search/level_table.h"
#include "orrery/engines/fused/search/optimize.h"

namespace orrery::fused {

inline constexpr int kMostFused = kMostFusedLoops;

// Where an einsum hands a tensor on; depth -1: in the outermost storage.
struct Handed {
  int access = 0;
  int depth = -1;
  std::vector<int> ranks;  // of the tensor, that the loops above step, outside in
  double bits = 0;         // of the tile at the exchange level
};

struct FusedLoop {
  int variable = 0;
  Count count = 1;
};

// The fused part of a mapping.
struct FusedPart {
  std::vector<FusedLoop> loops;
  std::vector<int> depth;  // by access: of an exchanged tensor or of an own one held above the last loop; -1: neither
  unsigned exchanged = 0;
};

struct Mapping {
  double energy = 0;  // leakage included
  double delay = 0;
  std::array<double, kMostFused + 1> held{};  // bits of own tiles at the exchange level, by fused loops above
  int part = 0;                               // in OperatorMappings::parts
  const Placement* placement = nullptr;       // none: a copy
};

struct Interface {
  std::vector<FusedLoop> loops;
  std::vector<Handed> handed;  // every access of an intermediate that others touch
  std::vector<Mapping> mappings;
};

struct OperatorMappings {
  std::shared_ptr<const EinsumShape> shape;
  std::unique_ptr<LevelTable> level;
  std::vector<FusedPart> parts;
  std::vector<Interface> interfaces;
  OperatorSet size;
};

// `shape`: of that einsum.
OperatorMappings operator_mappings(const Problem& problem, std::shared_ptr<const EinsumShape> shape,
                                   const SearchOptions& options, Counted counted, Hope& hope);

}  // namespace orrery::fused
