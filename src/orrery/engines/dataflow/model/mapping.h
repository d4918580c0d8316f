// The decision: degrees of parallelism, a sharding for every kernel, a tile, and which kernels are fused.
#pragma once

#include <vector>

#include "orrery/engines/dataflow/model/setup.h"

namespace orrery::dataflow {

struct Degrees {
  Count tensor = 1, pipeline = 1, data = 1, sequence = 1;
  std::vector<Count> sizes;  // of each dimension of the network, x first; their product is the number of chips

  Count& of(Parallelism parallelism) { return this->*member(parallelism); }
  Count of(Parallelism parallelism) const { return this->*member(parallelism); }

  static constexpr Count Degrees::*member(Parallelism parallelism) {
    switch (parallelism) {
      case Parallelism::kTensor:
        return &Degrees::tensor;
      case Parallelism::kPipeline:
        return &Degrees::pipeline;
      case Parallelism::kData:
        return &Degrees::data;
      case Parallelism::kSequence:
        break;
    }
    return &Degrees::sequence;
  }
};

struct Tiling {
  Count tiles = 1, tile_size = 0;
};

struct Mapping {
  Degrees degrees;
  std::vector<workload::KernelDimension> sharding;  // per kernel
  Count tiles = 1;                                  // per pass over a sequence
  Count tile_size = 0;                              // tokens; tiles * tile_size covers the sequence
  std::vector<int> configuration;                   // per kernel, from 0
  // With `tiles_by_configuration` each configuration takes the fastest of these; empty: `tiles` and `tile_size` hold
  // for all.
  std::vector<Tiling> tilings;
};

}  // namespace orrery::dataflow
