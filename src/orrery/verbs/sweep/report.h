// Studies as people and programs read them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/present/answer.h"
#include "orrery/verbs/sweep/points/parts.h"
#include "orrery/verbs/sweep/run.h"
#include "orrery/verbs/sweep/store/store.h"

namespace orrery::verbs {

// What --json prints, its points aside.
Document<sweep::SweepAnswer> sweep_document();

struct SweepPrinted {
  const sweep::SweepAnswer* answer = nullptr;
  // The results that a point is made of, by its place; empty without a store.
  std::function<std::vector<sweep::StoredPart>(std::size_t)> layers;
  double seconds = 0;
  std::vector<std::string> command = {};
};

// Points are written one by one: their text is never in memory as a whole.
void sweep_json(const SweepPrinted& printed, const std::function<void(const std::string&)>& write);
std::string sweep_table(const sweep::SweepAnswer& answer);
// The first two objectives of every point that was evaluated, and the front: in a terminal, as a picture.
std::string sweep_scatter(const sweep::SweepAnswer& answer);
std::string sweep_svg(const sweep::SweepAnswer& answer);

// A field's value as JSON has it: a number, true, false, or a text.
Json sweep_value(const std::string& text);

// A header and a row for each point, or an object a line.
void sweep_csv(const sweep::SweepAnswer& answer, const std::function<void(const std::string&)>& write);
void sweep_json_lines(const sweep::SweepAnswer& answer, const std::function<void(const std::string&)>& write);

// `integrity`: what the database says of itself, "ok".
struct StoreStatus {
  std::string path, integrity;
  std::vector<store::Summary> studies;
};
std::string sweep_status_table(const StoreStatus& status);
Document<StoreStatus> sweep_status_document();

// The studies of a store, each as the document that `sweep` would print of what is stored. Throws as Store does.
struct StoredStudy {
  std::string title, document;
};
std::vector<StoredStudy> stored_studies(const std::string& path);

// Where no point is within the budgets (O2050), or none has an answer (O2064).
base::Diagnostic explain_no_point(const sweep::SweepAnswer& answer);

}  // namespace orrery::verbs
