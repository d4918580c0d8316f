// Any bytes, read as libconfig, give a document or O0101; what is read has its places inside the text.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/libconfig/libconfig_document.h"

namespace {

void demand_places(const orrery::formats::yaml::Node& node) {
  if (node.where.line < 1 || node.where.column < 1) __builtin_trap();
  for (const auto& item : node.items) demand_places(item);
  for (const auto& entry : node.entries) demand_places(entry.value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.cfg";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  base::Diagnostics found;
  const auto document = formats::libconfig::parse(file, found);
  if (document.has_value() == found.has_errors()) __builtin_trap();
  if (document) demand_places(*document);
  return 0;
}
