#include "orrery/engines/dataflow/partition/partition_ideals.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/engines/dataflow/partition/partition_bits.h"
#include "orrery/engines/dataflow/partition/partition_chain.h"
#include "orrery/engines/dataflow/partition/partition_price.h"
#include "orrery/engines/dataflow/partition/partition_ties.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {
namespace {

constexpr double kRounding = 1e-10;  // bounds are summed in another order than prices
constexpr std::uint64_t kTransitionsPerIdeal = 200;
constexpr std::uint64_t kCoreTransitions = 1'000'000;
constexpr std::uint64_t kTieTransitionsPerIdeal = 5;

template <std::size_t W>
class Search {
 public:
  Search(const PartitionProblem& problem, const PartitionSpace& space, const PartitionLimits& limits)
      : problem_(problem),
        limits_(limits),
        space_(space),
        budget_(limits),
        pricer_(problem),
        work_(partition_work(problem)) {
    prepare();
  }

  std::optional<PartitionOptimum> run() {
    const bool hopeless = limits_.upper_bound_ns > 0 && root().rest > limits_.upper_bound_ns * (1 + kRounding);
    const bool worth_a_start = !hopeless && room_ever();
    if (worth_a_start && !limits_.near_bound) start_from_chain();
    double aim = least_better_sum();
    Pass found;
    if (limits_.near_bound) found = sweep(aim, limits_.most_ideals / 2);
    if (!limits_.near_bound || (found.too_many && !stopped_)) {
      if (worth_a_start && limits_.near_bound) start_from_chain();  // the bound was not as near
      aim = least_better_sum();
      found = sweep_twice(aim, limits_.most_ideals * kTransitionsPerIdeal);
    }
    if (found.too_many) return std::nullopt;
    adopt(found);
    proven_ = std::min(found.sum, aim);
    PartitionOptimum result;
    result.method = "order ideals";
    bool listed = false;
    if (!stopped_ && limits_.gap == 0 && !limits_.any_of_equals && incumbent_ns_ < kNever) {
      const Pass ties = sweep_twice(largest_equal_sum(), limits_.most_ideals * kTieTransitionsPerIdeal);
      listed = !ties.too_many && !stopped_ && ties.sum < kNever;
      std::vector<ChainArc> arcs;
      if (listed) listed = optimal_arcs(ties.sum + kTie * std::abs(ties.sum), arcs);
      if (listed) incumbent_ = first_among(std::move(arcs));
      stopped_ = false;  // the sum is proven
    }
    result.ties_broken = listed || incumbent_ns_ == kNever;
    finish(result, found.unseen);
    return result;
  }

 private:
  struct State {
    double value = kNever;                                      // least sum so far
    double rest = 0;                                            // least sum of what is left
    double compute = 0, network = 0, beside = 0, bytes = 0;     // of what is left
    double weights = 0, cores = 0;                              // room that what is left takes, in chips
    double leaf_compute = 0, leaf_network = 0, leaf_bytes = 0;  // of the leaves left
    double to_go = kNever;                                      // found in the second pass, on optimal chains only
  };
  struct SetPrice {
    double interval = 0, sram = 0;
    bool fits = false;
  };
  struct Link {
    double interval = 0;
    int layer = 0;
    std::size_t from = 0, to = 0;
  };

  void start_from_chain() {
    const auto chain = best_chain(pricer_, space_, budget_);
    if (!chain) return;
    incumbent_ = *chain;
    incumbent_ns_ = pricer_.price_all(*chain).sum_interval_ns;
  }

