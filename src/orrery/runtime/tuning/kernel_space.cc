#include "orrery/runtime/tuning/kernel_space.h"

#include <algorithm>

#include "orrery/base/diagnostics/check.h"

namespace orrery::tuning {
namespace {

using base::Count;

std::vector<KernelSpace> twelve_kernels() {
  return {
      {"softmax",
       "hbjk",
       {{"vec_dim", "hbjk"}},
       {{"IN", "hbjk"}, {"OUT", "hbjk"}, {"DROP_MASK", "hbjk"}, {"DROP", "hbjk", 2}}},
      {"bad",
       "bju",
       {{"vec_dim", "bju"}, {"thread_dim", "bju"}},
       {{"SB1_LINW1", "bju"}, {"LINB1", "u"}, {"DROP2", "bju"}, {"DROP2MASK", "bju"}, {"LIN1", "bju"}}},
      {"bdrln",
       "bji",
       {{"vec_dim", "bji"}},
       {{"DROP2_LINW2", "bji"},
        {"SB1", "bji"},
        {"S2", "i"},
        {"B2", "i"},
        {"LINB2", "i"},
        {"SB2", "bji"},
        {"LN2", "bji"},
        {"LIN2", "bji"},
        {"LN2DIFF", "bji"},
        {"LN2STD", "bj"},
        {"DROP3MASK", "bji"}}},
      {"blnrd",
       "bji",
       {{"vec_dim", "bji"}},
       {{"DLN2", "bji"},
        {"LN2STD", "bj"},
        {"LN2DIFF", "bji"},
        {"DROP3MASK", "bji"},
        {"DRESID2", "bji"},
        {"DLIN2", "bji"}}},
      {"bsb",
       "bji",
       {{"vec_dim", "bji"}, {"warp_dim", "bj"}},
       {{"LN2", "bji"}, {"S2", "i"}, {"DSB2", "bji"}, {"DLN2", "bji"}, {"DS2", "i"}, {"DB2", "i"}},
       true},
      {"bdrlb",
       "bju",
       {{"vec_dim", "bju"}, {"warp_dim", "bj"}},
       {{"DDROP2", "bju"}, {"DROP2MASK", "bju"}, {"LIN1", "bju"}, {"DLIN1", "bju"}, {"DLINB1", "u"}},
       true},
      {"bs",
       "hbjk",
       {{"vec_dim", "hbjk"}},
       {{"ALPHA", "hbjk"}, {"DROP_MASK", "hbjk"}, {"DROP", "hbjk", 1}, {"DBETA", "hbjk"}}},
      {"ebsb",
       "bji",
       {{"vec_dim", "bji"}, {"warp_dim", "bj"}},
       {{"LN1", "bji"},
        {"S1", "i"},
        {"DRESID2", "bji"},
        {"DLIN1_LINW1", "bji"},
        {"DLIN2", "bji"},
        {"DLINB2", "i"},
        {"DS1", "i"},
        {"DB1", "i"},
        {"DLN1", "bji"}},
       true},
      {"bei", "bji", {{"dt", "bji"}, {"dv", "bji"}}, {{"DXATT", "bji"}, {"DRESID1", "bji"}, {"DX", "bji"}}},
      {"aib",
       "hpbj",
       {{"dv", "bj"}, {"dt", "bj"}},
       {{"WKK", "phbj"},
        {"BK", "ph"},
        {"KK", "phbj"},
        {"WVV", "phbj", 0},
        {"WQQ", "phbj", 0},
        {"BV", "ph", 1},
        {"BQ", "ph", 1},
        {"VV", "phbj", 2},
        {"QQ", "phbj", 2}}},
      {"baib",
       "phbj",
       {{"dv", "phbj"}, {"dw", "bj"}},
       {{"DKK", "phbj"}, {"DVV", "phbj"}, {"DQQ", "phbj"}, {"DBK", "ph"}, {"DBV", "ph"}, {"DBQ", "ph"}},
       true},
      {"baob", "bji", {{"dv", "bji"}, {"dw", "bj"}}, {{"DATT", "bji"}, {"DBO", "i"}}, true},
  };
}

Count factorial(std::size_t n) {
  Count product = 1;
  for (std::size_t i = 2; i <= n; ++i) product = base::checked_multiply(product, static_cast<Count>(i));
  return product;
}

// The order of this number among all of the letters, by the factorial number system.
std::string layout(std::string dims, Count number) {
  std::string out;
  while (!dims.empty()) {
    const Count block = factorial(dims.size() - 1);
    const auto place = static_cast<std::size_t>(number / block);
    out += dims[place];
    dims.erase(place, 1);
    number %= block;
  }
  return out;
}

}  // namespace

const std::vector<KernelSpace>& kernel_spaces() {
  static const std::vector<KernelSpace> all = twelve_kernels();
  return all;
}

const KernelSpace* kernel_space(std::string_view kernel) {
  for (const KernelSpace& space : kernel_spaces())
    if (space.kernel == kernel) return &space;
  return nullptr;
}

std::vector<std::string> layouts_of(std::string_view dims) {
  std::vector<std::string> all;
  const Count count = factorial(dims.size());
  for (Count number = 0; number < count; ++number) all.push_back(layout(std::string(dims), number));
  return all;
}

Count configurations(const KernelSpace& space) {
  Count product = 1;
  for (const KernelSpecial& special : space.specials)
    product = base::checked_multiply(product, static_cast<Count>(special.letters.size()));
  for (const KernelColumn& column : space.columns)
    if (column.same_as < 0) product = base::checked_multiply(product, factorial(column.dims.size()));
  return product;
}

KernelConfiguration configuration(const KernelSpace& space, Count number) {
  ORRERY_CHECK(number >= 0 && number < configurations(space), "a configuration beyond the last");
  KernelConfiguration out;
  out.layouts.resize(space.columns.size());
  for (std::size_t i = space.columns.size(); i-- > 0;) {
    const KernelColumn& column = space.columns[i];
    if (column.same_as >= 0) continue;
    const Count choices = factorial(column.dims.size());
    out.layouts[i] = layout(column.dims, number % choices);
    number /= choices;
  }
  for (std::size_t i = 0; i < space.columns.size(); ++i)
    if (space.columns[i].same_as >= 0) out.layouts[i] = out.layouts[static_cast<std::size_t>(space.columns[i].same_as)];
  for (auto special = space.specials.rbegin(); special != space.specials.rend(); ++special) {
    const auto choices = static_cast<Count>(special->letters.size());
    out.specials.push_back(special->letters[static_cast<std::size_t>(number % choices)]);
    number /= choices;
  }
  std::reverse(out.specials.begin(), out.specials.end());
  return out;
}

}  // namespace orrery::tuning
