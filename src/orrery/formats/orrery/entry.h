// What the catalogue says about a chip, a model or a system.
#pragma once

#include <string>
#include <vector>

namespace orrery::formats::orrery {

// Where a figure of a chip comes from: component `DRAM`, figure `energy`, the text of the source.
struct FigureSource {
  std::string component;
  std::string figure;
  std::string source;
};

// What the catalogue says about an entry. A user's own file without an `orrery` block has the path as
// its name and title, and no sources.
struct Entry {
  std::string name;   // what the user types
  std::string title;  // one line
  std::string description;
  std::string path;
  std::vector<std::string> sources;
  std::vector<FigureSource> figures;  // chips only
};

}  // namespace orrery::formats::orrery
