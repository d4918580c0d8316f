#include "orrery/engines/dataflow/partition/partition_mip.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/mip.h"
#include "orrery/engines/dataflow/partition/partition_price.h"
#include "orrery/engines/dataflow/partition/tolerances.h"

namespace orrery::dataflow {
namespace {

using base::kInfinity;
using base::Mip;
using Terms = std::vector<Mip::Term>;

constexpr double kAgree = 1e-7;  // relative accuracy of a proof, given the solver's tolerances

class Programme {
 public:
  Programme(const PartitionProblem& problem, const PartitionSpace& space, double unit_ns, double room)
      : problem_(problem), space_(space), unit_ns_(unit_ns), room_(room), pricer_(problem) {
    for (const PartitionKernel& kernel : problem.kernels) weights_in_dram_ += kernel.dram_bytes;
    kernels();
    edges();
    for (int c = 0; c < problem.configurations; ++c) configuration(c);
  }

  const Mip& mip() const { return mip_; }

  std::vector<int> assignment(const std::vector<double>& values) const {
    std::vector<int> result;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const auto most = std::max_element(x_[k].begin(), x_[k].end(), [&](int a, int b) {
        return values[static_cast<std::size_t>(a)] < values[static_cast<std::size_t>(b)];
      });
      result.push_back(space_.first[k] + static_cast<int>(most - x_[k].begin()));
    }
    return result;
  }

 private:
  // The column of kernel k in configuration c, or -1.
  int x(int kernel, int c) const {
    const auto k = static_cast<std::size_t>(kernel);
    return c < space_.first[k] || c > space_.last[k] ? -1 : x_[k][static_cast<std::size_t>(c - space_.first[k])];
  }
  int y(std::size_t edge, int c) const { return y_[edge][static_cast<std::size_t>(c)]; }

  static void add(Terms& terms, int column, double factor) {
    if (column >= 0 && factor != 0) terms.push_back({column, factor});
  }
  // Of kernel's columns up to c: 1 once it has run.
  void add_done(Terms& terms, int kernel, int c, double factor) const {
    for (int i = space_.first[static_cast<std::size_t>(kernel)]; i <= c; ++i) add(terms, x(kernel, i), factor);
  }

  void kernels() {
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      x_.emplace_back();
      Terms one;
      for (int c = space_.first[k]; c <= space_.last[k]; ++c) {
        x_[k].push_back(mip_.add_column(0, 1, 0, true));
        one.push_back({x_[k].back(), 1});
      }
      mip_.add_row(one, 1, 1);
    }
  }

  void edges() {
    for (const PartitionEdge& edge : problem_.edges) {
      const auto u = static_cast<std::size_t>(edge.from), v = static_cast<std::size_t>(edge.to);
      for (int c = space_.first[v]; c < std::min(space_.last[u], space_.last[v] + 1); ++c) {
        Terms before;
        add_done(before, edge.from, c, 1);
        add_done(before, edge.to, c, -1);
        mip_.add_row(before, 0, kInfinity);
      }
      y_.emplace_back(static_cast<std::size_t>(problem_.configurations), -1);
      for (int c = std::max(space_.first[u], space_.first[v]); c <= std::min(space_.last[u], space_.last[v]); ++c) {
        const int both = y_.back()[static_cast<std::size_t>(c)] = mip_.add_column(0, 1, 0);
        const int from = x(edge.from, c), to = x(edge.to, c);
        mip_.add_row(Terms{{from, 1}, {both, -1}}, 0, kInfinity);
        mip_.add_row(Terms{{to, 1}, {both, -1}}, 0, kInfinity);
        mip_.add_row(Terms{{from, 1}, {to, 1}, {both, -1}}, -kInfinity, 1);
      }
    }
  }

  // factor * [exactly one end of the edge runs in c].
  void add_cut(Terms& terms, std::size_t edge, int c, double factor) const {
    add(terms, x(problem_.edges[edge].from, c), factor);
    add(terms, x(problem_.edges[edge].to, c), factor);
    add(terms, y(edge, c), -2 * factor);
  }

