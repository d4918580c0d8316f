#include "orrery/program/command.h"

#include <algorithm>
#include <exception>
#include <new>
#include <sstream>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/out_of_time.h"
#include "orrery/base/numbers/count.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/console.h"
#include "orrery/cli/end_on_signals.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/program_version.h"
#include "orrery/inputs/catalogue/class_hints.h"
#include "orrery/inputs/catalogue/dimension_names.h"
#include "orrery/inputs/layers/evaluate_layer.h"
#include "orrery/present/table_form.h"
#include "orrery/program/verbs.h"
#include "orrery/program/write_for.h"
#include "orrery/verbs/report/answer_pictures.h"

namespace orrery::verbs {
namespace {

int act(const std::vector<std::string>& arguments, Console& console) {
  const auto print = [&](const std::string& text) {
    console.out << text;
    return static_cast<int>(kDone);
  };
  if (arguments.empty()) return print(first_steps());
  const std::string& first = arguments[0];
  if (first == "--help" || first == "-h" || first == "help") return print(help());
  if (first == "--version" || first == "-V") return print(fmt::format("orrery {}\n", kVersion));
  std::vector<std::string> names;
  for (const Verb& verb : verbs()) {
    if (first == verb.name) return verb.run({arguments.begin() + 1, arguments.end()}, console);
    names.emplace_back(verb.name);
  }
  if (first == "write-for") return write_for({arguments.begin() + 1, arguments.end()}, console);
  // Generation and its costs are asked of several verbs.
  for (const char* served : {"serving", "infer", "inference", "decode", "prefill"})
    if (first == served)
      misuse(
          "O1100", fmt::format("`{}` is not a verb of orrery", first),
          "a model that is served: `orrery serve --model NAME --system NAME --gpus N --isl N --osl N --concurrency C`; "
          "one token on a chip: `orrery map --chip NAME --model NAME --phase decode --cache N`; a model that "
          "generates here: `orrery tune generate`");
  if (!first.empty() && first[0] == '-')
    misuse("O1101", fmt::format("`{}` is given where a verb is expected", first), "see `orrery --help`");
  misuse("O1100", fmt::format("`{}` is not a verb of orrery", first),
         base::did_you_mean(first, names, fmt::format("verbs are {}", base::joined(names, ", "))));
}

// A command line that cannot be parsed is refused as it asks for, too.
bool asks_for_json(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& argument) {
    return argument == "--json" || argument.rfind("--json=", 0) == 0;
  });
}

void report_internal(const Console& console, const char* what) {
  console.err << "orrery " << kVersion << ": internal error: " << what
              << "\nThis is a defect of Orrery, not of your input. Please report it with the command line and the"
                 " files.\n";
}

}  // namespace

void end_on_signals(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return;  // answered at once
  base::Diagnostics found;
  found.error("O1118", "interrupted before there was an answer")
      .hint("run the command again; what a sweep or a measurement has stored is kept");
  std::ostringstream document, message;
  Console console{document, message, false, false, false, asks_for_json(arguments)};
  console.command = arguments;
  refuse(console, found.all());
  end_on_signals(document.str(), message.str());
}

int run(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err, bool terminal) {
  Console console{out, err, terminal, terminal, false, asks_for_json(arguments)};
  console.pictures = &pictures();
  console.command = arguments;
  set_table_form(TableForm::kText);
  try {
    const int code = act(arguments, console);
    out.flush();
    if (!out) {
      err << "orrery: the answer could not be written to standard output\n";
      return kUsage;
    }
    return code;
  } catch (const IllegalMapping& error) {
    refuse(console, error.diagnostics);
    return kNo;
  } catch (const StoppedWithoutAnswer& error) {
    refuse(console, error.diagnostics);
    return kInterrupted;
  } catch (const base::OutOfTime& error) {
    refuse(console, error.diagnostics);
    return kLimit;
  } catch (const base::InputError& error) {
    refuse(console, verbs::with_class_hints(verbs::fold_dimension_names(error.diagnostics)));
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

}  // namespace orrery::verbs
