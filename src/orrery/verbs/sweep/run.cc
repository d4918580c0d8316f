#include "orrery/verbs/sweep/run.h"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/grouped.h"
#include "orrery/verbs/sweep/points/branch_and_bound.h"
#include "orrery/verbs/sweep/points/study_check.h"
#include "orrery/verbs/sweep/points/study_document.h"

namespace orrery::sweep {
namespace {

// What ranking could not look at: a figure that a point does not have is no figure of nought.
void mention_unknown(const Study& study, const Points& points, const Ranking& ranking, base::Diagnostics& found) {
  std::size_t of = 0;
  for (std::size_t at = 0; at < points.size(); ++at) of += points.found(at);
  const auto mention = [&](std::size_t count, store::Figure figure, const std::string& effect) {
    if (count == 0) return;
    auto& note =
        found.warning("O2066", fmt::format("{} of {} points {} no `{}`", base::grouped(static_cast<double>(count)),
                                           base::grouped(static_cast<double>(of)), count == 1 ? "has" : "have",
                                           store::column(figure)));
    note.severity = base::Severity::kNote;
    note.note(effect);
    if (figure == store::Figure::kArea)
      note.note("an area is known where every storage and compute unit of the chip has one, of its ART or estimated");
    note.hint("`--export points.csv` shows which: the column is empty");
  };
  std::set<store::Figure> told;
  for (std::size_t b = 0; b < study.budgets.size(); ++b)
    if (told.insert(study.budgets[b].figure).second)
      mention(ranking.without_budget[b], study.budgets[b].figure,
              "whether they are within the budget is not known, so they are not ranked");
  for (std::size_t o = 0; o < study.objectives.size(); ++o)
    if (told.insert(study.objectives[o].figure).second)
      mention(ranking.without_objective[o], study.objectives[o].figure,
              fmt::format("they are not the best by `{}`, nor among the points that no other one beats",
                          study.objectives[o].name));
}

void mention_damaged(const store::Store& store, base::Diagnostics& found) {
  constexpr std::size_t kNamed = 8;
  const std::vector<std::string>& rows = store.thrown_away();
  if (rows.empty()) return;
  auto& warning =
      found.warning("O2067", fmt::format("rows of the store `{}` are not as they were written: {} of them thrown away",
                                         store.path(), rows.size()));
  for (std::size_t i = 0; i < rows.size() && i < kNamed; ++i) warning.note(rows[i]);
  if (rows.size() > kNamed) warning.note(fmt::format("and {} more", rows.size() - kNamed));
  warning.hint("what this study needs of them is computed again; is the disk well?");
}

// The points of a study that pass its filters and belong to the shard.
Points listed(const Study& study, Engine& engine, const Shard& shard) {
  Points out;
  const Point all = study.points();
  std::optional<Efforts> efforts;
  std::optional<Dealer> dealer;
  if (shard.parts > 1) dealer.emplace(efforts.emplace(study, engine), shard);
  for (Point point = 0; point < all; ++point) {
    if ((dealer && !dealer->takes(point)) || (!study.where.empty() && !study.wanted(study.at(point)))) continue;
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
  if (out.size() == 0) refuse_no_point(study, shard);
  return out;
}

}  // namespace

store::StudyRow row_of(const Study& study, const std::vector<base::Input>& inputs, const std::string& document) {
  std::string text = study.identity();
  for (const base::Input& input : inputs) text += '\x1f' + input.name + '=' + input.hash;
  return {0, base::content_hash(text), study.title, study.verb, document, study.asked(), study.points()};
}

SweepAnswer run(const Study& study, const ReadRequest& read, store::Store& store, const RunOptions& options) {
  study.check();
  EngineOptions how = options.engine;
  how.pins = study.pins;
  for (const Axis* axis : study.axes()) how.paths.push_back(axis->path), how.values.push_back(axis->values);
  for (const Objective& objective : study.objectives) how.wanted.push_back(objective.figure);
  for (const Budget& budget : study.budgets) how.wanted.push_back(budget.figure);
  return run_on(study, *make_engine(study.verb, study.arguments, read, how), store, options);
}

SweepAnswer run_on(const Study& study, Engine& engine, store::Store& store, const RunOptions& options) {
  SweepAnswer answer;
  answer.study = study;
  answer.points = listed(study, engine, options.shard);
  const auto ask = [&](const base::Overrides& point) { engine.probe(point); };
  probe(study, ask, answer.points.number(0));
  probe_names(study, engine, answer.points.number(0));
  answer.inputs = engine.inputs();
  answer.warnings = engine.warnings();
  mention_damaged(store, answer.warnings);

  const store::StudyRow wanted = row_of(study, answer.inputs, study_text(study));
  const std::optional<store::StudyRow> before = store.find_study(wanted.key);
  answer.row = store.study(wanted, answer.inputs);
  if (before && (options.all || before->asked != wanted.asked)) store.forget_pruned(answer.row.id);
  store.each_point(answer.row.id, true, [&](const store::PointRow& row) {
    const std::size_t at = answer.points.place_of(row.point);
    if (at < answer.points.size()) answer.points.set(at, row.outcome);
  });
  branch_and_bound(study, engine, store, options, answer);
  answer.ranking = rank(study, answer.points);
  mention_unknown(study, answer.points, answer.ranking, answer.warnings);
  for (const std::size_t at : answer.ranking.best)
    answer.commands.push_back(at == Ranking::kNone ? "" : engine.command(study.at(answer.points.number(at))));
  return answer;
}

}  // namespace orrery::sweep
