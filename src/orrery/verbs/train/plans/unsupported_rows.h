// Rows of a file of plans that their software cannot run, told once for all of them.
#pragma once

#include <array>
#include <cstdint>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/engines/cluster/model/software_stack.h"
#include "orrery/engines/cluster/model/supported_features.h"

namespace orrery::verbs {

class UnsupportedRows {
 public:
  // Rows come in the order of their lines.
  void add(cluster::StackName stack, cluster::Features missing, std::uint64_t line);
  // Of later lines.
  void take(const UnsupportedRows& other);
  // A warning (O1990) for each software.
  void tell(base::Diagnostics& warnings) const;

 private:
  struct Lack {
    cluster::Features missing = 0;
    std::uint64_t rows = 0, first_line = 0;
  };
  std::array<Lack, cluster::kStacks> of_;  // by StackName
};

}  // namespace orrery::verbs
