#include "orrery/formats/orrery/catalogue_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <string_view>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"

namespace orrery::formats::orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSuggested = 4;
constexpr std::size_t kMostListed = 20;  // of more names, those that are alike

// Letters and digits alone: Llama-3.1-8B is llama3.1-8b.
std::string plain(const std::string& name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c))) out += base::lower(c);
  return out;
}

// Those that begin with the same word.
std::vector<std::string> alike(const std::string& name, const std::vector<std::string>& known) {
  const std::string wanted = plain(name);
  const std::size_t letters = std::min(wanted.find_first_of("0123456789"), wanted.size());
  std::vector<std::string> out;
  if (letters < 3) return out;
  std::copy_if(known.begin(), known.end(), std::back_inserter(out),
               [&](const std::string& candidate) { return plain(candidate).starts_with(wanted.substr(0, letters)); });
  return out;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& known) {
  for (const std::string& candidate : known)
    if (plain(candidate) == plain(name)) return base::did_you_mean(candidate);
  // h100 is a word of dgx-h100, and h100-llama3 begins with it.
  std::vector<std::string> longer;
  std::copy_if(known.begin(), known.end(), std::back_inserter(longer), [&](const std::string& candidate) {
    return candidate.starts_with(name) ||
           ("-" + candidate + "-").find("-" + base::lower(name) + "-") != std::string::npos;
  });
  if (longer.size() == 1) return base::did_you_mean(longer[0]);
  if (longer.size() > 1 && longer.size() <= kMostSuggested)
    return fmt::format("did you mean one of `{}`?", base::joined(longer, "`, `"));
  return base::did_you_mean(name, known);
}

}  // namespace

std::vector<std::string> catalogue_names(const std::string& directory, const CatalogueKind& kind) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(directory) / kind.folder, ignored))
    if (entry.path().extension() == kind.suffix) found.push_back(entry.path().stem().string());
  std::sort(found.begin(), found.end());
  return found;
}

bool has_entry(const std::string& directory, const CatalogueKind& kind, const std::string& name) {
  const std::vector<std::string> known = catalogue_names(directory, kind);
  return std::binary_search(known.begin(), known.end(), name);
}

std::string entry_path(const std::string& directory, const CatalogueKind& kind, const std::string& name) {
  return (fs::path(directory) / kind.folder / (name + kind.suffix)).string();
}

void fail_unknown(const std::string& directory, const CatalogueKind& kind, const std::string& name,
                  base::Location where) {
  const std::vector<std::string> known = catalogue_names(directory, kind);
  base::Diagnostics found;
  base::Diagnostic& unknown =
      found.error(kind.code, fmt::format("the catalogue has no {} `{}`", kind.what, name), std::move(where));
  unknown.hint(suggestion(name.substr(name.find('/') == std::string::npos ? 0 : name.find('/') + 1), known));
  if (known.size() <= kMostListed) {
    unknown.note(fmt::format("it has: {}", base::joined(known, ", ")));
  } else {
    if (const std::vector<std::string> near = alike(name.substr(name.find('/') + 1), known); !near.empty())
      unknown.note(fmt::format("it has: {}", base::joined(near, ", ")));
    unknown.hint(fmt::format("`orrery catalog {}` lists all {}", kind.folder, known.size()));
  }
  for (const CatalogueKind& other : {kChip, kModel, kSystem})
    if (has_entry(directory, other, name))
      unknown.hint(fmt::format("`{}` is a {}: give it with `{}`", name, other.what, other.option));
  if (kind.folder == std::string_view(kSystem.folder) && name == "this-machine")
    unknown.hint("`this-machine` is a system of `orrery train` and `orrery serve` alone, which measure it");
  // What stands on Hugging Face's hub as OWNER/NAME.
  const std::size_t slash = name.find('/');
  if (kind.folder == std::string_view(kModel.folder) && slash != std::string::npos) {
    unknown.hint(
        fmt::format("Orrery downloads nothing: fetch the model's config.json from huggingface.co/{}, and give "
                    "its path",
                    name));
    throw base::InputError(found.all());
  }
  unknown.hint(fmt::format("a file of your own is given by its path: `{} ./{}{}`", kind.option, name, kind.suffix));
  throw base::InputError(found.all());
}

}  // namespace orrery::formats::orrery
