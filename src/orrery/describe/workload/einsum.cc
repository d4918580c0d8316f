#include "orrery/describe/workload/einsum.h"

#include <utility>

namespace orrery::workload {

int Einsum::dimension_index(std::string_view wanted) const {
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    if (dimensions[d].name == wanted) return static_cast<int>(d);
  return -1;
}

int Einsum::dataspace_index(std::string_view wanted) const {
  for (std::size_t s = 0; s < dataspaces.size(); ++s)
    if (dataspaces[s].name == wanted) return static_cast<int>(s);
  return -1;
}

base::Count Einsum::operations() const {
  base::Count product = 1;
  for (const Dimension& dimension : dimensions) product = base::checked_multiply(product, dimension.bound);
  return product;
}

base::Count Einsum::volume(int s, const std::vector<base::Count>& extents) const {
  base::Count words = 1;
  for (const Rank& rank : dataspaces[s].ranks) {
    base::Count length = 1;
    for (const Term& term : rank.terms)
      length = base::checked_add(length, base::checked_multiply(term.coefficient, extents[term.dimension] - 1));
    words = base::checked_multiply(words, length);
  }
  return words;
}

bool Einsum::relevant(int s, int d) const {
  for (const Rank& rank : dataspaces[s].ranks)
    for (const Term& term : rank.terms)
      if (term.dimension == d && term.coefficient != 0) return true;
  return false;
}

Einsum matmul(std::string name, base::Count d, base::Count e, base::Count l) {
  Einsum einsum;
  einsum.name = std::move(name);
  einsum.dimensions = {{"E", e}, {"D", d}, {"L", l}};
  einsum.dataspaces = {
      {"Weights", {{{{0, 1}}}, {{{1, 1}}}}, false},
      {"Inputs", {{{{0, 1}}}, {{{2, 1}}}}, false},
      {"Outputs", {{{{1, 1}}}, {{{2, 1}}}}, true},
  };
  return einsum;
}

Einsum normalisation(std::string name, base::Count l, base::Count e, base::Count d) {
  Einsum einsum;
  einsum.name = std::move(name);
  einsum.dimensions = {{"L", l}, {"E", e}, {"D", d}};
  einsum.dataspaces = {
      {"Weights", {{{{2, 1}}}}, false},
      {"Inputs", {{{{1, 1}}}, {{{0, 1}}}}, false},
      {"Outputs", {{{{1, 1}}}, {{{0, 1}}}}, true},
  };
  return einsum;
}

}  // namespace orrery::workload
