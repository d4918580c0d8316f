// Branch and bound over shardings, best bound first, from the answer of two passes.
//
// A node is a candidate (degrees and a tile, as in optimize.cc) and a set of shardings for every kernel. Its relaxed
// problem (joint_terms.h) takes the least of every figure over the sets, and is a partition problem itself: its exact
// optimum, rolled up to the whole run, bounds every sharding in the sets. A node is
//
//   dropped   when its bound cannot beat the best: first by the bound of partition_bound.h, then by its optimum, which
//   is
//             asked for only below the best
//   closed    when one sharding out of the sets costs what the relaxed problem does: its partition is the answer
//   branched  otherwise, at the kernel where that sharding changes the relaxed problem most
//
// On the way the sharding that looks best is placed in earnest, so that answers come early. The bound of the best node
// left is the bound of all: a limit of time or memory ends the search with a gap. Cost: a partition per node; hundreds
// at most where the network hides behind computing, which is what joint sharding finds.
#include "orrery/engines/dataflow/search/joint.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <queue>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/dataflow/partition/partition_bound.h"
#include "orrery/engines/dataflow/partition/tolerances.h"
#include "orrery/engines/dataflow/search/joint_terms.h"
#include "orrery/engines/dataflow/search/pipeline_stages.h"

namespace orrery::dataflow {
namespace {

using workload::KernelDimension;

struct Candidate {
  std::shared_ptr<const Setup> setup;  // services filled in
  Allocation allocation;
  Tiling tiling;
  std::shared_ptr<const std::vector<std::vector<KernelDimension>>> allowed;

  double final_ns(double sum) const {
    Evaluation evaluation;
    evaluation.sum_interval_ns = sum;
    roll_up(*setup, allocation.degrees, kCorrected, evaluation);
    return evaluation.final_ns;
  }
  Mapping mapping() const {
    Mapping result;
    result.degrees = allocation.degrees;
    result.tiles = tiling.tiles;
    result.tile_size = tiling.tile_size;
    return result;
  }
};

struct Node {
  double bound_ns = 0;
  std::uint64_t order = 0;  // of equal bounds the older goes first
  std::size_t candidate = 0;
  ShardingSets sets;
  ShardingSets placed;  // of its parent: the sharding that was placed in earnest

  bool operator<(const Node& other) const {
    return bound_ns != other.bound_ns ? bound_ns > other.bound_ns : order > other.order;
  }
};

// Shardings that the search may give kernel `index` of `setup`: what optimize() would, which keeps pins and does not
// shard all workloads.
std::vector<std::vector<KernelDimension>> choices_of(const Setup& setup, const ShardingOptimum& first) {
  std::vector<std::vector<KernelDimension>> result;
  for (std::size_t k = 0; k < setup.graph.kernels.size(); ++k) {
    if (first.rule == "optimised")
      result.push_back(allowed_shardings(setup.graph, static_cast<int>(k)));
    else
      result.push_back({first.sharding[k]});
  }
  return result;
}

class JointSearch {
 public:
  JointSearch(const Setup& setup, const PlaceLimits& limits, const machine::OperatorModel* operators)
      : setup_(setup),
        limits_(limits),
        operators_(operators),
        budget_({.seconds = limits.seconds > 0 ? limits.seconds : setup.solver.seconds,
                 .memory = limits.memory,
                 .stop = limits.stop}) {}

  Placement run() {
    PlaceLimits first = limits_;
    if (budget_.limited()) first.seconds = budget_.seconds_left() / 2;
    result_ = optimize(setup_, kCorrected, first, operators_);
    if (!result_.kernels.empty() || !list()) return std::move(result_);
    TwoPasses& passes = result_.two_passes.emplace();
    if (result_.mapping) passes.final_ns = best_ns_ = result_.evaluation.final_ns;
    passes.bound_ns = result_.certificate.lower_bound;
    passes.optimal = result_.certificate.optimal;
    bound_roots();
    bool stopped = false;
    while (!nodes_.empty() && !stopped) {
      const double bound = nodes_.top().bound_ns;
      if (!may_win(bound) || close_enough(bound)) break;
      if (budget_.spent() || !budget_.has_room(2 * bytes_of_nodes())) {
        stopped = true;
        break;
      }
      Node node = nodes_.top();
      nodes_.pop();
      try {
        stopped = !expand(node);
      } catch (const std::bad_alloc&) {
        budget_.run_out_of_memory();
        stopped = true;
      }
      if (stopped) left_ns_ = std::min(left_ns_, node.bound_ns);
      if (limits_.progress) limits_.progress(best_ns_, std::min(best_ns_, bound));
    }
    finish(stopped);
    return std::move(result_);
  }

