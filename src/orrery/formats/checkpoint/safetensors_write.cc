// Written as the format's own library does: the largest elements first, then by name, so that every tensor is aligned;
// the header is filled up with blanks to a multiple of 8 bytes.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "orrery/formats/checkpoint/safetensors.h"

namespace orrery::formats::checkpoint {

void write_safetensors(const std::string& path, const std::vector<Tensor>& tensors, const Metadata& metadata) {
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

  const std::string beside = fmt::format("{}.{}.part", path, ::getpid());
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  const auto write = [&](const void* from, std::size_t size) {
    return file != nullptr && (size == 0 || std::fwrite(from, 1, size, file) == size);
  };
  bool written = write(&length, sizeof(length)) && write(text.data(), text.size());
  for (const Tensor* const tensor : order) written = written && write(tensor->bytes.data(), tensor->bytes.size());
  // What a power cut would lose is not in place yet.
  written = written && std::fflush(file) == 0 && ::fsync(::fileno(file)) == 0;
  int reason = errno;
  if (file != nullptr && std::fclose(file) != 0 && written) {
    written = false;
    reason = errno;
  }
  if (written && std::rename(beside.c_str(), path.c_str()) != 0) {
    written = false;
    reason = errno;
  }
  if (written) return;
  std::remove(beside.c_str());
  base::fail("O1610", fmt::format("cannot write `{}`: {}", path, std::generic_category().message(reason)));
}

}  // namespace orrery::formats::checkpoint
