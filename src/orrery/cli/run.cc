#include "orrery/cli/run.h"

#include <algorithm>
#include <exception>
#include <new>
#include <variant>

#include "orrery/base/count.h"
#include "orrery/base/diagnostic.h"
#include "orrery/cli/arguments.h"
#include "orrery/cli/console.h"
#include "orrery/cli/verbs.h"
#include "orrery/cli/version.h"
#include "orrery/scenario/dimension_names.h"
#include "orrery/scenario/map_model.h"

namespace orrery::cli {
namespace {

struct Act {
  const Console& console;

  int operator()(const PrintOptions& options) const {
    console.out << options.text;
    return kDone;
  }
  int operator()(const MapOptions& options) const { return run_map(options, console); }
  int operator()(const EvalOptions& options) const { return run_eval(options, console); }
  int operator()(const EnergyOptions& options) const { return run_energy(options, console); }
  int operator()(const CheckOptions& options) const { return run_check(options, console); }
  int operator()(const TrainOptions& options) const { return run_train(options, console); }
  int operator()(const ValidateOptions& options) const { return run_validate(options, console); }
  int operator()(const PlaceOptions& options) const { return run_place(options, console); }
  int operator()(const GraphOptions& options) const { return run_graph(options, console); }
  int operator()(const ExplainOptions& options) const { return run_explain(options, console); }
  int operator()(const SchemaOptions& options) const { return run_schema(options, console); }
  int operator()(const DoctorOptions& options) const { return run_doctor(options, console); }
  int operator()(const CatalogOptions& options) const { return run_catalog(options, console); }
};

void report_internal(const Console& console, const char* what) {
  console.err << "orrery " << kVersion << ": internal error: " << what
              << "\nThis is a defect of Orrery, not of your input. Please report it with the command line and the"
                 " files.\n";
}

}  // namespace

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool terminal) {
  // A command line that cannot be parsed is refused as it asks for, too.
  const bool json = std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--json" || argument.rfind("--json=", 0) == 0;
  });
  Console console{out, err, terminal, terminal, false, json};
  try {
    const Command command = parse_arguments(arguments, terminal);
    std::visit(
        [&](const CommonOptions& common) {
          console.colour = common.colour;
          console.quiet = common.quiet;
        },
        command);
    const int code = std::visit(Act{console}, command);
    out.flush();
    if (!out) {
      err << "orrery: the answer could not be written to standard output\n";
      return kUsage;
    }
    return code;
  } catch (const scenario::IllegalMapping& error) {
    refuse(console, error.diagnostics);
    return kNo;
  } catch (const base::InputError& error) {
    refuse(console, scenario::fold_dimension_names(error.diagnostics));
    return kUsage;
  } catch (const base::OverflowError& error) {
    base::Diagnostics found;
    found.error("O1004", std::string("a count does not fit 64 bits: ") + error.what())
        .hint("use smaller loop bounds, or fewer instances and blocks");
    refuse(console, found.all());
    return kUsage;
  } catch (const std::bad_alloc&) {
    err << "orrery: out of memory\n";
    return kUsage;
  } catch (const std::exception& error) {
    report_internal(console, error.what());
    return kInternal;
  }
}

}  // namespace orrery::cli
