// Texts are checked here rather than by CLI11, whose conversions let large numbers through as the largest one and whose
// words for a bad value name neither the option nor a way out.
#include "orrery/cli/command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/number_text.h"
#include "orrery/present/table_form.h"

namespace orrery::verbs {
namespace {

std::string not_whole(const std::string& text, base::Count most, base::Count least = 1) {
  base::Count value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = failure == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
  if (good) return "";
  if (most < CommandLine::kMost) return fmt::format("`{}` is not a whole number from {} to {}", text, least, most);
  if (failure == std::errc::result_out_of_range && text[0] != '-')
    return fmt::format("`{}` does not fit 64 bits", text);
  std::string out = fmt::format("`{}` is not a whole number from {}", text, least);
  // 4k is 4096 tokens to some and 4000 to others.
  constexpr base::Count kMostThousands = 1'000'000'000;
  if (failure == std::errc() && end + 1 == text.data() + text.size() && value >= 1 && value <= kMostThousands) {
    const int power = *end == 'k' || *end == 'K' ? 1 : *end == 'm' || *end == 'M' ? 2 : 0;
    if (power > 0)
      out += fmt::format(": write {} or {}", value * (base::Count{1} << (10 * power)),
                         value * (power > 1 ? 1'000'000 : 1000));
  }
  return out;
}

std::string no_integer(const std::string& text) {
  base::Count value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure == std::errc::result_out_of_range) return fmt::format("`{}` does not fit 64 bits", text);
  const bool good = failure == std::errc() && end == text.data() + text.size();
  return good ? "" : fmt::format("`{}` is not a whole number", text);
}

std::string no_share(const std::string& text) {
  const auto [number, rest] = decimal(text);
  const bool good = rest.empty() && number >= 0 && number < 1;
  return good ? "" : fmt::format("`{}` is not a share from 0 to below 1", text);
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

// CLI11's words for a switch with a value name neither the option's dashes nor the way out, and for `--name=` it would
// take the next argument.
void refuse_odd_values(const CLI::App& app, const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || argument.rfind("--", 0) != 0) continue;
    const std::string name = argument.substr(0, equals);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) continue;
    if (option->get_disable_flag_override())
      misuse("O1101", fmt::format("`{}` takes no value", name), fmt::format("write `{}` alone, or leave it out", name));
    if (equals + 1 == argument.size())
      misuse("O1102", fmt::format("{}: its value is empty", name),
             fmt::format("write `{} VALUE`, or leave it out", name));
  }
}

// An empty value would pass for an option that was not given.
void refuse_empty_values(CLI::App& app) {
  const auto check = [](const std::string& text) -> std::string { return text.empty() ? "its value is empty" : ""; };
  for (CLI::Option* option : app.get_options())
    if (option->nonpositional() && option->get_items_expected_max() > 0) option->check(CLI::Validator(check, ""));
}

void parse(CLI::App& app, const Arguments& arguments, const std::string& verb) {
  refuse_odd_values(app, arguments);
  refuse_empty_values(app);
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
    std::vector<std::string> words;
    for (const CLI::App* below : app.get_subcommands({})) words.push_back(below->get_name());
    misuse("O1101", fmt::format("`orrery {}` does not know what to do with `{}`", verb, first),
           base::did_you_mean(first, words, see));
  } catch (const CLI::ValidationError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ConversionError& error) {
    misuse("O1102", error.what(), fmt::format("see `orrery {} --help`", verb));
  } catch (const CLI::ArgumentMismatch& error) {
    // "--gpus: At Most 1 required but received 2"
    const std::string what = error.what();
    const std::size_t colon = what.find(": At Most 1 required but received ");
    if (colon == std::string::npos) misuse("O1101", what, fmt::format("see `orrery {} --help`", verb));
    misuse("O1101",
           fmt::format("`{}` is given {}", what.substr(0, colon), what.ends_with(" 2") ? "twice" : "several times"),
           "give it once");
  } catch (const CLI::ParseError& error) {
    misuse("O1101", error.what(), fmt::format("see `orrery {} --help`", verb));
  }
}

