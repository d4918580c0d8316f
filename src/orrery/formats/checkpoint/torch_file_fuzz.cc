// Any bytes, as an archive, as the format before 1.6 and as the pickle in an archive, give tensors or an InputError.
// Tensors are as long as they say, and all together copies are no more than the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/checkpoint/torch_file.h"
#include "orrery/formats/checkpoint/torch_tensors.h"

namespace {

using namespace orrery;
namespace checkpoint = formats::checkpoint;

template <class Read>
void check(const checkpoint::Source& file, const Read& read) {
  base::Diagnostics warnings;
  std::vector<checkpoint::Tensor> tensors;
  try {
    tensors = read(file, warnings);
  } catch (const base::InputError&) {
    return;
  }
  for (const checkpoint::Tensor& tensor : tensors) {
    const auto count = checkpoint::elements(tensor.shape);
    if (!count || static_cast<std::size_t>(*count) * size_of(tensor.element) != tensor.bytes.size()) std::abort();
    if (tensor.bytes.size() > file.bytes.size()) std::abort();
    unsigned sum = 0;
    for (const char byte : tensor.bytes) sum += static_cast<unsigned char>(byte);
    if (sum > 255 * tensor.bytes.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const checkpoint::Source file{
      {reinterpret_cast<const char*>(data), size}, nullptr, checkpoint::whole_file("fuzz.bin")};
  check(file, checkpoint::torch_archive);
  check(file, checkpoint::torch_legacy);
  check(file, [](const checkpoint::Source& from, base::Diagnostics& found) {
    const checkpoint::Pickle pickle = checkpoint::read_pickle(from.bytes, 0, checkpoint::is_torch_call, from.whole);
    const auto bytes_of = [&](const checkpoint::StorageRef& ref) {
      return ref.bytes <= from.bytes.size() ? std::optional(from.bytes.substr(0, ref.bytes)) : std::nullopt;
    };
    auto tensors = torch_tensors(pickle, bytes_of, from, found);
    found.throw_if_errors();
    return tensors;
  });
  return 0;
}
