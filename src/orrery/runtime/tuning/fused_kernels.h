// Substation's twelve fused kernels on this machine: a kernel, a layout for each of its columns and its special
// dimensions are one or several runs of a strided operator (runtime/kernels/strided.h), whatever the layouts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/runtime/kernels/strided.h"
#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

struct FusedColumn {
  std::string name;  // lower case, as in the kernel's file
  std::string dims;  // its letters, in the order of the kernel's
  bool written = false;
  bool parameter = false;  // a bias, scale, statistic or sum: fp32 whatever the type of the rest
};

struct FusedKernel {
  std::string name;
  std::string dims;     // slowest first: in this order elements of masks are numbered
  std::string reduced;  // those that are summed over
  std::vector<FusedColumn> columns;
  std::vector<std::string> specials;                         // "dv", "dt", "dw", as they may be chosen
  bool masked = false;                                       // makes a mask
  std::string_view choices(std::string_view special) const;  // letters that it may be
};

const std::vector<FusedKernel>& fused_kernels();
const FusedKernel* fused_kernel(std::string_view name);

// What is chosen for a kernel: layouts by column, letters by special dimension.
struct FusedChoice {
  std::map<std::string, std::string, std::less<>> layouts;
  std::map<std::string, char, std::less<>> specials;
};

struct FusedRun {
  Sizes sizes;
  kernels::Type type = kernels::Type::kF32;  // of all but parameters
  double drop = 0;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::function<void*(std::string_view column)> data;  // null: nothing is run, for signatures
};

// The runs of a kernel, one behind the other.
std::vector<kernels::Strided> runs_of(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run);

// Choices of equal signatures run alike.
std::string signature(const FusedKernel& kernel, const FusedChoice& choice, const FusedRun& run);

}  // namespace orrery::tuning
