// Systems of one family: placements that differ only in figures of which more never takes longer.
//
// More memory bandwidth, memory, SRAM, cores or a faster clock leave every mapping of a graph possible and no kernel
// slower, and the sharding, which follows from the network alone, stays. So the least time falls with each of them:
// what was proven for a system bounds every system that has no more of anything, and where its mapping takes as long
// there, it is the optimum there, without a search. Else the mapping's time is what a search must beat. Times within
// 1e-12 are equal to every search of `place`, which is why figures are rounded to 12 digits.
//
// Cost: of a system that a known one settles, one evaluation of a mapping; else a search that begins at the
// neighbour's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::sweep {

// The fields that a family leaves open, by path: "system.memory.dram_bw".
bool rises(const std::string& path);

class PlaceFamily {
 public:
  using Values = std::vector<double>;  // in the order of the open fields

  // `least`, `most`: the request with each open field at its least and its most value in the study.
  PlaceFamily(std::vector<std::string> open, const verbs::PlaceRequest& least, const verbs::PlaceRequest& most);

  // The number that a field is set to; false where only its document can say.
  static bool value_of(const std::string& path, const std::string& text, double& value);

  // False: its systems are placed one by one, from their documents.
  bool composes() const { return composes_; }
  const std::vector<base::Input>& inputs() const { return question_.inputs; }
  dataflow::Setup setup(const Values& at) const;

  // What a search, or a known system's, says of a system.
  struct Solved {
    Values at;
    std::shared_ptr<const dataflow::Placement> placement;
    double final_ns = 0;  // of this system under the placement's mapping
    double bound_ns = 0;  // no placement takes less; of systems without one: infinite
    bool searched = false;
    bool proven() const { return placement->certificate.optimal || placement->infeasible; }
  };
  // `limits`: of a search. Looks at what is known, and adds nothing to it. Thread-safe.
  Solved solve(const Values& at, const dataflow::PlaceLimits& limits) const;
  // Whether there was room for it.
  bool learn(const Solved& solved);

  // The time of another system under a solved one's mapping; infinite where that does not fit.
  double time_under(const Solved& solved, const Values& at) const;
  // Whether the solved system's answer is that of every system between it and one that takes `ns` under its mapping.
  bool settles(const Solved& solved, double ns) const;

  // The answer for a system that `solved` settles.
  store::Outcome outcome(const Solved& solved, const Values& at) const;
  // What no system between the two (`most` has the most of everything) is below, and for utilization above.
  store::Figures bounds(const Solved& most, const Values& least) const;

 private:
  const Solved* known_above(const Values& at) const;
  const Solved* known_below(const Values& at) const;
  bool money_is_fixed() const;

  std::vector<std::string> open_;
  verbs::PlaceQuestion question_;
  bool composes_ = false;
  std::vector<Solved> known_;
};

}  // namespace orrery::sweep
