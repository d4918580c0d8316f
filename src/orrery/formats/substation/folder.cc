#include "orrery/formats/substation/folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/limits/stopwatch.h"
#include "orrery/base/text/mapped_file.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/substation/columns.h"
#include "orrery/formats/substation/contraction_file.h"
#include "orrery/formats/substation/kernel_file.h"

namespace orrery::formats::substation {
namespace {

namespace fs = std::filesystem;
using tuning::Measured;
using tuning::Measurements;

// A kernel's file is read in pieces side by side, each as if it were a file, and the tables are put together in order.
// Where one finds something that is wrong, the pieces are forgotten and one thread reads all, so that messages know
// their lines.

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

// What one thread reads: a file, or the lines of one that begin in a piece of it.
struct Part {
  std::size_t source = 0;  // of the benchmark's files
  std::string_view bytes;
  std::optional<Measured> table;
  SizesSeen sizes;
  base::Diagnostics found;
};

struct Read {
  std::vector<std::unique_ptr<base::MappedFile>> maps;  // of the files, that of the layouts last
  std::vector<Part> parts;                              // of kernels
  std::optional<Measured> table;
  SizesSeen sizes;
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
    warnings.warning("O1723", fmt::format("no operator of the layer takes {}", base::joined(unread, ", ")))
        .note(fmt::format("in `{}`; they are not read", folder));
}

void open(const std::string& path, Read& out) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (!failed && size > kMostBytes)
    base::fail("O1724",
               fmt::format("`{}` has {} bytes, more than the {} that are read of a file", path, size, kMostBytes));
  out.maps.push_back(std::make_unique<base::MappedFile>(path));
  const std::string_view bytes = out.maps.back()->bytes();
  out.inputs.push_back({path, base::content_hash(bytes)});
  out.bytes += bytes.size();
}

bool stopped(const Reading& how) {
  return how.stop != nullptr && how.stop->load(std::memory_order_relaxed);
}

void open(const Expected& expected, const Files& files, const Reading& how, Read& out) {
  try {
    for (const std::string& path : files.paths) {
      if (stopped(how)) return;
      open(path, out);
    }
    if (!files.layouts.empty()) open(files.layouts, out);
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& one : error.diagnostics) out.found.error(one.code, one.message, one.primary.where);
    return;
  }
  for (std::size_t s = 0; s < files.paths.size() && !expected.contraction; ++s) {
    std::string_view rest = out.maps[s]->bytes();
    while (!rest.empty()) {
      const std::size_t end = how.piece < rest.size() ? rest.find('\n', how.piece) : std::string_view::npos;
      Part& part = out.parts.emplace_back();
      part.source = s;
      part.bytes = rest.substr(0, end == std::string_view::npos ? end : end + 1);
      rest.remove_prefix(part.bytes.size());
    }
  }
}

// The whole benchmark by one thread, with the places of what is wrong.
void read_in_order(const Expected& expected, const Files& files, const std::atomic<bool>* stop, Read& out) {
  out.table = empty_table(expected);
  out.sizes = SizesSeen();
  std::vector<std::unique_ptr<Source>> sources;
  for (const std::unique_ptr<base::MappedFile>& map : out.maps)
    sources.push_back(std::make_unique<Source>(map->path(), map->bytes(), stop));
  if (!files.layouts.empty()) {
    const std::unique_ptr<Source> layouts = std::move(sources.back());
    sources.pop_back();
    read_ranks(*layouts, sources, expected, out.sizes, *out.table, out.found);
  } else {
    for (const std::unique_ptr<Source>& source : sources)
      (expected.contraction ? read_result : read_kernel)(*source, expected, out.sizes, *out.table, out.found);
  }
}

// Parts one behind the other, as if one thread had read them. False where one found something that is wrong, or where
// a size was not told by the first.
bool join(const Expected& expected, Read& out) {
  std::size_t rows = 0;
  for (const Part& part : out.parts) {
    if (part.found.has_errors()) return false;
    rows += part.table->rows();
  }
  Measured all = empty_table(expected);
  all.layouts.reserve(rows * all.columns.size());
  all.chosen.reserve(rows * all.specials.size());
  all.times.reserve(rows);
  base::Diagnostics wrong;
  for (std::size_t p = 0; p < out.parts.size(); ++p) {
    SizesSeen& sizes = out.parts[p].sizes;
    if (p == 0)
      out.sizes = std::move(sizes);
    else if (!sizes.within(out.sizes))
      return false;
    all.append(*out.parts[p].table);
    out.parts[p].table.reset();
  }
  out.table = std::move(all);
  return true;
}

void say_unusable(const Files& files, Read& out) {
  if (!out.table || out.table->rows() > 0 || out.found.has_errors()) return;
  const base::Location whole{std::make_shared<const base::SourceFile>(base::SourceFile{files.paths.front(), {}}), 0, 0};
  auto& told = out.found.error("O1715", fmt::format("`{}` has no line that can be used", files.paths.front()), whole);
  if (out.table->lines == 0)
    told.note("it is empty");
  else if (out.table->contraction && out.table->lines == 1)
    told.note("it has no row below its header");
  else if (out.table->failed > 0)
    told.note(fmt::format("{} of {} lines end in ERROR: the kernel failed its verification", out.table->failed,
                          out.table->lines));
  if (out.table->dropped > 0)
    told.note(fmt::format("{} rows have layouts in which q is not outermost, which no split or merge takes",
                          out.table->dropped));
}

// Large pieces first, so that no thread begins with them when the others have ended.
void read_parts(const std::vector<Expected>& all, const std::vector<Files>& files, const Reading& how,
                std::vector<Read>& read) {
  struct Task {
    std::size_t benchmark, part, bytes;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t p = 0; p < read[i].parts.size(); ++p) tasks.push_back({i, p, read[i].parts[p].bytes.size()});
    if (all[i].contraction && !files[i].paths.empty() && !read[i].found.has_errors())
      tasks.push_back({i, 0, read[i].bytes});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.bytes > b.bytes; });
  base::parallel_for(tasks.size(), how.threads, [&](std::size_t t) {
    const Task& task = tasks[t];
    Read& out = read[task.benchmark];
    if (all[task.benchmark].contraction)
      return read_in_order(all[task.benchmark], files[task.benchmark], how.stop, out);
    Part& part = out.parts[task.part];
    part.table = empty_table(all[task.benchmark]);
    Source source(out.maps[part.source]->path(), part.bytes, how.stop);
    read_kernel(source, all[task.benchmark], part.sizes, *part.table, part.found);
  });
}

}  // namespace

Measurements read_folder(const std::string& folder, const tuning::Graph& graph, int threads,
                         base::Diagnostics& warnings) {
  return *read_folder(folder, graph, {.threads = threads}, warnings);
}

std::optional<Measurements> read_folder(const std::string& folder, const tuning::Graph& graph, const Reading& how,
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
  base::parallel_for(all.size(), how.threads, [&](std::size_t i) { open(all[i], files[i], how, read[i]); });
  if (!stopped(how)) read_parts(all, files, how, read);
  base::parallel_for(all.size(), how.threads, [&](std::size_t i) {
    if (files[i].paths.empty() || read[i].found.has_errors() || stopped(how)) return;
    if (!all[i].contraction && !join(all[i], read[i])) read_in_order(all[i], files[i], how.stop, read[i]);
    say_unusable(files[i], read[i]);
  });
  if (stopped(how)) return std::nullopt;
  Measurements out;
  SizesSeen joined;
  for (std::size_t i = 0; i < all.size(); ++i) {
    found.append(read[i].found);
    joined.join(read[i].sizes, found);
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
