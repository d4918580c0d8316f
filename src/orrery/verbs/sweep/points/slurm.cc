#include "orrery/verbs/sweep/points/slurm.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/text.h"
#include "orrery/verbs/sweep/points/arguments.h"

namespace orrery::sweep {
namespace {

namespace fs = std::filesystem;

struct Said {
  std::string text;
  int code = 0;
};

// What a command prints, errors included.
Said said_by(const std::string& command) {
  Said out;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"no process can be started", -1};
  std::array<char, 4096> buffer{};
  std::size_t read = 0;
  while ((read = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) out.text.append(buffer.data(), read);
  out.code = ::pclose(pipe);
  while (!out.text.empty() && out.text.back() == '\n') out.text.pop_back();
  return out;
}

std::string done_file(const SlurmJob& job, unsigned part) {
  return part_store(job, part) + ".done";
}

std::vector<unsigned> open_parts(const SlurmJob& job) {
  std::vector<unsigned> out;
  std::error_code ignored;
  for (unsigned part = 1; part <= job.parts; ++part)
    if (!fs::exists(done_file(job, part), ignored)) out.push_back(part);
  return out;
}

[[noreturn]] void refuse(const std::string& message, const std::string& note, const char* hint) {
  base::Diagnostics found;
  auto& error = found.error("O2061", message);
  if (!note.empty()) error.note(note);
  error.hint(hint);
  throw base::InputError(found.all());
}

// The number of the job.
std::string submit(const SlurmJob& job, const std::vector<unsigned>& parts) {
  // Only the part's number is the shell's to fill in; names stand in single quotes.
  const std::string part = "\"$SLURM_ARRAY_TASK_ID\"";
  const std::string store = base::shell_words({job.store + "."}) + part + fmt::format("-of-{}", job.parts);
  // 0: answered; 1: nothing is feasible. Both are done.
  const std::string script = fmt::format(
      "{} --shard {}/{} --store {} > /dev/null; code=$?; if [ $code -le 1 ]; then touch {}.done; fi; exit $code",
      base::shell_words(job.command), part, job.parts, store, store);
  std::string log;  // to sbatch, `%` begins a pattern
  for (const char c : job.store) log += c == '%' ? std::string("%%") : std::string(1, c);
  const Said said =
      said_by(fmt::format("sbatch --parsable --array={} --output={} {} --wrap={}", base::joined(parts, ","),
                          base::shell_words({log + ".%a.log"}), job.options, base::shell_words({script})));
  const std::string id = said.text.substr(0, said.text.find(';'));
  if (said.code != 0 || id.empty() ||
      !std::all_of(id.begin(), id.end(), [](unsigned char c) { return std::isdigit(c); }))
    refuse("Slurm did not take the job", said.text,
           "is this a machine that may submit? `--slurm=\"--partition=NAME\"` "
           "passes options on to sbatch");
  return id;
}

bool runs(const std::string& id) {
  const Said said =
      said_by("squeue --noheader --jobs=" + id + " --states=PENDING,RUNNING,COMPLETING,CONFIGURING,SUSPENDED");
  return said.code == 0 && !said.text.empty();  // a job that is gone is an error of squeue
}

}  // namespace

std::string part_store(const SlurmJob& job, unsigned part) {
  return fmt::format("{}.{}-of-{}", job.store, part, job.parts);
}

std::vector<std::string> run_on_slurm(const SlurmJob& job) {
  std::map<unsigned, unsigned> tries;
  for (std::vector<unsigned> open = open_parts(job); !open.empty(); open = open_parts(job)) {
    for (const unsigned part : open)
      if (++tries[part] > job.tries)
        refuse(fmt::format("part {} of {} failed {} times", part, job.parts, job.tries),
               fmt::format("its log is `{}.{}.log`", job.store, part),
               "the others are kept; the same command submits what is left");
    const std::string id = submit(job, open);
    while (runs(id)) {
      if (job.stop && job.stop->load()) {
        said_by("scancel " + id);
        return {};
      }
      if (job.progress) job.progress(job.parts - static_cast<unsigned>(open_parts(job).size()), job.parts, id);
      std::this_thread::sleep_for(std::chrono::duration<double>(job.poll_seconds));
    }
  }
  std::vector<std::string> out;
  for (unsigned part = 1; part <= job.parts; ++part) out.push_back(part_store(job, part));
  return out;
}

}  // namespace orrery::sweep
