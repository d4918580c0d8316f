#include "orrery/formats/cacti/program.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/search_path.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/cacti/child_process.h"
#include "orrery/formats/cacti/configuration.h"
#include "orrery/formats/cacti/result.h"
#include "orrery/formats/cacti/run_cache.h"

namespace orrery::formats::cacti {
namespace {

namespace fs = std::filesystem;

using Outcome = std::variant<energy::SramFigures, std::string>;

constexpr base::Count kMostBytes = 1LL << 30;  // CACTI counts bytes in 31 bits
constexpr std::size_t kQuoted = 120;
constexpr const char* kParameters = "tech_params";

constexpr std::size_t kMostOutput = std::size_t{1} << 20;  // CACTI writes some kilobytes

std::string contents(const fs::path& path) {
  return base::first_bytes(path.string(), kMostOutput).value_or("");
}

// The last line that CACTI said, for a message.
std::string last_words(const fs::path& log) {
  std::istringstream lines(contents(log));
  std::string line, last;
  while (std::getline(lines, line))
    if (line.find_first_not_of(" \t\r=}") != std::string::npos) last = line;
  last.erase(0, last.find_first_not_of(" \t"));
  if (last.size() > kQuoted) last.resize(kQuoted);
  return last.empty() ? "" : fmt::format("; it last said: {}", last);
}

// CACTI reads its technologies from a folder where it runs; it lies where CACTI was built.
fs::path home_of(const fs::path& program, const fs::path& otherwise) {
  std::error_code error;
  return fs::is_directory(program.parent_path() / kParameters, error) ? program.parent_path() : otherwise;
}

Outcome run_once(const ProgramOptions& options, const std::string& configuration, int banks) {
  const ScratchDirectory scratch;
  if (!scratch.path()) return std::string("finds no folder for temporary files");
  const fs::path input = *scratch.path() / "sram.cfg", log = *scratch.path() / "log";
  {
    std::ofstream out(input, std::ios::binary);
    out << configuration;
    if (!out.flush()) return std::string("cannot write its configuration into the folder for temporary files");
  }
  const Ended ended = run({options.program.string(), "-infile", input.string()},
                          home_of(options.program, *scratch.path()), log, options.limit);
  if (ended.how == Ended::How::kStopped)
    base::fail("O1118", fmt::format("interrupted while `{}` ran", options.program.string()), {},
               "run the command again; what CACTI answered before is kept");
  if (ended.how != Ended::How::kExited || ended.code != 0)
    return fmt::format("the program {}{}", text(ended, options.limit), last_words(log));
  const std::string result = contents(input.string() + ".out");
  if (result.empty()) return fmt::format("the program wrote no result{}", last_words(log));
  return read_result(result, banks);
}

}  // namespace

std::optional<fs::path> find_program() {
  std::error_code error;
  for (const fs::path& program : base::find_programs("cacti"))
    if (fs::is_directory(program.parent_path() / kParameters, error)) return program;
  return std::nullopt;
}

energy::SramModel program_model(ProgramOptions options) {
  std::error_code error;
  const fs::path given = options.program;
  options.program = fs::canonical(given, error);
  if (error || !base::runs(options.program))
    base::fail("O1255", fmt::format("`{}` is not a program that can be run", given.string()), {},
               "name the executable that CACTI's makefile builds, with its folder `tech_params` next to it");

  struct Kept {
    std::mutex mutex;
    std::map<std::string, Outcome> outcomes;
  };
  return [options, program_hash = base::content_hash(contents(options.program)), kept = std::make_shared<Kept>()](
             int technology_nm, const energy::SramPoint& point) -> std::variant<energy::SramAnswer, energy::Refusal> {
    if (point.capacity_bytes > kMostBytes) return energy::Refusal{"CACTI takes 1 GiB at most"};
    const std::string asked = configuration(technology_nm, point);
    const std::string key = base::content_hash(program_hash + asked);
    const RunCache cache(options.cache);
    std::optional<Outcome> outcome;
    {
      const std::lock_guard lock(kept->mutex);
      if (const auto known = kept->outcomes.find(key); known != kept->outcomes.end()) outcome = known->second;
    }
    if (!outcome) {
      if (const auto earlier = cache.find(key)) {
        outcome = *earlier;
      } else {
        outcome = run_once(options, asked, point.banks);
        if (const auto* figures = std::get_if<energy::SramFigures>(&*outcome)) cache.keep(key, *figures);
      }
      const std::lock_guard lock(kept->mutex);
      kept->outcomes.emplace(key, *outcome);
    }
    if (const auto* reason = std::get_if<std::string>(&*outcome)) return energy::Refusal{*reason};
    return energy::SramAnswer{std::get<energy::SramFigures>(*outcome), {}, "a run", {}};
  };
}

std::unique_ptr<energy::Estimator> program_estimator(ProgramOptions options,
                                                     std::shared_ptr<const energy::SramErrors> errors) {
  return std::make_unique<energy::Sram>("cacti", kProgramAccuracyPercent, program_model(std::move(options)),
                                        std::move(errors));
}

}  // namespace orrery::formats::cacti
