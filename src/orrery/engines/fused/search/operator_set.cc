// The mappings of one einsum, by interface.
//
// Outside in, a mapping is: fused loops, one by one, with the tiles of exchanged tensors and of the einsum's own
// tensors between them; below the innermost exchanged tile what level_table.h makes. A loop above an exchanged tile has
// to step a rank of its tensor. An own tile stands above a fused loop only if its tensor has no rank of that loop:
// otherwise the tile could be lowered through it.
#include "orrery/engines/fused/search/operator_set.h"

#include <algorithm>
#include <utility>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/factor.h"

namespace orrery::fused {
namespace {

class Maker {
 public:
  Maker(const Problem& problem, std::shared_ptr<const EinsumShape> shape, const SearchOptions& options, Counted counted,
        Hope& hope)
      : problem_(problem), options_(options), counted_(counted), hope_(hope) {
    made_.shape = std::move(shape);
    made_.level = std::make_unique<LevelTable>(*made_.shape, counted, hope);
    leakage_ = counted.energy ? made_.shape->view.leakage() : 0;
    const std::vector<Life> life = lives(problem);
    for (int a = 0; a < view().accesses(); ++a) {
      const int tensor = view().e.accesses[a].tensor;
      if (view().tensor(a).kind == TensorKind::kIntermediate && life[tensor].first < life[tensor].last)
        handed_.push_back(a);
    }
    most_loops_ = options.fused_loops < 0 ? kMostFused : std::min(options.fused_loops, kMostFused);
  }

  OperatorMappings make() {
    const base::Stopwatch clock;
    for (unsigned exchanged = 0; exchanged < 1U << view().accesses(); ++exchanged) {
      if (!may_exchange(exchanged)) continue;
      part_ = {};
      part_.exchanged = exchanged;
      std::vector<Count> left;
      for (const int v : view().e.variables) left.push_back(view().bound(v));
      tiles_ = {shape().full};
      add_loops(left);
    }
    made_.size.placements += made_.level->priced();
    made_.size.interfaces = static_cast<double>(made_.interfaces.size());
    for (const Interface& one : made_.interfaces) made_.size.kept += static_cast<double>(one.mappings.size());
    made_.size.seconds = clock.seconds();
    return std::move(made_);
  }

 private:
  const EinsumShape& shape() const { return *made_.shape; }
  const EinsumView& view() const { return made_.shape->view; }
  bool exchanges(int access) const { return (part_.exchanged >> access & 1) != 0; }

  const FuseRule* rule(int access) const {
    for (const FuseRule& one : problem_.fuse)
      if (one.tensor == view().e.accesses[access].tensor) return &one;
    return nullptr;
  }

  bool may_exchange(unsigned exchanged) const {
    for (int a = 0; a < view().accesses(); ++a) {
      const bool here = (exchanged >> a & 1) != 0;
      const bool free = std::find(handed_.begin(), handed_.end(), a) != handed_.end();
      if (here && (!free || !options_.fuse || shape().exchange < 0)) return false;
      if (here && view().keep(shape().exchange, a) == Keep::kNever) return false;
      if (here && view().keep(0, a) == Keep::kMust) return false;
      if (!here && view().keep(0, a) == Keep::kNever && (free || !view().e.copy)) return false;
      const FuseRule* told = free ? rule(a) : nullptr;
      if (told != nullptr && told->at >= 0 && told->at != (here ? shape().exchange : 0)) return false;
    }
    return true;
  }

