// PyTorch's dense attention on this machine, measured in a process of its own that waits between turns.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/cacti/child_process.h"
#include "orrery/runtime/kernels/types.h"

namespace orrery::verbs {

struct PyTorchQuestion {
  std::string python;  // the program
  base::Count batch = 1, heads = 1, size = 64;
  kernels::Type type = kernels::Type::kF32;
  int threads = 1;
  double seconds = 300;  // of silence, after which it is given up
};

class PyTorchAttention {
 public:
  // Starts the process. The budget must outlive this. Throws InputError O1861.
  PyTorchAttention(const PyTorchQuestion& question, const base::Budget& budget);
  ~PyTorchAttention();
  PyTorchAttention(const PyTorchAttention&) = delete;
  PyTorchAttention& operator=(const PyTorchAttention&) = delete;

  const std::string& version() const { return version_; }  // empty where the budget ended it
  // Milliseconds of scaled_dot_product_attention, a mean over as many runs as take two; nothing where the budget ended
  // it. Throws InputError O1861.
  std::optional<double> turn(base::Count tokens);

 private:
  std::optional<std::string> line();  // that it prints next
  [[noreturn]] void fail(const std::string& what);

  PyTorchQuestion question_;
  const base::Budget& budget_;
  formats::cacti::ScratchDirectory scratch_;  // holds what it says to its errors
  pid_t child_ = -1;
  int socket_ = -1;
  std::string read_, version_;
};

}  // namespace orrery::verbs
