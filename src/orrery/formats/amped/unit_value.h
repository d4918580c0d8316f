// Numbers with units as AMPeD writes them: "8 GB", "2.4 Tb/s", "3us". SI prefixes multiply; units only describe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::formats::amped {

enum class Dimension { kNone, kBits, kBytes, kSeconds, kHertz, kCount };

struct UnitValue {
  double number = 0;  // in the unit without its prefix; finite
  Dimension dimension = Dimension::kNone;
};

// A number, then an optional unit with an optional prefix (p n u m k M G T P E, and Ki Mi Gi Ti for powers of 1024), or
// a prefix alone. Nothing when the text is anything else; `why`, where given, then says which part was not understood.
std::optional<UnitValue> parse_unit_value(std::string_view text, std::string* why = nullptr);

}  // namespace orrery::formats::amped
