// Verbs that compute every combination of choices: options that are lists, and how such a verb runs.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/cli/command_line.h"
#include "orrery/cli/run_verb.h"

namespace orrery::verbs {

// A value given twice is tried once.
template <class Value>
void add_choice(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

template <class Value>
void default_to(std::vector<Value>& values, Value value) {
  if (values.empty()) values.push_back(value);
}

// Throws InputError O1103 where there are more. `points`: a double, so that no product of choices overflows.
inline void refuse_more_points(double points, double most) {
  if (points > most)
    misuse("O1103", fmt::format("up to {:.0f} points are more than {:.0f}", points, most), "give fewer choices");
}

// The points in a file of the folder, as text.
template <class Answer>
struct GridCsv {
  std::string name;
  std::string (*text)(const Answer& answer);
};

template <class Request, class Answer>
int run_grid(const Console& console, Request& request, Answer (*compute)(const Request&),
             Document<Answer> (*document)(), std::string (*table)(const Answer&), const OutputFolder& folder,
             const GridCsv<Answer>& csv) {
  return run_verb<Answer>(console, {.answer =
                                        [&](Run& run) {
                                          request.limits.stop = run.stop();
                                          request.progress = [&](std::size_t done, std::size_t all) {
                                            run.show("{} of {} points", done, all);
                                          };
                                          return compute(request);
                                        },
                                    .document = document,
                                    .table = table,
                                    .folder = folder,
                                    .names = {csv.name, "result.json"},
                                    .folder_files =
                                        [&](const Answer& answer) {
                                          return std::vector<OutputFile>{{csv.name, csv.text(answer)}};
                                        },
                                    .outcome = [](const Answer& answer, const Run&) -> Outcome {
                                      return {answer.interrupted ? kInterrupted : answer.out_of_time ? kLimit : kDone};
                                    }});
}

}  // namespace orrery::verbs