  void prepare() {
    const std::size_t kernels = space_.order.size();
    bit_of_.resize(kernels);
    for (std::size_t b = 0; b < kernels; ++b) bit_of_[static_cast<std::size_t>(space_.order[b])] = static_cast<int>(b);
    before_.resize(kernels);
    after_.resize(kernels);
    for (const PartitionEdge& edge : problem_.edges) {
      before_[bit(edge.to)].set(bit_of(edge.from));
      after_[bit(edge.from)].set(bit_of(edge.to));
    }
    const auto configurations = static_cast<std::size_t>(problem_.configurations);
    allowed_.resize(configurations);
    due_.resize(configurations);
    for (std::size_t k = 0; k < kernels; ++k) {
      all_.set(bit_of_[k]);
      for (int c = space_.first[k]; c <= space_.last[k]; ++c) allowed_[static_cast<std::size_t>(c)].set(bit_of_[k]);
      for (int c = space_.last[k]; c < problem_.configurations; ++c) due_[static_cast<std::size_t>(c)].set(bit_of_[k]);
      const PartitionKernel& kernel = problem_.kernels[k];
      weights_in_dram_ += kernel.dram_bytes;
      weight_share_.push_back(problem_.sram_bytes > 0 ? std::min(1.0, kernel.weight_bytes / problem_.sram_bytes) : 0);
      core_share_.push_back(0);
      if (!problem_.free_cores || kernel.choices.empty() || problem_.cores <= 0) continue;
      const auto fewest = std::min_element(kernel.choices.begin(), kernel.choices.end(),
                                           [](const CoreChoice& a, const CoreChoice& b) { return a.cores < b.cores; });
      core_share_.back() = static_cast<double>(fewest->cores) / static_cast<double>(problem_.cores);
    }
    double resident = 0, bytes = 0, times = 0;
    for (const PartitionEdge& edge : problem_.edges) {
      resident += edge.resident_bytes;
      bytes += 2 * edge.stream_bytes;
    }
    for (std::size_t k = 0; k < kernels; ++k) {
      bytes += problem_.kernels[k].memory_bytes;
      times += work_.compute_ns[k] + work_.network_ns[k] + work_.beside_ns[k];
      beside_ = beside_ || work_.beside_ns[k] > 0;
    }
    if (bytes > 0) times += bytes / problem_.dram_bandwidth_gb_per_s;
    if (std::isfinite(times)) residue_ = kTie * times;
    dram_binds_ = problem_.dram_bytes > 0 && weights_in_dram_ + resident > problem_.dram_bytes;
    same_class_.resize(kernels);
    for (std::size_t a = 0; a < kernels; ++a) {
      for (std::size_t b = 0; b < kernels; ++b) {
        if (problem_.kernels[a].repeat_class == problem_.kernels[b].repeat_class) same_class_[bit(a)].set(bit_of_[b]);
      }
    }
  }

  std::size_t bit(std::size_t kernel) const { return static_cast<std::size_t>(bit_of_[kernel]); }
  std::size_t bit(int kernel) const { return bit(static_cast<std::size_t>(kernel)); }
  int bit_of(int kernel) const { return bit_of_[static_cast<std::size_t>(kernel)]; }

  // What one sweep over the layers found: sums up to its aim, or nothing.
  struct Pass {
    double sum = kNever;
    double unseen = kNever;  // a bound on the sums that it did not come to
    bool too_many = false;
  };

  Pass sweep(double aim, std::uint64_t transitions) {
    aim_ = aim;
    transitions_left_ = transitions;
    layers_.assign(static_cast<std::size_t>(problem_.configurations) + 1, {});
    ideals_ = {};
    layers_[0].insert({});
    layers_[0][0].value = root();
    Pass result;
    if (!room_ever()) {
      ++pruned_by_capacity_;
      return result;
    }
    for (int c = 0; c < problem_.configurations && !stopped_ && !too_many_; ++c) {
      const double unseen = expand(c);
      if (stopped_) result.unseen = unseen;
    }
    result.too_many = std::exchange(too_many_, false);
    const auto [end, made] = layers_.back().insert(all_);
    if (!made) result.sum = layers_.back()[end].value.value;
    return result;
  }

  // If a few transitions are not enough, a better bound is worth computing.
  Pass sweep_twice(double aim, std::uint64_t transitions) {
    if (bounded_by_core_) return sweep(aim, transitions);
    const Pass found = sweep(aim, limits_.most_ideals / 2);
    if (!found.too_many || stopped_) return found;
    bounded_by_core_ = true;
    bound_by_core();
    if (stopped_) return {.unseen = root().rest};
    return sweep(aim, transitions);
  }

