// Checks of a mapping against the limits of the hardware.
//
// A mapping is legal when its vectors have the right shape, each dimension's factors come to its bound (perfect ones
// multiply to it) and its outermost loop runs to its end, each dataspace is kept somewhere, and at every level i
//     usable_i * min_utilization_i <= sum of the kept tiles' words <= usable_i
//     prod of the X factors <= fan-out X,   prod of the Y factors <= fan-out Y
// where the first `split` loops of the spatial order go to X.
// Cost: O(levels * dimensions * ranks); the boolean form allocates one vector and formats nothing.
#include "orrery/engines/nest/model/legality.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/numbers/factor.h"
#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/nest/model/traffic.h"

namespace orrery::nest {

using base::Count;

namespace {

using Counts = std::vector<Count>;

bool is_order(const std::vector<int>& order, std::size_t dimensions) {
  if (order.size() != dimensions) return false;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (order[at] < 0 || order[at] >= static_cast<int>(dimensions)) return false;
    for (std::size_t before = 0; before < at; ++before)
      if (order[before] == order[at]) return false;
  }
  return true;
}

bool all_positive(const Counts& factors) {
  return std::all_of(factors.begin(), factors.end(), [](Count factor) { return factor >= 1; });
}

std::uint64_t all_dataspaces(const workload::Einsum& einsum) {
  return (std::uint64_t{1} << einsum.dataspaces.size()) - 1;
}

// Either absent or within each factor.
bool is_last_round(const Counts& last, const Counts& factors) {
  if (last.empty()) return true;
  if (last.size() != factors.size()) return false;
  for (std::size_t d = 0; d < last.size(); ++d)
    if (last[d] < 1 || last[d] > factors[d]) return false;
  return true;
}

bool well_formed(const LevelMapping& level, const workload::Einsum& einsum) {
  const std::size_t n = einsum.dimensions.size();
  return level.temporal.size() == n && level.spatial.size() == n && all_positive(level.temporal) &&
         all_positive(level.spatial) && is_last_round(level.temporal_last, level.temporal) &&
         is_last_round(level.spatial_last, level.spatial) && is_order(level.temporal_order, n) &&
         is_order(level.spatial_order, n) && level.split >= 0 && level.split <= static_cast<int>(n) &&
         (level.keep & ~all_dataspaces(einsum)) == 0;
}

// False when the product exceeds 64 bits: no bound is that large.
bool multiply_into(Count& product, Count factor) {
  return !__builtin_mul_overflow(product, factor, &product);
}

// Whether the outermost loop of a dimension runs to its end, as nothing outside it has a last iteration.
bool outermost_ends(const std::vector<Factor>& innermost_first) {
  for (auto factor = innermost_first.rbegin(); factor != innermost_first.rend(); ++factor)
    if (factor->iterations > 1) return factor->perfect();
  return true;
}

bool factors_reach_bound(const Mapping& mapping, bool all_perfect, int d, Count bound) {
  if (!all_perfect) {
    const std::vector<Factor> factors = factors_of(mapping, d);
    return span_of(factors) == bound && outermost_ends(factors);
  }
  Count product = 1;
  for (const LevelMapping& level : mapping.levels)
    if (!multiply_into(product, level.spatial[d]) || !multiply_into(product, level.temporal[d])) return false;
  return product == bound;
}

// Product of the spatial factors on one side; `product` is only grown while it fits, so that a product
// beyond 64 bits still exceeds every fan-out.
Count side(const LevelMapping& level, bool x) {
  Count product = 1;
  for (std::size_t at = 0; at < level.spatial_order.size(); ++at)
    if ((static_cast<int>(at) < level.split) == x && !multiply_into(product, level.spatial[level.spatial_order[at]]))
      return INT64_MAX;
  return product;
}

// Iterations that a tile spans, at most: where a loop outside it iterates, some tile is whole.
void grow(Counts& extents, const LevelMapping& level, const workload::Einsum& einsum) {
  for (std::size_t d = 0; d < extents.size(); ++d) {
    Count grown = 0;
    const bool beyond = __builtin_mul_overflow(extents[d], level.spatial[d], &grown) ||
                        __builtin_mul_overflow(grown, level.temporal[d], &grown);
    extents[d] = beyond ? einsum.dimensions[d].bound : std::min(grown, einsum.dimensions[d].bound);
  }
}

// What storage holds and its tiles take is counted in words or, where a dataspace has a width of its own, in bits.
bool counts_bits(const workload::Einsum& einsum) {
  return std::any_of(einsum.dataspaces.begin(), einsum.dataspaces.end(),
                     [](const workload::Dataspace& dataspace) { return dataspace.bits > 0; });
}

Count bits_of(const workload::Dataspace& dataspace, const machine::Storage& storage) {
  return dataspace.bits > 0 ? dataspace.bits : storage.word_bits;
}

std::optional<Count> usable_at(const workload::Einsum& einsum, const machine::Chip& chip, int level) {
  std::optional<Count> usable = chip.usable_words(level);
  if (usable && counts_bits(einsum) && __builtin_mul_overflow(*usable, chip.storages[level].word_bits, &*usable))
    usable = base::kMostCount;
  return usable;
}

// Of all kept tiles. Throws base::OverflowError.
Count kept_words(const workload::Einsum& einsum, const machine::Storage& storage, std::uint32_t keep,
                 const Counts& extents) {
  const bool in_bits = counts_bits(einsum);
  Count words = 0;
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s)
    if (keep >> s & 1)
      words = base::checked_add(words, base::checked_multiply(einsum.volume(static_cast<int>(s), extents),
                                                              in_bits ? bits_of(einsum.dataspaces[s], storage) : 1));
  return words;
}

