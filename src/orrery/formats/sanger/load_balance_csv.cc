#include "orrery/formats/sanger/load_balance_csv.h"

#include <fmt/format.h>

namespace orrery::formats::sanger {

std::string load_balance_csv(const std::vector<masks::Measured>& masks) {
  std::string out = fmt::format("{},overall-sparsity\n", fmt::join(masks::kLoadBalanceNames, ","));
  for (const masks::Measured& mask : masks)
    out += fmt::format("{:.6f},{:.6f}\n", fmt::join(mask.load_balance, ","), mask.overall_sparsity);
  return out;
}

}  // namespace orrery::formats::sanger
