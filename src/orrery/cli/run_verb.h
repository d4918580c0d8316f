// How a verb runs once its command line is read: the folder and files of -o are checked before, warnings are drawn,
// files are written, the answer is printed as a table or as JSON, and the exit code says how it ended.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/limits/stopwatch.h"
#include "orrery/cli/console.h"
#include "orrery/cli/interrupt.h"
#include "orrery/cli/output_folder.h"
#include "orrery/cli/progress_line.h"
#include "orrery/cli/shared_options.h"
#include "orrery/present/answer.h"

namespace orrery::verbs {

// What a verb has while it looks for its answer.
class Run {
 public:
  explicit Run(const Console& console) { progress_.emplace(console); }

  // Set by a signal; from the first call on, a signal does nothing else.
  const std::atomic<bool>* stop();
  std::function<const std::atomic<bool>*()> interruptible() {
    return [this] { return stop(); };
  }
  // A line on the terminal, while somebody waits.
  template <typename... Parts>
  void show(fmt::format_string<Parts...> text, Parts&&... parts) {
    if (progress_ && progress_->wanted()) progress_->show(fmt::format(text, std::forward<Parts>(parts)...));
  }

  void finish();  // signals end the program again, the line is gone
  bool stopped() const { return stopped_ || (interrupt_ && interrupt_->flag()->load()); }
  // The exit code of an answer that is not all that was asked for.
  int cut_short() const { return stopped() ? kInterrupted : kLimit; }

 private:
  std::optional<ProgressLine> progress_;
  std::optional<InterruptGuard> interrupt_;
  bool stopped_ = false;
};

struct Outcome {
  int code = kDone;
  std::vector<base::Diagnostic> reasons = {};  // why it is not kDone
  bool nothing = false;                        // no answer to print: the reasons take its place
};

template <typename Answer>
struct NamedFile {
  std::string path;                                // empty: not asked for
  std::function<std::string(const Answer&)> text;  // empty: nothing is written
};

template <typename Answer>
struct Steps {
  std::function<Answer(Run&)> answer;
  std::function<Document<Answer>()> document;
  std::function<std::string(const Answer&)> table;
  OutputFolder folder = {};
  // What the folder may hold of an earlier run. With result.json among them the document is written as that.
  std::vector<std::string> names = {};
  std::function<std::vector<OutputFile>(const Answer&)> folder_files = {};  // beside result.json
  std::vector<NamedFile<Answer>> files = {};
  // By default kDone, or cut short where the answer has `ended_early`.
  std::function<Outcome(const Answer&, const Run&)> outcome = {};
};

// Of answers over masks: nothing where not even one was done, cut short where some are missing.
template <typename Answer>
Outcome cut_short_outcome(const Answer& answer, const Run& run) {
  if (answer.masks.empty()) return {run.cut_short(), answer.warnings.all(), true};
  bool whole = answer.unfinished.empty();
  if constexpr (requires { answer.interrupted; }) whole = whole && !answer.interrupted;
  return {whole ? kDone : run.cut_short()};
}

// --html: what is wrong with the file is said before a long run.
void check_page(const Console& console);
void write_page(const Console& console, const std::string& document, const std::vector<base::Input>& inputs);
void print_plots(const Console& console, const std::string& document);  // --plot

template <typename Answer>
Outcome outcome_of(const Steps<Answer>& steps, const Answer& answer, const Run& run) {
  if (steps.outcome) return steps.outcome(answer, run);
  if constexpr (requires { answer.ended_early; })
    if (answer.ended_early) return {run.cut_short()};
  return {};
}

// Throws StoppedWithoutAnswer where a signal came before there was any.
template <typename Answer>
int run_verb(const Console& console, const Steps<Answer>& steps) {
  const base::Stopwatch clock;
  const bool in_folder = !steps.folder.directory.empty();
  check_folder(steps.folder.directory, steps.folder.force, steps.names);
  for (const NamedFile<Answer>& file : steps.files) check_file(file.path, console.force);
  check_page(console);
  Run run(console);
  const Answer answer = [&] {
    try {
      return steps.answer(run);
    } catch (const base::InputError& error) {
      if (run.stopped()) throw StoppedWithoutAnswer(error);
      throw;
    }
  }();
  run.finish();
  const Outcome outcome = outcome_of(steps, answer, run);
  if (outcome.nothing) {
    refuse(console, outcome.reasons);
    return outcome.code;
  }
  const Document<Answer> document = steps.document();
  if (const base::Diagnostics* warnings = document.warnings(answer)) report(console, warnings->all());
  const bool kept = in_folder && std::find(steps.names.begin(), steps.names.end(), "result.json") != steps.names.end();
  const bool drawn = !console.html.empty() || console.plot;
  const std::string json = console.json || kept || drawn ? document.json(answer, clock.seconds(), console.command) : "";
  std::vector<OutputFile> files;
  if (in_folder && steps.folder_files) files = steps.folder_files(answer);
  if (kept) files.push_back({"result.json", json});
  if constexpr (requires { answer.inputs; }) {
    for (const NamedFile<Answer>& file : steps.files) keep_inputs(file.path, answer.inputs);
    for (const OutputFile& file : files) keep_inputs(steps.folder.directory + "/" + file.name, answer.inputs);
  }
  // Before printing: what cannot be written is a refusal, of which --json prints a document as well.
  for (const NamedFile<Answer>& file : steps.files)
    if (const std::string text = file.path.empty() ? "" : file.text(answer); !text.empty()) write_file(file.path, text);
  if (in_folder) write_files(steps.folder.directory, files);
  if constexpr (requires { answer.inputs; })
    write_page(console, json, answer.inputs);
  else
    write_page(console, json, {});
  if (console.json)
    console.out << json;
  else
    print(console, steps.table(answer));
  print_plots(console, json);
  console.out.flush();
  report(console, outcome.reasons);
  return outcome.code;
}

}  // namespace orrery::verbs
