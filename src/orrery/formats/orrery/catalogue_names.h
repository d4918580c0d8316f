// The kinds of things that the catalogue has by name, and what is said of a name that it does not have.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::orrery {

struct CatalogueKind {
  const char* what;    // "chip"
  const char* option;  // "--chip"
  const char* folder;
  const char* suffix;
  const char* code;  // of the error where there is none of a name
};
inline constexpr CatalogueKind kChip = {"chip", "--chip", "chips", ".yaml", "O1111"};
inline constexpr CatalogueKind kModel = {"model", "--model", "models", ".json", "O1112"};
inline constexpr CatalogueKind kSystem = {"system", "--system", "systems", ".yaml", "O1350"};
inline constexpr CatalogueKind kStack = {"software stack", "--stack", "stacks", ".yaml", "O1910"};

// Sorted.
std::vector<std::string> catalogue_names(const std::string& directory, const CatalogueKind& kind);
bool has_entry(const std::string& directory, const CatalogueKind& kind, const std::string& name);
std::string entry_path(const std::string& directory, const CatalogueKind& kind, const std::string& name);

// Suggests names that begin alike or are near, and another option where the name is of another kind.
[[noreturn]] void fail_unknown(const std::string& directory, const CatalogueKind& kind, const std::string& name,
                               base::Location where = {});

}  // namespace orrery::formats::orrery