bool fits(const workload::Einsum& einsum, const machine::Storage& storage, std::uint32_t keep, const Counts& extents,
          Count usable) {
  try {
    return kept_words(einsum, storage, keep, extents) <= usable;
  } catch (const base::OverflowError&) {
    return false;
  }
}

bool fills_enough(Count words, Count usable, double min_utilization) {
  return static_cast<double>(words) >= static_cast<double>(usable) * min_utilization;
}

Count rank_extent(const workload::Rank& rank, const Counts& extents) {
  Count length = 1;
  for (const workload::Term& term : rank.terms)
    length = base::checked_add(length, base::checked_multiply(term.coefficient, extents[term.dimension] - 1));
  return length;
}

// "16 * 384", ranks of extent 1 left out; also the sum's only term.
std::string tile_product(const workload::Dataspace& dataspace, const Counts& extents) {
  std::vector<Count> lengths;
  for (const workload::Rank& rank : dataspace.ranks)
    if (const Count length = rank_extent(rank, extents); length != 1) lengths.push_back(length);
  return lengths.empty() ? "1" : base::joined(lengths, " * ");
}

// "W 3, P 4": the dimensions that span a tile.
std::string tile_dimensions(const workload::Einsum& einsum, int s, const Counts& extents) {
  std::vector<std::string> spans;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (extents[d] > 1 && einsum.relevant(s, static_cast<int>(d)))
      spans.push_back(fmt::format("{} {}", einsum.dimensions[d].name, extents[d]));
  return spans.empty() ? "one word" : fmt::format("spans {}", base::joined(spans, ", "));
}

