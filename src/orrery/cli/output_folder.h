// The folder of -o: checked before a long run, made and written after it.
#pragma once

#include <string>
#include <vector>

#include "orrery/inputs/output_file.h"

namespace orrery::verbs {

// Throws InputError O1104 when `directory` holds one of `names` and `force` is not set, O1105 when it can neither be
// made nor be written. Makes nothing yet; "" is not a folder.
void check_folder(const std::string& directory, bool force, const std::vector<std::string>& names);

// Throws InputError O1105 when a file could not be written there; "" is none. Makes nothing yet.
void check_file(const std::string& path);

// All throw InputError O1105.
void make_folder(const std::string& path);
void write_file(const std::string& path, const std::string& content);
void write_files(const std::string& folder, const std::vector<OutputFile>& files);  // makes the folders

}  // namespace orrery::verbs
