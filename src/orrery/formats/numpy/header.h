// The header of a .npy file: a Python dictionary as repr() writes it, with exactly the keys descr, fortran_order,
// shape.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"

namespace orrery::formats::numpy {

inline constexpr std::size_t kMostDimensions = 32;  // NumPy's own limit

struct Header {
  std::string descr;  // "<f4"
  base::Location descr_where, shape_where;
  bool fortran = false;
  std::vector<base::Count> shape;
};

// Throws InputError O1801 with the place in the header.
Header parse_header(const std::string& name, std::string_view text);

}  // namespace orrery::formats::numpy