  void configuration(int c) {
    classes(c);
    capacities(c);
    Terms compute, memory, network, beside;
    if (problem_.use_compute || problem_.free_cores) compute = compute_terms(c);
    if (!problem_.use_compute) compute.clear();  // cores are limited even where compute time does not count
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      const int run = x(static_cast<int>(k), c);
      if (problem_.use_memory) add(memory, run, ns_of_bytes(problem_.kernels[k].memory_bytes));
      if (!problem_.use_network) continue;
      add(network, run, pricer_.network_ns(static_cast<int>(k)) / unit_ns_);
      add(beside, run, problem_.kernels[k].beside_ns / unit_ns_);
    }
    if (!beside.empty()) network = longer(network, beside);
    for (std::size_t e = 0; problem_.use_memory && e < problem_.edges.size(); ++e) {
      add_cut(memory, e, c, ns_of_bytes(problem_.edges[e].stream_bytes));
    }
    const int interval = mip_.add_column(0, kInfinity, 1);
    const auto at_least = [&](std::initializer_list<const Terms*> parts) {
      Terms row = {{interval, 1}};
      for (const Terms* part : parts) {
        for (const Mip::Term& term : *part) row.push_back({term.column, -term.factor});
      }
      if (row.size() > 1) mip_.add_row(row, 0, kInfinity);
    };
    switch (problem_.overlap) {
      case Overlap::kPerfect:
        at_least({&compute});
        at_least({&memory});
        at_least({&network});
        break;
      case Overlap::kComputeMemory:
        at_least({&compute, &network});
        at_least({&memory, &network});
        break;
      case Overlap::kNone:
        at_least({&compute, &memory, &network});
        break;
    }
  }

  // The column that is as long as either.
  Terms longer(const Terms& one, const Terms& other) {
    const int most = mip_.add_column(0, kInfinity, 0);
    for (const Terms* terms : {&one, &other}) {
      Terms row = {{most, 1}};
      for (const Mip::Term& term : *terms) row.push_back({term.column, -term.factor});
      if (row.size() > 1) mip_.add_row(row, 0, kInfinity);
    }
    return {{most, 1}};
  }

  double ns_of_bytes(double bytes) const {
    return bytes == 0 ? 0 : bytes / problem_.dram_bandwidth_gb_per_s / unit_ns_;
  }

  Terms compute_terms(int c) {
    Terms terms;
    if (!problem_.free_cores) {
      for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
        add(terms, x(static_cast<int>(k), c), problem_.kernels[k].compute_ns / unit_ns_);
      }
      return terms;
    }
    const int slowest = mip_.add_column(0, kInfinity, 0);
    Terms cores;
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      const int run = x(static_cast<int>(k), c);
      if (run < 0) continue;
      Terms choose = {{run, -1}}, wait = {{slowest, 1}};
      for (const CoreChoice& choice : problem_.kernels[k].choices) {
        if (choice.cores > problem_.cores) continue;
        const int chosen = mip_.add_column(0, 1, 0, true);
        choose.push_back({chosen, 1});
        wait.push_back({chosen, -choice.ns / unit_ns_});
        cores.push_back({chosen, static_cast<double>(choice.cores) / static_cast<double>(problem_.cores)});
      }
      mip_.add_row(choose, 0, 0);
      mip_.add_row(wait, 0, kInfinity);
    }
    mip_.add_row(cores, -kInfinity, 1);
    return {{slowest, 1}};
  }

  void classes(int c) {
    std::map<int, int> column;  // class -> whether it runs in c
    for (const PartitionKernel& kernel : problem_.kernels) column[kernel.repeat_class] = -1;
    if (column.size() < 2) return;
    Terms one;
    for (auto& [name, open] : column) {
      open = mip_.add_column(0, 1, 0, true);
      one.push_back({open, 1});
    }
    mip_.add_row(one, -kInfinity, 1);
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      const int run = x(static_cast<int>(k), c);
      if (run >= 0) mip_.add_row(Terms{{run, 1}, {column[problem_.kernels[k].repeat_class], -1}}, -kInfinity, 0);
    }
  }

  void capacities(int c) {
    if (problem_.sram_bytes > 0) {
      Terms sram;
      const double unit = problem_.sram_bytes;
      for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
        const PartitionKernel& kernel = problem_.kernels[k];
        add(sram, x(static_cast<int>(k), c), (kernel.weight_bytes + kernel.sram_extra_bytes) / unit);
      }
      for (std::size_t e = 0; e < problem_.edges.size(); ++e) {
        const PartitionEdge& edge = problem_.edges[e];
        add_cut(sram, e, c, 2 * edge.buffer_bytes / unit);
        add(sram, y(e, c), edge.depth * edge.buffer_bytes / unit);
      }
      tiled_alone(c, sram);
      mip_.add_row(sram, -kInfinity, room_);
    }
    if (problem_.dram_bytes > 0) {
      Terms dram;
      for (std::size_t e = 0; e < problem_.edges.size(); ++e) {
        const PartitionEdge& edge = problem_.edges[e];
        const double share = edge.resident_bytes / problem_.dram_bytes;
        if (share == 0) continue;
        add_done(dram, edge.from, c, share);
        add_done(dram, edge.to, c - 1, -share);
        add(dram, y(e, c), -share);
      }
      if (!dram.empty()) mip_.add_row(dram, -kInfinity, room_ - weights_in_dram_ / problem_.dram_bytes);
    }
  }

  void tiled_alone(int c, Terms& sram) {
    for (std::size_t k = 0; k < problem_.kernels.size(); ++k) {
      const int self[] = {static_cast<int>(k)};
      const int run = x(self[0], c);
      if (run < 0 || !problem_.kernels[k].can_split_weight) continue;
      const double excess = sram_alone(self[0]) / problem_.sram_bytes - room_;
      if (excess <= 0 || !pricer_.price(self).fits) continue;
      const int tiled = mip_.add_column(0, 1, 0, true);
      mip_.add_row(Terms{{run, 1}, {tiled, -1}}, 0, kInfinity);
      for (std::size_t j = 0; j < problem_.kernels.size(); ++j) {
        const int other = j == k ? -1 : x(static_cast<int>(j), c);
        if (other >= 0) mip_.add_row(Terms{{other, 1}, {tiled, 1}}, -kInfinity, 1);
      }
      sram.push_back({tiled, -excess});
    }
  }

  double sram_alone(int kernel) const {
    const PartitionKernel& one = problem_.kernels[static_cast<std::size_t>(kernel)];
    double bytes = one.weight_bytes + one.sram_extra_bytes;
    for (const int e : pricer_.edges_into(kernel))
      bytes += 2 * problem_.edges[static_cast<std::size_t>(e)].buffer_bytes;
    for (const int e : pricer_.edges_out_of(kernel))
      bytes += 2 * problem_.edges[static_cast<std::size_t>(e)].buffer_bytes;
    return bytes;
  }

  const PartitionProblem& problem_;
  const PartitionSpace& space_;
  double unit_ns_, room_;
  SetPricer pricer_;
  double weights_in_dram_ = 0;
  Mip mip_;
  std::vector<std::vector<int>> x_, y_;
};

