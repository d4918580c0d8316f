// Candidates are degrees x tilings; the sharding of each follows from its degrees. Every candidate is lowered to a
// partition problem and bounded from below (partition_bound.h), its bound rolled up to the whole run, and candidates
// are solved from the lowest bound on. One whose bound cannot beat the best so far is skipped; the others are solved
// only as far as they may beat it. The best over all, with every bound that was left, is the certificate.
//
// Hard candidates must not delay easy ones that are as good: the first round allows each a small number of ideals and
// defers those that need more; the second solves those that can still beat the best.
//
// Candidates are solved in batches of fixed size, each under the best of the batches before: which ones are solved,
// and hence the certificate, does not depend on threads. Within a batch, and for ties, the order of the lists decides;
// a deferred candidate loses ties.
//
// Cost: one lowering per candidate, and one partition per candidate whose bound is low enough; of a dozen tile sizes
// mostly one to three are.
#include "orrery/engines/dataflow/search/optimize.h"

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/dataflow/partition/partition_bound.h"
#include "orrery/engines/dataflow/partition/tolerances.h"
#include "orrery/engines/dataflow/search/contradictions.h"
#include "orrery/engines/dataflow/search/infeasibility.h"
#include "orrery/engines/dataflow/search/pipeline_stages.h"

namespace orrery::dataflow {
namespace {

constexpr std::size_t kBatch = 4;
constexpr std::size_t kFirstIdeals = 4'000;  // of the first round
constexpr double kToExplain = 0.2;           // seconds past it to explain why nothing fits
constexpr double kOfCandidate = 1'000;       // bytes of one at work, its kernels apart
constexpr double kOfKernel = 500;            // bytes of one under one tiling

// What all tilings under the same degrees share.
struct Frame {
  Allocation allocation;
  std::shared_ptr<const Setup> setup;  // services filled in, the slowest stage only
  std::shared_ptr<const ShardingOptimum> sharding;
  std::vector<int> stage, kernels;

  double final_ns(double sum, const Defects& defects) const {
    Evaluation evaluation;
    evaluation.sum_interval_ns = sum;
    roll_up(*setup, allocation.degrees, defects, evaluation);
    return evaluation.final_ns;
  }
};

struct OptimizeCandidate {
  std::size_t frame = 0;
  Tiling tiling;
  std::vector<Tiling> tilings;  // where each configuration has its own: all of them
  double bound_ns = 0;          // of final_ns
  double space = 0;
  bool possible = true;  // ranges of configurations leave something
};

class Search {
 public:
  Search(const Setup& setup, const Defects& defects, const PlaceLimits& limits, const machine::OperatorModel* operators)
      : setup_(setup),
        defects_(defects),
        limits_(limits),
        operators_(operators),
        seconds_(limits.seconds > 0 ? limits.seconds : setup.solver.seconds),
        budget_({.seconds = seconds_, .memory = limits.memory, .stop = limits.stop}) {}

  Placement run() {
    list_candidates();
    bound_candidates();
    std::vector<std::size_t> order(candidates_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return candidates_[a].bound_ns < candidates_[b].bound_ns; });
    first_round_ = candidates_.size() > 1;
    solve_all(order);
    if (first_round_) {
      first_round_ = false;
      solve_all(std::exchange(put_off_, {}));
    }
    finish();
    return std::move(result_);
  }

 private:
  void solve_all(const std::vector<std::size_t>& order) {
    std::size_t at = 0;
    for (; at < order.size() && !stopped_; at += kBatch) {
      if (must_stop()) {
        stopped_ = result_.interrupted = true;
        break;
      }
      const std::size_t next = std::min(at + kBatch, order.size());
      solve_batch(std::span(order).subspan(at, next - at));
      if (limits_.progress) {
        const double rest = next < order.size() ? candidates_[order[next]].bound_ns : kNever;
        limits_.progress(best_ns_, std::min({best_ns_, rest, lower_bound_}));
      }
    }
    for (std::size_t rest = at; rest < order.size(); ++rest)
      lower_bound_ = std::min(lower_bound_, candidates_[order[rest]].bound_ns);
  }

