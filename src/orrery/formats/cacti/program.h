// Exact figures by running CACTI itself.
//
// One run of CACTI takes 0.05 s to seconds; results are kept in the user's cache folder under the contents of
// configuration and program, so each memory is asked for once.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "orrery/describe/energy/estimator.h"
#include "orrery/describe/energy/sram/sram.h"

namespace orrery::formats::cacti {

// Above the table's 80, for its figures are the table's between its rows too; below what tables of the user claim.
inline constexpr double kProgramAccuracyPercent = 85;

struct ProgramOptions {
  std::filesystem::path program;
  std::optional<std::filesystem::path> cache;  // nothing: results are kept for this run only
  std::chrono::milliseconds limit = std::chrono::seconds(60);
};

// A program called `cacti` in one of the folders of $PATH with CACTI's folder `tech_params` beside it (or beside
// what it is a link to); a network monitor has the same name.
std::optional<std::filesystem::path> find_program();

// Throws InputError: O1255, where the program cannot be run.
energy::SramModel program_model(ProgramOptions options);

// The estimator "cacti" of class SRAM, with the rules of describe/energy/sram/sram.h; without `errors` none are stated.
std::unique_ptr<energy::Estimator> program_estimator(ProgramOptions options,
                                                     std::shared_ptr<const energy::SramErrors> errors = nullptr);

}  // namespace orrery::formats::cacti
