// What can be chosen of a fused kernel alone: a layout for each of its tensors, and the dimensions that vectors,
// threads and warps run along. Substation compiles a program for each point; here a point is an argument.
//
// The space is a product, so points are counted and numbered without being listed: 2,795,580 of the twelve kernels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/sizes.h"

namespace orrery::tuning {

struct KernelColumn {
  std::string name;  // as the kernel's file prints it: "DROP_MASK"
  std::string dims;
  int same_as = -1;  // the column before it that it shares its layout with; -1: its own
};

struct KernelSpecial {
  std::string name;     // "vec_dim"
  std::string letters;  // that it may be
};

// A kernel as its file has it: columns in the order in which they are printed.
struct KernelSpace {
  std::string kernel;
  std::string sizes;  // letters of the iteration space in the file's order; files print i as N
  std::vector<KernelSpecial> specials;
  std::vector<KernelColumn> columns;
  bool reduces_tokens = false;  // over b and j: bias gradients and those of scales
};

// Of the twelve kernels, in the order of Substation's table. `kernel_space`: nullptr where there is none.
const std::vector<KernelSpace>& kernel_spaces();
const KernelSpace* kernel_space(std::string_view kernel);

struct KernelConfiguration {
  std::vector<char> specials;
  std::vector<std::string> layouts;  // of each column
};

// All orders of these letters; the letters as they stand first, then in lexicographic order of places.
std::vector<std::string> layouts_of(std::string_view dims);

base::Count configurations(const KernelSpace& space);

// The point of this number, from 0; specials change slowest, the last column's layout fastest.
KernelConfiguration configuration(const KernelSpace& space, base::Count number);

}  // namespace orrery::tuning
