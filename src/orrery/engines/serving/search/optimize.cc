// A shape is all of a deployment but its replicas and users. Shapes are looked at twice.
//
// First each by itself: whether it divides the model, is among the accelerators, holds weights and a request, and,
// where requests come at a rate, how many replicas its capacity asks for at least: evaluate() is stable only below it,
// and capacity is proportional to replicas. At a given rate all three goals depend on accelerators alone, so that this
// many bound the goal from below, and of a shape the first number of replicas within the limits is the best.
//
// Then in the order of their bounds, until the next one is worse than what was found. Where users are given instead,
// there is no bound, and every deployment is evaluated, which takes 3 us each. Shapes are dealt to threads in batches
// of a fixed size whose results are put together in order, so that answer and counts do not depend on the number of
// threads.
#include "orrery/engines/serving/search/optimize.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/whole_number.h"

namespace orrery::serving {
namespace {

using base::Count;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kBatch = 64;

enum class Fate { kOpen, kDivides, kAccelerators, kCapacity, kRate };

struct Shape {
  std::size_t machine = 0, place = 0;
  Deployment deployment;
  Fate fate = Fate::kOpen;
  double lacking = 0;
  double capacity = 0;       // of a replica, requests a second
  double most_capacity = 0;  // of as many replicas as are allowed
  double bound = -kNever;
};

// Of a shape's deployments.
struct Best {
  std::optional<Found> found, nearest;
  std::uint64_t evaluated = 0;
  double ttft = kNever, tpot = kNever;
  bool finished = true;
};

template <class T>
std::vector<T> or_else(const std::vector<T>& list, T one) {
  return list.empty() ? std::vector<T>{one} : list;
}

std::vector<Shape> shapes_of(const Space& space) {
  std::vector<Shape> out;
  const Deployment& b = space.base;
  for (std::size_t m = 0; m < space.machines.size(); ++m)
    for (const machine::Precision precision : or_else(space.precisions, b.precision))
      for (const machine::Precision cache : or_else(space.cache_precisions, b.cache_precision))
        for (const Count tokens : or_else(space.max_batched_tokens, b.max_batched_tokens))
          for (const Count tp : or_else(space.tp, b.tp))
            for (const Count pp : or_else(space.pp, b.pp))
              for (const Count dp : or_else(space.dp, b.dp))
                for (const Count ep : or_else(space.ep, b.ep)) {
                  Shape shape{m, out.size(), b};
                  shape.deployment.precision = precision, shape.deployment.cache_precision = cache;
                  shape.deployment.max_batched_tokens = tokens;
                  shape.deployment.tp = tp, shape.deployment.pp = pp, shape.deployment.dp = dp,
                  shape.deployment.ep = ep;
                  out.push_back(shape);
                }
  return out;
}

bool comes_before(const Found& a, std::size_t place_a, const Found& b, std::size_t place_b) {
  if (a.value != b.value) return a.value < b.value;
  if (a.deployment.accelerators() != b.deployment.accelerators())
    return a.deployment.accelerators() < b.deployment.accelerators();
  if (a.service.tpot != b.service.tpot) return a.service.tpot < b.service.tpot;
  return place_a < place_b;
}

class Search {
 public:
  Search(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits, const Load& load)
      : model_(model),
        space_(space),
        goal_(goal),
        limits_(limits),
        load_(load),
        replicas_(or_else(space.replicas, space.base.replicas)),
        users_(load.rate ? std::vector<double>{0} : or_else(space.users, 0.0)) {}

  const std::vector<Count>& replicas() const { return replicas_; }
  const std::vector<double>& users() const { return users_; }

