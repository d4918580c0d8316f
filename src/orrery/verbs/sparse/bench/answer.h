// What `sparse bench` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::verbs {

struct BenchedBlock {
  std::string model;
  base::Count batch = 0, tokens = 0, width = 0, heads = 0;
  std::vector<double> groups;  // ms: the means of ten runs each
  double mean = 0, deviation = 0;
};

// What others published of other machines.
struct PublishedFigure {
  std::string what, source;
  double value = 0;
};

struct SparseBench {
  std::vector<BenchedBlock> blocks;
  std::vector<PublishedFigure> published;
  std::string isa;
  int threads = 0;
  kernels::Type type = kernels::Type::kF32;
  bool ended_early = false;
};

}  // namespace orrery::verbs
