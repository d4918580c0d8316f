// What the pickle of a PyTorch checkpoint says about tensors: which part of which storage each is.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/checkpoint/tensor.h"
#include "orrery/formats/checkpoint/weight_source.h"
#include "orrery/formats/pickle/pickle.h"

namespace orrery::formats::checkpoint {

using pickle::Pickle;
using pickle::PickleRef;
using pickle::PickleValue;
using pickle::read_pickle;

// A storage as the pickle refers to it.
struct StorageRef {
  std::string_view key;
  std::optional<Element> element;  // none: untyped, `count` is bytes
  std::int64_t count = 0;
  std::size_t bytes = 0;  // count times the element's size
};

// The functions that a checkpoint of tensors calls.
bool is_torch_call(std::string_view module, std::string_view name);

// Every storage that the pickle refers to. Throws InputError (O1606) where one is ill-formed.
std::vector<StorageRef> storages_of(const Pickle& pickle, const base::Location& whole);

// The tensors of the dict that the pickle is, or of its `state_dict`, `model_state_dict`, `model` or `module` where it
// has no tensors itself. `bytes_of` gives a storage's bytes, nothing where there are none. Tensors refer to the bytes,
// and keep `file.keeper`; those that are no row-major block are copied, the same ones once, and no more bytes of them
// than the file has. Adds to `found`: O1606 for every tensor that is
// ill-formed or leaves its storage, O1609 (a warning) for entries that are not tensors.
std::vector<Tensor> torch_tensors(const Pickle& pickle,
                                  const std::function<std::optional<std::string_view>(const StorageRef&)>& bytes_of,
                                  const Source& file, base::Diagnostics& found);

}  // namespace orrery::formats::checkpoint