  // Of the first sweep: what is less than the incumbent by more than a tie, and by more than the caller's gap.
  double least_better_sum() const {
    double aim = incumbent_ns_ * (1 - std::max(kTie, limits_.gap));
    if (limits_.upper_bound_ns > 0) aim = std::min(aim, limits_.upper_bound_ns);
    return aim;
  }
  // Of the second: the optimum and all ties with it, however rounded.
  double largest_equal_sum() const { return incumbent_ns_ * (1 + kRounding) + residue_; }

  // The first chain of the table that makes the sum found.
  void adopt(const Pass& found) {
    if (found.sum == kNever) return;
    incumbent_.assign(bit_of_.size(), 0);
    std::size_t at = layers_.back().insert(all_).first;
    for (std::size_t layer = layers_.size() - 1; layer-- > 0;) {
      const Bits<W> reached = layers_[layer + 1][at].key;
      const double value = layers_[layer + 1][at].value.value;
      std::size_t index = 0, s = 0;
      for (; s < layers_[layer].size(); ++s) {
        const double interval = arc_ns(static_cast<int>(layer), layers_[layer][s].key, reached, index);
        if (layers_[layer][s].value.value + interval == value) break;
      }
      ORRERY_CHECK(s < layers_[layer].size(), "the optimum of the partition has no chain");
      sets_[index].key.for_each([&](int b) {
        incumbent_[static_cast<std::size_t>(space_.order[static_cast<std::size_t>(b)])] = static_cast<int>(layer);
      });
      at = s;
    }
    incumbent_ns_ = pricer_.price_all(incumbent_).sum_interval_ns;
  }

  // Price of the set between two ideals as configuration c, and its index; kNever where it is not allowed.
  double arc_ns(int c, const Bits<W>& before, const Bits<W>& after, std::size_t& index) {
    if (!before.within(after)) return kNever;
    const auto layer = static_cast<std::size_t>(c);
    const Bits<W> set = after.without(before);
    if (!set.within(allowed_[layer]) || !due_[layer].within(after)) return kNever;
    if (const int lowest = set.next(0); lowest < 0) {
      priced(set, index).fits = true;
      return 0;
    } else if (!set.within(same_class_[static_cast<std::size_t>(lowest)])) {
      return kNever;
    }
    const SetPrice& price = priced(set, index);
    return price.fits && dram_holds(before, after) ? price.interval : kNever;
  }

  double least(double compute, double bytes, double network, double beside = 0) const {
    const double memory = bytes > 0 ? bytes / problem_.dram_bandwidth_gb_per_s : 0;
    return interval_ns(problem_, std::max(compute, 0.0), memory, std::max({network, beside, 0.0}));
  }
  // Of what runs from one state to another on the way to the end.
  double least_between(const State& state, const State& next) const {
    return least(state.compute - next.compute, 0, state.network - next.network, state.beside - next.beside);
  }
  // By how much a leaf prolongs the network of any set that it joins: both groups' times grow, and the longer counts.
  double leaf_network_ns(std::size_t k) const {
    return beside_ ? std::min(work_.network_ns[k], work_.beside_ns[k]) : work_.network_ns[k];
  }

  // Room for what must run in the first configurations, and for what must run in the last ones.
  bool room_ever() const {
    for (int c = 0; c < problem_.configurations; ++c) {
      State early, late;
      for (std::size_t k = 0; k < weight_share_.size(); ++k) {
        for (State* state : {space_.last[k] <= c ? &early : nullptr, space_.first[k] >= c ? &late : nullptr}) {
          if (state == nullptr) continue;
          state->weights += weight_share_[k];
          state->cores += core_share_[k];
        }
      }
      if (!room_for(early, c + 1) || !room_for(late, problem_.configurations - c)) return false;
    }
    return true;
  }

