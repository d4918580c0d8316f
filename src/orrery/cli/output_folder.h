// The folder of -o: checked before a long run, made and written after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/inputs/output_file.h"

namespace orrery::verbs {

// Throws InputError O1104 when `directory` holds one of `names` and `force` is not set, O1105 when it can neither be
// made nor be written. Makes nothing yet; "" is not a folder.
void check_folder(const std::string& directory, bool force, const std::vector<std::string>& names);

// Throws InputError O1104 when there is a file and `force` is not set, O1105 when none could be written there; "" is
// none. Makes nothing yet.
void check_file(const std::string& path, bool force);
// Throws InputError O1104 when the file is one of these, which are still to be read another time.
void keep_inputs(const std::string& path, const std::vector<base::Input>& inputs);

// All throw InputError O1105. A file that is there stays until the new one is whole.
void make_folder(const std::string& path);
void write_file(const std::string& path, const std::string& content);
using Pieces = std::function<void(const std::string& piece)>;
void write_file(const std::string& path, const std::function<void(const Pieces& write)>& content);
void write_files(const std::string& folder, const std::vector<OutputFile>& files);  // makes the folders

}  // namespace orrery::verbs
