// Any bytes give a setup, which survives being written and read again, or diagnostics.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/dfmodel/setup_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace dfmodel = formats::dfmodel;
  const auto file_of = [](std::string text) {
    auto file = std::make_shared<base::SourceFile>();
    file->name = "setup.txt";
    file->text = std::move(text);
    return file;
  };
  std::string written;
  try {
    written = dfmodel::write_setup(
        dfmodel::read_setup(file_of(std::string(reinterpret_cast<const char*>(data), size))).setup);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.code.empty() || said.message.empty() || said.primary.where.column < 0) std::abort();
    return 0;
  }
  // What was right must be right again.
  if (dfmodel::write_setup(dfmodel::read_setup(file_of(written)).setup) != written) std::abort();
  return 0;
}
