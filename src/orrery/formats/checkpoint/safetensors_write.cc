// Written as the format's own library does: the largest elements first, then by name, so that every tensor is aligned;
// the header is filled up with blanks to a multiple of 8 bytes.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/formats/checkpoint/safetensors.h"

namespace orrery::formats::checkpoint {

void write_safetensors(base::WholeFile& file, const std::vector<Tensor>& tensors, const Metadata& metadata) {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    const std::size_t left = size_of(a->element), right = size_of(b->element);
    return left != right ? left > right : a->name < b->name;
  });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t at = 0;
  for (const Tensor* const tensor : order) {
    header[tensor->name] = {{"dtype", name_of(tensor->element)},
                            {"shape", tensor->shape},
                            {"data_offsets", {at, at + tensor->bytes.size()}}};
    at += tensor->bytes.size();
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();

  file.write({reinterpret_cast<const char*>(&length), sizeof(length)});
  file.write(text);
  for (const Tensor* const tensor : order) file.write(tensor->bytes);
}

void write_safetensors(const std::string& path, const std::vector<Tensor>& tensors, const Metadata& metadata) {
  base::WholeFile file(path);
  write_safetensors(file, tensors, metadata);
  if (const std::string why = file.commit(); !why.empty())
    base::fail("O1610", fmt::format("cannot write `{}`: {}", path, why));
}

}  // namespace orrery::formats::checkpoint