// The words without these options and their values, in whichever form they stand: `--html FILE`, `--html=FILE`,
// `-oDIR`,
// `-qo DIR`. Options that the app does not know, such as those of a verb that is swept, stay as they are.
Arguments without(const CLI::App& app, const std::vector<const CLI::Option*>& left_out, const Arguments& words) {
  const auto stays = [&](const CLI::Option* option) {
    return std::find(left_out.begin(), left_out.end(), option) == left_out.end();
  };
  const auto takes_value = [](const CLI::Option* option) {
    return option != nullptr && option->get_items_expected_min() > 0;
  };
  Arguments out;
  const CLI::Option* waiting = nullptr;  // the next word is its value
  bool all = false;                      // behind `--`
  for (const std::string& word : words) {
    std::string kept = word;
    if (waiting != nullptr) {
      if (!stays(waiting)) kept.clear();
      waiting = nullptr;
    } else if (all || word == "--") {
      all = true;
    } else if (word.starts_with("--")) {
      const CLI::Option* option = app.get_option_no_throw(word.substr(0, word.find('=')));
      if (!stays(option)) kept.clear();
      if (takes_value(option) && word.find('=') == std::string::npos) waiting = option;
    } else if (word.starts_with("-")) {
      kept = "-";
      for (std::size_t at = 1; at < word.size(); ++at) {
        const CLI::Option* option = app.get_option_no_throw({'-', word[at]});
        const bool last = option == nullptr || takes_value(option);  // what follows is its value, or another verb's
        if (stays(option)) kept += last ? word.substr(at) : word.substr(at, 1);
        if (last && option != nullptr && at + 1 == word.size()) waiting = option;
        if (last) break;
      }
      if (kept == "-" && word != "-") kept.clear();
    }
    if (!kept.empty() || word.empty()) out.push_back(kept);
  }
  return out;
}

Described describe(const CLI::App& app, const std::map<std::string, std::vector<std::string>>& offered) {
  Described line;
  const std::string footer = app.get_footer();
  line.example = footer.substr(footer.rfind("\n  ") + 3);
  for (const CLI::App* below : app.get_subcommands({})) line.subverbs.push_back(below->get_name());
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    Described::Option described{option->get_group(), {}, {}, option->get_description(), !option->nonpositional()};
    for (const std::string& name : option->get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) described.names.push_back("--" + name);
    if (described.positional) described.names = {option->get_name()};
    if (option->get_items_expected_max() > 0 && !described.positional) described.type = option->get_type_name();
    if (const auto values = offered.find(described.names.back()); values != offered.end())
      described.values = values->second;
    line.options.push_back(std::move(described));
  }
  return line;
}

// An option that may be repeated takes one value each time, and CLI11's dots promise more.
struct HelpFormatter : CLI::Formatter {
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::size_t dots = text.find(" ...");
    if (option->nonpositional() && dots != std::string::npos) text.erase(dots, 4);
    return text;
  }
};

}  // namespace

void misuse(std::string code, std::string message, std::string hint) {
  base::fail(std::move(code), std::move(message), {}, std::move(hint));
}

CommandLine::CommandLine(const std::string& verb, const std::string& summary, const std::string& example)
    : verb_(verb), app_(std::make_unique<CLI::App>(summary, "orrery " + verb)) {
  app_->footer("\nExample:\n  " + example);
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->get_formatter()->column_width(34);
}

CommandLine::~CommandLine() = default;

CLI::Option& CommandLine::option(CLI::Option& made, const std::string& type) {
  if (!heading_.empty()) made.group(heading_);
  made.type_name(type);
  return made;
}

