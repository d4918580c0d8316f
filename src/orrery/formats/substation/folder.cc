#include "orrery/formats/substation/folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/mapped_file.h"
#include "orrery/base/parallel.h"
#include "orrery/base/stopwatch.h"
#include "orrery/formats/substation/columns.h"
#include "orrery/formats/substation/contraction_file.h"
#include "orrery/formats/substation/kernel_file.h"

namespace orrery::formats::substation {
namespace {

namespace fs = std::filesystem;
using tuning::Measured;
using tuning::Measurements;

// Files of one benchmark. `layouts`: `<op>.csv`, with rank files only.
struct Files {
  std::vector<std::string> paths;
  std::string layouts, wanted;  // `wanted`: what should be there
};

bool is_rank_file(const std::string& name, const std::string& stem) {
  if (!name.starts_with(stem) || !name.ends_with(".csv")) return false;
  const std::string rank = name.substr(stem.size(), name.size() - stem.size() - 4);
  return !rank.empty() && std::all_of(rank.begin(), rank.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> names;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    names.push_back(it->path().filename().string());
  if (failed)
    base::fail("O0100", fmt::format("cannot read the folder `{}`: {}", folder, failed.message()), {},
               "give a folder that holds `<kernel>-combined.csv` and `<op>-result.csv`");
  // Ranks in the order of their numbers, whatever the file system says.
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
  return names;
}

Files files_of(const Expected& one, const std::string& folder, const std::vector<std::string>& names) {
  const auto has = [&](const std::string& name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const auto path = [&](const std::string& name) { return (fs::path(folder) / name).string(); };
  Files out;
  const std::string merged = one.benchmark + (one.contraction ? "-result.csv" : "-combined.csv");
  const std::string stem = one.benchmark + (one.contraction ? "-pruned-bm" : "-bm");
  out.wanted = merged;
  if (has(merged)) {
    out.paths.push_back(path(merged));
    return out;
  }
  for (const std::string& name : names)
    if (is_rank_file(name, stem)) out.paths.push_back(path(name));
  if (!one.contraction || out.paths.empty()) return out;
  if (has(one.benchmark + ".csv"))
    out.layouts = path(one.benchmark + ".csv");
  else {
    out.wanted = one.benchmark + ".csv (the layouts of the calls that were measured)";
    out.paths.clear();
  }
  return out;
}

// So that no thread begins with the longest files when the others have ended.
std::vector<std::size_t> largest_first(const std::vector<Files>& files) {
  std::vector<std::uintmax_t> bytes;
  std::vector<std::size_t> order;
  for (const Files& one : files) {
    bytes.push_back(0);
    order.push_back(order.size());
    for (const std::string& path : one.paths) {
      std::error_code failed;
      const std::uintmax_t size = fs::file_size(path, failed);
      if (!failed) bytes.back() += size;
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  return order;
}

struct Read {
  std::optional<Measured> table;
  std::vector<base::Input> inputs;
  std::size_t bytes = 0;
  base::Diagnostics found;
};

void say_unread(const std::vector<std::string>& names, const std::vector<Expected>& all, const std::string& folder,
                base::Diagnostics& warnings) {
  std::vector<std::string> unread;
  for (const std::string& name : names) {
    const std::size_t dash = std::min(name.rfind("-combined.csv"), name.rfind("-result.csv"));
    if (dash == std::string::npos) continue;
    const std::string benchmark = name.substr(0, dash);
    if (std::none_of(all.begin(), all.end(), [&](const Expected& e) { return e.benchmark == benchmark; }))
      unread.push_back(name);
  }
  if (!unread.empty())
    warnings.warning("O1723", fmt::format("no operator of the layer takes {}", fmt::join(unread, ", ")))
        .note(fmt::format("in `{}`; they are not read", folder));
}

void read_one(const Expected& expected, const Files& files, SizesSeen& sizes, Read& out) {
  out.table = empty_table(expected);
  std::vector<std::unique_ptr<base::MappedFile>> maps;
  std::vector<std::unique_ptr<Source>> sources;
  const auto open = [&](const std::string& path) {
    std::error_code failed;
    const auto size = fs::file_size(path, failed);
    if (!failed && size > kMostBytes)
      base::fail("O1724",
                 fmt::format("`{}` has {} bytes, more than the {} that are read of a file", path, size, kMostBytes));
    maps.push_back(std::make_unique<base::MappedFile>(path));
    const std::string_view bytes = maps.back()->bytes();
    out.inputs.push_back({path, base::content_hash(bytes)});
    out.bytes += bytes.size();
    return std::make_unique<Source>(path, bytes);
  };
  try {
    for (const std::string& path : files.paths) sources.push_back(open(path));
    if (!files.layouts.empty()) {
      const std::unique_ptr<Source> layouts = open(files.layouts);
      read_ranks(*layouts, sources, expected, sizes, *out.table, out.found);
    } else {
      for (const std::unique_ptr<Source>& source : sources)
        (expected.contraction ? read_result : read_kernel)(*source, expected, sizes, *out.table, out.found);
    }
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& one : error.diagnostics) out.found.error(one.code, one.message, one.primary.where);
    return;
  }
  if (out.table->rows() > 0 || out.found.has_errors()) return;
  auto& told = out.found.error("O1715", fmt::format("`{}` has no line that can be used", files.paths.front()),
                               sources.front()->whole());
  if (out.table->lines == 0)
    told.note("it is empty");
  else if (out.table->failed > 0)
    told.note(fmt::format("{} of {} lines end in ERROR: the kernel failed its verification", out.table->failed,
                          out.table->lines));
  if (out.table->dropped > 0)
    told.note(fmt::format("{} rows have layouts in which q is not outermost, which no split or merge takes",
                          out.table->dropped));
}

}  // namespace

Measurements read_folder(const std::string& folder, const tuning::Graph& graph, int threads,
                         base::Diagnostics& warnings) {
  const base::Stopwatch clock;
  const std::vector<std::string> names = names_in(folder);
  const std::vector<Expected> all = expected_files(graph);
  base::Diagnostics found;
  std::vector<Files> files;
  std::vector<std::string> missing;
  for (const Expected& one : all) {
    files.push_back(files_of(one, folder, names));
    if (files.back().paths.empty()) missing.push_back(files.back().wanted);
  }
  if (!missing.empty()) {
    auto& told = found.error(
        "O1710", fmt::format("`{}` lacks the measurements of {} of {} benchmarks", folder, missing.size(), all.size()));
    for (const std::string& one : missing) told.note(fmt::format("missing: {}", one));
    told.hint(
        "a choice over the whole layer needs every operator; `<kernel>-bm<rank>.csv`, or `<op>.csv` with "
        "`<op>-pruned-bm<rank>.csv`, do as well");
  }
  std::vector<Read> read(all.size());
  std::vector<SizesSeen> sizes(all.size());
  const std::vector<std::size_t> order = largest_first(files);
  base::parallel_for(all.size(), threads, [&](std::size_t task) {
    const std::size_t i = order[task];
    if (!files[i].paths.empty()) read_one(all[i], files[i], sizes[i], read[i]);
  });
  Measurements out;
  SizesSeen joined;
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.append(read[i].found);
    joined.join(sizes[i], found);
    out.inputs.insert(out.inputs.end(), read[i].inputs.begin(), read[i].inputs.end());
    out.bytes += static_cast<double>(read[i].bytes);
    if (read[i].table) out.tables.emplace(all[i].benchmark, std::move(*read[i].table));
  }
  joined.check_products(found);
  found.throw_if_errors();
  say_unread(names, all, folder, warnings);
  out.sizes = joined.sizes();
  out.seconds = clock.seconds();
  return out;
}

}  // namespace orrery::formats::substation