// About what one configuration takes, so that costs are about one.
double unit_of_time(const PartitionProblem& problem) {
  const PartitionWork work = partition_work(problem);
  double ns = 0, bytes = 0;
  for (std::size_t k = 0; k < work.compute_ns.size(); ++k) {
    ns += work.compute_ns[k] + work.network_ns[k] + work.beside_ns[k];
    bytes += problem.kernels[k].memory_bytes;
  }
  for (const PartitionEdge& edge : problem.edges) bytes += edge.stream_bytes;
  if (bytes > 0) ns += bytes / problem.dram_bandwidth_gb_per_s;
  return std::isfinite(ns) && ns > 0 ? ns / 1000 : 1;
}

}  // namespace

bool within_reach_of_mip(const PartitionProblem& problem, const PartitionSpace& space) {
  constexpr double kMostColumnsAndRows = 40'000;
  constexpr double kRowsPerEdge = 4;
  double size = 0;
  for (std::size_t k = 0; k < problem.kernels.size(); ++k) {
    const double choices = problem.free_cores ? static_cast<double>(problem.kernels[k].choices.size()) : 0;
    size += (space.last[k] - space.first[k] + 1) * (1 + choices);
  }
  size += kRowsPerEdge * static_cast<double>(problem.edges.size()) * problem.configurations;
  return size <= kMostColumnsAndRows;
}

