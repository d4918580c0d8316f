#include "orrery/verbs/tune/tune_store.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/whole_file.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMachine = "machine.json";

std::string whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Where the times of a line begin: behind " time = " of a kernel's, behind the fourteenth comma of a contraction's.
std::size_t end_of_key(const std::string& line) {
  const std::size_t time = line.find(" time = ");
  if (time != std::string::npos) return time;
  std::size_t at = 0;
  for (int comma = 0; comma < 14; ++comma) {
    at = line.find(',', at);
    if (at == std::string::npos) return line.size();
    ++at;
  }
  return at;
}

void refuse_other(const MachineKey& key, const std::string& found, const std::string& folder) {
  base::Diagnostics diagnostics;
  base::Diagnostic& no = diagnostics.error("O1741", fmt::format("`{}` holds measurements of something else", folder));
  std::istringstream lines(found);
  std::string line;
  std::getline(lines, line);  // the bracket
  for (const auto& [name, value] : key) {
    std::getline(lines, line);
    if (line.ends_with(',')) line.pop_back();
    const std::string want = fmt::format("  \"{}\": \"{}\"", name, value);
    if (line != want)
      no.note(fmt::format(
          "it has {}, and this run has \"{}\": \"{}\"",
          line.empty()
              ? "nothing"
              : line.substr(line.find_first_not_of(' ') == std::string::npos ? 0 : line.find_first_not_of(' ')),
          name, value));
  }
  no.hint("give another folder to `-o`, or what it was measured with");
  diagnostics.throw_if_errors();
}

}  // namespace

MachineKey machine_key(std::string isa, int threads, std::string dtype, const tuning::Sizes& sizes) {
  std::string all;
  for (const char letter : std::string("bjhpiu")) all += fmt::format("{}={} ", letter, sizes[letter]);
  all.pop_back();
  return {{"processor", processor_name()}, {"isa", std::move(isa)}, {"threads", fmt::format("{}", threads)},
          {"dtype", std::move(dtype)},     {"sizes", all},          {"caches", "emptied for large layers"}};
}

std::string text_of(const MachineKey& key) {
  std::string out = "{\n";
  for (std::size_t i = 0; i < key.size(); ++i)
    out += fmt::format("  \"{}\": \"{}\"{}\n", key[i].first, key[i].second, i + 1 < key.size() ? "," : "");
  return out + "}\n";
}

std::optional<std::string> machine_of_store(const std::string& folder) {
  std::string text = whole((fs::path(folder) / kMachine).string());
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

TuneStore::TuneStore(std::string folder, const MachineKey& key, bool resume) : folder_(std::move(folder)) {
  std::error_code failed;
  fs::create_directories(folder_, failed);
  if (failed)
    base::fail("O1105", fmt::format("cannot make the folder `{}`: {}", folder_, failed.message()), {},
               "give a folder that can be written");
  const std::string wanted = text_of(key), found = whole(path(kMachine));
  if (!found.empty() && !resume)
    base::fail("O1740", fmt::format("`{}` holds measurements", folder_), {},
               "go on with them by `--resume`, or give another folder");
  if (!found.empty() && found != wanted) refuse_other(key, found, folder_);
  if (found.empty()) write(kMachine, wanted);
}

std::string TuneStore::path(const std::string& file) const {
  return (fs::path(folder_) / file).string();
}

TuneStore::Lines& TuneStore::lines_of(const std::string& file) {
  const auto [at, added] = files_.try_emplace(file);
  if (!added) return at->second;
  const std::string all = whole(path(file));
  // A line that was cut short by an end of the program does not count.
  for (std::size_t begin = 0, end; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = all.substr(begin, end - begin);
    const std::size_t key = end_of_key(line);
    at->second[line.substr(0, key)] = line.substr(key);
  }
  if (!all.empty() && all.back() != '\n') write(file, all.substr(0, all.rfind('\n') + 1));
  return at->second;
}

std::optional<std::string> TuneStore::find(const std::string& file, const std::string& key) {
  const Lines& lines = lines_of(file);
  const auto at = lines.find(key);
  if (at == lines.end()) return std::nullopt;
  ++found_;
  return at->second;
}

void TuneStore::add(const std::string& file, const std::string& key, const std::string& rest) {
  lines_of(file)[key] = rest;
  std::ofstream out(path(file), std::ios::app | std::ios::binary);
  out << key << rest << '\n';
  out.flush();
  if (!out) base::fail("O1105", fmt::format("cannot write `{}`", path(file)), {}, "give a folder that can be written");
}

void TuneStore::write(const std::string& file, const std::string& text) const {
  const std::string name = path(file);
  if (const std::string why = base::write_whole_file(name, text); !why.empty())
    base::fail("O1105", fmt::format("cannot write `{}`: {}", name, why), {}, "give a folder that can be written");
}

std::string TuneStore::text(const std::string& file) const {
  return whole(path(file));
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) {
      std::string out;
      for (const char c : line.substr(line.find(':') + 2)) out += c == '"' || c == '\\' ? '\'' : c;
      return out;
    }
  return "unknown";
}

}  // namespace orrery::verbs