  // Each configuration holds a chip's SRAM of weights at most (of a kernel that is tiled further when alone, count no
  // more than that), and its cores.
  static bool room_for(const State& state, int configurations) {
    return std::max(state.weights, state.cores) <= configurations * (1 + kRounding) + kRounding;
  }

  // Bounds from the graph without its leaves, the kernels that nothing reads: from every ideal of that core, the least
  // sum of a schedule of the rest, exactly. Leaves only add to it. No bounds where the core has too many ideals itself.
  void bound_by_core() {
    std::vector<int> core_of(problem_.kernels.size(), -1);
    PartitionProblem core = problem_;
    PartitionSpace space;
    core.kernels.clear();
    core.edges.clear();
    std::vector<int> kernel_of;
    for (std::size_t k = 0; k < core_of.size(); ++k) {
      const auto kernel = static_cast<int>(k);
      if (pricer_.edges_out_of(kernel).empty() && !pricer_.edges_into(kernel).empty()) {
        leaves_.set(bit_of_[k]);
        continue;
      }
      core_of[k] = static_cast<int>(kernel_of.size());
      kernel_of.push_back(kernel);
      core.kernels.push_back(problem_.kernels[k]);
      space.first.push_back(space_.first[k]);
      space.last.push_back(space_.last[k]);
    }
    if (kernel_of.size() == core_of.size()) return;
    for (PartitionEdge edge : problem_.edges) {
      edge.from = core_of[static_cast<std::size_t>(edge.from)];
      edge.to = core_of[static_cast<std::size_t>(edge.to)];
      if (edge.to >= 0) core.edges.push_back(edge);
    }
    for (const int k : space_.order) {
      if (core_of[static_cast<std::size_t>(k)] >= 0) space.order.push_back(core_of[static_cast<std::size_t>(k)]);
    }
    PartitionLimits limits = limits_;
    if (budget_.limited()) limits.seconds = std::max(1e-3, budget_.seconds_left());
    Search search(core, space, limits);
    std::vector<BitsTable<W, State>> table = search.all_to_go();
    if (table.empty()) {
      stopped_ = search.stopped_;
      return;
    }
    core_to_go_.resize(table.size());
    for (std::size_t layer = 0; layer < table.size(); ++layer) {
      for (const auto& entry : table[layer]) {
        Bits<W> key;
        entry.key.for_each([&](int b) {
          const auto kernel = static_cast<std::size_t>(space.order[static_cast<std::size_t>(b)]);
          key.set(bit_of(kernel_of[kernel]));
        });
        const std::size_t at = core_to_go_[layer].insert(key).first;
        core_to_go_[layer][at].value = entry.value.to_go;
      }
    }
    core_bits_ = all_.without(leaves_);
  }

  // Every ideal of every layer with the least sum from there to the end; empty where there are too many.
  std::vector<BitsTable<W, State>> all_to_go() {
    links_.emplace();
    const Pass found = sweep(kNever, kCoreTransitions);
    if (found.too_many || stopped_) return {};
    for (auto& layer : layers_) {
      for (auto& entry : layer) entry.value.to_go = kNever;
    }
    layers_.back()[layers_.back().insert(all_).first].value.to_go = 0;
    for (auto link = links_->rbegin(); link != links_->rend(); ++link) {
      const auto layer = static_cast<std::size_t>(link->layer);
      double& to_go = layers_[layer][link->from].value.to_go;
      to_go = std::min(to_go, link->interval + layers_[layer + 1][link->to].value.to_go);
    }
    return std::move(layers_);
  }

  // The core's bound on the sum from layer `layer` on; leaves add what does not overlap.
  double core_rest(std::size_t layer, const Bits<W>& ideal, const State& state) const {
    if (core_to_go_.empty()) return 0;
    const double* core = core_to_go_[layer].find(ideal & core_bits_);
    if (core == nullptr) return 0;
    switch (problem_.overlap) {
      case Overlap::kPerfect:
        return *core;
      case Overlap::kComputeMemory:
        return *core + least(0, 0, state.leaf_network);
      case Overlap::kNone:
        break;
    }
    // Leaves run on free cores at the same time as others.
    return *core + least(problem_.free_cores ? 0 : state.leaf_compute, state.leaf_bytes, state.leaf_network);
  }

