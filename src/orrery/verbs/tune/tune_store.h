// Measurements on disk, each written when it was made, so that a run can be interrupted at any moment and resumed: a
// folder of Substation's files (`<kernel>-bm0.csv`, `<op>-pruned-bm0.csv`), and `machine.json`, which says what they
// were measured on. Lines are found again by what stands before their times.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/runtime/tuning/sizes.h"

namespace orrery::verbs {

// What measurements hold for: names and values, in order.
using MachineKey = std::vector<std::pair<std::string, std::string>>;
MachineKey machine_key(std::string isa, int threads, std::string dtype, const tuning::Sizes& sizes);
std::string text_of(const MachineKey& key);  // machine.json

// machine.json of a folder; nothing where there is none.
std::optional<std::string> machine_of_store(const std::string& folder);

inline constexpr const char* kBuiltInFile = "built-in.csv";  // "layer time = X s": built in, both passes

class TuneStore {
 public:
  // Opens or makes the folder. Throws InputError: O1740 where it holds measurements and `resume` is not set, O1741
  // where these are of something else, O1105 where it cannot be written.
  TuneStore(std::string folder, const MachineKey& key, bool resume);

  // What stands behind `key` in a line of the file; nothing where there is no such line.
  std::optional<std::string> find(const std::string& file, const std::string& key);
  void add(const std::string& file, const std::string& key, const std::string& rest);
  // Replaces a file.
  void write(const std::string& file, const std::string& text) const;
  // All lines of a file, as they stand.
  std::string text(const std::string& file) const;

  std::size_t found() const { return found_; }

 private:
  using Lines = std::map<std::string, std::string>;
  Lines& lines_of(const std::string& file);
  std::string path(const std::string& file) const;

  std::string folder_;
  std::map<std::string, Lines> files_;
  std::size_t found_ = 0;
};

// The processor's name, or "unknown".
std::string processor_name();

}  // namespace orrery::verbs
