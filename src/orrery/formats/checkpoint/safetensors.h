// safetensors: a length (8 bytes), a JSON header of that length, the tensors' bytes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/whole_file.h"
#include "orrery/formats/checkpoint/tensor.h"
#include "orrery/formats/checkpoint/weight_source.h"

namespace orrery::formats::checkpoint {

using Metadata = std::map<std::string, std::string>;

inline constexpr std::size_t kMostHeaderBytes = 100'000'000;  // as the format says

// The tensors by where they stand, where they lie in the file; `metadata` gets the header's `__metadata__`. Throws
// InputError: O1601 (the file), O1602 (every tensor whose entry is wrong, with its place in the header).
std::vector<Tensor> read_safetensors(const Source& file, Metadata& metadata);

// `tensors` may refer to the file that is replaced. What cannot be written the file says when it is named; of `path`
// this throws InputError (O1610).
void write_safetensors(base::WholeFile& file, const std::vector<Tensor>& tensors, const Metadata& metadata);
void write_safetensors(const std::string& path, const std::vector<Tensor>& tensors, const Metadata& metadata);

}  // namespace orrery::formats::checkpoint