  State root() const {
    State state;
    state.value = 0;
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      state.compute += work_.compute_ns[k];
      state.network += work_.network_ns[k];
      state.beside += work_.beside_ns[k];
      state.bytes += problem_.kernels[k].memory_bytes;
      state.weights += weight_share_[k];
      state.cores += core_share_[k];
      if (!leaves_.has(bit_of_[k])) continue;
      state.leaf_compute += work_.compute_ns[k];
      state.leaf_network += leaf_network_ns(k);
      state.leaf_bytes += problem_.kernels[k].memory_bytes;
    }
    state.rest = std::max(least(state.compute, state.bytes, state.network, state.beside), core_rest(0, {}, state));
    return state;
  }

  SetPrice& priced(const Bits<W>& set, std::size_t& index) {
    const auto [at, made] = sets_.insert(set);
    index = at;
    SetPrice& result = sets_[at].value;
    if (made) {
      members_.clear();
      set.for_each([&](int b) { members_.push_back(space_.order[static_cast<std::size_t>(b)]); });
      std::sort(members_.begin(), members_.end());
      const SetPricer::Price price = pricer_.price(members_);
      result = {price.interval_ns, price.sram_bytes, price.fits};
    }
    return result;
  }

  // Bytes that cut edges keep in DRAM while the set between two ideals runs.
  bool dram_holds(const Bits<W>& before, const Bits<W>& after) const {
    if (!dram_binds_) return true;
    const Bits<W> set = after.without(before);
    double bytes = weights_in_dram_;
    for (const PartitionEdge& edge : problem_.edges) {
      const int from = bit_of(edge.from), to = bit_of(edge.to);
      if (after.has(from) && !before.has(to) && !(set.has(from) && set.has(to))) bytes += edge.resident_bytes;
    }
    return bytes <= problem_.dram_bytes * (1 + kTie);
  }

  bool out_of_time() const { return budget_.spent(); }

  // Layer c + 1 from layer c. Returns a bound on the sums of what was not expanded, for when it is stopped.
  double expand(int c) {
    BitsTable<W, State>& layer = layers_[static_cast<std::size_t>(c)];
    for (std::size_t s = 0; s < layer.size(); ++s) {
      const State state = layer[s].value;
      if (state.value + state.rest > aim_) {
        ++pruned_by_bound_;
        continue;
      }
      from_ = s;
      grow(c, layer[s].key, state);
      if (too_many_) return 0;
      if (!stopped_) continue;
      double bound = kNever;
      for (std::size_t r = s; r < layer.size(); ++r) {
        bound = std::min(bound, layer[r].value.value + layer[r].value.rest);
      }
      for (const auto& entry : layers_[static_cast<std::size_t>(c) + 1]) {
        bound = std::min(bound, entry.value.value + entry.value.rest);
      }
      return bound;
    }
    return kNever;
  }

  void grow(int c, const Bits<W>& ideal, const State& state) {
    const Bits<W> left = allowed_[static_cast<std::size_t>(c)].without(ideal);
    Bits<W> ready;
    left.for_each([&](int b) {
      if (before_[static_cast<std::size_t>(b)].within(ideal)) ready.set(b);
    });
    State next = state;
    extend(c, ideal, state, ideal, left, ready, next, 0, 0);
  }

