// Random queries, keys and values as files, for tests of what runs on a simulated accelerator.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/verbs/sparse/simulate/run.h"

namespace orrery::verbs {

struct RandomAttention {
  base::Folder folder;
  base::Count heads = 2, tokens = 40, size = 8;

  std::string array(const std::string& name, unsigned seed, base::Count width) const {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values;
    for (base::Count i = 0; i < heads * tokens * width; ++i) values.push_back(normal(random));
    return folder.write(name, formats::numpy::file_of({1, heads, tokens, width}, values));
  }
  std::string mask(const std::string& name, unsigned seed, double density) const {
    std::mt19937 random(seed);
    std::bernoulli_distribution keep(density);
    std::vector<std::uint8_t> bits;
    for (base::Count i = 0; i < heads * tokens * tokens; ++i) bits.push_back(keep(random) ? 1 : 0);
    return folder.write(name, formats::numpy::file_of({heads, tokens, tokens}, bits));
  }

  SimulateRequest arrays(double threshold = 0.03) const {
    SimulateRequest out;
    out.input.arrays.query = array("q.npy", 1, size);
    out.input.arrays.key = array("k.npy", 2, size);
    out.input.arrays.value = array("v.npy", 3, size);
    out.input.threshold = threshold;
    out.choice.instance.array = {8, 4, 16};
    return out;
  }
  SimulateRequest masks(double density = 0.15) const {
    SimulateRequest out;
    out.input.mask = mask("mask.npy", 4, density);
    out.input.size = size;
    out.choice.instance.array = {8, 4, 16};
    return out;
  }
};

}  // namespace orrery::verbs