 private:
  // False where layers are spread over stages, or nothing is to be sharded.
  bool list() {
    std::map<std::pair<Count, std::vector<std::optional<Parallelism>>>, std::shared_ptr<const ShardingOptimum>> known;
    bool any = false;
    for (const Allocation& allocation : allocations(setup_, kCorrected)) {
      if (!candidates_.empty() && budget_.spent() && late(kGrace / 2)) {
        left_ns_ = at_peak_ns();  // what is not listed may end sooner than anything else
        break;
      }
      Candidate candidate;
      candidate.allocation = allocation;
      candidate.setup = states(setup_, allocation) ? std::shared_ptr<const Setup>(std::shared_ptr<void>(), &setup_)
                                                   : std::make_shared<const Setup>(allocated(setup_, allocation));
      if (spreads_layers(*candidate.setup, allocation.degrees, kCorrected)) return false;
      std::vector<std::optional<Parallelism>> tensor_only = allocation.serves;
      for (auto& service : tensor_only)
        if (service != Parallelism::kTensor) service.reset();
      std::shared_ptr<const ShardingOptimum>& first = known[{allocation.degrees.tensor, tensor_only}];
      if (!first)
        first = std::make_shared<const ShardingOptimum>(
            choose_sharding(*candidate.setup, allocation.degrees, kCorrected, budget_));
      candidate.allowed =
          std::make_shared<const std::vector<std::vector<KernelDimension>>>(choices_of(*candidate.setup, *first));
      if (allocation.degrees.tensor <= 1) {  // a sharding over one chip changes nothing
        std::vector<std::vector<KernelDimension>> alone;
        for (const KernelDimension dimension : first->sharding) alone.push_back({dimension});
        candidate.allowed = std::make_shared<const std::vector<std::vector<KernelDimension>>>(std::move(alone));
      }
      for (const auto& choices : *candidate.allowed) any = any || choices.size() > 1;
      const double room = budget_.room() / 4 / static_cast<double>(sizeof(Candidate) + bytes_of_node());
      const auto most = static_cast<std::size_t>(std::clamp(room - static_cast<double>(candidates_.size()), 1.0, 1e9));
      const std::vector<Tiling> tiled = tilings(*candidate.setup, allocation.degrees, kCorrected, most);
      for (const Tiling& tiling : tiled) {
        candidate.tiling = tiling;
        candidates_.push_back(candidate);
      }
      if (tiled.size() >= most) left_ns_ = at_peak_ns();  // as below
    }
    return any;
  }

  void bound_roots() {
    for (std::size_t c = 0; c < candidates_.size(); ++c) {
      Node root;
      root.candidate = c;
      root.order = order_++;
      root.bound_ns = at_peak_ns();
      if (!budget_.spent() || !late(kGrace)) {
        const JointTerms terms = terms_of(c);
        root.sets = terms.all();
        const double shardings =
            std::transform_reduce(root.sets.begin(), root.sets.end(), 1.0, std::multiplies<>(),
                                  [](std::uint8_t set) { return static_cast<double>(std::popcount(unsigned{set})); });
        root.bound_ns = quick_bound(c, terms.relaxed(root.sets), shardings);
        if (!may_win(root.bound_ns)) {
          ++dropped_;
          continue;
        }
      }
      nodes_.push(std::move(root));
    }
  }

  // Whether a search that is to end has had `grace` seconds more, or may not have them.
  bool late(double grace) const {
    const double seconds = limits_.seconds > 0 ? limits_.seconds : setup_.solver.seconds;
    return budget_.interrupted() || budget_.out_of_memory() || watch_.seconds() >= seconds + grace;
  }

