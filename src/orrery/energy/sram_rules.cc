#include "orrery/energy/sram_rules.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::energy {
namespace {

constexpr std::array<int, 5> kTechnologies{22, 32, 45, 65, 90};
constexpr double kLeastBits = 32;
constexpr double kLeastWords = 64;  // a bank
constexpr double kDepthPower = 0.78;
constexpr double kLeakBelow = 0.79;

}  // namespace

SramRequest request(const SramDescription& memory) {
  SramRequest asked;
  const double width = std::max(8 * std::ceil(memory.width_bits / 8), kLeastBits);
  const double depth = std::max(memory.depth, kLeastWords * memory.banks);
  const double banks = std::exp2(std::ceil(std::log2(memory.banks)));
  asked.point = {static_cast<base::Count>(width * depth / 8), static_cast<int>(width), static_cast<int>(banks),
                 memory.ports};

  const double ws = memory.width_bits / width, ds = memory.depth / depth;
  asked.scale.fill(1);
  asked.scale[kRead] = asked.scale[kWrite] = (0.7 * ws + 0.3) * std::pow(ds, kDepthPower);
  asked.scale[kLeak] = ws * ds * memory.banks / banks;
  asked.scale[kArea] = ws * ds;

  const double technology = memory.technology_nm;
  const auto above = std::lower_bound(kTechnologies.begin(), kTechnologies.end(), technology);
  if (above == kTechnologies.begin()) {
    asked.technologies = {{kTechnologies.front(), 1}};
    const double shrink = technology / kTechnologies.front();
    if (technology < kTechnologies.front()) {
      for (const SramFigure figure : {kRead, kWrite, kLeak, kArea}) asked.scale[figure] *= shrink;
      asked.scale[kLeak] *= kLeakBelow;
    }
  } else if (above == kTechnologies.end()) {
    asked.technologies = {{kTechnologies.back(), 1}};
    const double growth = technology / kTechnologies.back();
    for (const SramFigure figure : {kRead, kWrite, kLeak, kArea}) asked.scale[figure] *= growth * growth;
  } else if (*above == technology) {
    asked.technologies = {{*above, 1}};
  } else {
    const int low = *(above - 1);
    const double share = (technology - low) / (*above - low);
    asked.technologies = {{low, 1 - share}, {*above, share}};
  }
  return asked;
}

}  // namespace orrery::energy
