// What a sparse tensor's representation stores beside its values, rank by rank.
//
// A tile is a tree of fibers (Sze et al., "Efficient Processing of Deep Neural Networks", section 8.2): each coordinate
// of a fiber of rank r leads to a fiber of rank r - 1, or to a value. F is the number of fibers of a rank that are not
// empty, n their coordinates, p the probability that what a coordinate leads to is empty:
//
//   format                                metadata          payload (what leads to the rank below)
//   uncompressed offset pairs (UOP)       -                 F (n + 1)
//   coordinates (CP)                      F ceil(n (1-p))   the same
//   run lengths (RLE)                     F n (1 - p)       the same
//   bitmask (B)                           F n               F ceil(n (1-p))
//   bitmask, values uncompressed (UB)     F_all n           F_all n
//
// F = F_all (1 - probability that a fiber is empty), except UB, which stores empty fibers, too. Source: Sparseloop
// (Wu et al., MICRO 2022), section 5.3.3, and the format models of Timeloop.
#pragma once

#include <cmath>
#include <vector>

#include "orrery/base/numbers/count.h"

namespace orrery::nest {

struct RankFormat {
  enum class Kind { kOffsetPairs, kCoordinates, kRunLengths, kBitmask, kUncompressedBitmask };
  Kind kind = Kind::kOffsetPairs;
  int metadata_bits = 0, payload_bits = 0;  // of one unit
  // Dimensions whose loops this rank takes together: it takes neighbouring loops as long as one of the lists has both.
  // None: it takes one loop, of any dimension.
  std::vector<std::vector<int>> flattened;

  // Empty values below are not stored.
  bool compressed() const { return kind != Kind::kOffsetPairs && kind != Kind::kUncompressedBitmask; }
};

inline const char* name_of(RankFormat::Kind kind) {
  switch (kind) {
    case RankFormat::Kind::kOffsetPairs:
      return "UOP";
    case RankFormat::Kind::kCoordinates:
      return "CP";
    case RankFormat::Kind::kRunLengths:
      return "RLE";
    case RankFormat::Kind::kBitmask:
      return "B";
    case RankFormat::Kind::kUncompressedBitmask:
      return "UB";
  }
  return "";
}

// How many units of a rank a tile needs.
struct FormatUnits {
  double metadata = 0, payload = 0;

  FormatUnits& operator+=(const FormatUnits& other) {
    metadata += other.metadata;
    payload += other.payload;
    return *this;
  }
  FormatUnits operator*(double times) const { return {metadata * times, payload * times}; }
  bool none() const { return metadata == 0 && payload == 0; }
};

// Of a rank with `fibers` fibers at most of `shape` coordinates each.
inline FormatUnits units_of(RankFormat::Kind kind, double fibers, double shape, double empty_fiber,
                            double empty_below) {
  const double filled = fibers * (1 - empty_fiber);
  const double entries = shape * (1 - empty_below);
  // What rounding alone lifts above a whole number is that number.
  const double whole = std::ceil(entries - 1e-9 * (1 + entries));
  switch (kind) {
    case RankFormat::Kind::kOffsetPairs:
      return {0, filled * (shape + 1)};
    case RankFormat::Kind::kCoordinates:
      return {filled * whole, filled * whole};
    case RankFormat::Kind::kRunLengths:
      return {filled * entries, filled * entries};
    case RankFormat::Kind::kBitmask:
      return {filled * shape, filled * whole};
    case RankFormat::Kind::kUncompressedBitmask:
      return {fibers * shape, fibers * shape};
  }
  return {};
}

}  // namespace orrery::nest