void CommandLine::word(const std::string& name, std::string& value, const std::string& what, bool demanded) {
  app_->add_option(name, value, what)->required(demanded)->type_name("");
}

void CommandLine::words(const std::string& name, std::vector<std::string>& values, const std::string& what,
                        bool demanded) {
  app_->add_option(name, values, what)->required(demanded)->type_name("");
}

void CommandLine::subverb(const std::string& name, const std::string& what) {
  app_->require_subcommand(0, 1);
  app_->add_subcommand(name, what)->fallthrough();
}

void CommandLine::subverb(const std::string& name, const std::string& what, bool& chosen) {
  app_->require_subcommand(0, 1);
  app_->add_subcommand(name, what)->fallthrough()->parse_complete_callback([&chosen] { chosen = true; });
}

void CommandLine::subverb(const std::string& name, const std::string& what, const std::string& argument,
                          std::string& value, const std::string& what_argument) {
  app_->require_subcommand(0, 1);
  CLI::App* below = app_->add_subcommand(name, what);
  below->add_option(argument, value, what_argument)->required()->type_name("");
  below->fallthrough();
}

void CommandLine::toggle(const std::string& names, bool& value, const std::string& what) {
  CLI::Option* made = app_->add_flag(names, value, what)->disable_flag_override();  // not `--json=no`
  if (!heading_.empty()) made->group(heading_);
}

void CommandLine::text(const std::string& names, std::string& value, const std::string& type, const std::string& what) {
  option(*app_->add_option(names, value, what), type);
}

void CommandLine::text_or_none(const std::string& names, bool& given, std::string& value, const std::string& type,
                               const std::string& what) {
  CLI::Option& made = option(*app_->add_option(names, value, what), type);
  made.expected(0, 1)->default_str("");
  meanings_.push_back([&made, &given] { given = made.count() > 0; });
}

void CommandLine::count_or_none(const std::string& names, std::optional<base::Count>& value, const std::string& what,
                                base::Count most, base::Count least) {
  const auto text = std::make_shared<std::string>();
  CLI::Option& made = option(*app_->add_option(names, *text, what), "[N]");
  made.expected(0, 1)->default_str("");
  made.check(CLI::Validator(
      [=](const std::string& given) { return given.empty() ? std::string() : not_whole(given, most, least); }, ""));
  meanings_.push_back([text, &made, &value] {
    if (made.count() == 0) return;
    const base::Count given = text->empty() ? 0 : base::parse_number<base::Count>(*text).value_or(0);
    value = given == 0 && !text->empty() ? -1 : given;
  });
}

void CommandLine::texts(const std::string& names, std::vector<std::string>& values, const std::string& type,
                        const std::string& what) {
  option(*app_->add_option(names, values, what), type).allow_extra_args(false);
}

void CommandLine::count(const std::string& names, std::optional<base::Count>& value, const std::string& what,
                        base::Count most, base::Count least) {
  option(*app_->add_option(names, value, what), "N")
      .check(CLI::Validator([=](const std::string& text) { return not_whole(text, most, least); }, ""));
}

void CommandLine::count(const std::string& names, int& value, const std::string& what, int most) {
  option(*app_->add_option(names, value, what), "N")
      .check(CLI::Validator([most](const std::string& text) { return not_whole(text, most); }, ""));
}

void CommandLine::integer(const std::string& names, std::optional<base::Count>& value, const std::string& what) {
  option(*app_->add_option(names, value, what), "N").check(CLI::Validator(no_integer, ""));
}

void CommandLine::digit(const std::string& names, int& value, int most, const std::string& what,
                        const std::string& refusal) {
  const auto check = [most, refusal](const std::string& text) -> std::string {
    const bool good = text.size() == 1 && text[0] >= '0' && text[0] <= '0' + most;
    return good ? "" : fmt::format("`{}` {}", text, refusal);
  };
  option(*app_->add_option(names, value, what), fmt::format("0..{}", most)).check(CLI::Validator(check, ""));
  for (int i = 0; i <= most; ++i) offered_[names].push_back(fmt::format("{}", i));
}

