// The closed form of tile analysis (reference: Timeloop, ISPASS 2019, section VI; docs/model/nest.md).
//
// Inner to outer the nest is [S_0][T_0][S_1][T_1]...  For dataspace s at level i:
//     tile_i   = volume spanned by every loop up to and including T_i
//     mult_i   = product of the S_i factors that do not move s (one word serves that many instances)
//     scat_i   = product of the S_i factors that do
//     trips_i  = product of all loops of T_i, T_{i+1}, ... after dropping the innermost unbroken run of
//                loops that do not move s: while they iterate, the tile below stays where it is
//     accesses_0 = cc * scat_0,   accesses_i = trips_i * tile_{i-1} * scat_i   (i >= 1)
// with cc the product of all temporal loops. Cost: O(levels * dataspaces * dimensions).
#include "orrery/engines/nest/model/traffic.h"

#include <utility>

namespace orrery::nest {

using base::Count;

Shape shape_of(const workload::Einsum& einsum) {
  Shape shape;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) {
    std::uint32_t relevant = 0;
    bool product_form = true, separable = true;
    bool overlapping = false, gaps = false;
    std::uint32_t seen = 0;
    std::vector<workload::Rank>& ranks = shape.moving.emplace_back();
    for (const workload::Rank& rank : dataspace.ranks) {
      workload::Rank here;
      for (const workload::Term& term : rank.terms) {
        if (term.coefficient == 0) continue;
        const std::uint32_t bit = 1u << term.dimension;
        relevant |= bit;
        if (einsum.dimensions[term.dimension].bound == 1) continue;
        here.terms.push_back(term);
        if (term.coefficient != 1 || (seen & bit)) product_form = false;
        if (seen & bit) separable = false;
        if (term.coefficient != 1 || (seen & bit)) gaps = true;
        seen |= bit;
      }
      if (here.terms.size() > 1) overlapping = true;
      if (!here.terms.empty()) ranks.push_back(std::move(here));
    }
    if (overlapping) product_form = separable = false;
    shape.sliding = shape.sliding || overlapping;
    shape.overlapping.push_back(overlapping);
    shape.gaps.push_back(gaps);
    shape.relevant.push_back(relevant);
    shape.product_form.push_back(product_form);
    shape.separable.push_back(separable);
  }
  return shape;
}

namespace {

Count volume(const workload::Dataspace& dataspace, const Count* extents) {
  Count words = 1;
  for (const workload::Rank& rank : dataspace.ranks) {
    Count length = 1;
    for (const workload::Term& term : rank.terms) length += term.coefficient * (extents[term.dimension] - 1);
    words *= length;
  }
  return words;
}

// a * b / c, which is in range. Dividing 128 bits takes several times as long and is hardly ever needed.
Count times_over(Count a, Count b, Count c) {
  Count product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product / c;
  return static_cast<Count>(static_cast<__int128>(a) * b / c);
}

Count product_over(std::uint32_t mask, const Count* extents) {
  Count words = 1;
  for (; mask != 0; mask &= mask - 1) words *= extents[__builtin_ctz(mask)];
  return words;
}

}  // namespace

void closed_form(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
                 const std::vector<ReuseRules>& reuse, Traffic& out) {
  const int levels = static_cast<int>(mapping.levels.size());
  const int dimensions = static_cast<int>(einsum.dimensions.size());
  const int dataspaces = static_cast<int>(einsum.dataspaces.size());

  LevelTable<Count> before;     // volume spanned up to and including S_i only
  LevelTable<Count> multicast;  // mult_i
  std::array<std::array<Count, kMaxDataspaces>, kMaxLevels> scatter;
  std::array<Count, kMaxDimensions> extents;
  extents.fill(1);
  Count cc = 1;
  for (int i = 0; i < levels; ++i) {
    const LevelMapping& level = mapping.levels[i];
    Count fanout = 1;
    std::uint32_t split_dimensions = 0;
    for (int d = 0; d < dimensions; ++d) {
      if (level.spatial[d] == 1) continue;
      fanout *= level.spatial[d];
      extents[d] *= level.spatial[d];
      split_dimensions |= 1u << d;
    }
    out.fanout[i] = fanout;
    const std::uint32_t alone = reuse.empty() ? 0 : reuse[i].no_spatial_sharing;
    for (int s = 0; s < dataspaces; ++s) {
      const Count shared =
          (alone >> s & 1) ? 1 : product_over(split_dimensions & ~shape.relevant[s], level.spatial.data());
      multicast[i][s] = shared;
      scatter[i][s] = fanout / shared;
      before[i][s] = shape.product_form[s] ? product_over(shape.relevant[s], extents.data())
                                           : volume(einsum.dataspaces[s], extents.data());
    }
    bool moved = false;
    for (int d = 0; d < dimensions; ++d) {
      if (level.temporal[d] == 1) continue;
      extents[d] *= level.temporal[d];
      cc *= level.temporal[d];
      moved = true;
    }
    for (int s = 0; s < dataspaces; ++s)
      out.tile[i][s] = !moved                  ? before[i][s]
                       : shape.product_form[s] ? product_over(shape.relevant[s], extents.data())
                                               : volume(einsum.dataspaces[s], extents.data());
  }
  out.compute_cycles = cc;

  std::array<Count, kMaxDataspaces> run;
  run.fill(1);
  Count iterations = 1;
  Count instances = 1;
  for (int i = levels - 1; i >= 0; --i) {
    const LevelMapping& level = mapping.levels[i];
    out.instances[i] = instances;
    instances *= out.fanout[i];
    // The level's loops from the inside: a loop that moves s ends the run that started further in.
    std::array<Count, kMaxDataspaces> inner;
    inner.fill(1);
    std::uint32_t open = (1u << dataspaces) - 1;
    Count here = 1;
    for (const int d : level.temporal_order) {
      const Count iterations_here = level.temporal[d];
      if (iterations_here == 1) continue;
      here *= iterations_here;
      for (std::uint32_t rest = open; rest != 0; rest &= rest - 1) {
        const int s = __builtin_ctz(rest);
        if (shape.relevant[s] >> d & 1)
          open &= ~(1u << s);
        else
          inner[s] *= iterations_here;
      }
    }
    iterations *= here;
    const std::uint32_t always = reuse.empty() || i == 0 ? 0 : reuse[i - 1].no_temporal_reuse;
    for (int s = 0; s < dataspaces; ++s) {
      run[s] = (open >> s & 1) ? run[s] * inner[s] : inner[s];
      const Count words = i == 0 ? cc : iterations / ((always >> s & 1) ? 1 : run[s]) * out.tile[i - 1][s];
      out.accesses[i][s] = words * scatter[i][s];
      out.deliveries[i][s] = out.accesses[i][s] * multicast[i][s];
      out.partition[i][s] =
          i == levels - 1 ? out.tile[i][s] : times_over(out.partition[i + 1][s], out.tile[i][s], before[i + 1][s]);
    }
  }
  out.compute_instances = instances;
}

}  // namespace orrery::nest