  void list_candidates() {
    std::map<std::pair<Count, std::vector<std::optional<Parallelism>>>, std::shared_ptr<const ShardingOptimum>> known;
    const std::vector<Allocation> all = allocations(setup_, defects_);
    const double kernels = static_cast<double>(setup_.graph.kernels.size() + setup_.graph.edges.size());
    const auto most_tilings = static_cast<std::size_t>(std::clamp(
        budget_.room() / 4 / (defects_.tiles_by_configuration ? kOfKernel * (kernels + 1) : kOfCandidate), 1.0, 1e9));
    for (const Allocation& allocation : all) {
      // What is not listed may end sooner than anything else.
      const bool crowded = static_cast<double>(candidates_.size()) * kOfCandidate > budget_.room() / 4;
      const bool late = budget_.spent() && (budget_.interrupted() || watch_.seconds() >= seconds_ + kGrace / 2);
      if (!candidates_.empty() && (crowded || late)) {
        leave_unlisted(crowded);
        break;
      }
      Frame frame;
      frame.allocation = allocation;
      frame.setup = states(setup_, allocation) ? std::shared_ptr<const Setup>(std::shared_ptr<void>(), &setup_)
                                               : std::make_shared<const Setup>(allocated(setup_, allocation));
      // The network of a tensor-parallel group is identified by its size and dimension.
      std::vector<std::optional<Parallelism>> tensor_only = allocation.serves;
      for (auto& service : tensor_only)
        if (service != Parallelism::kTensor) service.reset();
      std::shared_ptr<const ShardingOptimum>& sharding = known[{allocation.degrees.tensor, tensor_only}];
      if (!sharding) {
        sharding = std::make_shared<const ShardingOptimum>(
            choose_sharding(*frame.setup, allocation.degrees, defects_, budget_));
      }
      frame.sharding = sharding;
      if (spreads_layers(*frame.setup, allocation.degrees, defects_)) spread(frame);
      std::vector<Tiling> tiled = tilings(*frame.setup, allocation.degrees, defects_, most_tilings);
      if (tiled.size() >= most_tilings && most_tilings > 1) leave_unlisted(true);
      if (tiled.size() > 1 && defects_.tiles_by_configuration) {
        candidates_.push_back({frames_.size(), tiled.front(), tiled});
      } else {
        for (const Tiling& tiling : tiled) candidates_.push_back({frames_.size(), tiling, {}});
      }
      frames_.push_back(std::move(frame));
    }
  }

  void leave_unlisted(bool for_memory) {
    lower_bound_ = 0;
    undecided_ = result_.interrupted = true;
    result_.out_of_memory |= for_memory;
  }

  void spread(Frame& frame) {
    StageAssignment spread = assign_stages(*frame.setup, frame.allocation.degrees, *frame.sharding, defects_);
    frame.setup = std::make_shared<const Setup>(std::move(spread.slowest));
    frame.sharding = std::make_shared<const ShardingOptimum>(std::move(spread.sharding));
    frame.stage = std::move(spread.stage);
    frame.kernels = std::move(spread.kernels);
  }

  Mapping mapping_of(const OptimizeCandidate& candidate) const {
    const Frame& frame = frames_[candidate.frame];
    Mapping mapping;
    mapping.degrees = frame.allocation.degrees;
    mapping.sharding = frame.sharding->sharding;
    mapping.tiles = candidate.tiling.tiles;
    mapping.tile_size = candidate.tiling.tile_size;
    mapping.tilings = candidate.tilings;
    return mapping;
  }

