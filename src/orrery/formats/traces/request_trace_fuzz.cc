// Traces of requests from any bytes: they are refused, or their requests are possible ones in order.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "orrery/formats/traces/request_trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::make_shared<const orrery::base::SourceFile>(
      orrery::base::SourceFile{"trace", std::string(reinterpret_cast<const char*>(data), size)});
  orrery::base::Diagnostics warnings;
  try {
    std::int64_t before = 0;
    for (const orrery::serving::Request& request : orrery::formats::traces::read_requests(file, warnings)) {
      if (request.arrival_ns < before || request.prompt < 1 || request.output < 1) std::abort();
      before = request.arrival_ns;
    }
  } catch (const orrery::base::InputError&) {
  }
  return 0;
}
