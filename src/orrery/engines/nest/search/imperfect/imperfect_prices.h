// What mappings whose factors leave a remainder cost at least, once fan-outs and what is kept are
// chosen. See imperfect_search.cc.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/engines/nest/space/space.h"

namespace orrery::nest::imperfect {

using Factors = std::array<base::Count, kMaxDimensions>;

struct Dataspace {
  std::vector<workload::Rank> ranks;  // that move
  bool slides = false;                // its tiles may overlap
  std::uint32_t blind = 0;            // dimensions that iterate and do not move it
  std::uint32_t alone = 0;            // levels whose fan-out shares nothing
  bool read_write = false;
  double least_words = 1;  // each position once
  double most_seen = 1;

  base::Count tile(const Factors& extents) const {
    base::Count words = 1;
    for (const workload::Rank& rank : ranks) {
      base::Count side = 1;
      for (const workload::Term& term : rank.terms) side += term.coefficient * (extents[term.dimension] - 1);
      words *= side;
    }
    return words;
  }
};

struct Problem {
  Problem(const Model& the_model, const Space& the_space);

  const Model& model;
  const Space& space;
  int levels, dims, spaces;
  Factors bound{};
  std::vector<Dataspace> dataspaces;
};

// Fan-outs, and what each level keeps.
struct Config {
  std::vector<const SpatialChoice*> spread;
  std::vector<std::uint32_t> keep;
};

class Prices;

// Least costs of the boundary inside each level over the tiles that fit it, as far as these are told apart by `edges`.
class Terms {
 public:
  Terms(const Prices& prices, int level);
  // Of the tiles that lie within `span`.
  double least(const Factors& span) const;

 private:
  std::vector<int> dimension_;
  std::vector<base::Count> inside_;  // fan-outs up to the level
  std::vector<std::vector<base::Count>> edges_;
  std::vector<double> least_;  // over all tiles up to this one
};

class Prices {
 public:
  Prices(const Problem& problem, const Config& config);

  bool possible() const { return possible_; }
  const Problem& problem() const { return problem_; }
  const Config& config() const { return config_; }

  base::Count inside(int level, int d) const { return inside_[level][d]; }    // fan-outs up to and including S_level
  base::Count outside(int level, int d) const { return outside_[level][d]; }  // those beyond
  base::Count shared(int s, int inner, int outer, int d) const;  // of (inner, outer], one access serves all
  int parent(int s, int a) const { return parent_[a][s]; }
  int innermost(int s) const { return innermost_[s]; }

  // Energies of words of all instances together.
  double served_pj(int level, int s, double content) const;
  double received_pj(int level, int s, double share) const;
  // Words of s that leave its innermost keeper for the compute units, at least.
  double computed_words(int s) const { return computed_[s]; }

  double fixed_pj() const { return fixed_pj_; }  // computes and what they ask for
  double cycles() const { return cycles_; }
  // Leakage over `active` cycles where `instances` of each level are known to work (1 where nothing is known).
  double leakage_pj(double active, const std::array<base::Count, kMaxLevels>& instances, base::Count units) const;
  double compulsory_pj() const { return compulsory_pj_; }  // every word crosses every boundary once
  double most_seen(int level, int s) const;                // of all instances together

 private:
  double paid_part(int level) const;
  double computed(int s) const;

  const Problem& problem_;
  const Config& config_;
  bool possible_ = true;
  std::vector<Factors> inside_, outside_;
  std::vector<std::array<int, kMaxDataspaces>> parent_;
  std::array<int, kMaxDataspaces> innermost_;
  std::array<double, kMaxDataspaces> computed_{};
  double fixed_pj_ = 0, compulsory_pj_ = 0, cycles_ = 1;
};

}  // namespace orrery::nest::imperfect
