#include "orrery/verbs/sweep/points/branch_and_bound.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <queue>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/numbers/split_mix.h"
#include "orrery/verbs/sweep/points/memo.h"
#include "orrery/verbs/sweep/points/point_boxes.h"
#include "orrery/verbs/sweep/points/writer.h"

namespace orrery::sweep {
namespace {

using store::Status;

constexpr std::size_t kFirstBatch = 16, kLargestBatch = 1024;
constexpr std::size_t kLargestWrite = 100'000;  // rows of a transaction
constexpr std::uint64_t kLeaf = 8;              // points that are answered faster than halved further
constexpr std::size_t kResultsOfPoint = 16;     // in a store, up to which all are read
constexpr std::uint64_t kFewPoints = 4096;      // of a box that is looked through for open ones

class BranchAndBound {
 public:
  BranchAndBound(const Study& study, Engine& engine, store::Store& store, const RunOptions& options,
                 SweepAnswer& answer)
      : study_(study),
        engine_(engine),
        options_(options),
        answer_(answer),
        look_up_(store.has_results()),
        writer_(store, answer.row.id) {}

  void all() {
    verify();
    for (std::size_t at = 0; at < answer_.points.size(); ++at)
      if (answer_.points.known(at)) ++answer_.stored_before, include(at);
    settled_ = answer_.stored_before;
    if (settled_ == answer_.points.size()) return;
    // Where there are not many more results than points, reading all of them is cheaper than asking for each.
    const std::size_t few = std::min(Memo::kMost / 2, kResultsOfPoint * (answer_.points.size() - settled_));
    if (look_up_ && writer_.each_result(few, [&](const store::Result& result) { memo_.add(result); })) look_up_ = false;
    if (options_.all || !bounded()) {
      in_order();
    } else {
      best_first();
      if (answer_.finished && front_.all().empty()) nearest_first();
    }
    writer_.finish();
  }

 private:
  bool ended() {
    if (options_.engine.stop && options_.engine.stop->load()) return answer_.interrupted = true;
    return options_.seconds > 0 && clock_.seconds() >= options_.seconds;
  }

  // Points spread over the study.
  void verify() {
    constexpr std::size_t kSample = 8;
    const std::size_t size = answer_.points.size();
    std::vector<base::Overrides> sample;
    for (std::size_t i = 0; i < kSample && i < size; ++i) {
      const std::size_t at = i == 0 ? 0 : i == 1 ? size - 1 : base::SplitMix(i).next() % size;
      sample.push_back(study_.at(answer_.points.number(at)));
    }
    engine_.verify(sample);
  }

  // The answer of a point joins what excludes others.
  void include(std::size_t at) {
    const Points& points = answer_.points;
    if (!points.found(at) || !within_budgets(study_, points.figures(at))) return;
    const Costs costs = costs_of(study_, points.figures(at));
    if (!std::isinf(costs[0]) && costs[0] < best_) best_ = costs[0], best_at_ = at;
    front_.add(costs);
  }

  // Every point, in the order of the product.
  void in_order() {
    std::size_t batch = kFirstBatch;
    for (std::size_t next = 0; next < answer_.points.size();) {
      if (ended()) return void(answer_.finished = false);
      std::vector<std::size_t> places;
      for (; next < answer_.points.size() && places.size() < batch; ++next)
        if (!answer_.points.known(next)) places.push_back(next);
      evaluate(places, {});
      batch = std::min(batch * 2, kLargestBatch);
    }
  }

  // Whether anything is known below which no answer is, looked at the first point.
  bool bounded() { return says_something(bound({point_box(0)})[0]); }
  static bool says_something(const Box& box) {
    return std::any_of(box.bounds.begin(), box.bounds.end(),
                       [](double bound) { return bound > -std::numeric_limits<double>::infinity(); });
  }

  Box point_box(std::size_t at) const {
    Box out = whole(study_);
    Point point = answer_.points.number(at);
    for (std::size_t g = out.sides.size(); g-- > 0;) {
      const std::size_t value = point % study_.groups[g].size();
      point /= study_.groups[g].size();
      out.sides[g] = {value, value + 1};
    }
    return out;
  }

