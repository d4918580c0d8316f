#include "orrery/verbs/tune/run/tensor_file.h"

#include "orrery/formats/numpy/array.h"

namespace orrery::verbs {

OutputFile tensor_file(const KeptTensor& tensor) {
  return {tensor.name + ".npy", formats::numpy::file_of({tensor.sizes.begin(), tensor.sizes.end()}, tensor.values)};
}

}  // namespace orrery::verbs
