// A number with its unit, as system files write them: "312 TFLOP/s", "80 GB", "20 us", "0.85".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace orrery::formats::orrery {

enum class Unit { kNone, kFlopsPerSecond, kBytes, kBytesPerSecond, kSeconds, kWatts, kDollarsPerHour };

// How the unit is written: "FLOP/s", "B/s".
std::string_view name(Unit unit);

// An example to put before somebody who wrote something else: "312 TFLOP/s".
std::string_view example(Unit unit);

// In base units (FLOP/s, bytes, bytes/s, seconds, watts, dollars/h). A unit is demanded, and the right one, but of a
// number with an exponent, `25e9`, which is in base units; prefixes n, u, m, k, M, G, T, P and Ki, Mi, Gi, Ti are
// understood, bit/s too (8 of them are a B/s). Nothing where the text is
// no such quantity or not finite.
std::optional<double> quantity(std::string_view text, Unit unit);

}  // namespace orrery::formats::orrery
