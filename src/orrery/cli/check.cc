
#include "orrery/scenario/check.h"
#include "orrery/cli/shared_options.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/report/verbs_json.h"

namespace orrery::cli {
namespace {

bool read(const Arguments& arguments, Console& console, scenario::CheckRequest& request) {
  CommandLine line("check", "Read files, say what they are and what is wrong with them",
                   "orrery check arch.yaml constraints.yaml KTQ.yaml");
  line.words("FILES", request.files,
             "Timeloop documents (YAML, templates, .cfg), setups of DFModel, systems, config.json", true);
  declare_ignored(line, request.ignored);
  declare_templates(line, request);
  declare_estimation(line, request);
  return line.read(arguments, console);
}

}  // namespace

int run_check(const Arguments& arguments, Console& console) {
  scenario::CheckRequest request;
  if (!read(arguments, console, request)) return kDone;
  const scenario::Checked checked = scenario::check(request);
  report(console, checked.warnings.all());
  if (console.json) {
    console.out << report::check_json(kVersion, checked.contents, checked.warnings);
    return kDone;
  }
  for (const std::string& line : checked.contents) console.out << line << "\n";
  console.out << "ok\n";
  return kDone;
}

}  // namespace orrery::cli
