#include "orrery/verbs/map/fuse_room.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "orrery/verbs/map/fuse_role.h"

namespace orrery::verbs {
namespace {

using base::Count;

struct Loop {
  int level = 0, dimension = 0;
};

// What one side keeps, and what of it outlasts a turn.
class Keeping {
 public:
  Keeping(const MappedLayer& layer, const std::string& level)
      : layer_(layer), role_(*fuse_role(layer.einsum)), at_(layer.chip.storage_index(level)) {
    const std::vector<nest::LevelMapping>& levels = layer.optimum.mapping->levels;
    for (int i = 0; i < static_cast<int>(levels.size()); ++i)
      for (const int d : levels[static_cast<std::size_t>(i)].temporal_order)
        if (levels[static_cast<std::size_t>(i)].temporal[static_cast<std::size_t>(d)] > 1) loops_.push_back({i, d});
    while (turn_ < loops_.size() && !(loops_[turn_].level > at_ && in_matrix(loops_[turn_]))) ++turn_;
  }

  bool turns() const { return turn_ < loops_.size(); }
  bool comes_back() const {
    return std::any_of(loops_.begin() + static_cast<std::ptrdiff_t>(turn_), loops_.end(),
                       [&](const Loop& loop) { return !in_matrix(loop); });
  }
  Count matrix() const { return words(at_, role_.dataspace); }
  Count matrix_of_all() const { return base::checked_multiply(matrix(), cost(at_).utilized_instances); }
  Count whole_matrix() const { return base::checked_multiply(role_.smaller, role_.larger); }

  // Of an instance of the storage, without the matrix that is handed over; 0 where the chip has no such storage.
  Count others(const std::string& storage) const {
    return sum(storage, [](int, int) { return true; });
  }
  Count lasting(const std::string& storage) const {
    return sum(storage, [&](int i, int s) { return outlasts(i, s); });
  }

 private:
  bool in_matrix(const Loop& loop) const { return layer_.einsum.relevant(role_.dataspace, loop.dimension); }
  const nest::StorageCost& cost(int i) const { return layer_.optimum.evaluation.storages[static_cast<std::size_t>(i)]; }
  Count words(int i, int s) const {
    const nest::DataspaceCost& one = cost(i).dataspaces[static_cast<std::size_t>(s)];
    return one.kept ? one.tile_words : 0;
  }
  template <typename Of>
  Count sum(const std::string& storage, const Of& counts) const {
    const int i = layer_.chip.storage_index(storage);
    Count out = 0;
    for (int s = 0; i >= 0 && s < static_cast<int>(layer_.einsum.dataspaces.size()); ++s)
      if (!(i == at_ && s == role_.dataspace) && counts(i, s)) out = base::checked_add(out, words(i, s));
    return out;
  }
  // Sweeps have no data: the operand that stands for them shares no dimension with the matrix.
  bool stands_for_sweeps(int s) const {
    if (role_.product) return false;
    for (int d = 0; d < static_cast<int>(layer_.einsum.dimensions.size()); ++d)
      if (layer_.einsum.relevant(s, d) && layer_.einsum.relevant(role_.dataspace, d)) return false;
    return true;
  }
  bool outlasts(int i, int s) const {
    if (stands_for_sweeps(s)) return false;
    for (std::size_t k = 0; k < loops_.size(); ++k) {
      if (loops_[k].level <= i) {
        if (k >= turn_) return true;  // several turns pass by one tile
        continue;
      }
      const bool changes = layer_.einsum.relevant(s, loops_[k].dimension);
      if (changes || k >= turn_) return !changes;
    }
    return false;
  }

  const MappedLayer& layer_;
  FuseRole role_;
  int at_ = -1;
  std::vector<Loop> loops_;  // in time, of more than one iteration, innermost first
  std::size_t turn_ = 0;     // the first whose iterations are turns
};

}  // namespace

std::vector<Crowded> crowded(const MappedLayer& product, const MappedLayer& normalisation, const std::string& level) {
  const Keeping makes(product, level), takes(normalisation, level);
  const bool alternate = makes.turns() && takes.turns();
  const Count matrix = std::max(makes.matrix(), takes.matrix());
  std::vector<Crowded> out;
  const Count whole = makes.whole_matrix(), held = std::max(makes.matrix_of_all(), takes.matrix_of_all());
  if ((makes.comes_back() || takes.comes_back()) && held < whole) out.push_back({level, whole, held, true});
  for (std::size_t i = 0; i < product.chip.storages.size(); ++i) {
    const std::string& name = product.chip.storages[i].name;
    std::optional<Count> usable = product.chip.usable_words(static_cast<int>(i));
    if (const int same = normalisation.chip.storage_index(name); same >= 0)
      if (const auto other = normalisation.chip.usable_words(same)) usable = std::min(usable.value_or(*other), *other);
    if (product.chip.storages[i].pass_through || !usable) continue;
    const Count making = base::checked_add(makes.others(name), alternate ? takes.lasting(name) : 0);
    const Count taking = base::checked_add(takes.others(name), alternate ? makes.lasting(name) : 0);
    const Count needed = base::checked_add(std::max(making, taking), name == level ? matrix : 0);
    if (needed > *usable) out.push_back({name, needed, *usable});
  }
  return out;
}

std::string text(const Crowded& storage) {
  return storage.comes_back ? fmt::format("`{}` holds {} words of a matrix of {}, parts of which come back",
                                          storage.storage, storage.holds, storage.needed)
                            : fmt::format("both sides need {} words of `{}`, which holds {}", storage.needed,
                                          storage.storage, storage.holds);
}

Count words_beside(const MappedLayer& side, const std::string& level, const std::string& storage) {
  return Keeping(side, level).others(storage);
}

}  // namespace orrery::verbs
