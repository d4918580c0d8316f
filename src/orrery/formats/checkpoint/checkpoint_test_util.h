// Writes small checkpoints: safetensors, torch.save's archives and its format before 1.6.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/formats/checkpoint/tensor.h"
#include "orrery/formats/checkpoint/weight_source.h"

namespace orrery::formats::checkpoint {

template <class Whole>
std::string little_endian(Whole value) {
  std::string bytes(sizeof(value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  std::string bytes;
  for (const Value value : values) bytes += little_endian(value);
  return bytes;
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  return little_endian<std::uint64_t>(header.size()) + header + data;
}

// Bytes in memory as if they were a file's.
inline Source in_memory(const std::string& bytes, const std::string& name = "test.bin") {
  return {bytes, nullptr, whole_file(name)};
}

inline const Tensor* find(const std::vector<Tensor>& tensors, std::string_view name) {
  for (const Tensor& tensor : tensors)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

class PickleWriter {
 public:
  PickleWriter() { bytes_ = "\x80\2"; }

  PickleWriter& raw(std::string_view operations) {
    bytes_ += operations;
    return *this;
  }
  PickleWriter& text(const std::string& value) {
    return raw("X" + little_endian(static_cast<std::uint32_t>(value.size())) + value);
  }
  PickleWriter& integer(std::int64_t value) { return raw("\x8a\x08" + little_endian(value)); }
  PickleWriter& global(const std::string& module, const std::string& name) {
    return raw("c" + module + "\n" + name + "\n");
  }
  PickleWriter& integers(const std::vector<std::int64_t>& values) {
    raw("(");
    for (const std::int64_t value : values) integer(value);
    return raw("t");
  }
  PickleWriter& storage(const std::string& type, const std::string& key, std::int64_t count) {
    return raw("(").text("storage").global("torch", type).text(key).text("cpu").integer(count).raw("tQ");
  }
  std::string end() const { return bytes_ + "."; }

 private:
  std::string bytes_;
};

// What torch.save writes of a tensor. Counts are elements.
struct SavedTensor {
  std::string name, key;
  std::int64_t count = 0, offset = 0;  // of the storage; in it
  std::vector<std::int64_t> shape, strides;
  std::string storage = "FloatStorage";
  bool parameter = false;
  std::string dtype = {};  // not empty: of an untyped storage
};

inline void write_tensor(PickleWriter& to, const SavedTensor& tensor) {
  if (tensor.parameter) to.global("torch._utils", "_rebuild_parameter").raw("(");
  to.global("torch._utils", tensor.dtype.empty() ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3").raw("(");
  to.storage(tensor.storage, tensor.key, tensor.count).integer(tensor.offset);
  to.integers(tensor.shape).integers(tensor.strides).raw("\x89").global("collections", "OrderedDict").raw(")R");
  if (!tensor.dtype.empty()) to.global("torch", tensor.dtype);
  to.raw("tR");
  if (tensor.parameter) to.raw("\x89").global("collections", "OrderedDict").raw(")RtR");
}

inline std::string state_dict(const std::vector<SavedTensor>& tensors) {
  PickleWriter writer;
  writer.raw("}(");
  for (const SavedTensor& tensor : tensors) {
    writer.text(tensor.name);
    write_tensor(writer, tensor);
  }
  return writer.raw("u").end();
}

using Entries = std::vector<std::pair<std::string, std::string>>;

// An archive of stored entries, without checksums; a `method` other than 0 is a lie.
inline std::string zip(const Entries& entries, std::uint16_t method = 0) {
  std::string bytes, directory;
  const auto fixed = [&](const std::pair<std::string, std::string>& entry) {
    const auto size = little_endian(static_cast<std::uint32_t>(entry.second.size()));
    return little_endian<std::uint16_t>(0) + little_endian(method) + std::string(8, '\0') + size + size +
           little_endian(static_cast<std::uint16_t>(entry.first.size())) + little_endian<std::uint16_t>(0);
  };
  for (const auto& entry : entries) {
    const auto offset = little_endian(static_cast<std::uint32_t>(bytes.size()));
    directory += std::string("PK\1\2\24\0\24\0", 8) + fixed(entry) + std::string(10, '\0') + offset + entry.first;
    bytes += std::string("PK\3\4\24\0", 6) + fixed(entry) + entry.first + entry.second;
  }
  const auto count = little_endian(static_cast<std::uint16_t>(entries.size()));
  return bytes + directory + std::string("PK\5\6\0\0\0\0", 8) + count + count +
         little_endian(static_cast<std::uint32_t>(directory.size())) +
         little_endian(static_cast<std::uint32_t>(bytes.size())) + std::string(2, '\0');
}

// `storages`: keys and bytes.
inline std::string torch_zip(const std::string& pickle, const Entries& storages) {
  Entries entries{{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) entries.emplace_back("archive/data/" + key, bytes);
  entries.emplace_back("archive/version", "3\n");
  return zip(entries);
}

// `element`: bytes of each element of the storages.
inline std::string torch_before_1_6(const std::string& pickle, const Entries& storages, std::size_t element) {
  std::string bytes = PickleWriter().raw("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19").end();
  bytes += PickleWriter().integer(1001).end();
  bytes += PickleWriter().raw("}").text("little_endian").raw("\x88s").end() + pickle;
  PickleWriter keys;
  keys.raw("](");
  for (const auto& storage : storages) keys.text(storage.first);
  bytes += keys.raw("e").end();
  for (const auto& storage : storages)
    bytes += little_endian<std::int64_t>(static_cast<std::int64_t>(storage.second.size() / element)) + storage.second;
  return bytes;
}

}  // namespace orrery::formats::checkpoint
