// The machine that runs this program as a system: its figures are measured, not read.
#pragma once

#include <memory>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/kernels/machine_peaks.h"

namespace orrery::verbs {

inline constexpr std::string_view kThisMachine = "this-machine";

class ThisMachine {
 public:
  explicit ThisMachine(int threads);  // <= 0: all cores

  kernels::Context& context() const { return context_; }
  const kernels::MachinePeaks& peaks() const { return peaks_; }
  // A system's document (formats/orrery/systems.h), as the catalogue's CPU has one: one accelerator, all threads.
  std::shared_ptr<const base::SourceFile> document() const;

 private:
  mutable kernels::Context context_;
  kernels::MachinePeaks peaks_;
};

}  // namespace orrery::verbs
