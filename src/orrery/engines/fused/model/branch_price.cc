// The words that an einsum moves.
//
// Follow one tensor from the outside in: from where it lives, over its holds, to the unit. Between two such stops, the
// outer one (the keeper) and the inner one (the holder), crosses
//
//   at the holder:  its tile, once for each pass of the temporal loops above it, in each of its instances
//   at the keeper:  the same, but words that several instances want count once where the fan-out shares them
//
// There is no other term for what stays: a tile stays because its hold stands above the loops that do not change it.
//
// An output goes up whenever its tile is left, and comes down again when it is entered once more; the first time it is
// all zeros, and nothing comes. So `down` is `up` less one pass over the loops that the tensor's ranks have.
//
// A copy moves each word once from where its input lives to where its output does, and nothing if that is one place.
#include "orrery/engines/fused/model/branch_price.h"

#include <algorithm>

#include "orrery/engines/fused/model/einsum_view.h"

namespace orrery::fused {
namespace {

// Loads of one instance of each storage, in bits.
struct Load {
  double read = 0;
  double written = 0;
};

// The products over the steps above a stop.
struct Above {
  double tile = 1;       // words that the steps from here on span
  double trips = 1;      // temporal loops
  double relevant = 1;   // those of them that the tensor has ranks of
  double instances = 1;  // spreads
};

Above above(const EinsumView& view, const Branch& branch, int stop, int access) {
  Above a;
  for (const int v : view.e.accesses[access].variables) a.tile *= static_cast<double>(view.bound(v));
  for (int i = 0; i < stop; ++i) {
    const Step& step = branch.steps[i];
    if (step.kind == Step::Kind::kHold) continue;
    const auto count = static_cast<double>(step.count);
    const bool relevant = view.relevant(access, step.variable);
    if (relevant) a.tile /= count;
    if (step.kind == Step::Kind::kSpread) {
      a.instances *= count;
    } else {
      a.trips *= count;
      if (relevant) a.relevant *= count;
    }
  }
  return a;
}

class Pricing {
 public:
  Pricing(const Problem& problem, const Branch& branch) : view_(problem, branch.einsum), branch_(branch) {
    cost_.flows.assign(problem.machine.storages.size(), std::vector<Flow>(view_.accesses()));
    loads_.resize(problem.machine.storages.size());
  }

  EinsumCost price() {
    if (view_.e.copy) {
      copy();
    } else {
      for (int a = 0; a < view_.accesses(); ++a) follow(a);
      compute();
    }
    finish();
    return std::move(cost_);
  }

 private:
  // Where a tensor is from the outside in: (step, storage); the unit is the last stop.
  void follow(int access) {
    int keeper = -1;  // step; -1: the outermost storage
    int keeper_storage = 0;
    for (int i = 0; i < static_cast<int>(branch_.steps.size()); ++i) {
      const Step& step = branch_.steps[i];
      if (step.kind != Step::Kind::kHold || step.access != access) continue;
      if (!step.exchange) cross(access, keeper, keeper_storage, i, step.storage);
      keeper = i;
      keeper_storage = step.storage;
    }
    cross(access, keeper, keeper_storage, static_cast<int>(branch_.steps.size()), -1);
  }

  void cross(int access, int keeper, int keeper_storage, int holder, int holder_storage) {
    const Above at = above(view_, branch_, holder, access);
    const double keepers = keeper < 0 ? 1 : above(view_, branch_, keeper, access).instances;
    double sent = 1;  // copies that one keeper sends for its holders
    for (int i = keeper + 1; i < holder; ++i) {
      const Step& step = branch_.steps[i];
      if (step.kind != Step::Kind::kSpread) continue;
      const bool once = !view_.relevant(access, step.variable) && view_.shares(step.fanout, access);
      if (!once) sent *= static_cast<double>(step.count);
    }
    const bool output = access == view_.e.output();
    const double moved = at.tile * at.trips;
    const double down = output ? moved - at.tile * at.relevant : moved;
    const double up = output ? moved : 0;
    count(keeper_storage, access, down * sent, up * sent, keepers);
    if (holder_storage >= 0) count(holder_storage, access, up, down, at.instances);
  }

  // Words that each of `instances` reads and writes.
  void count(int storage, int access, double read, double written, double instances) {
    const double bits = view_.word_bits(storage, access);
    loads_[storage].read += read * bits;
    loads_[storage].written += written * bits;
    cost_.flows[storage][access].read += read * bits * instances;
    cost_.flows[storage][access].written += written * bits * instances;
  }

  void copy() {
    const int from = exchange_of(view_.problem, branch_, 0).storage;
    const int to = exchange_of(view_.problem, branch_, 1).storage;
    if (from == to) return;
    double words = 1;
    for (const int v : view_.e.accesses[0].variables) words *= static_cast<double>(view_.bound(v));
    count(from, 0, words, 0, 1);
    count(to, 1, 0, words, 1);
  }

  void compute() {
    const Unit& unit = view_.machine.units[view_.e.unit];
    double each = 1;
    double all = 1;
    for (const Step& step : branch_.steps) {
      if (step.kind == Step::Kind::kLoop) each *= static_cast<double>(step.count);
      if (step.kind != Step::Kind::kHold) all *= static_cast<double>(step.count);
    }
    cost_.operations = all;
    cost_.unit_energy = all * unit.energy;
    cost_.unit_latency = each / unit.rate;
  }

  void finish() {
    cost_.energy = cost_.unit_energy;
    cost_.latency = cost_.unit_latency;
    for (std::size_t s = 0; s < loads_.size(); ++s) {
      const Storage& storage = view_.machine.storages[s];
      for (Flow& flow : cost_.flows[s]) {
        flow.energy = flow.read * storage.read_energy + flow.written * storage.write_energy;
        cost_.energy += flow.energy;
      }
      const double read = loads_[s].read / storage.read_rate;
      const double written = loads_[s].written / storage.write_rate;
      cost_.storage_latency.push_back(storage.ports == Ports::kShared ? read + written : std::max(read, written));
      cost_.latency = std::max(cost_.latency, cost_.storage_latency.back());
    }
    cost_.leakage = view_.leakage() * cost_.latency;
    cost_.energy += cost_.leakage;
    repeat(view_.e.times);
  }

  void repeat(double times) {
    for (double* figure :
         {&cost_.energy, &cost_.leakage, &cost_.latency, &cost_.operations, &cost_.unit_energy, &cost_.unit_latency})
      *figure *= times;
    for (double& latency : cost_.storage_latency) latency *= times;
    for (auto& storage : cost_.flows)
      for (Flow& flow : storage) flow = {flow.read * times, flow.written * times, flow.energy * times};
  }

  EinsumView view_;
  const Branch& branch_;
  EinsumCost cost_;
  std::vector<Load> loads_;
};

}  // namespace

EinsumCost price(const Problem& problem, const Branch& branch) {
  return Pricing(problem, branch).price();
}

Count tile_words(const Problem& problem, const Branch& branch, int step, int access) {
  const EinsumView view(problem, branch.einsum);
  Count words = 1;
  for (const int v : view.e.accesses[access].variables) words *= view.bound(v);
  for (int i = 0; i < step; ++i)
    if (branch.steps[i].kind != Step::Kind::kHold && view.relevant(access, branch.steps[i].variable))
      words /= branch.steps[i].count;
  return words;
}

}  // namespace orrery::fused
