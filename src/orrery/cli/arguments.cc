#include "orrery/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "orrery/base/diagnostic.h"
#include "orrery/base/edit_distance.h"
#include "orrery/cli/version.h"

namespace orrery::cli {
namespace {

const std::vector<std::string>& verbs() {
  static const std::vector<std::string> names = {"map",     "eval",   "energy", "check",
                                                 "explain", "schema", "doctor", "catalog"};
  return names;
}

constexpr const char* kHelp = R"(orrery: models and optimises how transformers run on accelerators

usage: orrery VERB [FILES] [options]

  map       the best mapping of each layer on a chip, with proof
  eval      energy and cycles of a given mapping
  energy    energy and area of a chip's components, with the origin of each figure
  check     read files and say what is wrong with them
  explain   what a diagnostic code means
  schema    JSON Schema of a kind of document, for editors
  catalog   the chips and models that come along
  doctor    what this installation has

`orrery VERB --help` shows a verb's options. Example:
  orrery map --chip gemmini --model bert-large --seq 4096
)";

[[noreturn]] void misuse(std::string code, std::string message, std::string hint) {
  base::fail(std::move(code), std::move(message), {}, std::move(hint));
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

nest::Metric metric(const std::string& name) {
  static const std::vector<std::string> names = {"edp", "energy", "delay"};
  if (name == names[0]) return nest::Metric::kEdp;
  if (name == names[1]) return nest::Metric::kEnergy;
  if (name == names[2]) return nest::Metric::kDelay;
  misuse(
      "O1102", fmt::format("`{}` is no objective", name),
      base::did_you_mean(name, names, "objectives are " + joined(names) + "; several are compared in the order given"));
}

// Whole numbers from 1 to `most`. CLI11's own conversion lets larger ones through as the largest.
CLI::Validator whole_number(base::Count most) {
  const auto check = [most](const std::string& text) -> std::string {
    base::Count value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = failure == std::errc() && end == text.data() + text.size() && value >= 1 && value <= most;
    if (good) return "";
    if (most < std::numeric_limits<base::Count>::max())
      return fmt::format("`{}` is no whole number from 1 to {}", text, most);
    if (failure == std::errc::result_out_of_range && text[0] != '-')
      return fmt::format("`{}` does not fit 64 bits", text);
    return fmt::format("`{}` is no whole number from 1", text);
  };
  return CLI::Validator(check, "");
}

// CLI11's own check of a range prints its ends in full, the larger one in some 300 digits.
CLI::Validator seconds() {
  const auto check = [](const std::string& text) -> std::string {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = end == text.c_str() + text.size() && std::isfinite(value) && value > 0;
    return good ? "" : fmt::format("`{}` is no number of seconds above 0", text);
  };
  return CLI::Validator(check, "");
}

// Texts as typed, to be given their meaning once CLI11 has accepted the line.
struct Raw {
  std::vector<std::string> overrides;
  std::vector<std::string> compat;
  std::vector<std::string> objective;
  bool no_color = false;
};

struct RawMap {
  std::vector<std::string> gemms;
  std::string pareto;
};

// CLI11 would take `--json=no`, too; a switch is given or not.
void add_switch(CLI::App& app, const std::string& names, bool& value, const std::string& what) {
  app.add_flag(names, value, what)->disable_flag_override();
}

void add_common(CLI::App& app, CommonOptions& common, Raw& raw) {
  add_switch(app, "--json", common.json, "Print one JSON document");
  add_switch(app, "--quiet,-q", common.quiet, "No warnings, no progress");
  add_switch(app, "--no-color", raw.no_color, "No colours (also with NO_COLOR set)");
  app.add_option("--seed", common.seed, "Ignored: every search is deterministic and draws no random numbers")
      ->type_name("N");
}

void add_document_options(CLI::App& app, Raw& raw) {
  app.add_option("--set", raw.overrides, "Override any input field, such as variables.SEQ_LENGTH=512 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_option("--compat", raw.compat,
                 "Reproduce an original, defects included: timeloop or factorflow; accelergy-0.4 (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_estimation_options(CLI::App& app, CommonOptions& common) {
  app.add_option("--tables", common.estimators.tables,
                 "Folder of Accelergy's estimation tables, for chips without an ERT (repeatable)")
      ->type_name("DIR")
      ->allow_extra_args(false);
  app.add_option("--cacti", common.estimators.cacti,
                 "CACTI 7's program, to be asked for SRAMs instead of the table of its figures")
      ->type_name("PATH");
}

void add_search_options(CLI::App& app, CommonOptions& common, Raw& raw) {
  app.add_option("-o,--output", common.directory, "Write map.yaml, map.txt, stats.txt and result.json there")
      ->type_name("DIR");
  add_switch(app, "--force", common.force, "Overwrite earlier results in DIR");
  app.add_option("--threads,-j", common.threads, "Threads; they change the time only")
      ->type_name("N")
      ->check(whole_number(4096));
  app.add_option("--time-limit", common.time_limit, "Seconds for each layer; the best so far is printed with its gap")
      ->type_name("S")
      ->check(seconds());
  app.add_option("--objective", raw.objective, "edp (default), energy, delay, or several to compare in turn")
      ->type_name("NAME[,NAME]")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void give_meaning(const Raw& raw, bool terminal, CommonOptions& common) {
  common.colour = terminal && !raw.no_color && std::getenv("NO_COLOR") == nullptr;
  for (const std::string& text : raw.overrides) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      misuse("O1102", fmt::format("`--set {}` lacks a `=`", text), "write `--set path.to.key=value`");
    common.overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  for (const std::string& name : raw.compat) {
    static const std::vector<std::string> originals = {"timeloop", "factorflow", "accelergy-0.4"};
    if (name == originals[2]) {
      common.estimators.accelergy = true;
      continue;
    }
    if (name != originals[0] && name != originals[1])
      misuse("O1102", fmt::format("`--compat {}` names no original that Orrery reproduces", name),
             base::did_you_mean(name, originals, "known: " + joined(originals)));
    if (!common.compat.empty() && common.compat != name)
      misuse("O1102", fmt::format("`--compat {}` and `--compat {}` ask for two models at once", common.compat, name),
             "run once with each");
    common.compat = name;
    common.model_options = name == originals[0] ? nest::ModelOptions::timeloop() : nest::ModelOptions::factorflow();
  }
  for (const std::string& name : raw.objective) common.objective.push_back(metric(name));
}

base::Count bound(const std::string& text) {
  base::Count value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= 1 ? value : 0;
}

Gemm gemm(const std::string& text) {
  std::vector<base::Count> bounds;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    bounds.push_back(bound(text.substr(at, comma - at)));
    at = comma + 1;
  }
  if (bounds.size() != 3 || std::count(bounds.begin(), bounds.end(), 0) > 0)
    misuse("O1117", fmt::format("`--gemm {}` gives no three sizes", text),
           "write `--gemm M,K,N` with whole numbers from 1 on: M x K weights times K x N inputs");
  return {bounds[0], bounds[1], bounds[2]};
}

void give_map_meaning(const RawMap& raw, MapOptions& map) {
  for (const std::string& text : raw.gemms) map.gemms.push_back(gemm(text));
  if (raw.pareto.empty()) return;
  if (raw.pareto != "energy,delay" && raw.pareto != "delay,energy")
    misuse("O1102", fmt::format("`--pareto {}` names no trade-off that Orrery lists", raw.pareto),
           "write `--pareto energy,delay`");
  map.pareto = true;
}

// Names of an app's options, for "did you mean".
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// CLI11's words for this name neither the option's dashes nor the way out.
void refuse_values_of_switches(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || argument.rfind("--", 0) != 0) continue;
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option != nullptr && option->get_disable_flag_override())
      misuse("O1101", fmt::format("`{}` takes no value", name), fmt::format("write `{}` alone, or leave it out", name));
  }
}

