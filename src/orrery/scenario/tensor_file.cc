#include "orrery/scenario/tensor_file.h"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace orrery::scenario {

OutputFile tensor_file(const KeptTensor& tensor) {
  std::string sizes;
  for (const layer::Index size : tensor.sizes) sizes += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes);
  constexpr std::size_t kMagic = 10, kAligned = 64;  // the numbers begin at a multiple of it
  header.append(kAligned - 1 - (kMagic + header.size()) % kAligned, ' ');
  header += '\n';
  OutputFile out{tensor.name + ".npy", std::string("\x93NUMPY\x01\x00", 8)};
  const std::size_t length = header.size();
  out.text += static_cast<char>(length & 0xff);
  out.text += static_cast<char>(length >> 8);
  out.text += header;
  const std::size_t begin = out.text.size();
  out.text.resize(begin + 4 * tensor.values.size());
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &tensor.values[i], sizeof bits);
    for (std::size_t byte = 0; byte < 4; ++byte)
      out.text[begin + 4 * i + byte] = static_cast<char>(bits >> (8 * byte) & 0xff);
  }
  return out;
}

}  // namespace orrery::scenario
