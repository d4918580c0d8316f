#include "orrery/inputs/masks/sparse_folder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

// Which tokens of one of these masks are there.
SparseArrayFiles with_valid(SparseArrayFiles given, const MaskFiles& files, const std::string& mask) {
  if (!given.valid.empty()) return given;
  given.valid = files.valid;
  if (!given.valid.empty()) return given;
  const fs::path path(mask);
  const auto beside = [&](const char* folder, std::string& to) {
    std::error_code failed;
    const fs::path file = path.parent_path() / folder / path.filename();
    if (to.empty() && fs::is_regular_file(file, failed)) to = file.string();
  };
  beside(kValidFolder, given.valid);
  beside(kValidQueriesFolder, given.valid_queries);
  return given;
}

}  // namespace

MaskFiles mask_files(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {{path}, {}};
  constexpr const char* kValid = "attn_valid.npy";
  MaskFiles out;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end; entry.increment(failed)) {
    const fs::path& file = entry->path();
    if (file.filename() == kValid)
      out.valid = file.string();
    else if (file.extension() == ".npy")
      out.masks.push_back(file.string());
  }
  if (failed || out.masks.empty())
    base::fail("O1816", fmt::format("the folder `{}` has no masks", path), {},
               "masks are files that end in .npy; `orrery sparse measure --save-mask FILE.npy` writes one");
  std::sort(out.masks.begin(), out.masks.end());
  for (const char* name : {"mask_packed_le.npy", "mask.npy"})
    for (const std::string& file : out.masks)
      if (fs::path(file).filename() == name) return {{file}, out.valid};
  return out;
}

masks::Mask read_listed_mask(const std::string& path, std::optional<base::Count> columns, const SparseArrayFiles& given,
                             const MaskFiles& files, std::vector<base::Input>& inputs, const base::Budget& budget) {
  base::Input input;
  masks::Mask mask = read_mask(path, columns, &input, budget);
  inputs.push_back(input);
  apply_valid(mask, with_valid(given, files, path), inputs);
  return mask;
}

void warn_of_outside(const std::string& path, base::Count outside, base::Diagnostics& warnings) {
  if (outside > 0)
    warnings.warning("O1819", fmt::format("`{}` keeps {} pairs of query and key that are not there", path, outside))
        .note("padding (`--valid`) and what lies beyond the diagonal (`--causal`) are left out of every figure");
}

void check_same_shape(const masks::MaskShape& a, const masks::MaskShape& b, const std::string& path) {
  if (a == b) return;
  base::fail("O1803",
             fmt::format("the mask `{}` is of {} x {} x {} x {} pairs, queries and keys are of {} x {} x {} x {}", path,
                         a.batch, a.heads, a.rows, a.columns, b.batch, b.heads, b.rows, b.columns),
             {}, "batch, heads, queries and keys must be the same");
}

}  // namespace orrery::verbs