  void look_at(Shape& shape) const {
    const Machine& machine = space_.machines[shape.machine];
    base::Diagnostics found;
    check(model_, shape.deployment, found);
    if (found.has_errors() || !(machine.system->accelerator.peak(shape.deployment.precision) > 0)) {
      shape.fate = Fate::kDivides;
      return;
    }
    if (least_replicas(shape, 0) < 0) {
      shape.fate = Fate::kAccelerators;
      return;
    }
    Deployment one = shape.deployment;
    one.replicas = 1;
    Load load = load_;
    if (!load.rate && users_.front() > 0) load.concurrency = users_.front();
    const Service service = evaluate(model_, *machine.system, one, load, *machine.operators);
    if (!service.fits) {
      shape.fate = Fate::kCapacity;
      const KvMemory& memory = service.memory;
      const Count length = base::saturated(load.prompt.average() + load.output.average() + 0.5);
      const Count blocks =
          memory.blocks_for(length, std::min(completed(one, machine.system->accelerator).max_batched_tokens, length));
      shape.lacking = std::max(1.0, static_cast<double>(blocks + 1) * memory.block_bytes - memory.caches);
      return;
    }
    if (!load_.rate) return;
    shape.capacity = service.capacity;
    for (const Count replicas : replicas_)
      if (allowed(shape, replicas)) shape.most_capacity = static_cast<double>(replicas) * service.capacity;
    const Count replicas = least_replicas(shape, *load_.rate / (limits_.load * service.capacity) * (1 - 1e-9));
    if (replicas < 0)
      shape.fate = Fate::kRate;
    else
      shape.bound = value_at_rate(shape, replicas) * (1 - 1e-12);
  }

  Best best_of(const Shape& shape, const base::Budget& budget) const {
    Best out;
    for (const Count replicas : replicas_) {
      if (!allowed(shape, replicas)) break;
      if (budget.spent()) {
        out.finished = false;
        break;
      }
      if (load_.rate && static_cast<double>(replicas) * limits_.load * shape.capacity < *load_.rate * (1 - 1e-9))
        continue;
      for (const double users : users_) try_one(shape, replicas, users, out);
      if (load_.rate && out.found) break;
    }
    return out;
  }

 private:
  bool allowed(const Shape& shape, Count replicas) const {
    const Count most = space_.machines[shape.machine].most;
    return most == 0 || replicas * shape.deployment.group() <= most;
  }

  // The first number of replicas of at least so many that is allowed; -1: none.
  Count least_replicas(const Shape& shape, double wanted) const {
    for (const Count replicas : replicas_) {
      if (!allowed(shape, replicas)) return -1;
      if (static_cast<double>(replicas) >= wanted) return replicas;
    }
    return -1;
  }

  double value_at_rate(const Shape& shape, Count replicas) const {
    const double accelerators = static_cast<double>(replicas * shape.deployment.group());
    const double tokens = *load_.rate * load_.output.average();
    switch (goal_) {
      case Goal::kTokensPerAccelerator:
        return -tokens / accelerators / (1 - 2e-12);  // negative: a bound is further from 0
      case Goal::kUsdPerMillionTokens:
        return space_.machines[shape.machine].system->price_per_gpu_hour * accelerators / 3600 / tokens * 1e6;
      case Goal::kAccelerators:
        break;
    }
    return accelerators;
  }

  void try_one(const Shape& shape, Count replicas, double users, Best& out) const {
    const Machine& machine = space_.machines[shape.machine];
    Found found;
    found.machine = shape.machine;
    found.deployment = shape.deployment;
    found.deployment.replicas = replicas;
    found.users = users;
    Load load = load_;
    if (users > 0) load.concurrency = users * static_cast<double>(replicas * shape.deployment.dp);
    found.service = evaluate(model_, *machine.system, found.deployment, load, *machine.operators);
    ++out.evaluated;
    if (!found.service.fits || !found.service.stable) return;
    out.ttft = std::min(out.ttft, found.service.ttft.mean);
    out.tpot = std::min(out.tpot, found.service.tpot);
    if (!limits_.allow(found.service, load_.rate)) {
      if (!out.nearest || limits_.used(found.service) < limits_.used(out.nearest->service)) out.nearest = found;
      return;
    }
    found.value = value_of(goal_, found.service, found.deployment.accelerators());
    if (!out.found || comes_before(found, 0, *out.found, 0)) out.found = found;
  }

  const ServedModel& model_;
  const Space& space_;
  const Goal goal_;
  const ServiceLimits& limits_;
  const Load& load_;
  const std::vector<Count> replicas_;
  const std::vector<double> users_;
};

// The best so far, of shapes in the order of the space.
class Ranking {
 public:
  explicit Ranking(std::size_t top) : top_(std::max<std::size_t>(1, top)) {}

  bool full() const { return rows_.size() == top_; }
  double worst() const { return rows_.back().first.value; }
  void add(const Found& found, std::size_t place) {
    const auto at = std::find_if(rows_.begin(), rows_.end(),
                                 [&](const auto& row) { return comes_before(found, place, row.first, row.second); });
    rows_.insert(at, {found, place});
    if (rows_.size() > top_) rows_.pop_back();
  }
  std::vector<Found> all() const {
    std::vector<Found> out;
    for (const auto& row : rows_) out.push_back(row.first);
    return out;
  }

