// Where the program lies: the catalogue stands beside it, stores keep its hash, jobs start it.
#pragma once

#include <filesystem>

namespace orrery::verbs {

// Its own path; empty where the system does not tell.
std::filesystem::path program_file();

// For what runs the program within another one, as the Python module does.
void set_program_file(const std::filesystem::path& path);

}  // namespace orrery::verbs
