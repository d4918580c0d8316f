// Any bytes, read as one Timeloop document, give a specification or an InputError.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/timeloop/documents/documents.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.yaml";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  // Templates may name other files; a fuzzer reads none.
  if (file->text.find("include") != std::string::npos) return 0;
  formats::timeloop::ReadOptions options;
  options.energies_required = size % 2 == 0;
  options.estimate.defects.drop_shares = size % 3 == 0;
  options.estimate.defects.charge_fan_outs = size % 5 == 0;
  try {
    formats::timeloop::Documents::gather({file}, options).read();
  } catch (const base::InputError&) {
  }
  return 0;
}
