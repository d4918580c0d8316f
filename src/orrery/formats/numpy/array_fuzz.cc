// Any bytes give an array or an InputError; an array has as many bytes as its shape says, and survives being written
// and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/numpy/array.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace numpy = formats::numpy;
  try {
    const numpy::Array array = numpy::array_of({reinterpret_cast<const char*>(data), size}, "fuzz.npy");
    if (static_cast<std::size_t>(array.elements) * size_of(array.element) != array.bytes.size()) std::abort();
    const std::string again = numpy::file_of(array.element, array.shape, array.bytes);
    const numpy::Array back = numpy::array_of(again, "fuzz.npy");
    if (back.shape != array.shape || back.bytes != array.bytes || back.element != array.element) std::abort();
    if (numpy::floats_of(array).size() != static_cast<std::size_t>(array.elements)) std::abort();
  } catch (const base::InputError&) {
  }
  return 0;
}