  // Of all tilings, those that configurations took.
  void keep_tilings_in_use(const Setup& setup, Mapping& mapping) {
    if (mapping.tilings.empty()) return;
    std::vector<Tiling> used;
    std::vector<int> place(mapping.tilings.size(), -1);
    for (const ConfigurationCost& cost : result_.evaluation.partition.configurations) {
      if (cost.tiling < 0 || place[static_cast<std::size_t>(cost.tiling)] >= 0) continue;
      place[static_cast<std::size_t>(cost.tiling)] = static_cast<int>(used.size());
      used.push_back(mapping.tilings[static_cast<std::size_t>(cost.tiling)]);
    }
    mapping.tiles = used.front().tiles;
    mapping.tile_size = used.front().tile_size;
    mapping.tilings = used.size() > 1 ? used : std::vector<Tiling>();
    result_.evaluation = evaluate(setup, mapping, defects_, operators_);
  }

  PartitionProblem lowered(const OptimizeCandidate& candidate) const {
    return lower(*frames_[candidate.frame].setup, mapping_of(candidate), defects_, operators_);
  }

  void bound_candidates() {
    if (candidates_.size() == 1) return;  // solved whatever its bound
    base::parallel_for(candidates_.size(), limits_.threads, [&](std::size_t i) {
      if (out_of_time()) return;  // a bound of 0 holds
      OptimizeCandidate& candidate = candidates_[i];
      try {
        const PartitionProblem problem = lowered(candidate);
        const PartitionSpace space = partition_space(problem);
        candidate.possible = !space.empty;
        candidate.space = space.assignments();
        candidate.bound_ns =
            space.empty ? kNever : frames_[candidate.frame].final_ns(interval_bound(problem, space), defects_);
      } catch (const std::bad_alloc&) {
        budget_.run_out_of_memory();
      }
    });
    for (const OptimizeCandidate& candidate : candidates_) result_.certificate.space += candidate.space;
    result_.certificate.space = std::min(result_.certificate.space, PartitionSpace::kMostCounted);
  }

  bool out_of_time() const { return budget_.spent(); }

  // A time limit is extended a little for the first placement, so that there is an answer with a gap.
  bool must_stop() const {
    if (!out_of_time()) return false;
    return budget_.interrupted() || best_ || watch_.seconds() >= seconds_ + kGrace;
  }

  // Whether a candidate of at least `ns` can replace the best.
  bool may_win(double ns, std::size_t index) const {
    if (!best_) return ns < kNever && (limits_.known_ns <= 0 || ns < limits_.known_ns);
    return wins_ties(index) ? ns <= best_ns_ * (1 + kTie) : ns < best_ns_ * (1 - kTie);
  }

  bool wins_ties(std::size_t index) const { return first_round_ && index < *best_; }

  // Sums of intervals from which on a candidate cannot win; 0: none.
  double most_sum(const OptimizeCandidate& candidate, std::size_t index) const {
    const double above = best_ ? best_ns_ : limits_.known_ns;
    if (!(above > 0)) return 0;
    const Frame& frame = frames_[candidate.frame];
    const double none = frame.final_ns(0, defects_);
    const double slope = frame.final_ns(1, defects_) - none;
    if (!(slope > 0)) return 0;
    const double sum = (above - none) / slope;
    return sum > 0 ? sum * (!best_ || wins_ties(index) ? 1 + 1e-9 : 1 - kTie) : 0;
  }