void check_shape(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                 const base::Location& where, base::Diagnostics& found) {
  const std::size_t n = einsum.dimensions.size();
  if (mapping.levels.size() != chip.storages.size()) {
    found.error("O0710",
                fmt::format("the mapping describes {} storages, but `{}` has {}", mapping.levels.size(),
                            chip.name.empty() ? "the chip" : chip.name, chip.storages.size()),
                where);
    return;
  }
  for (std::size_t i = 0; i < mapping.levels.size(); ++i) {
    const LevelMapping& level = mapping.levels[i];
    const std::string& name = chip.storages[i].name;
    for (const bool spatial : {false, true}) {
      const char* block = spatial ? "spatial" : "temporal";
      const Counts& factors = spatial ? level.spatial : level.temporal;
      if (factors.size() != n)
        found.error("O0710",
                    fmt::format("`{}` has {} {} factors, but `{}` has {} dimensions", name, factors.size(), block,
                                einsum.name, n),
                    where);
      for (std::size_t d = 0; d < std::min(n, factors.size()); ++d)
        if (factors[d] < 1)
          found.error("O0710",
                      fmt::format("the {} factor of `{}` at `{}` is {}; it must be at least 1", block,
                                  einsum.dimensions[d].name, name, factors[d]),
                      where);
      const Counts& last = spatial ? level.spatial_last : level.temporal_last;
      if (factors.size() == n && all_positive(factors) && !is_last_round(last, factors))
        found.error(
            "O0710",
            fmt::format("the last rounds of the {} loops at `{}` do not lie between 1 and their factors", block, name),
            where);
      if (!is_order(spatial ? level.spatial_order : level.temporal_order, n))
        found.error("O0710", fmt::format("the {} order at `{}` does not list every dimension once", block, name),
                    where);
    }
    if (level.split < 0 || level.split > static_cast<int>(n))
      found.error("O0710", fmt::format("the split at `{}` is {}; it must lie between 0 and {}", name, level.split, n),
                  where);
    if (level.keep & ~all_dataspaces(einsum))
      found.error("O0710",
                  fmt::format("`{}` keeps a dataspace that `{}` does not have (it has {})", name, einsum.name,
                              einsum.dataspaces.size()),
                  where);
  }
}

// "11 * 16 + 4 + 1 = 181": the last iteration of a dimension, plus one. Outermost first.
std::string rounds_arithmetic(const std::vector<Factor>& innermost_first) {
  std::string text;
  Count stride = 1;
  for (const Factor& factor : innermost_first) {
    if (factor.iterations == 1) continue;
    text = fmt::format("{}{} + {}", factor.last - 1, stride == 1 ? "" : fmt::format(" * {}", stride), text);
    if (!multiply_into(stride, factor.iterations)) break;
  }
  const std::optional<Count> span = span_of(innermost_first);
  return fmt::format("{}1 = {}", text, span ? fmt::format("{}", *span) : "more than 64 bits can count");
}

void check_rounds(const workload::Dimension& dimension, const std::vector<Factor>& innermost_first,
                  const base::Location& where, base::Diagnostics& found) {
  const auto& [name, bound] = dimension;
  if (span_of(innermost_first) != bound) {
    found
        .error(
            "O0710",
            fmt::format("{}: {}, but the problem has {} = {}", name, rounds_arithmetic(innermost_first), name, bound),
            where)
        .note(
            "where factors leave a remainder, the iterations of the last rounds less one, each times the factors "
            "inside it, "
            "add up to the bound less one");
    return;
  }
  const auto outermost = std::find_if(innermost_first.rbegin(), innermost_first.rend(),
                                      [](const Factor& factor) { return factor.iterations > 1; });
  found
      .error("O1948",
             fmt::format("{}: its outermost loop has {} iterations, but only {} of them are ever run", name,
                         outermost->iterations, outermost->last),
             where)
      .note(fmt::format("{}: {}", name, rounds_arithmetic(innermost_first)))
      .hint(fmt::format("make the outermost factor of `{}` {}", name, outermost->last));
}

// Where the outermost block that `chosen` names gets its factors.
template <typename Chosen>
const base::Location& block_place(const Mapping& mapping, const MappingPlaces& places, const Chosen& chosen) {
  for (std::size_t i = std::min(mapping.levels.size(), places.levels.size()); i-- > 0;)
    for (const bool in_space : {false, true}) {
      const base::Location& place = in_space ? places.levels[i].spatial : places.levels[i].temporal;
      if (place.known() && chosen(mapping.levels[i], in_space)) return place;
    }
  return places.whole;
}