void CommandLine::seconds(const std::string& names, double& value, const std::string& what) {
  // CLI11's own check of a range prints its ends in full, the larger one in some 300 digits.
  const auto check = [](const std::string& text) -> std::string {
    const auto [number, rest] = decimal(text);
    const bool good = rest.empty() && std::isfinite(number) && number > 0;
    return good ? "" : fmt::format("`{}` is not a number of seconds above 0", text);
  };
  option(*app_->add_option(names, value, what), "S").check(CLI::Validator(check, ""));
}

void CommandLine::share(const std::string& names, double& value, const std::string& what) {
  option(*app_->add_option(names, value, what), "SHARE").check(CLI::Validator(no_share, ""));
}

void CommandLine::probability(const std::string& names, std::optional<double>& value, const std::string& what) {
  option(*app_->add_option(names, value, what), "P").check(CLI::Validator(no_share, ""));
}

void CommandLine::seed(std::uint64_t& value, const std::string& what) {
  draws_ = true;
  const auto check = [](const std::string& text) -> std::string {
    return base::parse_number<std::uint64_t>(text) ? ""
                                                   : fmt::format("`{}` is not a whole number from 0 to 2^64 - 1", text);
  };
  option(*app_->add_option("--seed", value, what), "N").check(CLI::Validator(check, ""));
}

void CommandLine::memory(std::size_t& bytes) {
  const std::size_t most = base::memory_allowed().value_or(std::numeric_limits<std::size_t>::max());
  bytes = std::min(bytes, most);
  meant("--memory", "SIZE", "Memory for the search, such as 512M or 2G (default 1G, or what the system allows)",
        [&bytes, most](const std::string& text) { bytes = std::min(amount_of_memory(text), most); });
  const auto check = [](const std::string& text) -> std::string {
    return amount_of_memory(text) > 0
               ? ""
               : fmt::format("`{}` is not an amount of memory from 1M on, such as 512M, 2G or 1GiB", text);
  };
  app_->get_option("--memory")->check(CLI::Validator(check, ""));
}

void CommandLine::settings(Settings& values, const std::string& what) {
  meant_each("--set", "PATH=VALUE", what, false, [&values](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      misuse("O1102", fmt::format("`--set {}` lacks a `=`", text), "write `--set path.to.key=value`");
    values.push_back({text.substr(0, equals), text.substr(equals + 1)});
  });
}

void CommandLine::meant(const std::string& names, const std::string& type, const std::string& what, Meaning meaning) {
  const auto text = std::make_shared<std::string>();
  option(*app_->add_option(names, *text, what), type);
  meanings_.push_back([text, meaning = std::move(meaning)] {
    if (!text->empty()) meaning(*text);
  });
}

void CommandLine::meant_each(const std::string& names, const std::string& type, const std::string& what, bool delimited,
                             Meaning meaning) {
  const auto texts = std::make_shared<std::vector<std::string>>();
  CLI::Option& made = option(*app_->add_option(names, *texts, what), type);
  if (delimited) made.delimiter(',');
  made.allow_extra_args(false);
  const bool names_what = type.find('=') != std::string::npos;  // NAME=VALUE: the last one would count in silence
  meanings_.push_back([texts, names, names_what, meaning = std::move(meaning)] {
    std::set<std::string> given;
    for (const std::string& text : *texts) {
      const std::string name = text.substr(0, text.find('='));
      if (names_what && !given.insert(name).second)
        misuse("O1101", fmt::format("`{} {}` is given twice", names, name), "give it once");
      meaning(text);
    }
  });
}

void CommandLine::destination(const std::string& names, std::string& value, const std::string& type,
                              const std::string& what) {
  text(names, value, type, what);
  left_out_.push_back(app_->get_options().back());
}

