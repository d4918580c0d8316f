// Dimensions that a model leaves open, and the sizes that a user gives them.
#pragma once

#include <map>
#include <string>

#include "orrery/base/text/override.h"
#include "orrery/formats/onnx/onnx_file.h"

namespace orrery::formats::onnx {

// Sizes by symbol. Throws InputError: O0932 for symbols of inputs without a size, all at once; O0933.
std::map<std::string, Count> sizes_of_symbols(const Model& model, const base::Overrides& defined);

// How an open dimension is called: its symbol, else `x[0]`.
std::string symbol_of(const Declared& declared, std::size_t dimension);

}  // namespace orrery::formats::onnx