  void add_loops(std::vector<Count>& left) {
    if (hope_.ended()) return;
    choose_depths(0);
    if (static_cast<int>(part_.loops.size()) == most_loops_ || part_.exchanged == 0) return;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const int v = view().e.variables[i];
      const auto used = std::count_if(part_.loops.begin(), part_.loops.end(),
                                      [v](const FusedLoop& loop) { return loop.variable == v; });
      if (options_.loops_per_variable >= 0 && used >= options_.loops_per_variable) continue;
      if (left[i] == 1 || !any_below(v)) continue;
      const Count whole = left[i];
      const int c = shape().class_of(v);
      for (const Count count : base::divisors(whole)) {
        if (count == 1) continue;
        part_.loops.push_back({v, count});
        left[i] = whole / count;
        Tile tile = tiles_.back();
        tile[c] = static_cast<std::uint8_t>(
            shape().all[c].quotient[tile[c]][static_cast<std::size_t>(shape().all[c].place(count))]);
        tiles_.push_back(tile);
        add_loops(left);
        tiles_.pop_back();
        part_.loops.pop_back();
      }
      left[i] = whole;
    }
  }

  // Whether an exchanged tensor can stand below all loops and one over `variable`.
  bool any_below(int variable) const {
    for (const int a : handed_)
      if (exchanges(a) && view().relevant(a, variable) && deepest(a) == static_cast<int>(part_.loops.size()))
        return true;
    return false;
  }
  int deepest(int access) const {
    int depth = 0;
    for (const FusedLoop& loop : part_.loops) {
      if (!view().relevant(access, loop.variable)) break;
      ++depth;
    }
    return depth;
  }

  // Of the exchanged tensors from handed_[i] on.
  void choose_depths(std::size_t i) {
    if (i == 0) part_.depth.assign(view().accesses(), -1);
    while (i < handed_.size() && !exchanges(handed_[i])) ++i;
    if (i == handed_.size()) {
      const int loops = static_cast<int>(part_.loops.size());
      bool innermost = loops == 0;
      for (const int a : handed_) innermost = innermost || (exchanges(a) && part_.depth[a] == loops);
      if (innermost) fill();
      return;
    }
    for (int depth = 0; depth <= deepest(handed_[i]); ++depth) {
      part_.depth[handed_[i]] = depth;
      choose_depths(i + 1);
    }
    part_.depth[handed_[i]] = -1;
  }

  // All mappings under the fused part.
  void fill() {
    Interface face;
    face.loops = part_.loops;
    double bits = 0;
    for (const int a : handed_) {
      Handed one;
      one.access = a;
      if (exchanges(a)) {
        one.depth = part_.depth[a];
        one.bits = shape().words(tiles_[one.depth], a) * view().word_bits(shape().exchange, a);
        const std::vector<int>& ranks = view().e.accesses[a].variables;
        for (int j = 0; j < one.depth; ++j)
          one.ranks.push_back(
              static_cast<int>(std::find(ranks.begin(), ranks.end(), part_.loops[j].variable) - ranks.begin()));
        if (!as_told(one)) return;
      }
      bits += one.bits;
      face.handed.push_back(std::move(one));
    }
    if (bits > made_.level->capacity() && part_.exchanged != 0) return;
    face_ = &face;
    room_ = made_.level->capacity() - bits;
    if (view().e.copy) {
      copy();
    } else {
      own_ = {};
      hold_own(0, part_.exchanged, 0, {});
    }
    if (!face.mappings.empty()) made_.interfaces.push_back(std::move(face));
  }

  bool as_told(const Handed& one) const {
    const FuseRule* told = rule(one.access);
    if (told == nullptr) return true;
    if (told->loops_given && told->loops != one.ranks) return false;
    const std::vector<int>& ranks = view().e.accesses[one.access].variables;
    for (std::size_t r = 0; r < told->tile.size(); ++r) {
      Count tile = view().bound(ranks[r]);
      for (int j = 0; j < one.depth; ++j)
        if (part_.loops[j].variable == ranks[r]) tile /= part_.loops[j].count;
      if (told->tile[r] != 0 && told->tile[r] != tile) return false;
    }
    return true;
  }