  void solve_batch(std::span<const std::size_t> batch) {
    std::vector<std::size_t> worth;
    for (const std::size_t index : batch) {
      const OptimizeCandidate& candidate = candidates_[index];
      if (!candidate.possible) continue;
      if (may_win(candidate.bound_ns, index)) {
        worth.push_back(index);
      } else {
        ++skipped_;
      }
    }
    if (worth.empty()) return;
    std::vector<PartitionOptimum> found(worth.size());
    const int threads = base::thread_count(limits_.threads);
    PartitionLimits inner{limits_, limits_.gap};
    inner.most_ideals = first_round_ ? std::min(kFirstIdeals, limits_.most_ideals) : limits_.most_ideals;
    inner.mip = !first_round_;
    inner.threads = worth.size() > 1 && threads > 1 ? 1 : threads;
    // The first of all goes alone, so that the others know what they must beat.
    const bool first = !best_ && worth.size() > 1;
    const std::size_t ahead = first ? 1 : 0;
    if (first) {
      solve(worth[0], inner, found[0]);
      take(worth[0], found[0]);
    }
    base::parallel_for(worth.size() - ahead, threads, [&](std::size_t i) {
      if (may_win(candidates_[worth[i + ahead]].bound_ns, worth[i + ahead])) {
        solve(worth[i + ahead], inner, found[i + ahead]);
      } else {
        found[i + ahead].method.clear();
      }
    });
    for (std::size_t i = ahead; i < worth.size(); ++i) {
      if (found[i].method.empty()) {
        ++skipped_;
      } else {
        take(worth[i], found[i]);
      }
    }
  }

  void solve(std::size_t index, PartitionLimits limits, PartitionOptimum& found) const {
    const OptimizeCandidate& candidate = candidates_[index];
    if (budget_.limited()) limits.seconds = std::max(1e-2, budget_.seconds_left());
    limits.upper_bound_ns = most_sum(candidate, index);
    limits.near_bound = limits.any_of_equals = limits_.known_ns > 0;
    try {
      found = dataflow::optimize(lowered(candidate), limits);
    } catch (const std::bad_alloc&) {
      budget_.run_out_of_memory();
      found = {};
      found.interrupted = true;
    }
    if (found.method.empty()) found.method = "none";
    // Neither an answer nor a proof: treated as interrupted.
    if (!found.assignment && !found.infeasible && !found.certificate.optimal && !found.gave_way &&
        limits.upper_bound_ns == 0)
      found.interrupted = true;
  }

  void take(std::size_t index, PartitionOptimum& found) {
    const OptimizeCandidate& candidate = candidates_[index];
    const Frame& frame = frames_[candidate.frame];
    base::Certificate& certificate = result_.certificate;
    if (candidates_.size() == 1) certificate.space = partition_space(lowered(candidate)).assignments();
    certificate.evaluated += found.certificate.evaluated;
    for (const base::Pruned& pruned : found.certificate.pruned) count_pruned(pruned.argument, pruned.count);
    if (found.interrupted && (found.assignment || best_)) stopped_ = result_.interrupted = true;
    if (found.interrupted) undecided_ = true;
    if (found.gave_way && first_round_) {
      put_off_.push_back(index);
    } else if (found.interrupted || (found.assignment && !found.certificate.optimal)) {
      const double below = frame.final_ns(std::max(0.0, found.certificate.lower_bound), defects_);
      lower_bound_ = std::min(lower_bound_, std::max(below, candidate.bound_ns));
    }
    if (!found.assignment) return;
    const double ns = frame.final_ns(found.cost.sum_interval_ns, defects_);
    if (best_ && !(wins_ties(index) && !found.gave_way ? ns <= best_ns_ * (1 + kTie) : ns < best_ns_ * (1 - kTie)))
      return;
    best_ = index;
    best_ns_ = ns;
    best_assignment_ = std::move(*found.assignment);
    result_.method = found.method;
  }

  void count_pruned(const std::string& argument, std::uint64_t count) {
    if (count == 0) return;
    for (base::Pruned& pruned : result_.certificate.pruned) {
      if (pruned.argument != argument) continue;
      pruned.count += count;
      return;
    }
    result_.certificate.pruned.push_back({argument, count});
  }