  // Boxes with their bounds, nowhere below those that they have.
  std::vector<Box> bound(std::vector<Box> boxes) {
    std::vector<Choices> choices;
    for (const Box& box : boxes) choices.push_back(choices_of(study_, box));
    const std::vector<store::Figures> figures = engine_.bounds(choices);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      Box& box = boxes[i];
      box.bounds.resize(study_.objectives.size(), -std::numeric_limits<double>::infinity());
      for (std::size_t o = 0; o < box.bounds.size(); ++o)
        if (!std::isnan(figures[i][study_.objectives[o].figure]))
          box.bounds[o] = std::max(box.bounds[o], study_.objectives[o].cost(figures[i]));
      for (const Budget& budget : study_.budgets)
        if (budget.figure != store::Figure::kUtilization && std::isfinite(figures[i][budget.figure]))
          box.excess = std::max(box.excess, figures[i][budget.figure] / budget.most);
    }
    return boxes;
  }

  // Groups of whose values nothing can be said together, the others at the first point's.
  std::vector<bool> apart() {
    std::vector<bool> out;
    for (std::size_t g = 0; g < study_.groups.size(); ++g) {
      Box box = point_box(0);
      box.sides[g] = {0, study_.groups[g].size()};
      out.push_back(!says_something(bound({box})[0]));
    }
    return out;
  }

  // The box with the least bound first; among equals, the one that was made first.
  void best_first() {
    struct Open {
      Box box;
      std::uint64_t made = 0;
      bool operator<(const Open& other) const {
        return box.bounds[0] != other.box.bounds[0] ? box.bounds[0] > other.box.bounds[0] : made > other.made;
      }
    };
    Halving halving(apart());
    std::priority_queue<Open> open;
    std::uint64_t made = 0;
    // First straight down to the points of the best box, so that others have something to beat.
    Box first = bound({whole(study_)})[0];
    while ((first.points() > kLeaf || halving.apart(first)) && !first.over() && !ended()) {
      const std::size_t side = halving.side_of(first);
      auto [one, other] = Halving::halves(first, side);
      std::vector<Box> halves = bound({std::move(one), std::move(other)});
      halving.learn(side, first.bounds, halves[0].bounds, halves[1].bounds);
      const std::size_t better = halves[1].bounds[0] < halves[0].bounds[0] ? 1 : 0;
      open.push({std::move(halves[1 - better]), made++});
      first = std::move(halves[better]);
    }
    if (!ended() && !first.over()) {
      std::vector<std::size_t> places;
      each_open(first, [&](std::size_t at) { return places.push_back(at), true; });
      evaluate(places, {});
      if (answer_.interrupted) return;
    }
    open.push({std::move(first), made++});  // nothing of it is open now, unless it is over a budget
    for (std::size_t batch = kFirstBatch; !open.empty(); batch = std::min(batch * 2, kLargestBatch)) {
      if (ended()) return void(answer_.finished = false);
      std::vector<Writer::Row> rows;
      std::vector<std::size_t> places;
      std::vector<Box> parents;
      std::vector<std::size_t> sides;
      while (!open.empty() && places.size() + parents.size() < batch && rows.size() < kLargestWrite) {
        const Box box = open.top().box;
        open.pop();
        if (box.over() || front_.beats(box.bounds)) {
          exclude(box, rows);
        } else if (box.points() <= kLeaf && !halving.apart(box)) {
          each_open(box, [&](std::size_t at) { return places.push_back(at), true; });
        } else {
          parents.push_back(box);
          sides.push_back(halving.side_of(box));
        }
      }
      evaluate(places, std::move(rows));
      if (answer_.interrupted) return;
      std::vector<Box> halves;
      for (std::size_t p = 0; p < parents.size(); ++p) {
        auto [one, other] = Halving::halves(parents[p], sides[p]);
        halves.push_back(std::move(one)), halves.push_back(std::move(other));
      }
      halves = bound(std::move(halves));
      for (std::size_t p = 0; p < parents.size(); ++p)
        halving.learn(sides[p], parents[p].bounds, halves[2 * p].bounds, halves[2 * p + 1].bounds);
      for (Box& half : halves)
        if (half.points() > kFewPoints || holds_open(half)) open.push({std::move(half), made++});
    }
  }

