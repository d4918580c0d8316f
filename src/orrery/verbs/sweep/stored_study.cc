// Studies as their store has them: nothing is evaluated, and points that are not stored are not listed.
#include "orrery/verbs/sweep/points/build.h"
#include "orrery/verbs/sweep/points/study_document.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {

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
    printed.layers = [&](std::size_t at) { return sweep::parts_of(store, answer.row, answer.points.number(at)); };
    StoredStudy study{summary.study.title, ""};
    sweep_json(printed, [&](const std::string& piece) { study.document += piece; });
    out.push_back(std::move(study));
  }
  return out;
}

}  // namespace orrery::verbs