  // Visits `reached` and every ideal that adds to it kernels at or above bit `from`. `next` holds the work that
  // `reached` leaves, `sram` what its set needs at least.
  void extend(int c, const Bits<W>& ideal, const State& state, const Bits<W>& reached, const Bits<W>& left,
              const Bits<W>& ready, const State& next, double sram, int from) {
    if (stopped_ || too_many_) return;
    if ((++transitions_ & 4095) == 0 && out_of_time()) {
      stopped_ = true;
      return;
    }
    if (transitions_left_-- == 0) {
      too_many_ = true;
      return;
    }
    if (due_[static_cast<std::size_t>(c)].within(reached)) arrive(c, ideal, state, reached, next);
    for (int b = ready.next(from); b >= 0; b = ready.next(b + 1)) {
      const auto k = static_cast<std::size_t>(space_.order[static_cast<std::size_t>(b)]);
      Bits<W> more = reached, candidates = left;
      more.set(b);
      if (from == 0) candidates = left & same_class_[static_cast<std::size_t>(b)];
      double need = sram;
      if (!monotone_sram(ideal, reached, k, need)) {
        // Alone it may be tiled further; with others it cannot.
        ++pruned_by_capacity_;
        if (reached == ideal && problem_.kernels[k].can_split_weight) {
          const State after = leave(next, k);
          if (due_[static_cast<std::size_t>(c)].within(more)) arrive(c, ideal, state, more, after);
        }
      } else {
        Bits<W> then = ready & candidates;
        then.clear(b);
        after_[static_cast<std::size_t>(b)].for_each([&](int d) {
          if (candidates.has(d) && before_[static_cast<std::size_t>(d)].within(more)) then.set(d);
        });
        extend(c, ideal, state, more, candidates, then, leave(next, k), need, b + 1);
      }
      // Kernels that must have run by now cannot be left for a later branch.
      if (due_[static_cast<std::size_t>(c)].has(b)) break;
    }
  }

