// Options that several verbs take, each declared once.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/cli/command_line.h"
#include "orrery/inputs/inputs.h"

namespace orrery::verbs {

struct OutputFolder {
  std::string directory;  // -o; empty: no files are written
  bool force = false;     // overwrite results in it
};
void declare(CommandLine& line, OutputFolder& output, const std::string& what_is_written);

// --threads and --time-limit, with what they mean to the verb. Threads are part of the question where it `measures`.
void declare_search(CommandLine& line, base::Limits& limits, const std::string& threads, const std::string& seconds,
                    bool measures = false);

// Of verbs that read Timeloop's documents.
void declare_chips(CommandLine& line, DocumentRequest& documents);       // --chip
void declare_estimation(CommandLine& line, DocumentRequest& documents);  // --tables, --cacti, --set, --compat

void declare_ignored(CommandLine& line, std::vector<std::string>& ignored);  // --ignore
void declare_like(CommandLine& line, std::string& like);                     // --like
// --mtp: 0 where no number is given. Where modules are counted unless somebody says otherwise, `can_be_none`: -1 for 0.
void declare_mtp(CommandLine& line, std::optional<base::Count>& modules, bool can_be_none = false);
void declare_onnx(CommandLine& line, base::Overrides& defined, bool& unfold);  // --define, --im2col
void declare_unfold(CommandLine& line, bool& unfold);                          // --im2col alone
// --define, --include, --ignore-density. `also`: what else a name may be, for the help.
void declare_templates(CommandLine& line, DocumentRequest& documents, const std::string& also = "");

}  // namespace orrery::verbs