  void finish() {
    count_pruned("bound of a tiling", skipped_);
    base::Certificate& certificate = result_.certificate;
    if (best_) {
      const OptimizeCandidate& candidate = candidates_[*best_];
      const Frame& frame = frames_[candidate.frame];
      Mapping mapping = mapping_of(candidate);
      mapping.configuration = std::move(best_assignment_);
      result_.evaluation = evaluate(*frame.setup, mapping, defects_, operators_);
      keep_tilings_in_use(*frame.setup, mapping);
      // The run does the work of all stages, not only of the slowest.
      if (!frame.kernels.empty() && !defects_.flop_of_slowest_stage) {
        result_.evaluation.flop = workload_flop(setup_);
        roll_up(*frame.setup, mapping.degrees, defects_, result_.evaluation);
      }
      ORRERY_CHECK(result_.evaluation.partition.feasible, result_.evaluation.partition.first_violation);
      result_.mapping = std::move(mapping);
      result_.sharding = *frame.sharding;
      result_.serves = frame.allocation.serves;
      result_.stage = frame.stage;
      result_.kernels = frame.kernels;
      certificate.close(result_.evaluation.final_ns, lower_bound_, kTie);
    } else if (!result_.interrupted && !undecided_ && limits_.known_ns <= 0) {
      result_.infeasible = true;
      certificate.close_empty();
      explain();
    } else {
      result_.interrupted = true;
      certificate.lower_bound = lower_bound_ < kNever ? lower_bound_ : 0;
    }
    result_.out_of_memory |= budget_.out_of_memory();
    certificate.seconds = watch_.seconds();
  }

  void explain() {
    std::vector<Attempt> attempts;
    for (const OptimizeCandidate& candidate : candidates_) {
      const Frame& frame = frames_[candidate.frame];
      Mapping mapping = mapping_of(candidate);
      const std::vector<Tiling> all = std::exchange(mapping.tilings, {});
      if (all.empty()) attempts.push_back({frame.setup.get(), mapping});
      for (const Tiling& tiling : all) {
        mapping.tiles = tiling.tiles;
        mapping.tile_size = tiling.tile_size;
        attempts.push_back({frame.setup.get(), mapping});
      }
    }
    const base::Budget rest(
        {.seconds = std::max(kToExplain, budget_.seconds_left()), .memory = limits_.memory, .stop = limits_.stop});
    for (Reason& reason : explain_infeasible(attempts, defects_, operators_, rest)) {
      result_.reasons.push_back(std::move(reason.diagnostic));
      result_.blamed.push_back(std::move(reason.blamed));
    }
  }

  const Setup& setup_;
  const Defects defects_;
  const PlaceLimits& limits_;
  const machine::OperatorModel* operators_;
  const base::Stopwatch watch_;
  const double seconds_;
  const base::Budget budget_;

  std::vector<Frame> frames_;
  std::vector<OptimizeCandidate> candidates_;
  bool first_round_ = false;
  std::vector<std::size_t> put_off_;
  std::optional<std::size_t> best_;
  double best_ns_ = kNever;
  std::vector<int> best_assignment_;
  double lower_bound_ = kNever;  // of what was left undecided
  std::uint64_t skipped_ = 0;
  bool stopped_ = false;
  bool undecided_ = false;  // some candidate was left without an answer
  Placement result_;
};

}  // namespace

Placement optimize(const Setup& setup, const Defects& defects, const PlaceLimits& limits,
                   const machine::OperatorModel* operators) {
  try {
    std::vector<Reason> found = contradictions(setup, defects);
    if (!found.empty()) throw Contradictions(std::move(found));
    return Search(setup, defects, limits, operators).run();
  } catch (const base::OverflowError& error) {
    throw Contradictions({too_large_to_count(error)});
  }
}

Setup placed(const Setup& setup, const Placement& placement) {
  Setup result = setup;
  for (std::size_t d = 0; d < placement.serves.size(); ++d) {
    result.system.network[d].parallelism = placement.serves[d];
    result.system.network[d].size = placement.mapping ? placement.mapping->degrees.sizes[d] : 0;
  }
  if (!placement.kernels.empty()) result = stage_alone(result, placement.kernels, placement.mapping->degrees);
  return result;
}

}  // namespace orrery::dataflow
