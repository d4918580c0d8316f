// The binary form of protobuf's messages: fields one after the other, none of which reaches beyond its message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orrery::formats::tokenizer {

class Wire {
 public:
  enum Type { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  struct Field {
    std::uint32_t number = 0;
    int type = kVarint;
    std::uint64_t value = 0;  // of all but bytes
    std::string_view bytes;
  };

  explicit Wire(std::string_view message) : rest_(message) {}

  // False at the end, and where nothing can be read: is_broken() then.
  bool next(Field& field) {
    if (rest_.empty() || broken_) return false;
    std::uint64_t key = 0, length = 0;
    broken_ = !varint(key) || key >> 3 == 0 || key >> 32 != 0;
    if (broken_) return false;
    field = {static_cast<std::uint32_t>(key >> 3), static_cast<int>(key & 7), 0, {}};
    if (field.type == kVarint)
      broken_ = !varint(field.value);
    else if (field.type == kFixed64 || field.type == kFixed32)
      broken_ = !fixed(field.type == kFixed64 ? 8 : 4, field.value);
    else if (field.type == kBytes && varint(length) && length <= rest_.size())
      field.bytes = rest_.substr(0, length), rest_.remove_prefix(length);
    else
      broken_ = true;
    return !broken_;
  }
  bool is_broken() const { return broken_; }

 private:
  bool varint(std::uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool fixed(std::size_t bytes, std::uint64_t& value) {
    if (rest_.size() < bytes) return false;
    value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
    rest_.remove_prefix(bytes);
    return true;
  }

  std::string_view rest_;
  bool broken_ = false;
};

}  // namespace orrery::formats::tokenizer
