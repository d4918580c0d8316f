#include "orrery/sweep/run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "orrery/base/grouped.h"
#include "orrery/base/stopwatch.h"
#include "orrery/sweep/study_document.h"
#include "orrery/sweep/values.h"

namespace orrery::sweep {
namespace {

using store::Status;

constexpr std::size_t kFirstBatch = 16, kLargestBatch = 1024, kBoundBatch = 4096;

// Results that points of this run share, in little room.
class Memo {
 public:
  std::optional<store::Result> find(const std::string& key) const {
    const auto found = known_.find(short_key(key));
    if (found == known_.end()) return {};
    const Slim& slim = found->second;
    store::Result out{key, {}, {}, {}};
    out.outcome.status = slim.status;
    out.outcome.gap = slim.gap;
    for (std::size_t i = 0; i < slim.figures.size(); ++i) out.outcome.figures[kKept[i]] = slim.figures[i];
    const auto reason = reasons_.find(slim.id);
    if (reason != reasons_.end()) out.outcome.reason = reason->second;
    return out;
  }
  std::int64_t id(const std::string& key) const {
    const auto found = known_.find(short_key(key));
    return found == known_.end() ? 0 : found->second.id;
  }
  void add(const store::Result& result, std::int64_t id) {
    Slim slim{id, result.outcome.status, result.outcome.gap, {}};
    for (std::size_t i = 0; i < slim.figures.size(); ++i) slim.figures[i] = result.outcome.figures[kKept[i]];
    known_[short_key(result.key)] = slim;
    if (!result.outcome.reason.empty()) reasons_[id] = result.outcome.reason;
  }

 private:
  static constexpr store::Figure kKept[] = {store::Figure::kEnergy, store::Figure::kCycles, store::Figure::kUtilization,
                                            store::Figure::kEdp, store::Figure::kSeconds};
  struct Slim {
    std::int64_t id;
    Status status;
    double gap;
    std::array<double, 5> figures;
  };
  using Key = std::array<std::uint64_t, 2>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return key[0]; }
  };
  static Key short_key(const std::string& key) {
    Key out{};
    std::memcpy(out.data(), key.data(), std::min(key.size(), sizeof out));
    return out;
  }
  std::unordered_map<Key, Slim, Hash> known_;
  std::unordered_map<std::int64_t, std::string> reasons_;
};

// SplitMix64's mixing: neighbours go to different shards.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Files that only some points read: those that options name.
void probe_names(const Study& study, Engine& engine, const Points& points) {
  std::size_t at = 0;
  for (const Axis* axis : study.axes()) {
    double number = 0;
    base::Overrides point = study.at(points.number(0));
    if (axis->path.find('.') == std::string::npos)
      for (const std::string& value : axis->values) {
        if (is_number(value, number) || value == point[at].value) continue;
        base::Overrides other = point;
        other[at].value = value;
        try {
          engine.probe(other);
        } catch (const base::InputError&) {  // its points will say so
        }
      }
    ++at;
  }
}

// What the study is refused for at every value of some field; nothing where only some points are bad.
void probe(const Study& study, Engine& engine, const Points& points) {
  try {
    engine.probe(study.at(points.number(0)));
    return;
  } catch (const base::InputError&) {
  }
  engine.probe({});  // the base question itself
  for (const Axis* axis : study.axes()) {
    const std::size_t last = axis->values.size() - 1;
    std::optional<base::InputError> refused;
    bool taken = false;
    for (const std::size_t at : {std::size_t{0}, last / 2, last}) {
      try {
        if (!taken) engine.probe({{axis->path, axis->values[at]}});
        taken = true;
      } catch (const base::InputError& error) {
        if (!refused) refused = error;
      }
    }
    if (!taken) throw *refused;
  }
}

class Run {
 public:
  Run(const Study& study, Engine& engine, store::Store& store, const RunOptions& options, SweepAnswer& answer)
      : study_(study), engine_(engine), store_(store), options_(options), answer_(answer) {}