  // No chip computes faster than its peak: a bound without a look at candidates. Measured products and rates that are
  // stated may say otherwise.
  double at_peak_ns() const {
    const Execution& execution = setup_.execution;
    const bool computes = execution.overlap != Overlap::kNone || execution.terms.empty() ||
                          execution.terms.find('C') != std::string::npos;
    for (const workload::Kernel& kernel : setup_.graph.kernels)
      if (kernel.compute_utilization.value_or(1) > 1) return 0;
    const double peak = static_cast<double>(setup_.system.chips) * setup_.system.cores.gflops();
    return operators_ == nullptr && computes && peak > 0 ? workload_flop(setup_) / peak * (1 - kTie) : 0;
  }

  JointTerms terms_of(std::size_t c) const {
    const Candidate& candidate = candidates_[c];
    return {*candidate.setup, candidate.mapping(), *candidate.allowed, operators_};
  }

  // kNever where the ranges of configurations leave nothing. Counts the space where `shardings` is given.
  double quick_bound(std::size_t c, const PartitionProblem& problem, double shardings = 0) {
    const PartitionSpace space = partition_space(problem);
    if (space.empty) return kNever;
    if (shardings > 0) space_ = std::min(space_ + shardings * space.assignments(), PartitionSpace::kMostCounted);
    return candidates_[c].final_ns(interval_bound(problem, space));
  }

  bool may_win(double ns) const { return ns < best_ns_ * (1 - kTie); }
  bool close_enough(double bound) const {
    return limits_.gap > 0 && best_ns_ < kNever && base::gap(best_ns_, bound) <= limits_.gap;
  }

  double bytes_of_node() const { return static_cast<double>(sizeof(Node) + 2 * setup_.graph.kernels.size()); }
  double bytes_of_nodes() const { return static_cast<double>(nodes_.size()) * bytes_of_node(); }

  // Sums of intervals from which on a candidate cannot win; 0: none.
  double most_sum(std::size_t c) const {
    if (best_ns_ == kNever) return 0;
    const double none = candidates_[c].final_ns(0);
    const double slope = candidates_[c].final_ns(1) - none;
    return slope > 0 ? std::max(0.0, (best_ns_ - none) / slope * (1 - kTie)) : 0;
  }

  PartitionOptimum solve(std::size_t c, const PartitionProblem& problem, bool in_earnest) {
    PartitionLimits limits{limits_, 0};
    limits.most_ideals = limits_.most_ideals;
    limits.mip = in_earnest;
    limits.upper_bound_ns = most_sum(c);
    if (budget_.limited()) limits.seconds = std::max(1e-2, budget_.seconds_left());
    PartitionOptimum found = optimize(problem, limits);
    evaluated_ += found.certificate.evaluated;
    return found;
  }

  // The problem under one sharding for each kernel, with its own sums.
  void take(std::size_t c, const JointTerms& terms, const ShardingSets& one, const PartitionOptimum& found) {
    if (!found.assignment) return;
    Mapping mapping = candidates_[c].mapping();
    mapping.sharding = terms.sharding(one);
    mapping.configuration = *found.assignment;
    Evaluation evaluation = evaluate(*candidates_[c].setup, mapping, kCorrected, operators_);
    if (!evaluation.partition.feasible || !may_win(evaluation.final_ns)) return;
    best_ns_ = evaluation.final_ns;
    best_ = c;
    best_mapping_ = std::move(mapping);
    result_.method = found.method;
  }

