// Any bytes as config.json, as tables or as flat parameters give quantities or diagnostics.
#include <cstddef>
#include <cstdint>

#include "orrery/formats/amped/amped_parameters.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace amped = formats::amped;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "config.json";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  const auto attempt = [](const auto& read) {
    try {
      base::Diagnostics found;
      read(found);
    } catch (const base::InputError&) {
    }
  };
  attempt([&](base::Diagnostics& found) {
    const amped::Config config = amped::read_config(file, {}, found);
    amped::equations::times_of(amped::resolve(config, {}, {}, found).quantities, {});
  });
  attempt([&](base::Diagnostics& found) { amped::read_lookup_tables(file, found); });
  attempt([&](base::Diagnostics& found) {
    amped::equations::times_of(amped::resolve_flat(file, {}, {}, found).quantities, {});
  });
  return 0;
}
