// A model's weights as people have them: a folder with `model.safetensors` or `pytorch_model.bin`, in one file or in
// shards with an index, or such a file by itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/checkpoint/safetensors.h"
#include "orrery/formats/checkpoint/tensor.h"

namespace orrery::formats::checkpoint {

struct Checkpoint {
  std::vector<std::string> files;  // that were read
  std::vector<Tensor> tensors;
  Metadata metadata;  // of safetensors

  const Tensor* find(const std::string& name) const;  // null: none
};

// Files are mapped: tensors are read when they are used. Throws InputError: O0100 (no file), O1600 (no checkpoint in
// the folder), O1601 to O1606 (a file's own), O1607 (the index and the shards disagree). Adds the warnings O1608 (files
// that are not read), O1609 (entries that are not tensors).
Checkpoint read_checkpoint(const std::string& path, base::Diagnostics& warnings);

}  // namespace orrery::formats::checkpoint
