#include "orrery/engines/fused/search/rebuild.h"

#include <numeric>

namespace orrery::fused {
namespace {

// One einsum's line of steps: class by class into loops over variables.
class Line {
 public:
  Line(const OperatorMappings& set, const Interface& face, const Mapping& mapping)
      : shape_(*set.shape),
        lines_(set.level->inner().lines()),
        part_(set.parts[mapping.part]),
        face_(face),
        mapping_(mapping) {
    left_.resize(shape_.view.problem.variables.size(), 1);
    for (const int v : shape_.view.e.variables) left_[v] = shape_.view.bound(v);
  }

  std::vector<Step> steps() {
    for (int depth = 0; depth <= static_cast<int>(face_.loops.size()); ++depth) {
      if (depth > 0) {
        const FusedLoop& fused = face_.loops[depth - 1];
        steps_.push_back(loop(fused.variable, fused.count));
        left_[fused.variable] /= fused.count;
      }
      for (int a = 0; a < shape_.view.accesses(); ++a)
        if (part_.depth[a] == depth) steps_.push_back(hold(a, shape_.exchange, (part_.exchanged >> a & 1) != 0));
    }
    if (mapping_.placement != nullptr) inside(*mapping_.placement);
    return std::move(steps_);
  }

 private:
  Count left_of(int c) const {
    Count product = 1;
    for (const int v : shape_.all[c].members) product *= left_[v];
    return product;
  }

  // So many passes over a class, as loops over its variables.
  void split(int c, Count count, int fanout) {
    for (const int v : shape_.all[c].members) {
      const Count part = std::gcd(count, left_[v]);
      if (part == 1) continue;
      steps_.push_back(fanout < 0 ? loop(v, part) : spread(v, fanout, part));
      left_[v] /= part;
      count /= part;
    }
  }

  void inside(const Placement& placement) {
    for (int i = 0; i < kMostHolds && placement.order[i] >= 0; ++i) {
      for (int c = 0; c < shape_.classes(); ++c)
        split(c, left_of(c) / shape_.all[c].divisors[placement.tiles[i][c]], -1);
      steps_.push_back(hold(placement.order[i], shape_.exchange));
    }
    const NestLine& line = lines_[placement.nest.line];
    const int holds = static_cast<int>(line.holds.size());
    int fanout = 0;
    for (int h = 0; h <= holds; ++h) {
      for (std::size_t f = 0; f < line.free.size(); ++f)
        if (line.free[f].block == h)
          split(line.free[f].cls, shape_.all[line.free[f].cls].divisors[placement.nest.counts[f]], -1);
      for (int c = 0; c < shape_.classes(); ++c)
        if (line.rest[c] == h) split(c, left_of(c) / spread_from(line, fanout, c), -1);
      const int until = h < holds ? shape_.view.machine.storages[line.holds[h].storage].position
                                  : shape_.view.machine.units[shape_.view.e.unit].position;
      for (; fanout < static_cast<int>(spreads(line).size()) && shape_.view.machine.fanouts[fanout].position < until;
           ++fanout)
        for (int c = 0; c < shape_.classes(); ++c) split(c, spreads(line)[fanout][c], fanout);
      if (h < holds) steps_.push_back(hold(line.holds[h].access, line.holds[h].storage));
    }
  }

  SpreadList::One spreads(const NestLine& line) const { return shape_.spreads[line.spread]; }
  // Parts of a class over the fan-outs that are still to come.
  Count spread_from(const NestLine& line, int fanout, int c) const {
    Count product = 1;
    for (std::size_t f = fanout; f < spreads(line).size(); ++f) product *= spreads(line)[f][c];
    return product;
  }

  const EinsumShape& shape_;
  const std::vector<NestLine>& lines_;
  const FusedPart& part_;
  const Interface& face_;
  const Mapping& mapping_;
  std::vector<Count> left_;  // by variable
  std::vector<Step> steps_;
};

}  // namespace

Tree rebuild(const std::vector<const OperatorMappings*>& sets, const Joined& joined) {
  Tree tree;
  for (int e = 0; e < static_cast<int>(sets.size()); ++e) {
    const Joined::Pick& pick = joined.picks[e];
    tree.branches.push_back({e, pick.shared, Line(*sets[e], *pick.face, *pick.mapping).steps()});
  }
  return tree;
}

}  // namespace orrery::fused