void check_products(const workload::Einsum& einsum, const Mapping& mapping, const MappingPlaces& places,
                    base::Diagnostics& found) {
  const base::Location& where = places.whole;
  const bool all_perfect = perfect(mapping);
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    const auto& [name, bound] = einsum.dimensions[d];
    if (factors_reach_bound(mapping, all_perfect, static_cast<int>(d), bound)) continue;
    if (const std::vector<Factor> all = factors_of(mapping, static_cast<int>(d));
        std::any_of(all.begin(), all.end(), [](const Factor& factor) { return !factor.perfect(); })) {
      const auto loops = [&](const LevelMapping& level, bool in_space) {
        return level.factor(in_space, static_cast<int>(d)).iterations > 1;
      };
      check_rounds(einsum.dimensions[d], all, block_place(mapping, places, loops), found);
      continue;
    }
    Counts factors;
    Count product = 1;
    bool countable = true;
    for (auto level = mapping.levels.rbegin(); level != mapping.levels.rend(); ++level)
      for (const Count factor : {level->temporal[d], level->spatial[d]}) {
        if (factor != 1) factors.push_back(factor);
        countable = countable && multiply_into(product, factor);
      }
    if (factors.empty()) factors.push_back(1);
    const std::string arithmetic = base::joined(factors, " * ");
    found
        .error("O0710",
               fmt::format("{}: {}, but the problem has {} = {}", name,
                           !countable            ? arithmetic + " exceeds 64 bits"
                           : factors.size() == 1 ? arithmetic
                                                 : fmt::format("{} = {}", arithmetic, product),
                           name, bound),
               where)
        .note("the factors of a dimension at all levels, temporal and spatial, must multiply to its bound");
  }
}

void check_kept(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                const base::Location& where, base::Diagnostics& found) {
  std::uint32_t kept = 0;
  for (const LevelMapping& level : mapping.levels) kept |= level.keep;
  for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s)
    if (!(kept >> s & 1))
      found.error("O0711", fmt::format("no storage keeps `{}`", einsum.dataspaces[s].name), where)
          .note("at least one storage must keep each dataspace")
          .hint(fmt::format("keep `{}` at `{}`", einsum.dataspaces[s].name,
                            chip.storages.empty() ? "the outermost storage" : chip.storages.back().name));
}

// For each dimension that makes the tiles too large: the largest temporal factor with which they fit.
void hint_at_factors(const workload::Einsum& einsum, const machine::Storage& storage, const LevelMapping& level,
                     const Counts& extents, Count usable, base::Diagnostic& diagnostic) {
  bool any = false;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const Count factor = level.temporal[d];
    if (factor == 1 || extents[d] % factor != 0 || einsum.dimensions[d].bound % (extents[d] / factor) != 0) continue;
    const Counts divisors = base::divisors(einsum.dimensions[d].bound / (extents[d] / factor));
    for (auto smaller = divisors.rbegin(); smaller != divisors.rend(); ++smaller) {
      if (*smaller >= factor) continue;
      Counts shrunk = extents;
      shrunk[d] = extents[d] / factor * *smaller;
      if (!fits(einsum, storage, level.keep, shrunk, usable)) continue;
      diagnostic.hint(
          fmt::format("the largest factor of `{}` at `{}` that fits is {} (now {}); move the rest further out",
                      einsum.dimensions[d].name, storage.name, *smaller, factor));
      any = true;
      break;
    }
  }
  if (!any)
    diagnostic.hint(fmt::format(
        "no single factor at `{}` is enough: keep fewer dataspaces there, or make the tiles below it smaller",
        storage.name));
}

