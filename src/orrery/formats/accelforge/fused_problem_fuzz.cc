// Any bytes give a question, or diagnostics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/accelforge/fused_problem_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.yaml";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  base::Diagnostics found;
  try {
    formats::accelforge::read_fused_problem({file}, {}, {}, found);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.code.empty() || said.message.empty() || said.primary.where.column < 0) std::abort();
  }
  return 0;
}
