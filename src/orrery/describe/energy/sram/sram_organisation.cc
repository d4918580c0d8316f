#include "orrery/describe/energy/sram/sram_organisation.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery::energy {
namespace {

constexpr int kFewestRows = 16;
constexpr int kFewestColumns = 2;
constexpr double kMost = 262144;  // rows or columns

}  // namespace

double words_per_bank(const SramPoint& point) {
  return static_cast<double>(point.capacity_bytes) * 8 / point.width_bits / point.banks;
}

std::optional<Subarray> subarray(const SramOrganisation& organisation, const SramPoint& point) {
  if (organisation.ndwl < 2 || organisation.ndbl < 2 || organisation.nspd < 1 || organisation.mux < 1)
    return std::nullopt;
  const double rows = std::ceil(words_per_bank(point) / (double(organisation.ndbl) * organisation.nspd));
  const double columns = std::ceil(double(point.width_bits) * organisation.nspd / organisation.ndwl);
  if (rows < kFewestRows || rows > kMost || columns < kFewestColumns || columns > kMost) return std::nullopt;

  Subarray part;
  part.rows = static_cast<int>(rows);
  part.columns = static_cast<int>(columns);
  part.address_bits = std::bit_width(static_cast<unsigned>(part.rows)) - 1;
  const int mats_across = organisation.ndwl / 2;
  constexpr int kSubarraysPerMat = 4;
  const long long bits_per_mat =
      std::max(1LL, static_cast<long long>(kSubarraysPerMat) * part.columns / organisation.mux);
  if (bits_per_mat < kSubarraysPerMat || bits_per_mat > point.width_bits) return std::nullopt;
  part.active_mats = static_cast<int>(point.width_bits / bits_per_mat);
  if (part.active_mats > mats_across) return std::nullopt;
  return part;
}

}  // namespace orrery::energy
