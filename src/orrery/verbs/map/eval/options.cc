#include "orrery/inputs/checkout.h"
#include "orrery/verbs/map/eval/run.h"
#include "orrery/verbs/map/results_output.h"

namespace orrery::verbs {
namespace {

struct EvalGiven : OutputFolder {
  EvaluateRequest request;
};

bool read_eval(const Arguments& arguments, Console& console, EvalGiven& options) {
  CommandLine line("eval",
                   "Energy and cycles of a given mapping; capacity and fan-out are checked, constraints with --strict",
                   "orrery eval arch.yaml ERT.yaml KTQ.yaml map.yaml");
  line.words("FILES", options.request.files,
             "Timeloop documents (YAML, templates, .cfg) in any order, a `mapping` among them");
  line.group("Question");
  declare_chips(line, options.request);
  line.toggle("--strict", options.request.strict, "Constraints must hold as well");
  declare_templates(line, options.request);
  declare_estimation(line, options.request);
  declare(line, options, "Write map.yaml, map.txt, stats.txt and result.json there");
  line.pictures();
  if (!line.read(arguments, console)) return false;
  enter_checkout(options.request, false);
  return true;
}

}  // namespace

int run_eval(const Arguments& arguments, Console& console) {
  EvalGiven options;
  if (!read_eval(arguments, console, options)) return kDone;
  return run_mapping(console, options.request, options, false,
                     [&](Run&) { return Results{MapAnswer{.mapped = evaluate(options.request)}}; });
}

}  // namespace orrery::verbs
