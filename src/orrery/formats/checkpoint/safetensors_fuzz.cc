// Any bytes give tensors or an InputError. Tensors lie in the bytes, fill them once, and are as long as they say.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace checkpoint = formats::checkpoint;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    checkpoint::Metadata metadata;
    const auto tensors =
        checkpoint::read_safetensors({bytes, nullptr, checkpoint::whole_file("fuzz.safetensors")}, metadata);
    const char* end = tensors.empty() ? nullptr : tensors.front().bytes.data();
    for (const checkpoint::Tensor& tensor : tensors) {
      if (tensor.bytes.data() != end) std::abort();
      end += tensor.bytes.size();
      if (checkpoint::as_floats(tensor).size() * size_of(tensor.element) != tensor.bytes.size()) std::abort();
    }
    if (end != nullptr && end != bytes.data() + size) std::abort();
  } catch (const base::InputError&) {
  }
  return 0;
}