void parse(CLI::App& app, const std::vector<std::string>& arguments, const std::string& verb) {
  refuse_values_of_switches(app, arguments);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 takes them from the back
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    throw;
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> extras = app.remaining();
    std::string first = extras.empty() ? "" : extras.front();
    first = first.substr(0, first.find('='));
    const std::string see = fmt::format("see `orrery {} --help`", verb);
    if (!first.empty() && first[0] == '-')
      misuse("O1101", fmt::format("`orrery {}` has no option `{}`", verb, first),
             base::did_you_mean(first, option_names(app), see));
    misuse("O1101", fmt::format("`orrery {}` does not know what to do with `{}`", verb, first), see);
  } catch (const CLI::ValidationError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ConversionError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ParseError& error) {
    misuse("O1101", error.what(), fmt::format("see `orrery {} --help`", verb));
  }
}

// Builds a verb's parser through `add`, runs it and gives the raw texts their meaning.
template <typename Options, typename Add>
Command parse_verb(const std::string& verb, const std::string& description, const std::string& example,
                   const std::vector<std::string>& arguments, bool terminal, const Add& add) {
  Options options;
  Raw raw;
  CLI::App app(description, "orrery " + verb);
  app.footer("\nExample:\n  " + example);
  app.get_formatter()->column_width(34);
  add(app, options, raw);
  add_common(app, options, raw);
  try {
    parse(app, arguments, verb);
  } catch (const CLI::CallForHelp&) {
    PrintOptions help;
    help.text = app.help();
    return help;
  }
  give_meaning(raw, terminal, options);
  return options;
}

