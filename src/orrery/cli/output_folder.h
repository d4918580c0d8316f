// The folder of -o: checked before a long run, made and written after it.
#pragma once

#include <initializer_list>
#include <string>

namespace orrery::cli {

// Throws InputError O1104 when `directory` holds one of `names` and `force` is not set, O1105 when it can neither be
// made nor be written. Makes nothing yet; "" is no folder.
void check_folder(const std::string& directory, bool force, std::initializer_list<const char*> names);

// Both throw InputError O1105.
void make_folder(const std::string& path);
void write_file(const std::string& path, const std::string& content);

}  // namespace orrery::cli
