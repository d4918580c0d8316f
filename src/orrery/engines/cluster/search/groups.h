// The groups of a search: plans that share what decides a layer's time, in the order of their bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/cluster/search/question.h"

namespace orrery::cluster {

// One group: batch, tp, cp, ep, microbatch, recomputation, sequence parallelism, and how experts are cut.
struct Group {
  Plan plan;              // with these
  std::size_t batch = 0;  // its index
  double whole_s = 0;     // whole_seconds() of the group
  double order = 0;       // bound of the first metric
};

class Groups {
 public:
  Groups(const Question& question, const base::Budget& budget, int threads);

  // Finds the groups, with bounds that are cheap. False: the budget was spent.
  bool find();
  // Those of the least bounds of what is left, at most so many; none where all others exceed `worst`, and where the
  // budget was spent.
  std::vector<Group> next(std::size_t most, double worst, bool& spent);

  double least() const;                           // bound of all that is left; infinite where nothing is
  std::uint64_t left() const;                     // groups
  std::uint64_t unfit() const { return unfit_; }  // groups that no memory holds

 private:
  // The same but for what is computed again.
  struct Bundle {
    base::Count tp = 1, cp = 1, ep = 1, micro_batch = 1, expert_tp = 0;
    std::uint32_t batch = 0, reach = 0;
    bool sequence_parallel = false;
    double order = 0;
  };
  struct Bounded {
    std::uint32_t bundle = 0, recompute = 0;
    double whole_s = 0, order = 0;
  };
  // Where the ranks of a layer can be, of bundles that share their degrees.
  struct BundleReach {
    bool known = false;
    Reaches cut, whole;
  };

  Plan plan_of(const Bundle& bundle, base::Count recompute) const;
  bool may_be(const Bundle& bundle) const;
  double fewest_bytes(Plan plan, std::size_t batch, double enough) const;
  double order_of(const Plan& plan, double whole_s, double bytes) const;
  double coarse_order(const Bundle& bundle) const;
  void reach_of(const Bundle& bundle);
  bool bound_bundles();
  bool bound_next();
  static bool after(const Bounded& a, const Bounded& b);

  const Question& q_;
  const base::Budget& budget_;
  int threads_;
  Plan first_;
  bool dual_ = false;         // DualPipe is among the turns
  bool bytes_first_ = false;  // the first metric is memory
  std::vector<Order> orders_;
  std::vector<Bundle> bundles_;  // by `order`
  std::size_t next_ = 0;         // the first whose groups are not bounded
  std::vector<BundleReach> reaches_;
  std::vector<Bounded> heap_;  // least first
  std::uint64_t unfit_ = 0;
};

}  // namespace orrery::cluster