CLI::Option* add_files(CLI::App& app, std::vector<std::string>& files, const std::string& what) {
  return app.add_option("FILES", files, what)->type_name("");
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& arguments, bool terminal) {
  PrintOptions print;
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") {
    print.text = kHelp;
    return print;
  }
  const std::string& verb = arguments[0];
  if (verb == "--version" || verb == "-V") {
    print.text = fmt::format("orrery {}\n", kVersion);
    return print;
  }
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());

  if (verb == "map") {
    RawMap raw_map;
    Command command = parse_verb<MapOptions>(
        verb, "The best mapping of each layer on a chip, with proof", "orrery map arch.yaml ERT.yaml layers/KTQ.yaml",
        rest, terminal, [&raw_map](CLI::App& app, MapOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents in any order; each `problem` is a layer");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          app.add_option("--model", options.model, "Model from the catalogue, or its config.json")
              ->type_name("NAME|FILE");
          app.add_option("--layer", options.layer, "Only this layer, with its loop nest and energy per level")
              ->type_name("NAME");
          app.add_option("--seq", options.sequence, "Tokens in a sequence; default: the model's longest, at most 4096")
              ->type_name("N")
              ->check(whole_number(std::numeric_limits<base::Count>::max()));
          app.add_option("--batch", options.batch, "Sequences at a time; default 1")
              ->type_name("N")
              ->check(whole_number(std::numeric_limits<base::Count>::max()));
          app.add_option("--gemm", raw_map.gemms, "A matrix product: M x K times K x N (repeatable)")
              ->type_name("M,K,N")
              ->allow_extra_args(false);
          add_search_options(app, options, raw);
          app.add_option("--pareto", raw_map.pareto, "energy,delay: all mappings that no other one beats in both")
              ->type_name("NAME,NAME");
          app.add_option("--why", options.why, "Force a choice, such as Scratchpad.E=4, and say what it costs")
              ->type_name("CHOICE");
          add_switch(app, "--certify", options.certify, "Check the proof by a slower, independent search");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
    if (auto* const map = std::get_if<MapOptions>(&command)) give_map_meaning(raw_map, *map);
    return command;
  }
  if (verb == "eval") {
    return parse_verb<EvalOptions>(
        verb, "Energy and cycles of a given mapping; capacity and fan-out are checked, constraints with --strict",
        "orrery eval arch.yaml ERT.yaml KTQ.yaml map.yaml", rest, terminal,
        [](CLI::App& app, EvalOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents in any order, a `mapping` among them");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          add_switch(app, "--strict", options.strict, "The constraints must hold, too");
          app.add_option("-o,--output", options.directory, "Write map.yaml, map.txt, stats.txt and result.json there")
              ->type_name("DIR");
          add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
  }
  if (verb == "energy") {
    return parse_verb<EnergyOptions>(
        verb, "Energy and area of a chip's components by their descriptions, with the origin of each figure",
        "orrery energy arch.yaml components variables.yaml --tables my_tables -o tables", rest, terminal,
        [](CLI::App& app, EnergyOptions& options, Raw& raw) {
          add_files(app, options.files, "Timeloop documents and folders of them; problems are left aside");
          app.add_option("--chip", options.chips, "Chip from the catalogue, or its file (repeatable)")
              ->type_name("NAME|FILE")
              ->allow_extra_args(false);
          app.add_option("-o,--output", options.directory,
                         "Write ERT.yaml, ART.yaml, their summaries and result.json there")
              ->type_name("DIR");
          add_switch(app, "--force", options.force, "Overwrite earlier results in DIR");
          add_estimation_options(app, options);
          add_document_options(app, raw);
        });
  }
  if (verb == "check") {
    return parse_verb<CheckOptions>(verb, "Read files, say what they are and what is wrong with them",
                                    "orrery check arch.yaml constraints.yaml KTQ.yaml", rest, terminal,
                                    [](CLI::App& app, CheckOptions& options, Raw& raw) {
                                      add_files(app, options.files, "Timeloop documents, config.json")->required();
                                      add_estimation_options(app, options);
                                      add_document_options(app, raw);
                                    });
  }
  if (verb == "explain") {
    return parse_verb<ExplainOptions>(verb, "What a diagnostic code means; without CODE, all of them",
                                      "orrery explain O0710", rest, terminal,
                                      [](CLI::App& app, ExplainOptions& options, Raw&) {
                                        app.add_option("CODE", options.code, "Such as O0710")->type_name("");
                                      });
  }
  if (verb == "schema") {
    return parse_verb<SchemaOptions>(
        verb, "JSON Schema (draft-07) of a kind of document, for editors", "orrery schema chip > chip.schema.json",
        rest, terminal, [](CLI::App& app, SchemaOptions& options, Raw&) {
          app.add_option("KIND", options.name, "chip, problem, constraints, mapping, mapper, ert, energy")
              ->type_name("");
        });
  }
  if (verb == "doctor") {
    return parse_verb<DoctorOptions>(verb, "What this installation has and where its catalogue is", "orrery doctor",
                                     rest, terminal, [](CLI::App&, DoctorOptions&, Raw&) {});
  }
  if (verb == "catalog") {
    return parse_verb<CatalogOptions>(
        verb, "The chips and models that come along", "orrery catalog show gemmini", rest, terminal,
        [](CLI::App& app, CatalogOptions& options, Raw&) {
          app.require_subcommand(0, 1);
          app.add_subcommand("list", "Names and titles (default)")->fallthrough();
          CLI::App* show = app.add_subcommand("show", "One entry with the source of each figure");
          show->add_option("NAME", options.name, "Chip or model")->required()->type_name("");
          show->fallthrough();
        });
  }
  if (!verb.empty() && verb[0] == '-')
    misuse("O1101", fmt::format("`{}` stands where a verb is expected", verb), "see `orrery --help`");
  misuse("O1100", fmt::format("`{}` is no verb of orrery", verb),
         base::did_you_mean(verb, verbs(), "verbs are " + joined(verbs())));
}

}  // namespace orrery::cli
