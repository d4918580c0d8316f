// Any bytes give a tree or an InputError; what repeats in its objects can be told.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/json/json_document.h"

namespace {

void walk(const orrery::formats::json::Node& node) {
  orrery::formats::json::describe(node);
  orrery::formats::json::repeated(node);
  for (const auto& item : node.items) walk(item);
  for (const auto& member : node.members) walk(member.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.json";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  try {
    walk(formats::json::parse(file, "O0900"));
  } catch (const base::InputError&) {
  }
  return 0;
}