 private:
  std::size_t top_;
  std::vector<std::pair<Found, std::size_t>> rows_;
};

void note(double value, double& least) {
  if (std::isfinite(value) && value > 0 && (least == 0 || value < least)) least = value;
}

// Counts what the first look decided, and keeps the rest, in the order of their bounds.
std::vector<Shape> open_shapes(std::vector<Shape> shapes, Optimum& out) {
  std::uint64_t counts[5] = {};
  for (const Shape& shape : shapes) {
    ++counts[static_cast<int>(shape.fate)];
    note(shape.lacking, out.least_lacking);
    out.most_capacity = std::max(out.most_capacity, shape.most_capacity);
  }
  const char* names[] = {"", "divides", "accelerators", "capacity", "rate"};
  for (int f = 1; f < 5; ++f)
    if (counts[f] > 0) out.certificate.pruned.push_back({names[f], counts[f]});
  std::erase_if(shapes, [](const Shape& shape) { return shape.fate != Fate::kOpen; });
  std::stable_sort(shapes.begin(), shapes.end(), [](const Shape& a, const Shape& b) { return a.bound < b.bound; });
  return shapes;
}

}  // namespace

double value_of(Goal goal, const Service& service, Count accelerators) {
  switch (goal) {
    case Goal::kTokensPerAccelerator:
      return -service.per_accelerator;
    case Goal::kUsdPerMillionTokens:
      return service.usd_per_million_tokens;
    case Goal::kAccelerators:
      break;
  }
  return static_cast<double>(accelerators);
}

Optimum optimize(const ServedModel& model, const Space& space, Goal goal, const ServiceLimits& limits, const Load& load,
                 const base::Budget& budget, const SearchOptions& options) {
  const base::Stopwatch clock;
  const Search search(model, space, goal, limits, load);
  Optimum out;
  std::vector<Shape> shapes = shapes_of(space);
  out.certificate.space = static_cast<double>(shapes.size()) * static_cast<double>(search.replicas().size()) *
                          static_cast<double>(search.users().size());
  base::parallel_for((shapes.size() + kBatch - 1) / kBatch, options.threads, [&](std::size_t batch) {
    for (std::size_t s = batch * kBatch; s < std::min(shapes.size(), (batch + 1) * kBatch); ++s)
      if (!budget.spent()) search.look_at(shapes[s]);
  });
  shapes = open_shapes(std::move(shapes), out);
  Ranking ranking(options.top);
  double open_bound = kNever;
  for (std::size_t first = 0; first < shapes.size(); first += kBatch) {
    if (ranking.full() && shapes[first].bound > ranking.worst()) {
      out.certificate.pruned.push_back({"bound", shapes.size() - first});
      break;
    }
    if (budget.spent()) {
      out.finished = false;
      open_bound = shapes[first].bound;
      break;
    }
    const std::size_t count = std::min(kBatch, shapes.size() - first);
    std::vector<Best> batch(count);
    base::parallel_for(count, options.threads,
                       [&](std::size_t s) { batch[s] = search.best_of(shapes[first + s], budget); });
    for (std::size_t s = 0; s < count; ++s) {
      out.certificate.evaluated += batch[s].evaluated;
      note(batch[s].ttft, out.least_ttft);
      note(batch[s].tpot, out.least_tpot);
      const std::optional<Found>& near = batch[s].nearest;
      if (near && (!out.nearest || limits.used(near->service) < limits.used(out.nearest->service))) out.nearest = near;
      if (batch[s].found) ranking.add(*batch[s].found, shapes[first + s].place);
      out.finished = out.finished && batch[s].finished;
    }
    if (!out.finished) {
      open_bound = shapes[first].bound;
      break;
    }
  }
  out.best = ranking.all();
  out.certificate.optimal = out.finished;
  if (!out.best.empty()) out.nearest.reset();
  if (!out.best.empty())
    out.certificate.close(out.best.front().value, open_bound);
  else if (out.finished)
    out.certificate.close_empty();
  out.certificate.seconds = clock.seconds();
  return out;
}

}  // namespace orrery::serving
