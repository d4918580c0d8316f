// Studies as their store has them: nothing is evaluated, and points that are not stored are not listed.
#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/points/build.h"
#include "orrery/verbs/sweep/points/study_document.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

// The words that ask for a study again; none where a value cannot be given with --vary, as one that holds a comma.
std::vector<std::string> command_of(const sweep::Study& study, const std::string& store) {
  std::vector<std::string> out = sweep::verb_words("sweep " + study.verb, study.arguments);
  const auto add = [&](const char* option, const std::string& value) { out.insert(out.end(), {option, value}); };
  for (const sweep::Group& group : study.groups) {
    std::vector<std::string> axes;
    for (const sweep::Axis& axis : group.axes) axes.push_back(axis.path + "=" + base::joined(axis.values, ","));
    const std::string vary = base::joined(axes, ";");
    try {
      const sweep::Group again = sweep::read_vary(vary);
      const auto alike = [](const sweep::Axis& a, const sweep::Axis& b) {
        return a.path == b.path && a.values == b.values;
      };
      if (!std::equal(again.axes.begin(), again.axes.end(), group.axes.begin(), group.axes.end(), alike)) return {};
    } catch (const base::InputError&) {
      return {};
    }
    add("--vary", vary);
  }
  for (const sweep::Filter& filter : study.where) add("--where", filter.text());
  for (const sweep::Budget& budget : study.budgets)
    add("--budget", fmt::format("{}={}", store::column(budget.figure), budget.most));
  std::vector<std::string> objectives;
  for (const sweep::Objective& objective : study.objectives) objectives.push_back(objective.name);
  add("--objectives", base::joined(objectives, ","));
  add("--store", store);
  return out;
}

}  // namespace

std::vector<StoredStudy> stored_studies(const std::string& path) {
  store::Store store(path, store::Store::Mode::kRead, sweep::this_build());
  std::vector<StoredStudy> out;
  for (const store::Summary& summary : store.studies()) {
    sweep::SweepAnswer answer;
    const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{path, summary.study.document});
    answer.study = sweep::read_study(file);
    answer.row = summary.study;
    answer.inputs = store.inputs(summary.study.id);
    if (answer.study.objectives.empty()) answer.study.objectives = sweep::usual_objectives(answer.study.verb);
    store.each_point(summary.study.id, false, [&](const store::PointRow& row) {
      answer.points.add(row.point);
      answer.points.set(answer.points.size() - 1, row.outcome);
    });
    answer.stored_before = answer.points.size();
    answer.finished = answer.points.size() == answer.study.points();  // as far as a store knows: filters aside
    answer.ranking = sweep::rank(answer.study, answer.points);
    SweepPrinted printed;
    printed.answer = &answer;
    printed.command = command_of(answer.study, path);
    printed.layers = [&](std::size_t at) { return sweep::parts_of(store, answer.row, answer.points.number(at)); };
    StoredStudy study{summary.study.title, ""};
    sweep_json(printed, [&](const std::string& piece) { study.document += piece; });
    out.push_back(std::move(study));
  }
  return out;
}

}  // namespace orrery::verbs