  // Adds kernel k to what the set needs in SRAM at least; false when that is too much.
  bool monotone_sram(const Bits<W>& ideal, const Bits<W>& reached, std::size_t k, double& need) const {
    if (problem_.sram_bytes <= 0) return true;
    const PartitionKernel& kernel = problem_.kernels[k];
    need += kernel.weight_bytes + kernel.sram_extra_bytes;
    const Bits<W> set = reached.without(ideal);
    for (const int e : pricer_.edges_into(static_cast<int>(k))) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (set.has(bit_of(edge.from))) {
        if (edge.depth > 2) need += (edge.depth - 2) * edge.buffer_bytes;
      } else if (edge.depth >= 2) {
        need += 2 * edge.buffer_bytes;
      }
    }
    for (const int e : pricer_.edges_out_of(static_cast<int>(k))) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      if (edge.depth >= 2) need += 2 * edge.buffer_bytes;
    }
    return need <= problem_.sram_bytes * (1 + kRounding);
  }

  State leave(const State& state, std::size_t k) const {
    State next = state;
    next.compute -= work_.compute_ns[k];
    next.network -= work_.network_ns[k];
    next.beside -= work_.beside_ns[k];
    next.bytes -= problem_.kernels[k].memory_bytes;
    next.weights -= weight_share_[k];
    next.cores -= core_share_[k];
    for (const int e : pricer_.edges_into(static_cast<int>(k))) {
      next.bytes -= problem_.edges[static_cast<std::size_t>(e)].stream_bytes;
    }
    for (const int e : pricer_.edges_out_of(static_cast<int>(k))) {
      const PartitionEdge& edge = problem_.edges[static_cast<std::size_t>(e)];
      next.bytes += edge.stream_bytes;
      if (leaves_.has(bit_of(edge.to))) next.leaf_bytes += edge.stream_bytes;
    }
    if (leaves_.has(bit_of_[k])) {
      next.leaf_compute -= work_.compute_ns[k];
      next.leaf_network -= leaf_network_ns(k);
      next.leaf_bytes -= problem_.kernels[k].memory_bytes;
      for (const int e : pricer_.edges_into(static_cast<int>(k))) {
        next.leaf_bytes -= problem_.edges[static_cast<std::size_t>(e)].stream_bytes;
      }
    }
    return next;
  }

  void arrive(int c, const Bits<W>& ideal, const State& state, const Bits<W>& reached, State next) {
    const bool last = c + 1 == problem_.configurations;
    next.rest = last ? 0 : least(next.compute, next.bytes, next.network, next.beside);
    if (!last) next.rest = std::max(next.rest, core_rest(static_cast<std::size_t>(c) + 1, reached, next));
    if (next.rest == kNever || !room_for(next, problem_.configurations - c - 1)) {
      ++pruned_by_capacity_;
      return;
    }
    const Bits<W> set = reached.without(ideal);
    double interval = 0;
    if (set.any()) {
      // A lower bound of this set's price, before it is looked up.
      if (state.value + least_between(state, next) + next.rest > aim_) {
        ++pruned_by_bound_;
        return;
      }
      std::size_t index = 0;
      const SetPrice& price = priced(set, index);
      if (!price.fits) {
        ++pruned_by_capacity_;
        return;
      }
      interval = price.interval;
    }
    next.value = state.value + interval;
    if (!(next.value + next.rest <= aim_)) {
      ++pruned_by_bound_;
      return;
    }
    if (!dram_holds(ideal, reached)) {
      ++pruned_by_capacity_;
      return;
    }
    BitsTable<W, State>& layer = layers_[static_cast<std::size_t>(c) + 1];
    const auto [at, made] = layer.insert(reached);
    if (made) {
      layer[at].value = next;
      if (ideals_.insert(reached).second && ideals_.size() > limits_.most_ideals) too_many_ = true;
    } else if (next.value < layer[at].value.value) {
      layer[at].value.value = next.value;
    }
    if (links_) links_->push_back({interval, c, from_, at});
  }

  // Arcs on chains whose sum is within a tie of `target`, last configuration first. False, and not all of them, where
  // the budget is spent.
  bool optimal_arcs(double target, std::vector<ChainArc>& arcs) {
    base::Ticker clock(budget_, 4096);
    for (auto& layer : layers_) {
      for (auto& entry : layer) entry.value.to_go = kNever;
    }
    const auto [end, made] = layers_.back().insert(all_);
    ORRERY_CHECK(!made, "the optimum of the partition has left its table");
    layers_.back()[end].value.to_go = 0;
    for (int c = problem_.configurations - 1; c >= 0; --c) {
      const auto layer = static_cast<std::size_t>(c);
      for (std::size_t t = 0; t < layers_[layer + 1].size(); ++t) {
        const Bits<W> reached = layers_[layer + 1][t].key;
        const State next = layers_[layer + 1][t].value;
        if (next.to_go == kNever) continue;
        for (std::size_t s = 0; s < layers_[layer].size(); ++s) {
          if (clock.spent()) return false;
          State& state = layers_[layer][s].value;
          const Bits<W>& ideal = layers_[layer][s].key;
          if (state.value + next.to_go > target || !ideal.within(reached)) continue;
          if (least_between(state, next) * (1 - kRounding) > target - state.value - next.to_go + residue_) {
            continue;
          }
          std::size_t index = 0;
          const double interval = arc_ns(c, ideal, reached, index);
          if (!(state.value + interval + next.to_go <= target)) continue;
          state.to_go = std::min(state.to_go, interval + next.to_go);
          arcs.push_back({c, s, t, index});
        }
      }
    }
    return true;
  }

  // Of the chains along `arcs`, the one that the last tie-breaks name.
  std::vector<int> first_among(std::vector<ChainArc> arcs) {
    std::reverse(arcs.begin(), arcs.end());  // by layer, ascending
    std::vector<ChainSet> sets(sets_.size());
    for (const ChainArc& arc : arcs) {
      ChainSet& set = sets[arc.set];
      if (!set.kernels.empty()) continue;
      sets_[arc.set].key.for_each([&](int b) { set.kernels.push_back(space_.order[static_cast<std::size_t>(b)]); });
      set.sram_bytes = sets_[arc.set].value.sram;
    }
    std::vector<std::size_t> states;
    for (const auto& layer : layers_) states.push_back(layer.size());
    return first_chain(std::move(arcs), sets, states, layers_.back().insert(all_).first, bit_of_.size());
  }

  void finish(PartitionOptimum& result, double unseen) {
    std::optional<std::vector<int>> assignment;
    if (incumbent_ns_ < kNever) {
      assignment = incumbent_;
      result.cost = pricer_.price_all(*assignment);
      ORRERY_CHECK(result.cost.feasible, "the partition found breaks a rule: " + result.cost.first_violation);
      if (limits_.upper_bound_ns > 0 && result.cost.sum_interval_ns >= limits_.upper_bound_ns) {
        assignment.reset();
        result.cost = {};
      }
    }
    base::Certificate& certificate = result.certificate;
    const double value = assignment ? result.cost.sum_interval_ns : kNever;
    // No sum is below what the first sweep found, aimed at, or did not come to. Where it cut nothing off for a bound,
    // nothing fits at all.
    double bound = incumbent_ns_ == kNever && pruned_by_bound_ == 0 ? kNever : proven_;
    if (stopped_) bound = std::min(bound, unseen);
    bound = std::min(bound, value);
    result.interrupted = stopped_;
    result.infeasible = bound == kNever;
    if (result.infeasible)
      certificate.close_empty();
    else if (assignment)
      certificate.close(value, bound, 2 * kTie);
    else
      certificate.lower_bound = bound;
    certificate.evaluated = sets_.size();
    certificate.pruned = {{"capacity", pruned_by_capacity_}, {"bound", pruned_by_bound_}};
    certificate.seconds = watch_.seconds();
    result.assignment = std::move(assignment);
  }

  const PartitionProblem& problem_;
  const PartitionLimits& limits_;
  const PartitionSpace& space_;
  const base::Budget budget_;
  SetPricer pricer_;
  PartitionWork work_;
  base::Stopwatch watch_;

  std::vector<int> bit_of_;              // by kernel; bits follow the topological order
  std::vector<Bits<W>> before_, after_;  // by bit: direct producers, consumers
  std::vector<Bits<W>> same_class_;      // by bit
  std::vector<Bits<W>> allowed_, due_;   // by configuration: may run in it; must have run after it
  Bits<W> all_;
  double weights_in_dram_ = 0;
  std::vector<double> weight_share_, core_share_;  // by kernel: least share of a chip's SRAM and cores
  bool dram_binds_ = false;
  bool beside_ = false;  // groups of chips communicate beside each other

  std::vector<BitsTable<W, State>> layers_;
  std::size_t from_ = 0;                    // the state that is being expanded
  std::optional<std::vector<Link>> links_;  // of all transitions, where they are wanted
  bool bounded_by_core_ = false;
  Bits<W> leaves_, core_bits_;  // set once the core bounds
  std::vector<BitsTable<W, double>> core_to_go_;
  BitsTable<W, SetPrice> sets_;
  BitsTable<W, char> ideals_;
  std::vector<int> members_;
  std::vector<int> incumbent_;
  double incumbent_ns_ = kNever, aim_ = kNever;
  double proven_ = kNever;  // no sum is less
  double residue_ = 0;      // what taking work away from a sum, term by term, may leave of it
  std::uint64_t transitions_ = 0, transitions_left_ = 0, pruned_by_bound_ = 0, pruned_by_capacity_ = 0;
  bool stopped_ = false, too_many_ = false;
};

}  // namespace

std::optional<PartitionOptimum> optimize_by_ideals(const PartitionProblem& problem, const PartitionSpace& space,
                                                   const PartitionLimits& limits) {
  const std::size_t kernels = problem.kernels.size();
  if (kernels <= 64) return Search<1>(problem, space, limits).run();
  if (kernels <= 128) return Search<2>(problem, space, limits).run();
  if (kernels <= 256) return Search<4>(problem, space, limits).run();
  if (kernels <= 1024) return Search<16>(problem, space, limits).run();
  return std::nullopt;
}

}  // namespace orrery::dataflow
