// Why a question has no answer, with the contradicting parts of the question.
//
// The engine does not know files; the reader of the question knows the line of each part and adds it.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"

namespace orrery::dataflow {

enum class Part { kSystem, kNetwork, kAccelerator, kMemory, kKernel, kEdge, kExecution, kWorkload };

// `index` is the dimension of a network, the kernel or the edge; `field` is DFModel's name for it ("sram_cap",
// "config", "par_x"); empty: the part as a whole.
struct BlamedPart {
  Part part = Part::kSystem;
  int index = -1;
  std::string field;
};

struct Reason {
  base::Diagnostic diagnostic;     // without locations
  std::vector<BlamedPart> blamed;  // the first first
};

// A kernel as messages name it: "3 `softmax`", counted from 1.
inline std::string named(const workload::KernelGraph& graph, int kernel) {
  return std::to_string(kernel + 1) + " `" + graph.kernels[static_cast<std::size_t>(kernel)].name + "`";
}

}  // namespace orrery::dataflow
