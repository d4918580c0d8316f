// How long PyTorch's dense attention takes on this machine, measured in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/count.h"
#include "orrery/kernels/types.h"

namespace orrery::scenario {

struct PyTorchQuestion {
  std::string python;  // the program
  base::Count batch = 1, heads = 1, size = 64;
  std::vector<base::Count> lengths;
  kernels::Type type = kernels::Type::kF32;
  int threads = 1;
  double seconds = 300;  // then it is given up
};

struct PyTorchTimes {
  std::string version;
  std::vector<double> ms;  // of scaled_dot_product_attention, for each length: a median
};

// Throws InputError O1861.
PyTorchTimes time_pytorch(const PyTorchQuestion& question);

}  // namespace orrery::scenario