  void all() {
    verify();
    look_up_ = store_.has_results();
    for (std::size_t at = 0; at < answer_.points.size(); ++at)
      if (!answer_.points.known(at)) open_.push_back(at);
    answer_.stored_before = answer_.points.size() - open_.size();
    for (std::size_t at = 0; at < answer_.points.size(); ++at) include(at);
    if (!options_.all) order();
    std::size_t batch = kFirstBatch;
    for (std::size_t next = 0; next < open_.size();) {
      if (ended()) {
        answer_.finished = false;
        break;
      }
      next = step(next, batch);
      batch = std::min(batch * 2, kLargestBatch);
    }
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
      const std::size_t at = i == 0 ? 0 : i == 1 ? size - 1 : mixed(i) % size;
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

  // Bounds of all open points, the most promising first.
  void order() {
    const std::size_t objectives = study_.objectives.size();
    bounds_.resize(open_.size() * objectives);
    over_.assign(open_.size(), 0);
    bool any = false;
    for (std::size_t begin = 0; begin < open_.size(); begin += kBoundBatch) {
      if (ended()) return;
      const std::size_t end = std::min(open_.size(), begin + kBoundBatch);
      std::vector<base::Overrides> points;
      for (std::size_t i = begin; i < end; ++i) points.push_back(study_.at(answer_.points.number(open_[i])));
      const std::vector<store::Figures> figures = engine_.bounds(points);
      for (std::size_t i = begin; i < end; ++i) {
        const store::Figures& of = figures[i - begin];
        for (std::size_t o = 0; o < objectives; ++o) {
          const double value = of[study_.objectives[o].figure];
          any = any || !std::isnan(value);
          bounds_[i * objectives + o] =
              std::isnan(value) ? -std::numeric_limits<double>::infinity() : study_.objectives[o].cost(of);
        }
        for (const Budget& budget : study_.budgets)
          if (of[budget.figure] > budget.most && budget.figure != store::Figure::kUtilization) over_[i] = 1;
      }
      report(0);
    }
    if (!any) return;
    std::vector<std::size_t> by(open_.size());
    std::iota(by.begin(), by.end(), std::size_t{0});
    std::stable_sort(by.begin(), by.end(),
                     [&](std::size_t a, std::size_t b) { return bounds_[a * objectives] < bounds_[b * objectives]; });
    std::vector<std::size_t> places(open_.size());
    std::vector<double> bounds(bounds_.size());
    std::vector<char> over(over_.size());
    for (std::size_t i = 0; i < by.size(); ++i) {
      places[i] = open_[by[i]];
      over[i] = over_[by[i]];
      std::copy_n(bounds_.begin() + static_cast<std::ptrdiff_t>(by[i] * objectives), objectives,
                  bounds.begin() + static_cast<std::ptrdiff_t>(i * objectives));
    }
    open_ = std::move(places), bounds_ = std::move(bounds), over_ = std::move(over);
  }

  // Excluded before it is evaluated; `out` says why.
  bool excluded(std::size_t i, store::Outcome& out) const {
    if (bounds_.empty()) return false;
    const std::size_t objectives = study_.objectives.size();
    const auto begin = bounds_.begin() + static_cast<std::ptrdiff_t>(i * objectives);
    const Costs bound(begin, begin + static_cast<std::ptrdiff_t>(objectives));
    if (!over_[i] && !front_.beats(bound)) return false;
    out.status = Status::kPruned;
    out.reason = over_[i] ? "over a budget by its bound" : "its bound is beaten";
    out.lower_bound = std::isinf(bound[0]) ? store::kAbsent : study_.objectives[0].most ? -bound[0] : bound[0];
    return true;
  }

  // From `next` on: points that are excluded, up to a batch of others; returns what comes next.
  std::size_t step(std::size_t next, std::size_t most) {
    std::vector<store::PointRow> rows;
    std::vector<std::size_t> places;
    std::vector<base::Overrides> points;
    const std::size_t begin = next;
    for (; next < open_.size() && points.size() < most && next - begin < 16 * kLargestBatch; ++next) {
      store::PointRow row{answer_.points.number(open_[next]), {}};
      if (excluded(next, row.outcome)) {
        answer_.points.set(open_[next], row.outcome);
        rows.push_back(std::move(row));
        continue;
      }
      places.push_back(open_[next]);
      points.push_back(study_.at(row.point));
    }
    Batch batch = engine_.evaluate(points, [&](const std::string& key) { return known(key); });
    if (options_.engine.stop && options_.engine.stop->load()) {  // what was cut short is no answer
      answer_.finished = false, answer_.interrupted = true;
      for (Answered& each : batch.points)
        if (each.outcome.status == Status::kGap || each.outcome.status == Status::kTimeout)
          each.outcome.status = Status::kPruned;  // marks it; not stored below
    }
    std::vector<std::int64_t> ids;
    store_.write(answer_.row.id, batch.fresh, ids, [&](const std::vector<std::int64_t>& written) {
      for (std::size_t r = 0; r < written.size(); ++r) memo_.add(batch.fresh[r], written[r]);
      for (std::size_t i = 0; i < batch.points.size(); ++i) {
        Answered& each = batch.points[i];
        if (each.outcome.status == Status::kPruned) continue;
        each.outcome.parts = parts_text(each.parts);
        rows.push_back({answer_.points.number(places[i]), each.outcome});
      }
      return rows;
    });
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (batch.points[i].outcome.status == Status::kPruned) continue;
      answer_.points.set(places[i], batch.points[i].outcome);
      include(places[i]);
      ++answer_.evaluated;
    }
    report(next);
    return next;
  }

