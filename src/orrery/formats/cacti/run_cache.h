// Results of earlier runs, kept in the user's cache folder.
//
// One small text file a result, named after its key; written under another name and renamed, so that a reader never
// sees half of one. A file that is not exactly what was written is as good as none.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "orrery/describe/energy/sram/sram_table.h"

namespace orrery::formats::cacti {

// $XDG_CACHE_HOME/orrery/cacti, else $HOME/.cache/orrery/cacti; nothing without either.
std::optional<std::filesystem::path> user_cache();

class RunCache {
 public:
  explicit RunCache(std::optional<std::filesystem::path> directory) : directory_(std::move(directory)) {}

  std::optional<energy::SramFigures> find(const std::string& key) const;
  // Failing to write is no error: the next run asks again.
  void keep(const std::string& key, const energy::SramFigures& figures) const;

 private:
  std::optional<std::filesystem::path> directory_;
};

}  // namespace orrery::formats::cacti
