#include "orrery/describe/energy/sram/sram_rules.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

constexpr double kNarrowestBits = 8;  // CACTI's own narrowest word
constexpr double kUsualBanks = 2;     // those that Timeloop's front end gives a storage without `n_banks`
constexpr double kDepthPower = 0.78;
constexpr double kLeakBelow = 0.79;

}  // namespace

SramRequest request(const SramDescription& memory) {
  SramRequest asked;
  const double width = std::max(8 * std::ceil(memory.width_bits / 8), static_cast<double>(kSramLeastBits));
  const double depth = std::max(memory.depth, kSramLeastWords * memory.banks);
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

std::vector<std::string> beyond(const SramDescription& memory) {
  std::vector<std::string> bounds;
  if (memory.width_bits < kNarrowestBits)
    bounds.push_back(
        fmt::format("{:g} bit is below the {:g} bit of the narrowest word that CACTI builds, by a factor of {:.3g}",
                    memory.width_bits, kNarrowestBits, kNarrowestBits / memory.width_bits));
  const double least_words = kSramLeastWords * memory.banks;
  if (memory.depth < least_words)
    bounds.push_back(fmt::format(
        "{:g} word{} in {:g} bank{}{} {} below the {} a bank of the smallest memory in the table, by a factor of "
        "{:.3g}",
        memory.depth, base::plural(memory.depth), memory.banks, base::plural(memory.banks),
        memory.banks == kUsualBanks ? " (which `n_banks` is where it is not given)" : "",
        base::plural(memory.depth, "is", "are"), kSramLeastWords, least_words / memory.depth));
  const double nm = memory.technology_nm, least = kTechnologies.front(), most = kTechnologies.back();
  if (nm < least)
    bounds.push_back(fmt::format("{:g} nm is below CACTI's {:g} nm, by a factor of {:.3g}", nm, least, least / nm));
  if (nm > most)
    bounds.push_back(fmt::format("{:g} nm is above CACTI's {:g} nm, by a factor of {:.3g}", nm, most, nm / most));
  return bounds;
}

std::string node_rule(const SramDescription& memory, const SramRequest& asked) {
  const double nm = memory.technology_nm, least = kTechnologies.front(), most = kTechnologies.back();
  if (asked.technologies.size() > 1)
    return fmt::format("linear between CACTI's {} and {} nm", asked.technologies.front().technology_nm,
                       asked.technologies.back().technology_nm);
  if (nm < least)
    return fmt::format(
        "linear below CACTI's {0:g} nm: x {1:g}/{0:g}, leakage x {2} besides, as Accelergy's CACTI plug-in, "
        "not Stillmaker and Baas",
        least, nm, kLeakBelow);
  if (nm > most)
    return fmt::format(
        "square above CACTI's {0:g} nm: x ({1:g}/{0:g})^2, as Accelergy's CACTI plug-in, not Stillmaker and Baas", most,
        nm);
  return {};
}

}  // namespace orrery::energy
