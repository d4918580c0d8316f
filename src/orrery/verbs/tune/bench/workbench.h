// One configuration of one operator timed, unless the store has it already.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/kernels/context.h"
#include "orrery/runtime/tuning/contractions/blas_library.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/fused_kernels.h"
#include "orrery/runtime/tuning/kernel_space.h"
#include "orrery/verbs/tune/tune_store.h"

namespace orrery::verbs {

// Of contractions; "default", so that a layout file asks for no algorithm by number. Others are named as
// tuning::BlasLibrary names them.
inline constexpr const char* kImplementation = "orrery_default";

struct MeasuredCall {
  double seconds = 0;
  std::string implementation;  // the fastest
};

class Workbench {
 public:
  Workbench(kernels::Context& context, const tuning::Sizes& sizes, kernels::Type type, TuneStore& store);

  // Seconds; the median of several runs after one that is not counted.
  MeasuredCall contraction(const std::string& name, const tuning::BlasCall& call);
  double kernel(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration);
  double built_in();  // layer::Encoder with the same sizes and dropout, forward and backward
  bool has_run_alike(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration);

  // `<op>.csv` and `<op>-result.csv`, `<kernel>-combined.csv`, of what the store has.
  void write_contraction(const std::string& name, const tuning::ContractionSpace& space);
  void write_kernel(const tuning::KernelSpace& space);

  std::size_t runs() const { return runs_; }
  double interval() const;          // median of measurements' half intervals, relative
  double frequency_spread() const;  // 1 - slowest / fastest of a fixed piece of arithmetic
  const tuning::FusedRun& fused_run() const { return run_; }

 private:
  template <class Run>
  double timed(Run run);
  void probe_frequency();
  void empty_caches();
  void* column(const std::string& name, double bytes);
  std::optional<MeasuredCall> known(const std::string& name, const tuning::BlasCall& call);

  kernels::Context& context_;
  TuneStore& store_;
  tuning::FusedRun run_;
  kernels::Buffer other_;  // what empties the caches; empty where a layer fits into them
  // Of contraction and library: calls that both it and Orrery computed, and the least of its times over Orrery's.
  struct Compared {
    std::size_t calls = 0;
    double least = 0;
  };
  std::map<std::pair<std::string, std::string>, Compared> compared_;
  std::map<std::string, kernels::Buffer> columns_;
  std::string columns_of_;  // the operator whose they are
  std::map<std::string, double> by_signature_;
  std::vector<double> intervals_;
  std::size_t runs_ = 0;
  base::Stopwatch since_probe_;
  double slowest_ = 0, fastest_ = 0;
};

// Of a configuration as its kernel's file has it: the line up to the time, and what the kernel is asked.
std::string line_key(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration,
                     const tuning::Sizes& sizes);
tuning::FusedChoice choice_of(const tuning::KernelSpace& space, const tuning::KernelConfiguration& configuration);

}  // namespace orrery::verbs
