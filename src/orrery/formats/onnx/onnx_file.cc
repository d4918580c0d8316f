#include "orrery/formats/onnx/onnx_file.h"

#include <utility>

namespace orrery::formats::onnx {

const Attribute* Node::find(std::string_view wanted) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == wanted) return &attribute;
  return nullptr;
}

std::int64_t Node::integer(std::string_view wanted, std::int64_t otherwise) const {
  const Attribute* attribute = find(wanted);
  return attribute ? attribute->integer : otherwise;
}

std::string Node::text(std::string_view wanted, std::string otherwise) const {
  const Attribute* attribute = find(wanted);
  return attribute ? attribute->text : std::move(otherwise);
}

std::optional<std::vector<std::int64_t>> Node::integers(std::string_view wanted) const {
  const Attribute* attribute = find(wanted);
  if (!attribute) return std::nullopt;
  return attribute->integers;
}

}  // namespace orrery::formats::onnx
