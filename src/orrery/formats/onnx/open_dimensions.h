// Dimensions that a model leaves open, and the sizes that a user gives them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "orrery/base/text/override.h"
#include "orrery/formats/onnx/onnx_file.h"

namespace orrery::formats::onnx {

// Sizes by symbol or place. Throws InputError: O0932 for dimensions of inputs without a size, all at once; O0933.
std::map<std::string, Count> sizes_of_symbols(const Model& model, const base::Overrides& defined);

std::string place_of(const Declared& declared, std::size_t dimension);  // "x[0]"

// The size that was given to an open dimension: by its place, else by its symbol.
std::optional<Count> size_of(const Declared& declared, std::size_t dimension,
                             const std::map<std::string, Count>& sizes);

}  // namespace orrery::formats::onnx
