#include <filesystem>

#include <fmt/format.h>
#include <google/protobuf/stubs/common.h>
#include <CLI/Version.hpp>
#include <nlohmann/json_fwd.hpp>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/numbers/mip.h"
#include "orrery/base/text/search_path.h"
#include "orrery/cli/program_version.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/inputs/layers/estimators.h"
#include "orrery/verbs/help/verbs_json.h"
#include "orrery/verbs/place/latency_hdf5_output.h"

namespace orrery::verbs {
namespace {

constexpr const char* kBuild =
#ifdef NDEBUG
    "optimised, without debug checks of the standard library";
#else
    "with debug checks";
#endif

std::size_t count_pages(const std::string& directory) {
  std::size_t pages = 0;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/errors", failure))
    pages += entry.path().extension() == ".md";
  return pages;
}

}  // namespace

int run_doctor(const Arguments& arguments, Console& console) {
  CommandLine line("doctor", "What this installation has and where its catalogue is", "orrery doctor");
  if (!line.read(arguments, console)) return kDone;
  std::vector<std::pair<std::string, std::string>> findings = {
      {"orrery", kVersion},
      {"compiler", __VERSION__},
      {"build", kBuild},
      {"threads", std::to_string(base::thread_count(0))},
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json",
       fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"CLI11", CLI11_VERSION},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
      {"MIP solver", base::mip_solver()},
      {"HDF5", verbs::hdf5_version().empty() ? "none; `place` writes no HDF5 files" : verbs::hdf5_version()},
  };
  base::Diagnostics found;
  try {
    const std::string directory = verbs::catalogue_directory();
    findings.push_back({"catalogue", directory});
    findings.push_back({"chips", std::to_string(verbs::list_chips(directory).size())});
    findings.push_back({"models", std::to_string(verbs::list_models(directory).size())});
    findings.push_back({"systems", std::to_string(verbs::list_systems(directory).size())});
    findings.push_back({"stacks", std::to_string(verbs::list_stacks(directory).size())});
    const std::string cacti = verbs::find_cacti();
    findings.push_back({"cacti", !cacti.empty() ? cacti : "none in $PATH; SRAMs by the catalogue's figures"});
    for (const char* const program : {"verilator", "yosys"}) {
      const auto found_there = base::find_programs(program);
      findings.push_back({program, found_there.empty() ? "none in $PATH; `sparse rtl` writes what it reads all the same"
                                                       : found_there.front().string()});
    }
    findings.push_back({"error pages", std::to_string(count_pages(directory))});
  } catch (const base::InputError& error) {
    found.append(error.diagnostics);
  }
  const bool ok = !found.has_errors();
  if (console.json) {
    console.out << doctor_document().json({ok, findings}, 0, console.command);
  } else {
    for (const auto& [what, value] : findings) print(console, fmt::format("{:<16}{}\n", what, value));
    if (ok) console.out << "all is well\n";
  }
  report(console, found.all());
  return ok ? kDone : kNo;
}

}  // namespace orrery::verbs
