// How many words cross each boundary of a loop nest, before asking which storages keep them. A multicast, which brings
// one read to several instances, is a read above and fills below.
//
// `closed_form` is exact when every rank of every dataspace moves with one dimension (matmuls,
// normalisations, convolutions with 1x1 windows); `sliding` (sliding.cc) walks the nest for the rest.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

inline constexpr int kMaxLevels = 24;
inline constexpr int kMaxDataspaces = 8;
inline constexpr int kMaxDimensions = 16;

// Indexed [level][dataspace]; level 0 is the innermost storage.
template <typename T>
using LevelTable = std::array<std::array<T, kMaxDataspaces>, kMaxLevels>;

struct Traffic {
  // Words per instance of level i that leave it for the level below (level 0: for the compute units),
  // each counted once however many instances below receive it, were every level to keep everything.
  LevelTable<base::Count> accesses;
  // The same, counted once per receiving instance.
  LevelTable<base::Count> deliveries;
  // Words that the instances below one instance of level i hand to each other; only `sliding` with links sets them.
  LevelTable<base::Count> links;
  LevelTable<base::Count> tile;  // words one instance of level i holds at a time
  // Words one instance of level i sees over the whole run, by volumes; of outputs with gaps see first_words.h.
  LevelTable<base::Count> partition;
  std::array<base::Count, kMaxLevels> fanout;     // instances of the level below that each one feeds
  std::array<base::Count, kMaxLevels> instances;  // of level i in use
  base::Count compute_cycles;                     // iterations of the temporal loops
  base::Count compute_instances;
};

// `relevant[s]`: bit d set when dimension d moves dataspace s. `product_form[s]`: every rank of s has
// coefficient 1, so that a tile's volume is the product of its extents.
struct Shape {
  std::vector<std::uint32_t> relevant;
  std::vector<bool> product_form;
  std::vector<bool> separable;    // each dimension moves it along one rank at most, and no rank moves with two
  std::vector<bool> overlapping;  // some rank adds two dimensions that both iterate, so that tiles may overlap
  std::vector<bool> gaps;         // its boxes may hold words between those that operations touch
  bool sliding = false;           // any is
  std::vector<std::vector<workload::Rank>> moving;  // per dataspace: ranks and terms that can move
};

Shape shape_of(const workload::Einsum& einsum);

void closed_form(const workload::Einsum& einsum, const Shape& shape, const Mapping& mapping,
                 const std::vector<ReuseRules>& reuse, Traffic& out);

}  // namespace orrery::nest
