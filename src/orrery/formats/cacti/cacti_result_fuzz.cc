// Any bytes give figures or a reason why there are none.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/formats/cacti/result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const int banks : {1, 8}) orrery::formats::cacti::read_result(text, banks);
  return 0;
}