PartitionOptimum optimize_by_mip(const PartitionProblem& problem, const PartitionSpace& space,
                                 const PartitionLimits& limits, const std::optional<std::vector<int>>& start) {
  const base::Stopwatch watch;
  PartitionOptimum result;
  result.method = "mixed-integer programme";
  result.ties_broken = false;
  double best = kInfinity;
  const auto offer = [&](const std::vector<int>& assignment) {
    PartitionCost cost = price(problem, assignment);
    ++result.certificate.evaluated;
    if (!cost.feasible) return false;
    if (cost.sum_interval_ns < best) {
      best = cost.sum_interval_ns;
      result.cost = std::move(cost);
      result.assignment = assignment;
    }
    return true;
  };
  if (start) offer(*start);

  double weights = 0;
  for (const PartitionKernel& kernel : problem.kernels) weights += kernel.dram_bytes;
  if (problem.dram_bytes > 0 && weights > problem.dram_bytes * (1 + kTie)) {
    result.infeasible = true;
    result.certificate.close_empty();
    return result;
  }

  const double unit = unit_of_time(problem);
  double bound = 0;
  bool proven = false;  // that nothing is below `bound`, however the search ended
  // Rows hold to a tolerance only. If the answer exceeds a capacity by that, a second run uses tighter capacities, and
  // the first run's bound is kept.
  for (const double room : {1.0, 1.0 - 1e-6}) {
    const Programme programme(problem, space, unit, room);
    Mip::Limits how{.gap = limits.gap, .stop = limits.stop};
    if (limits.seconds > 0) how.seconds = std::max(0.01, limits.seconds - watch.seconds());
    double cutoff = best;
    if (limits.upper_bound_ns > 0) cutoff = std::min(cutoff, limits.upper_bound_ns);
    if (cutoff < kInfinity) how.cutoff = cutoff / unit * (1 + 1e-9) + 1e-9;
    const Mip::Solution found = programme.mip().minimise(how);
    const bool accepted = found.values.empty() || offer(programme.assignment(found.values));
    if (room == 1.0) {
      result.interrupted = found.status == Mip::Status::kStopped;
      proven = found.status == Mip::Status::kOptimal || found.status == Mip::Status::kInfeasible;
      bound = found.status == Mip::Status::kInfeasible ? cutoff : std::max(0.0, found.bound * unit);
      // Rounded to the whole numbers of the answer, its sum is exact; the solver's is not.
      if (found.status == Mip::Status::kOptimal && limits.gap == 0 && accepted &&
          std::abs(best - bound) <= kAgree * best) {
        bound = best;
      }
    }
    if (accepted || result.interrupted) break;
  }

  base::Certificate& certificate = result.certificate;
  certificate.space = space.assignments();
  result.infeasible = proven && bound == kInfinity;
  if (limits.upper_bound_ns > 0 && best >= limits.upper_bound_ns) {
    result.assignment.reset();
    result.cost = {};
  }
  bound = std::min(bound, best);
  if (result.infeasible)
    certificate.close_empty();
  else if (result.assignment)
    certificate.close(best, bound, kAgree);
  else
    certificate.lower_bound = bound;
  certificate.seconds = watch.seconds();
  return result;
}

}  // namespace orrery::dataflow
