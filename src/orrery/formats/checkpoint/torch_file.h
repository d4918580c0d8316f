// A PyTorch checkpoint, as torch.save writes it: a zip archive, or the format before version 1.6.
#pragma once

#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/checkpoint/tensor.h"
#include "orrery/formats/checkpoint/weight_source.h"

namespace orrery::formats::checkpoint {

// The tensors, in the order of the file, where they lie in it. Throws InputError: O1603, O1604 (the pickle), O1605 (the
// archive), O1606 (tensors). Adds the warnings O1609.
std::vector<Tensor> torch_archive(const Source& file, base::Diagnostics& found);  // zip
std::vector<Tensor> torch_legacy(const Source& file, base::Diagnostics& found);

}  // namespace orrery::formats::checkpoint
