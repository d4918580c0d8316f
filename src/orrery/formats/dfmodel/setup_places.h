// Where the parts of a setup stand in its file, so that whoever finds something wrong can point there.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/dfmodel/block.h"

namespace orrery::formats::dfmodel {

class SetupPlaces {
 public:
  SetupPlaces() = default;
  // `kernels`, `edges`: for each of the setup's graph, its position among the file's.
  SetupPlaces(std::shared_ptr<const Block> root, std::vector<int> kernels, std::vector<int> edges);

  // Fields by their names in the file, of the kernel's body too ("M", "sharding", "config", "output_tensor_size").
  // Of a field that is not given: the kernel's or connection's own place, its name.
  base::Location kernel(int index, std::string_view field = {}) const;
  base::Location edge(int index, std::string_view field = {}) const;

  // "system.accelerator.core", "execution.compute_util", "gurobi". Three names stand for whichever the file has:
  // `execution` also for `miscellany`, `system.topology` and `execution.workload` for the one that is there. Of what
  // is not given: the innermost block that is.
  base::Location at(std::string_view path) const;
  bool has(std::string_view path) const;

 private:
  const Entry* find(std::string_view path, base::Location& nearest) const;

  std::shared_ptr<const Block> root_;
  std::vector<const Entry*> kernels_, edges_;
};

}  // namespace orrery::formats::dfmodel
