#include <fmt/format.h>

#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/verbs/validate/collectives.h"
#include "orrery/verbs/validate/collectives_table.h"
#include "orrery/verbs/validate/optima_table.h"
#include "orrery/verbs/validate/run.h"
#include "orrery/verbs/validate/served_runs_table.h"
#include "orrery/verbs/validate/table.h"

namespace orrery::verbs {
namespace {

constexpr std::size_t kShown = 10;  // points of a set, unless all are asked for

struct Options {
  std::string subject;            // "train", "collectives"
  std::vector<std::string> sets;  // empty: all
  bool all = false;               // every point, not only the worst of each set
  bool groups = false;            // all tables together, by what runs have in common, and no points
};

constexpr const char* kLegend =
    "error = predicted / measured - 1; rows that constants were fitted on are counted separately\n\n";

constexpr std::string_view kGroupsLegend =
    "error = predicted / measured - 1, on all runs, those that constants were fitted on too; constant: one "
    "utilisation\n"
    "for each accelerator and width of products, the median of these very runs\n\n";

// The worst points of each set, or all, then a line a set.
template <typename Set>
std::string table_of(const std::vector<Set>& sets, std::string (*points)(const Set&, std::size_t),
                     std::string (*summary)(const std::vector<Set>&), bool all) {
  std::string out;
  for (const Set& set : sets) out += points(set, all ? 0 : kShown) + "\n";
  return out + kLegend + summary(sets);
}

int compare_runs(const Options& options, const Console& console) {
  using Sets = std::vector<ValidatedSet>;
  return run_verb<Sets>(console,
                        {.answer = [&](Run&) { return validate_training(catalogue_directory(), options.sets); },
                         .document = validate_document,
                         .table =
                             [&](const Sets& sets) {
                               if (options.groups) return std::string(kGroupsLegend) + validation_groups(sets);
                               return table_of(sets, validation_points, validation_summary, options.all);
                             }});
}

int compare_collectives(const Options& options, const Console& console) {
  using Sets = std::vector<ValidatedCollectives>;
  return run_verb<Sets>(
      console,
      {.answer = [&](Run&) { return validate_collectives(catalogue_directory(), options.sets); },
       .document = validate_collectives_document,
       .table =
           [&](const Sets& sets) { return table_of(sets, collectives_points, collectives_summary, options.all); }});
}

int compare_served(const Options& options, const Console& console) {
  using Sets = std::vector<ServedSet>;
  return run_verb<Sets>(
      console, {.answer = [&](Run&) { return validate_serving(catalogue_directory(), options.sets); },
                .document = validate_serve_document,
                .table = [&](const Sets& sets) { return table_of(sets, served_points, served_summary, options.all); }});
}

int compare_optima(const Options& options, const Console& console) {
  return run_verb<FoundOptima>(console, {.answer =
                                             [&](Run& run) {
                                               base::Limits limits{.memory = 0};
                                               limits.stop = run.stop();
                                               return find_optima(catalogue_directory(), options.sets, limits);
                                             },
                                         .document = validate_optima_document,
                                         .table = optima_table});
}

}  // namespace

int run_validate(const Arguments& arguments, Console& console) {
  Options options;
  CommandLine line(
      "validate",
      "Predictions against published and measured runs and collectives: the error of every point and set, worst first",
      "orrery validate train --all");
  line.word("SUBJECT", options.subject, "What is predicted: train, serve, collectives, or optima: searched plans");
  line.words("SETS", options.sets, "Only these tables of catalog/validation, catalog/serving or catalog/collectives");
  line.toggle("--all", options.all, "Every point, not only the worst of each set");
  line.toggle("--groups", options.groups,
              "Of train: errors by table, accelerator, software, precision, layers and size, in place of points");
  line.pictures();
  if (!line.read(arguments, console)) return kDone;
  const std::vector<std::string> subjects = {"train", "collectives", "optima", "serve"};
  if (options.groups && !options.subject.empty() && options.subject != subjects[0])
    misuse("O1103", fmt::format("`--groups` beside `{}`: groups are of `train`", options.subject), "leave it out");
  if (options.subject == subjects[0]) return compare_runs(options, console);
  if (options.subject == subjects[1]) return compare_collectives(options, console);
  if (options.subject == subjects[2]) return compare_optima(options, console);
  if (options.subject == subjects[3]) return compare_served(options, console);
  if (options.subject.empty())
    base::fail("O1360", "what is to be held to measurements must be said", {},
               "subjects are: train (runs), serve, collectives, optima; `orrery validate train`");
  base::fail("O1360", fmt::format("`{}` is nothing that Orrery can hold to measurements", options.subject), {},
             base::did_you_mean(options.subject, subjects, "subjects are: train, serve, collectives, optima"));
}

}  // namespace orrery::verbs
