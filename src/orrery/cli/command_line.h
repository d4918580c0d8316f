// One verb's command line: options are declared together with where their values go, then the arguments are read. The
// only door to CLI11, which command_line.cc hides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/base/text/override.h"
#include "orrery/cli/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace orrery::verbs {

using Arguments = std::vector<std::string>;
// What a verb is: reads the arguments behind its name, acts, prints, and returns the exit code. Bad input is thrown as
// base::InputError.
using VerbFunction = int(const Arguments& arguments, Console& console);
using Settings = base::Overrides;  // in order

// Throws base::InputError with one diagnostic: O1101 for what the verb does not know, O1102 for values that an option
// cannot take.
[[noreturn]] void misuse(std::string code, std::string message, std::string hint);

// A verb's command line, described. CommandLine::read throws it when it is given kDescribe alone, which nobody can
// type: arguments of a process have no zero bytes.
inline const std::string kDescribe("\0describe", 9);
struct Described {
  struct Option {
    std::string heading;
    std::vector<std::string> names;  // with their dashes; a positional argument has its name alone
    std::string type;                // empty: takes no value
    std::string text;
    bool positional = false;
    std::vector<std::string> values;  // what a completion offers; empty: files
  };
  std::string example;
  std::vector<Option> options;
  std::vector<std::string> subverbs;
};

class CommandLine {
 public:
  static constexpr base::Count kMost = std::numeric_limits<base::Count>::max();

  CommandLine(const std::string& verb, const std::string& summary, const std::string& example);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  // Options declared from here on stand under this heading in the help.
  void group(const std::string& heading) { heading_ = heading; }

  // What stands without a dash. `name` is how the help shows it.
  void word(const std::string& name, std::string& value, const std::string& what, bool demanded = false);
  void words(const std::string& name, std::vector<std::string>& values, const std::string& what, bool demanded = false);
  // `orrery VERB name [argument]`; the first of a verb's is what it does without one.
  void subverb(const std::string& name, const std::string& what);
  void subverb(const std::string& name, const std::string& what, bool& chosen);
  void subverb(const std::string& name, const std::string& what, const std::string& argument, std::string& value,
               const std::string& what_argument);

  // Options. `names` as "-j,--threads"; `type` is how the help shows the value.
  void toggle(const std::string& names, bool& value, const std::string& what);
  void text(const std::string& names, std::string& value, const std::string& type, const std::string& what);
  // Where the answer goes: no part of the question, and of no document's `command`.
  void destination(const std::string& names, std::string& value, const std::string& type, const std::string& what);
  // The same of an option that was declared and changes no answer, such as the number of threads that search.
  void changes_nothing(const std::string& name);
  // A file that is written: the verb has --force, and no two such options may name one file (O1103).
  void output_file(const std::string& names, std::string& path, const std::string& type, const std::string& what);
  // --html and --plot, of verbs whose answers have charts.
  void pictures() { drawn_ = writes_ = true; }
  // With or without a value: `given` where it stands at all.
  void text_or_none(const std::string& names, bool& given, std::string& value, const std::string& type,
                    const std::string& what);
  // The same of a whole number from `least` to `most`: 0 where the option stands alone, -1 for 0.
  void count_or_none(const std::string& names, std::optional<base::Count>& value, const std::string& what,
                     base::Count most, base::Count least = 1);
  void texts(const std::string& names, std::vector<std::string>& values, const std::string& type,
             const std::string& what);  // repeatable
  // Whole numbers from 1 to `most`.
  void count(const std::string& names, std::optional<base::Count>& value, const std::string& what,
             base::Count most = kMost, base::Count least = 1);
  void count(const std::string& names, int& value, const std::string& what, int most);
  // Any whole number: what it may be is for others to say.
  void integer(const std::string& names, std::optional<base::Count>& value, const std::string& what);
  void digit(const std::string& names, int& value, int most, const std::string& what, const std::string& refusal);
  void seconds(const std::string& names, double& value, const std::string& what);
  void share(const std::string& names, double& value, const std::string& what);  // from 0 to below 1
  void probability(const std::string& names, std::optional<double>& value, const std::string& what);  // as share
  void seed(std::uint64_t& value, const std::string& what);  // --seed, of verbs that draw numbers
  void memory(std::size_t& bytes);                           // --memory; at most what the system allows
  void settings(Settings& values, const std::string& what);  // --set

  // A text with a meaning, which is told after the whole line was read and throws where the text has none.
  using Meaning = std::function<void(const std::string& text)>;
  void meant(const std::string& names, const std::string& type, const std::string& what, Meaning meaning);
  // Repeatable, and with `delimited` several in one value.
  void meant_each(const std::string& names, const std::string& type, const std::string& what, bool delimited,
                  Meaning meaning);

  // One of `choices` by its name.
  template <typename Value>
  void choice(const std::string& names, std::optional<Value>& value,
              const std::vector<std::pair<std::string, Value>>& choices, const std::string& what) {
    std::vector<std::string> known;
    for (const auto& [name, choice] : choices) known.push_back(name);
    offer(names, known);
    meant(names, "NAME", what, [=, &value, option = names](const std::string& text) {
      value = choices[index_of(option, text, known)].second;
    });
  }

  // The values of an option that the shells' completions offer.
  void offer(const std::string& option, std::vector<std::string> values) { offered_[option] = std::move(values); }

  // Reads the arguments, then tells the meanings in the order of declaration. False: help was asked for and is printed.
  // Colours and silence of `console` follow --no-color, NO_COLOR and --quiet; its `json`, `force`, `html` and `plot`
  // follow the options of these names, and `command` keeps what asks the question.
  bool read(const Arguments& arguments, Console& console);

 private:
  CLI::Option& option(CLI::Option& made, const std::string& type);
  static std::size_t index_of(const std::string& option, const std::string& text,
                              const std::vector<std::string>& known);
  void check_written() const;

  std::string verb_, heading_;
  bool draws_ = false, writes_ = false, drawn_ = false;
  std::unique_ptr<CLI::App> app_;
  std::vector<std::function<void()>> meanings_;
  std::vector<const CLI::Option*> left_out_;
  std::map<std::string, std::vector<std::string>> offered_;
  std::vector<std::pair<std::string, const std::string*>> written_;  // files, by their options
};

}  // namespace orrery::verbs
