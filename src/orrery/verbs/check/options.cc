#include "orrery/base/text/text.h"
#include "orrery/cli/run_verb.h"
#include "orrery/inputs/checkout.h"
#include "orrery/verbs/check/json.h"

#include <filesystem>

#include "orrery/base/text/text_file.h"
#include "orrery/verbs/sweep/options.h"

namespace orrery::verbs {
namespace {

// `normalisations`: documents of a second chip, which are a question of their own.
bool read(const Arguments& arguments, Console& console, CheckRequest& request,
          std::vector<std::string>& normalisations) {
  CommandLine line("check", "Read files, say what they are and what is wrong with them",
                   "orrery check arch.yaml constraints.yaml KTQ.yaml");
  line.words("FILES", request.files,
             "Timeloop documents (YAML, templates, .cfg), setups of DFModel, systems, config.json, studies", true);
  declare_ignored(line, request.ignored);
  declare_templates(line, request);
  declare_estimation(line, request);
  if (!line.read(arguments, console)) return false;
  normalisations = enter_checkout(request, true).normalisations;
  return true;
}

}  // namespace

int run_check(const Arguments& arguments, Console& console) {
  CheckRequest request;
  std::vector<std::string> normalisations;
  if (!read(arguments, console, request, normalisations)) return kDone;
  // Studies first: they name files of their own.
  std::vector<std::string> studies;
  std::erase_if(request.files, [&](const std::string& name) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(name, ignored)) return false;
    if (!name.ends_with(".yaml") && !name.ends_with(".yml")) return false;
    const std::optional<std::string> study = checked_study(base::read_file(name));
    if (study) studies.push_back(*study);
    return study.has_value();
  });
  return run_verb<Checked>(
      console, {.answer =
                    [&](Run&) {
                      Checked checked;
                      if (!request.files.empty() || studies.empty()) checked = check(request);
                      if (!normalisations.empty()) {
                        request.files = normalisations;
                        const Checked more = check(request);
                        checked.contents.insert(checked.contents.end(), more.contents.begin(), more.contents.end());
                        checked.warnings.append(more.warnings);
                      }
                      checked.contents.insert(checked.contents.begin(), studies.begin(), studies.end());
                      return checked;
                    },
                .document = check_document,
                .table =
                    [](const Checked& checked) {
                      return fmt::format("{}{}ok\n", base::joined(checked.contents, "\n"),
                                         checked.contents.empty() ? "" : "\n");
                    }});
}

}  // namespace orrery::verbs
