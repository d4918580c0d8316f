// Where answers and remarks go. Answers to `out`, everything else to `err`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {

enum ExitCode : int {
  kDone = 0,
  kNo = 1,          // ran correctly, the answer is no: infeasible, a mapping that cannot run
  kUsage = 2,       // bad usage, bad input, unreadable or unwritable files
  kLimit = 3,       // stopped at a limit; the best so far was printed
  kInternal = 101,  // a defect of Orrery
  kInterrupted = 130,
};

struct Console;

// What can be seen of an answer's JSON document: the program says how (verbs/report/), since verbs know no others.
struct Pictures {
  // A page in one file. Remarks are for `err`.
  std::string (*page)(const std::string& document, std::vector<base::Diagnostic>& remarks);
  // Charts drawn in characters, as wide as the terminal; "" where none says more than the table.
  std::string (*plots)(const std::string& document, const Console& console);
};

struct Console {
  std::ostream& out;
  std::ostream& err;
  bool colour = false;    // of `err`
  bool terminal = false;  // `err` is one
  bool quiet = false;     // errors only
  bool json = false;      // answers, refusals among them, are JSON documents
  bool force = false;     // files that are there may be overwritten
  const Pictures* pictures = nullptr;
  std::vector<std::string> command = {};  // as it was typed; once it is read, without where the answer goes
  std::string html = {};                  // the file of --html
  bool plot = false;                      // --plot
};

// What is to be read on `out`, not a document: its names may hold control characters (present/diagnostic_text.h).
void print(const Console& console, const std::string& text);

// Draws diagnostics on `err`; warnings not when quiet.
void report(const Console& console, const std::vector<base::Diagnostic>& diagnostics);

// The same for what ends the command without an answer; with --json a document on `out` takes the answer's place.
void refuse(const Console& console, const std::vector<base::Diagnostic>& diagnostics);

}  // namespace orrery::verbs
