#include "orrery/formats/cacti/run_cache.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "orrery/base/text/text_file.h"
#include "orrery/base/text/whole_file.h"

namespace orrery::formats::cacti {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTitle = "orrery cacti 1";

std::string text_of(const std::string& key, const energy::SramFigures& figures) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\nend\n", kTitle, key, figures[energy::kRead], figures[energy::kWrite],
                     figures[energy::kLeak], figures[energy::kArea], figures[energy::kAccess]);
}

}  // namespace

std::optional<fs::path> user_cache() {
  // Relative paths are to be ignored, says the XDG base directory specification.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "orrery" / "cacti";
  if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
    return fs::path(home) / ".cache" / "orrery" / "cacti";
  return std::nullopt;
}

std::optional<energy::SramFigures> RunCache::find(const std::string& key) const {
  if (!directory_) return std::nullopt;
  constexpr std::size_t kMost = 4096;  // an entry is a few lines
  const std::optional<std::string> content = base::first_bytes((*directory_ / key).string(), kMost);
  if (!content) return std::nullopt;
  std::istringstream lines(*content);
  std::string title, its_key;
  std::getline(lines, title);
  std::getline(lines, its_key);
  energy::SramFigures figures{};
  for (double& figure : figures)
    if (!(lines >> figure) || !std::isfinite(figure) || !(figure > 0)) return std::nullopt;
  // What was written reads back to the same text, or somebody else wrote it.
  if (text_of(key, figures) != *content) return std::nullopt;
  return figures;
}

void RunCache::keep(const std::string& key, const energy::SramFigures& figures) const {
  if (!directory_) return;
  std::error_code error;
  fs::create_directories(*directory_, error);
  if (error) return;
  base::write_whole_file((*directory_ / key).string(), text_of(key, figures));
}

}  // namespace orrery::formats::cacti