void check_capacity(const workload::Einsum& einsum, const machine::Chip& chip, int level_index,
                    const LevelMapping& level, const Counts& extents, const base::Location& where,
                    base::Diagnostics& found) {
  const machine::Storage& storage = chip.storages[level_index];
  const std::optional<Count> usable = usable_at(einsum, chip, level_index);
  if (!usable) return;
  const bool in_bits = counts_bits(einsum);
  const char* const unit = in_bits ? "bits" : "words";
  Count words = 0;
  std::string arithmetic;
  std::vector<std::string> notes;
  try {
    words = kept_words(einsum, storage, level.keep, extents);
    std::vector<std::string> terms;
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      if (!(level.keep >> s & 1)) continue;
      terms.push_back(tile_product(einsum.dataspaces[s], extents));
      notes.push_back(fmt::format(
          "`{}`: {} = {} {} ({})", einsum.dataspaces[s].name, terms.back(), einsum.volume(static_cast<int>(s), extents),
          in_bits ? fmt::format("values of {} bits", bits_of(einsum.dataspaces[s], storage)) : "words",
          tile_dimensions(einsum, static_cast<int>(s), extents)));
      if (in_bits) terms.back() += fmt::format(" * {} bits", bits_of(einsum.dataspaces[s], storage));
    }
    arithmetic = base::joined(terms, " + ");
  } catch (const base::OverflowError&) {
    found
        .error("O0712",
               fmt::format("`{}` holds {} {}; this mapping needs more than 64 bits can count", storage.name, *usable,
                           unit),
               where)
        .also(storage.capacity_where, "capacity given here");
    return;
  }
  const std::string needed = arithmetic.empty() || arithmetic == std::to_string(words)
                                 ? std::to_string(words)
                                 : fmt::format("{} = {}", words, arithmetic);
  const auto describe = [&](base::Diagnostic& diagnostic) -> base::Diagnostic& {
    if (storage.capacity_where.known())
      diagnostic.also(storage.capacity_where,
                      storage.multiple_buffering == 1
                          ? fmt::format("{} words{}", *storage.capacity_words,
                                        in_bits ? fmt::format(" of {} bits", storage.word_bits) : "")
                          : fmt::format("{} words / {} buffers = {} usable", *storage.capacity_words,
                                        storage.multiple_buffering, *chip.usable_words(level_index)));
    for (std::string& note : notes) diagnostic.note(std::move(note));
    return diagnostic;
  };
  if (words > *usable) {
    base::Diagnostic& diagnostic = describe(found.error(
        "O0712", fmt::format("`{}` holds {} {}; this mapping needs {}", storage.name, *usable, unit, needed), where));
    diagnostic.note(fmt::format("over by {} {}", words - *usable, unit));
    hint_at_factors(einsum, storage, level, extents, *usable, diagnostic);
  } else if (!fills_enough(words, *usable, storage.min_utilization)) {
    describe(
        found.error("O0712",
                    fmt::format("`{}` must be filled with at least {} of its {} {}; this mapping uses {}", storage.name,
                                static_cast<double>(*usable) * storage.min_utilization, *usable, unit, needed),
                    where))
        .hint(fmt::format("make the tiles at `{}` larger, or lower its `min_utilization` of {}", storage.name,
                          storage.min_utilization));
  }
}

void check_fanout(const workload::Einsum& einsum, const machine::Chip& chip, int level_index, const LevelMapping& level,
                  const base::Location& where, base::Diagnostics& found) {
  const machine::Storage& storage = chip.storages[level_index];
  const std::string& below = level_index == 0 ? chip.compute.name : chip.storages[level_index - 1].name;
  for (const bool x : {true, false}) {
    const Count fanout = x ? chip.fanout_x(level_index) : chip.fanout_y(level_index);
    const Count used = side(level, x);
    if (used <= fanout) continue;
    std::vector<std::string> factors;
    for (std::size_t at = 0; at < level.spatial_order.size(); ++at) {
      const int d = level.spatial_order[at];
      if ((static_cast<int>(at) < level.split) == x && level.spatial[d] != 1)
        factors.push_back(fmt::format("{} {}", einsum.dimensions[d].name, level.spatial[d]));
    }
    const char* name = x ? "X" : "Y";
    base::Diagnostic& diagnostic =
        found.error("O0713",
                    fmt::format("`{}` feeds {} `{}` along {}; this mapping needs {}", storage.name, fanout, below, name,
                                used == INT64_MAX ? "more than 64 bits can count" : std::to_string(used)),
                    where);
    diagnostic.note(fmt::format("along {}: {} = {}", name, base::joined(factors, " * "),
                                used == INT64_MAX ? "more than 64 bits" : std::to_string(used)));
    if (storage.where.known())
      diagnostic.also(storage.where, fmt::format("fan-out {} x {} below here", chip.fanout_x(level_index),
                                                 chip.fanout_y(level_index)));
    const Count other = x ? chip.fanout_y(level_index) : chip.fanout_x(level_index);
    if (used <= other && side(level, !x) == 1)
      diagnostic.hint(fmt::format("these loops fit along {}: move them to the other side of the split", x ? "Y" : "X"));
    else
      diagnostic.hint(fmt::format("use spatial factors along {} that multiply to at most {}", name, fanout));
  }
}