  void copy() {
    Cost cost;
    if (exchanges(0) != exchanges(1)) {
      const Account account{shape(), counted_};
      const double words = shape().words(shape().full, 0);
      account.add(cost, nullptr, exchanges(0) ? shape().exchange : 0, 0, words, 0, 1);
      account.add(cost, nullptr, exchanges(1) ? shape().exchange : 0, 1, 0, words, 1);
    }
    ++made_.size.placements;
    Mapping mapping;
    mapping.part = remember();
    keep(mapping, cost);
  }

  // Where the tensors from `access` on that are not exchanged are held: nowhere, above a fused loop, below them all.
  void hold_own(int access, unsigned outside, unsigned below, const Cost& cost) {
    if (access == view().accesses()) {
      take(outside, below, cost);
      return;
    }
    if (exchanges(access)) return hold_own(access + 1, outside, below, cost);
    const Keep told = shape().exchange < 0 ? Keep::kNever : view().keep(shape().exchange, access);
    if (told != Keep::kMust) hold_own(access + 1, outside, below, cost);
    if (told == Keep::kNever) return;
    const unsigned bit = 1U << access;
    hold_own(access + 1, outside | bit, below | bit, cost);
    for (int j = 0; j < static_cast<int>(part_.loops.size()); ++j) {
      if (view().relevant(access, part_.loops[j].variable)) continue;
      const double bits = shape().words(tiles_[j], access) * view().word_bits(shape().exchange, access);
      if (bits > room_) continue;
      Cost with = cost;
      with.add(made_.level->crossing(tiles_[j], access), 1);
      part_.depth[access] = j;
      own_[j] += bits;
      room_ -= bits;
      hold_own(access + 1, outside | bit, below, with);
      room_ += bits;
      own_[j] -= bits;
      part_.depth[access] = -1;
    }
  }

  void take(unsigned outside, unsigned below, const Cost& cost) {
    const Cost* least = made_.level->least(tiles_.back(), below, outside);
    if (least == nullptr) return;
    Cost bound = cost;
    bound.add(*least, 1);
    bound.inside = least->inside;
    if (!hope_.wanted(bound)) return;
    int part = -1;
    const bool alone = (outside & ~part_.exchanged) == below;
    for (const Placement& placement : made_.level->best(tiles_.back(), below, outside, alone)) {
      if (placement.bits > room_) continue;
      ++made_.size.placements;
      Cost all = cost;
      all.add(placement.cost, 1);
      all.inside = placement.cost.inside;
      if (!hope_.wanted(all)) continue;
      Mapping mapping;
      mapping.held = own_;
      mapping.held[part_.loops.size()] += placement.bits;
      mapping.placement = &placement;
      if (part < 0) part = remember();
      mapping.part = part;
      keep(mapping, all);
    }
  }

  int remember() {
    made_.parts.push_back(part_);
    return static_cast<int>(made_.parts.size()) - 1;
  }

  void keep(Mapping& mapping, const Cost& cost) {
    mapping.delay = cost.delay();
    mapping.energy = cost.energy + leakage_ * mapping.delay;
    const std::size_t loops = part_.loops.size();
    keep_unbeaten(face_->mappings, mapping, [loops](const Mapping& x, const Mapping& y) {
      if (x.energy > y.energy || x.delay > y.delay) return false;
      for (std::size_t j = 0; j <= loops; ++j)
        if (x.held[j] > y.held[j]) return false;
      return true;
    });
  }

  const Problem& problem_;
  const SearchOptions& options_;
  Counted counted_;
  Hope& hope_;
  OperatorMappings made_;
  std::vector<int> handed_;
  int most_loops_ = 0;
  double leakage_ = 0;
  FusedPart part_;
  std::vector<Tile> tiles_;  // after each fused loop
  Interface* face_ = nullptr;
  double room_ = 0;
  std::array<double, kMostFused + 1> own_{};
};

}  // namespace

OperatorMappings operator_mappings(const Problem& problem, std::shared_ptr<const EinsumShape> shape,
                                   const SearchOptions& options, Counted counted, Hope& hope) {
  return Maker(problem, std::move(shape), options, counted, hope).make();
}

}  // namespace orrery::fused