  // False: ended by a limit, the node undecided.
  bool expand(const Node& node) {
    const std::size_t c = node.candidate;
    const JointTerms& terms = terms_for(c);
    const ShardingSets sets = node.sets.empty() ? terms.all() : node.sets;
    const PartitionProblem problem = terms.relaxed(sets);
    const ShardingSets likely = terms.likely(sets);
    const int branch = terms.most_relaxed(sets, likely);
    const bool closed = branch < 0;
    const PartitionOptimum loose = solve(c, problem, closed);
    if (closed) take(c, terms, likely, loose);
    if (loose.interrupted && budget_.spent()) return false;
    double bound = node.bound_ns;
    if (loose.assignment || loose.gave_way || loose.interrupted)
      bound = std::max(bound, candidates_[c].final_ns(std::max(0.0, loose.certificate.lower_bound)));
    else
      bound = kNever;
    if (closed) {
      if (may_win(bound)) left_ns_ = std::min(left_ns_, bound);  // without a proof
      return true;
    }
    if (!may_win(bound)) {
      ++dropped_;
      return true;
    }
    if (likely != node.placed) {
      const PartitionOptimum earnest = solve(c, terms.relaxed(likely), false);
      take(c, terms, likely, earnest);
      if (earnest.interrupted && budget_.spent()) return false;
    }
    const std::size_t at = static_cast<std::size_t>(branch);
    for (unsigned rest = sets[at]; rest != 0; rest &= rest - 1) {
      Node child{bound, order_++, c, sets, likely};
      child.sets[at] = static_cast<std::uint8_t>(rest & (0U - rest));
      child.bound_ns = std::max(bound, quick_bound(c, terms.relaxed(child.sets)));
      if (may_win(child.bound_ns))
        nodes_.push(std::move(child));
      else
        ++dropped_;
    }
    return true;
  }

  // Nodes of one candidate mostly follow each other.
  const JointTerms& terms_for(std::size_t c) {
    if (!terms_ || terms_of_ != c) {
      terms_.emplace(terms_of(c));
      terms_of_ = c;
    }
    return *terms_;
  }

  void finish(bool stopped) {
    base::Certificate& certificate = result_.certificate;
    if (best_) {
      const Candidate& candidate = candidates_[*best_];
      result_.evaluation = evaluate(*candidate.setup, best_mapping_, kCorrected, operators_);
      ORRERY_CHECK(result_.evaluation.partition.feasible, result_.evaluation.partition.first_violation);
      result_.sharding = communication_of(*candidate.setup, best_mapping_.degrees, best_mapping_.sharding, kCorrected);
      result_.serves = candidate.allocation.serves;
      result_.mapping = std::move(best_mapping_);
      result_.reasons.clear();
      result_.blamed.clear();
      result_.infeasible = false;
    }
    if (!nodes_.empty()) left_ns_ = std::min(left_ns_, nodes_.top().bound_ns);
    certificate.space = std::max(certificate.space, space_);
    certificate.evaluated += evaluated_;
    if (dropped_ > 0) certificate.pruned.push_back({"bound of a set of shardings", dropped_});
    const bool open = left_ns_ < kNever && (best_ns_ == kNever || may_win(left_ns_));
    result_.interrupted = stopped || (open && !close_enough(left_ns_));
    result_.out_of_memory = budget_.out_of_memory() || (stopped && !budget_.has_room(2 * bytes_of_nodes()));
    if (result_.mapping)
      certificate.close(result_.evaluation.final_ns, left_ns_, kTie);
    else if (left_ns_ < kNever) {
      result_.infeasible = certificate.optimal = false;
      certificate.lower_bound = left_ns_;
      certificate.gap = 1;
    }
    certificate.seconds = watch_.seconds();
  }

  const Setup& setup_;
  const PlaceLimits& limits_;
  const machine::OperatorModel* operators_;
  const base::Stopwatch watch_;
  const base::Budget budget_;

  std::vector<Candidate> candidates_;
  std::priority_queue<Node> nodes_;
  std::optional<JointTerms> terms_;
  std::size_t terms_of_ = 0;
  std::uint64_t order_ = 0, dropped_ = 0, evaluated_ = 0;
  double space_ = 0;
  double best_ns_ = kNever;
  double left_ns_ = kNever;  // bound of what was left undecided
  std::optional<std::size_t> best_;
  Mapping best_mapping_;
  Placement result_;
};

}  // namespace

Placement optimize_jointly(const Setup& setup, const PlaceLimits& limits, const machine::OperatorModel* operators) {
  return JointSearch(setup, limits, operators).run();
}

}  // namespace orrery::dataflow