void CommandLine::changes_nothing(const std::string& name) {
  left_out_.push_back(app_->get_option(name));
}

void CommandLine::output_file(const std::string& names, std::string& path, const std::string& type,
                              const std::string& what) {
  destination(names, path, type, what);
  written_.emplace_back(names.substr(names.rfind(',') + 1), &path);
  writes_ = true;
}

// Of two files of one name, the one that is written last would be all that is left. Devices take both.
void CommandLine::check_written() const {
  std::map<std::filesystem::path, std::string> options;
  for (const auto& [option, path] : written_) {
    std::error_code none;
    if (path->empty() || std::filesystem::is_character_file(*path, none)) continue;
    const auto [known, first] =
        options.emplace(std::filesystem::weakly_canonical(std::filesystem::absolute(*path, none), none), option);
    if (!first)
      misuse("O1103", fmt::format("`{}` and `{}` both write `{}`", known->second, option, *path),
             "give each of them a file of its own");
  }
}

bool CommandLine::read(const Arguments& arguments, Console& console) {
  bool no_color = false;
  std::uint64_t seed = 0;
  group("Output");
  bool force = false;
  if (writes_ && app_->get_option_no_throw("--force") == nullptr) toggle("--force", force, "Overwrite what is there");
  toggle("--json", console.json, "Print one JSON document");
  if (drawn_) {
    output_file("--html", console.html, "FILE", "Write a page with charts and tables there, in one file");
    toggle("--plot", console.plot, "Draw what a picture says better than a table, in characters");
  }
  bool csv = false, latex = false;
  toggle("--csv", csv, "Print the answer's tables alone, as CSV");
  toggle("--latex", latex, "Print them as LaTeX");
  toggle("--quiet,-q", console.quiet, "No warnings, no progress");
  toggle("--no-color", no_color, "No colours (also where NO_COLOR is set and not empty)");
  if (!draws_)
    option(*app_->add_option("--seed", seed, "Ignored: every search is deterministic and draws no random numbers"),
           "N");
  for (const char* name : {"--force", "--json", "--plot", "--csv", "--latex", "--quiet", "--no-color"})
    if (const CLI::Option* known = app_->get_option_no_throw(name)) left_out_.push_back(known);
  if (arguments == Arguments{kDescribe}) throw describe(*app_, offered_);
  try {
    parse(*app_, arguments, verb_);
  } catch (const CLI::CallForHelp&) {
    console.out << app_->help();
    return false;
  }
  console.command = without(*app_, left_out_, console.command);
  if (static_cast<int>(csv) + static_cast<int>(latex) + static_cast<int>(console.json) > 1)
    misuse("O1103", "`--csv`, `--latex` and `--json` exclude each other", "give one of them");
  if (csv || latex) set_table_form(csv ? TableForm::kCsv : TableForm::kLatex);
  const char* setting = std::getenv("NO_COLOR");  // no-color.org: counts when present and not empty
  console.colour = console.terminal && !no_color && (setting == nullptr || *setting == '\0');
  if (const CLI::Option* forced = app_->get_option_no_throw("--force")) console.force = forced->count() > 0;
  for (const auto& tell : meanings_) tell();
  check_written();
  return true;
}

std::size_t CommandLine::index_of(const std::string& option, const std::string& text,
                                  const std::vector<std::string>& known) {
  const auto found = std::find(known.begin(), known.end(), text);
  if (found == known.end()) {
    const std::string all = fmt::format("they are {}", base::joined(known, ", "));
    const bool ends_in_number =
        !text.empty() && text.back() >= '0' && text.back() <= '9';  // `fp4` is no slip for `fp8`
    misuse("O1102", fmt::format("`{} {}` is none of its values", option, text),
           ends_in_number ? all : base::did_you_mean(text, known, all));
  }
  return static_cast<std::size_t>(found - known.begin());
}

}  // namespace orrery::verbs