const base::Location& spatial_place(const MappingPlaces& places, int level) {
  const bool known = level < static_cast<int>(places.levels.size()) && places.levels[level].spatial.known();
  return known ? places.levels[level].spatial : places.whole;
}

bool iterates(const Counts& factors) {
  return std::any_of(factors.begin(), factors.end(), [](Count factor) { return factor > 1; });
}

// The outermost directive that makes the tiles of a level larger: its own loops, or else those further in. Without
// loops, the level keeps too many dataspaces.
const base::Location& tile_place(const MappingPlaces& places, const Mapping& mapping, int level) {
  if (level >= static_cast<int>(places.levels.size())) return places.whole;
  for (int i = level; i >= 0; --i) {
    if (iterates(mapping.levels[i].temporal) && places.levels[i].temporal.known()) return places.levels[i].temporal;
    if (iterates(mapping.levels[i].spatial) && places.levels[i].spatial.known()) return places.levels[i].spatial;
  }
  return places.levels[level].keep.known() ? places.levels[level].keep : places.whole;
}

}  // namespace

bool well_formed(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping) {
  return mapping.levels.size() == chip.storages.size() &&
         std::all_of(mapping.levels.begin(), mapping.levels.end(),
                     [&](const LevelMapping& level) { return well_formed(level, einsum); });
}

void check_legal(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping,
                 const MappingPlaces& places, base::Diagnostics& found) {
  const base::Location& where = places.whole;
  if (!well_formed(einsum, chip, mapping)) return check_shape(einsum, chip, mapping, where, found);
  const std::size_t before = found.all().size();
  check_products(einsum, mapping, places, found);
  // Tiles are meaningless if the factors do not multiply to the bounds.
  const bool tiles_known = found.all().size() == before;
  check_kept(einsum, chip, mapping, where, found);
  Counts extents(einsum.dimensions.size(), 1);
  for (int i = 0; i < static_cast<int>(mapping.levels.size()); ++i) {
    check_fanout(einsum, chip, i, mapping.levels[i], spatial_place(places, i), found);
    if (!tiles_known) continue;
    grow(extents, mapping.levels[i], einsum);
    check_capacity(einsum, chip, i, mapping.levels[i], extents, tile_place(places, mapping, i), found);
  }
}

bool is_legal(const workload::Einsum& einsum, const machine::Chip& chip, const Mapping& mapping) {
  if (!well_formed(einsum, chip, mapping)) return false;
  const bool all_perfect = perfect(mapping);
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d)
    if (!factors_reach_bound(mapping, all_perfect, static_cast<int>(d), einsum.dimensions[d].bound)) return false;
  std::uint32_t kept = 0;
  Counts extents(einsum.dimensions.size(), 1);
  for (int i = 0; i < static_cast<int>(mapping.levels.size()); ++i) {
    const LevelMapping& level = mapping.levels[i];
    kept |= level.keep;
    if (side(level, true) > chip.fanout_x(i) || side(level, false) > chip.fanout_y(i)) return false;
    grow(extents, level, einsum);
    const std::optional<Count> usable = usable_at(einsum, chip, i);
    if (!usable) continue;
    try {
      const Count words = kept_words(einsum, chip.storages[i], level.keep, extents);
      if (words > *usable || !fills_enough(words, *usable, chip.storages[i].min_utilization)) return false;
    } catch (const base::OverflowError&) {
      return false;
    }
  }
  return kept == all_dataspaces(einsum);
}

}  // namespace orrery::nest
