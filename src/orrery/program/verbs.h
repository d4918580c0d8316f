// The verbs. Each owns its options, help and example in a file of its own; a verb is that file and a row in verbs.cc.
#pragma once

#include <string>
#include <vector>

#include "orrery/cli/command_line.h"
#include "orrery/cli/console.h"

namespace orrery::verbs {

struct Verb {
  const char* name;
  const char* heading;  // of the help; verbs of one heading stand together
  const char* summary;
  // Reads the arguments behind the verb, acts, prints, and returns the exit code; bad input is thrown as
  // base::InputError.
  int (*run)(const Arguments& arguments, Console& console);
};
const std::vector<Verb>& verbs();

// What `orrery --help` prints, and what `orrery` alone prints: the three commands to try first.
std::string help();
std::string first_steps();

int run_map(const Arguments& arguments, Console& console);
int run_eval(const Arguments& arguments, Console& console);
int run_sweep(const Arguments& arguments, Console& console);
int run_merge(const Arguments& arguments, Console& console);
int run_energy(const Arguments& arguments, Console& console);
int run_train(const Arguments& arguments, Console& console);
int run_validate(const Arguments& arguments, Console& console);
int run_place(const Arguments& arguments, Console& console);
int run_graph(const Arguments& arguments, Console& console);
int run_tune(const Arguments& arguments, Console& console);
int run_sparse(const Arguments& arguments, Console& console);
int run_check(const Arguments& arguments, Console& console);
int run_explain(const Arguments& arguments, Console& console);
int run_schema(const Arguments& arguments, Console& console);
int run_catalog(const Arguments& arguments, Console& console);
int run_doctor(const Arguments& arguments, Console& console);

}  // namespace orrery::verbs