  std::optional<store::Result> known(const std::string& key) {
    if (auto found = memo_.find(key)) return found;
    if (!look_up_) return {};
    std::optional<store::Result> found = store_.result(key);
    if (found) memo_.add(*found, store_.result_id(key));
    return found;
  }

  std::string parts_text(const std::vector<Part>& parts) const {
    std::string out;
    for (const Part& part : parts) out += fmt::format("{} {} {}\n", memo_.id(part.key), part.instances, part.name);
    return out;
  }

  void report(std::size_t next) {
    if (!options_.progress) return;
    Progress progress{answer_.stored_before + next, answer_.points.size(), clock_.seconds(), next, {}};
    if (best_at_ != Ranking::kNone)
      progress.best = fmt::format("{} {:.6g}", study_.objectives[0].name,
                                  answer_.points.figures(best_at_)[study_.objectives[0].figure]);
    options_.progress(progress);
  }

  const Study& study_;
  Engine& engine_;
  store::Store& store_;
  const RunOptions& options_;
  SweepAnswer& answer_;
  base::Stopwatch clock_;
  bool look_up_ = false;
  Memo memo_;
  std::vector<std::size_t> open_;  // places of points without an answer, in the order to evaluate them
  std::vector<double> bounds_;     // of these, by objective
  std::vector<char> over_;         // beyond a budget
  Front front_;
  double best_ = std::numeric_limits<double>::infinity();
  std::size_t best_at_ = Ranking::kNone;
};

// The points of a study that pass its filters and belong to the shard.
Points listed(const Study& study, const Shard& shard) {
  Points out;
  const Point all = study.points();
  for (Point point = 0; point < all; ++point) {
    if (!shard.holds(point) || (!study.where.empty() && !study.wanted(study.at(point)))) continue;
    if (out.size() >= kMostInMemory) {
      base::Diagnostics found;
      found
          .error("O2048", fmt::format("the study has more than {} points for one process",
                                      base::grouped(static_cast<double>(kMostInMemory))))
          .note(fmt::format("{} points in {} shard{}", base::grouped(static_cast<double>(all)), shard.parts,
                            shard.parts == 1 ? "" : "s"))
          .hint("divide it: `--shard 1/100`, `--shard 2/100` and so on, then `orrery merge`");
      throw base::InputError(found.all());
    }
    out.add(point);
  }
  if (out.size() == 0) {
    base::Diagnostics found;
    auto& error = found.error("O2047", "no point of the study passes its filters");
    if (!study.where.empty()) error.primary.where = study.where.front().where();
    error
        .note(fmt::format("{} points, {} filter{}, shard {}/{}", base::grouped(static_cast<double>(all)),
                          study.where.size(), study.where.size() == 1 ? "" : "s", shard.part, shard.parts))
        .hint("loosen a filter, or give the fields other values");
    throw base::InputError(found.all());
  }
  return out;
}

}  // namespace

bool Shard::holds(Point point) const {
  return parts <= 1 || mixed(point) % parts == part - 1;
}

store::StudyRow row_of(const Study& study, const std::vector<base::Input>& inputs, const std::string& document) {
  std::string text = study.identity();
  for (const base::Input& input : inputs) text += '\x1f' + input.name + '=' + input.hash;
  return {0, base::content_hash(text), study.title, study.verb, document, study.asked(), study.points()};
}

SweepAnswer run(const Study& study, const ReadRequest& read, store::Store& store, const RunOptions& options) {
  study.check();
  EngineOptions how = options.engine;
  for (const Axis* axis : study.axes()) how.paths.push_back(axis->path);
  return run_on(study, *make_engine(study.verb, study.arguments, read, how), store, options);
}

SweepAnswer run_on(const Study& study, Engine& engine, store::Store& store, const RunOptions& options) {
  SweepAnswer answer;
  answer.study = study;
  answer.points = listed(study, options.shard);
  probe(study, engine, answer.points);
  probe_names(study, engine, answer.points);
  answer.inputs = engine.inputs();
  answer.warnings = engine.warnings();

  const store::StudyRow wanted = row_of(study, answer.inputs, study_text(study));
  const std::optional<store::StudyRow> before = store.find_study(wanted.key);
  answer.row = store.study(wanted, answer.inputs);
  if (before && (options.all || before->asked != wanted.asked)) store.forget_pruned(answer.row.id);
  store.each_point(answer.row.id, true, [&](const store::PointRow& row) {
    const std::size_t at = answer.points.place_of(row.point);
    if (at < answer.points.size()) answer.points.set(at, row.outcome);
  });
  Run(study, engine, store, options, answer).all();
  answer.ranking = rank(study, answer.points);
  for (const std::size_t at : answer.ranking.best)
    answer.commands.push_back(at == Ranking::kNone ? "" : engine.command(study.at(answer.points.number(at))));
  return answer;
}

}  // namespace orrery::sweep