  // Where bounds excluded everything for the budgets: the points that exceed them least are evaluated after all.
  void nearest_first() {
    const auto later = [](const Box& a, const Box& b) { return a.excess > b.excess; };
    std::vector<Box> open = bound({whole(study_)});
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < answer_.points.size(); ++at)
      if (answer_.points.found(at)) least = std::min(least, excess_of(study_, answer_.points.figures(at)));
    while (!open.empty() && open.front().excess < least) {
      if (ended()) return void(answer_.finished = false);
      const Box box = open.front();
      std::pop_heap(open.begin(), open.end(), later);
      open.pop_back();
      std::vector<std::size_t> places;
      if (box.points() <= kLeaf) {
        each_point(study_, box, [&](Point point) {
          const std::size_t at = answer_.points.place_of(point);
          if (at < answer_.points.size() && answer_.points.status(at) == Status::kPruned) places.push_back(at);
          return true;
        });
        settled_ -= places.size();
        evaluate(places, {});
        if (answer_.interrupted) return;
        for (const std::size_t at : places)
          if (answer_.points.found(at)) least = std::min(least, excess_of(study_, answer_.points.figures(at)));
        continue;
      }
      std::size_t side = 0;
      for (std::size_t g = 1; g < box.sides.size(); ++g)
        if (box.sides[g].size() > box.sides[side].size()) side = g;
      auto [one, other] = Halving::halves(box, side);
      for (Box& half : bound({std::move(one), std::move(other)})) {
        open.push_back(std::move(half));
        std::push_heap(open.begin(), open.end(), later);
      }
    }
  }

  // The places of its points without an answer, as long as `take` says true.
  void each_open(const Box& box, const std::function<bool(std::size_t)>& take) const {
    each_point(study_, box, [&](Point point) {
      const std::size_t at = answer_.points.place_of(point);
      return at == answer_.points.size() || answer_.points.known(at) || take(at);
    });
  }

  bool holds_open(const Box& box) const {
    bool any = false;
    each_open(box, [&](std::size_t) { return any = true, false; });
    return any;
  }

  void exclude(const Box& box, std::vector<Writer::Row>& rows) {
    each_open(box, [&](std::size_t at) {
      Writer::Row row{answer_.points.number(at), {}};
      store::Outcome& outcome = row.answer.outcome;
      outcome.status = Status::kPruned;
      outcome.reason = box.over() ? "over a budget by its bound" : "its bound is beaten";
      if (std::isfinite(box.bounds[0]))
        outcome.lower_bound = study_.objectives[0].most ? -box.bounds[0] : box.bounds[0];
      answer_.points.set(at, outcome);
      rows.push_back(std::move(row));
      return ++settled_, true;
    });
  }

  // Answers of the points at these places, stored with `rows` in one transaction while the next are sought.
  void evaluate(const std::vector<std::size_t>& places, std::vector<Writer::Row> rows) {
    if (places.empty() && rows.empty()) return;
    std::vector<base::Overrides> points;
    for (const std::size_t at : places) points.push_back(study_.at(answer_.points.number(at)));
    Batch batch = engine_.evaluate(points, [&](const std::string& key) { return known(key); });
    const bool stopped = options_.engine.stop && options_.engine.stop->load();
    if (stopped) answer_.finished = false, answer_.interrupted = true;
    for (const store::Result& result : batch.fresh) memo_.add(result);
    for (std::size_t i = 0; i < places.size(); ++i) {
      Answered& each = batch.points[i];
      // What was cut short is no answer.
      const Status status = each.outcome.status;
      if (stopped && (status == Status::kGap || status == Status::kTimeout || status == Status::kError)) continue;
      answer_.points.set(places[i], each.outcome);
      include(places[i]);
      ++answer_.evaluated, ++settled_;
      rows.push_back({answer_.points.number(places[i]), std::move(each)});
    }
    writer_.write({std::move(batch.fresh), std::move(rows)});
    report();
  }

  std::optional<store::Result> known(const std::string& key) {
    if (auto found = memo_.find(key)) return found;
    if (!look_up_ && !memo_.forgets()) return {};
    std::optional<store::Result> found = writer_.result(key);
    if (found) memo_.add(*found);
    return found;
  }

  void report() {
    if (!options_.progress) return;
    Progress progress{settled_, answer_.points.size(), clock_.seconds(), settled_ - answer_.stored_before, {}};
    if (best_at_ != Ranking::kNone)
      progress.best = fmt::format("{} {:.6g}", study_.objectives[0].name,
                                  answer_.points.figures(best_at_)[study_.objectives[0].figure]);
    options_.progress(progress);
  }

  const Study& study_;
  Engine& engine_;
  const RunOptions& options_;
  SweepAnswer& answer_;
  base::Stopwatch clock_;
  bool look_up_;
  Memo memo_;
  Writer writer_;
  std::size_t settled_ = 0;  // points that are answered or excluded
  base::ParetoFront front_;
  double best_ = std::numeric_limits<double>::infinity();
  std::size_t best_at_ = Ranking::kNone;
};

}  // namespace

void branch_and_bound(const Study& study, Engine& engine, store::Store& store, const RunOptions& options,
                      SweepAnswer& answer) {
  BranchAndBound(study, engine, store, options, answer).all();
}

}  // namespace orrery::sweep
