#include "orrery/describe/energy/sram/sram_text.h"

#include <fmt/format.h>

namespace orrery::energy {

std::string bytes_text(base::Count bytes) {
  constexpr base::Count kKi = 1024;
  if (bytes < kKi) return fmt::format("{} B", bytes);
  if (bytes < kKi * kKi) return fmt::format("{:.4g} KiB", static_cast<double>(bytes) / kKi);
  return fmt::format("{:.4g} MiB", static_cast<double>(bytes) / (kKi * kKi));
}

std::string text(const SramPoint& point) {
  return fmt::format("{}, {} bit{}{}", bytes_text(point.capacity_bytes), point.width_bits,
                     point.banks > 1 ? fmt::format(", {} banks", point.banks) : "",
                     point.ports > 1 ? fmt::format(", {} ports", point.ports) : "");
}

std::string describe(const SramDescription& memory, const SramRequest& asked, const std::string& how) {
  const int low = asked.technologies.front().technology_nm, high = asked.technologies.back().technology_nm;
  std::string node = low == high ? fmt::format("{} nm", low) : fmt::format("{} and {} nm mixed", low, high);
  if (low == high && memory.technology_nm != low) node += fmt::format(", scaled to {:g} nm", memory.technology_nm);
  const SramPoint& point = asked.point;
  std::string source = fmt::format("CACTI 7, {}: {}, {}", how, node, text(point));
  const bool same = memory.width_bits == point.width_bits && memory.banks == point.banks &&
                    memory.width_bits * memory.depth == 8 * static_cast<double>(point.capacity_bytes);
  if (!same)
    source += fmt::format("; scaled to {:g} words of {:g} bit{}", memory.depth, memory.width_bits,
                          memory.banks == point.banks ? "" : fmt::format(", {:g} banks", memory.banks));
  return source;
}

}  // namespace orrery::energy
