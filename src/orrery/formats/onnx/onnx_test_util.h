// Writes small ONNX models, by field numbers of their own.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/formats/onnx/onnx_reader.h"

namespace orrery::formats::onnx {

// A protobuf message as it is written.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  Message& packed(int field, const std::vector<std::int64_t>& values) {
    Message inner;
    for (const std::int64_t value : values) inner.varint(static_cast<std::uint64_t>(value));
    return message(field, inner);
  }
  Message& raw(const std::string& bytes) {
    bytes_ += bytes;
    return *this;
  }
  void tag(int field, int type) { varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type)); }
  void varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>(value | 128);
    bytes_ += static_cast<char>(value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// -1 in a shape is written as the symbol `batch`, -2 as a dimension without a word.
inline Message declaration(const std::string& name, const Shape& shape) {
  Message sizes;
  for (const Count size : shape) {
    Message dimension;
    if (size >= 0) dimension.number(1, size);
    if (size == -1) dimension.text(2, "batch");
    sizes.message(1, dimension);
  }
  return Message().text(1, name).message(2, Message().message(1, Message().number(1, 1).message(2, sizes)));
}

using AttributeValue = std::variant<std::int64_t, std::vector<std::int64_t>, std::string>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

class ModelWriter {
 public:
  ModelWriter& input(const std::string& name, const Shape& shape) {
    graph_.message(11, declaration(name, shape));
    return *this;
  }
  ModelWriter& value(const std::string& name, const Shape& shape) {
    graph_.message(13, declaration(name, shape));
    return *this;
  }
  ModelWriter& weight(const std::string& name, const Shape& shape) {
    graph_.message(5, Message().packed(1, shape).number(2, 1).text(8, name).text(9, "ab"));
    return *this;
  }
  ModelWriter& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    graph_.message(
        5, Message().packed(1, {static_cast<Count>(values.size())}).number(2, 7).packed(7, values).text(8, name));
    return *this;
  }
  ModelWriter& node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const Attributes& attributes = {},
                    const std::string& domain = "", const std::string& name = "") {
    Message node;
    for (const std::string& each : inputs) node.text(1, each);
    for (const std::string& each : outputs) node.text(2, each);
    node.text(4, type);
    if (!domain.empty()) node.text(7, domain);
    if (!name.empty()) node.text(3, name);
    for (const auto& [attribute, value] : attributes) {
      Message made = Message().text(1, attribute);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) made.number(3, *integer);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) made.packed(8, *list);
      if (const auto* text = std::get_if<std::string>(&value)) made.text(4, *text);
      node.message(5, made);
    }
    graph_.message(1, node);
    return *this;
  }
  Message& graph() { return graph_; }
  std::string bytes(std::int64_t opset = 17) const {
    return Message().number(1, 8).message(7, graph_).message(8, Message().number(2, opset)).bytes();
  }
  Model model(std::int64_t opset = 17) const { return parse(bytes(opset), "m.onnx"); }

 private:
  Message graph_;
};

}  // namespace orrery::formats::onnx
