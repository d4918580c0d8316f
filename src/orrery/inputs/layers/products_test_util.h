// Matrix products, for tests of chips: as a document, and the sizes that chips are tried on.
#pragma once

#include "orrery/base/numbers/count.h"

namespace orrery::verbs::testing {

inline constexpr const char* kProductDocument = R"(
problem:
  version: 0.4
  shape:
    name: product
    dimensions: [E, D, L]
    data_spaces:
    - {name: Weights, projection: [[[E]], [[D]]]}
    - {name: Inputs, projection: [[[E]], [[L]]]}
    - {name: Outputs, projection: [[[D]], [[L]]], read_write: True}
  instance: {E: 8, D: 8, L: 8}
)";

struct NamedGemm {
  const char* name;
  base::Count m, k, n;
};

// The GEMMs of BERT-large, of MAESTRO's BLAS set, two with awkward bounds, and a cube.
inline constexpr NamedGemm kGemms[] = {
    {"KQV", 3072, 1024, 4096},     {"KTQ", 4096, 64, 4096},      {"VScores", 64, 4096, 4096}, {"Out", 1024, 1024, 4096},
    {"FF1", 4096, 1024, 4096},     {"FF2", 1024, 4096, 4096},    {"MB1", 8192, 8192, 8192},   {"MB2", 1024, 8192, 1024},
    {"MB3", 8, 8192, 8},           {"MB4", 8, 1024, 8192},       {"MB5", 8192, 1024, 8},      {"MB6", 512, 256, 256},
    {"Harsh1", 4000, 6032, 12000}, {"Harsh2", 7000, 1440, 4224}, {"cube", 4096, 4096, 4096},
};

}  // namespace orrery::verbs::testing
