#include "orrery/inputs/inputs.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/formats/dfmodel/setup_document.h"
#include "orrery/formats/timeloop/documents/plain_document.h"
#include "orrery/formats/yaml/node.h"
#include "orrery/inputs/checkout.h"
#include "orrery/inputs/file_kinds.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTableSet = ".table.yaml";

enum class ProblemPart { kNone, kShape, kExample, kInstance };

// What a file says about the problem; `kExample`: it describes the chip, too. Files that do not parse say nothing here:
// the reader reports them.
ProblemPart problem_part(const File& file, const formats::timeloop::TemplateOptions& templates) {
  const bool expanded = formats::timeloop::is_template(*file);
  if (!expanded && file->text.find("problem") == std::string::npos) return ProblemPart::kNone;
  base::Diagnostics ignored;
  ProblemPart part = ProblemPart::kNone;
  try {
    std::vector<File> included;
    const auto documents = expanded ? formats::timeloop::expand_template(file, templates, included, ignored)
                                    : formats::timeloop::parse_plain(file, base::Severity::kWarning, ignored);
    const bool chip = std::any_of(documents.begin(), documents.end(), [](const formats::yaml::Node& document) {
      return document.is_map() && (document.find("architecture") != nullptr || document.find("arch") != nullptr);
    });
    for (const formats::yaml::Node& document : documents) {
      const formats::yaml::Node* problem = document.is_map() ? document.find("problem") : nullptr;
      if (!problem) continue;
      if (problem->is_map() && problem->find("instance")) return chip ? ProblemPart::kExample : ProblemPart::kInstance;
      part = ProblemPart::kShape;
    }
  } catch (const base::InputError&) {
    return ProblemPart::kNone;
  }
  return part;
}

bool is_yaml(const fs::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

// Says why a folder gives no file to read.
void refuse_folder(const std::string& folder, const std::error_code& error, const std::vector<std::string>& others,
                   base::Diagnostics& found) {
  auto place = std::make_shared<base::SourceFile>();
  place->name = folder;
  const base::Location whole{place, 0, 0, 1};
  if (error) {
    found.error("O0100", fmt::format("the folder `{}` cannot be read: {}", folder, error.message()), whole);
    return;
  }
  base::Diagnostic& empty = found.error("O0100", fmt::format("the folder `{}` holds no YAML file", folder), whole);
  empty.note("of a folder, the files that end in `.yaml` or `.yml` are read; folders below it are not entered");
  if (others.empty()) {
    empty.note("nothing lies in it");
    return;
  }
  constexpr std::size_t kNamed = 4;
  const std::vector<std::string> named(others.begin(),
                                       others.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, others.size())));
  empty.note(fmt::format("it holds `{}`{}", base::joined(named, "`, `"), others.size() > kNamed ? ", ..." : ""));
  const std::string below = checkout_below(folder);
  empty.hint(below.empty() ? "name the folder in which they lie, or the files themselves"
                           : fmt::format("name one of the folders below, and a layer: `{} KTQ`", below));
}

// Folders replaced by the YAML files that lie in them, in the order of their names; folders below are not entered.
std::vector<std::string> in_folders(const std::vector<std::string>& paths, base::Diagnostics& found) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      all.push_back(path);
      continue;
    }
    std::vector<std::string> inside, others;
    fs::directory_iterator at(path, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      std::error_code ignored;
      const bool taken = is_yaml(at->path()) && at->is_regular_file(ignored);
      (taken ? inside : others).push_back(taken ? at->path().string() : at->path().filename().string());
    }
    std::sort(inside.begin(), inside.end());
    std::sort(others.begin(), others.end());
    if (error || inside.empty()) refuse_folder(path, error, others, found);
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

// The hint for a file that does not exist because its name is the value of an option that takes one at a time.
std::string meant_value(const std::string& path) {
  for (const auto& [option, values] :
       {std::pair{"--compat", "timeloop,factorflow,accelergy-0.4"}, std::pair{"--objective", "edp,energy,delay"}}) {
    for (const std::string_view value : base::split(values, ','))
      if (value == path)
        return fmt::format("as one more value of `{0}` write it after a comma, `{0} NAME,{1}`, or give `{0}` once more",
                           option, path);
  }
  return {};
}

// A config.json of Hugging Face, which names its type; YAML would read it, too.
bool is_model(const base::SourceFile& file) {
  const std::size_t first = file.text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && file.text[first] == '{' && file.text.find("\"model_type\"") != std::string::npos;
}

}  // namespace

std::vector<File> read_files(const std::vector<std::string>& paths) {
  std::vector<File> files;
  std::set<std::string> seen;
  base::Diagnostics found;
  for (const std::string& path : in_folders(paths, found)) {
    if (!seen.insert(path).second) continue;
    if (path.ends_with(kTableSet)) {
      const std::string folder = fs::path(path).parent_path().string();
      found.error("O1262", fmt::format("`{}` describes estimation tables and no chip", path))
          .hint(fmt::format("give its folder with `--tables {}`", folder.empty() ? "." : folder));
      continue;
    }
    if (is_onnx(path)) {
      found.error("O0117", fmt::format("`{}` is an ONNX model, and no document is read there", path))
          .hint(fmt::format("`orrery map --chip NAME {0}` maps it, and `orrery graph {0}` lists its operators", path));
      continue;
    }
    if (formats::dfmodel::is_setup(path)) {
      found.error("O0117", fmt::format("`{}` is a setup of DFModel, which is read by `orrery place`", path))
          .hint(fmt::format("write `orrery place {}`", path));
      continue;
    }
    try {
      File file = formats::yaml::read_file(path);
      if (is_model(*file)) {
        found.error("O0117", fmt::format("`{}` describes a model of Hugging Face, and no document is read there", path))
            .hint(fmt::format("give it as `--model {}{}`", path.find('/') == std::string::npos ? "./" : "", path));
        continue;
      }
      files.push_back(std::move(file));
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& diagnostic : error.diagnostics)
        found.add(diagnostic).hint(diagnostic.code == "O0100" ? meant_value(path) : "");
    }
  }
  found.throw_if_errors();
  return files;
}

SplitFiles split_by_problem(const std::vector<File>& files, const formats::timeloop::TemplateOptions& templates) {
  std::vector<std::pair<File, ProblemPart>> parts;
  ProblemPart most = ProblemPart::kShape;
  const formats::timeloop::TemplateOptions readable = formats::timeloop::beside(templates, files);
  for (const File& file : files) {
    parts.emplace_back(file, problem_part(file, readable));
    most = std::max(most, parts.back().second);
  }
  SplitFiles split;
  split.chips_among_layers = most == ProblemPart::kExample;
  for (const auto& [file, part] : parts) {
    const bool layer = part == most;
    (layer ? split.layers : split.shared).push_back(file);
  }
  const auto by_name = [](const File& a, const File& b) { return a->name < b->name; };
  std::sort(split.shared.begin(), split.shared.end(), by_name);
  std::sort(split.layers.begin(), split.layers.end(), by_name);
  return split;
}

void demand_templates(const DocumentRequest& request, const std::vector<File>& files) {
  if (request.templates.defined.empty()) return;
  if (std::any_of(files.begin(), files.end(), [](const File& file) { return formats::timeloop::is_template(*file); }))
    return;
  base::fail("O1103", "--define is of an ONNX model or a template, but none is given", {},
             "give the model's file, whose name ends in `.onnx`; a problem's bounds are set with --set");
}

formats::timeloop::ReadOptions reading(const DocumentRequest& request) {
  formats::timeloop::ReadOptions options;
  options.overrides = request.overrides;
  options.estimate = request.estimators.options();
  options.templates = formats::timeloop::beside(request.templates, {});
  options.ignore_densities = request.ignore_densities;
  return options;
}

std::vector<ChipFile> load_chips(const std::vector<std::string>& names, bool with_normalisations) {
  std::vector<ChipFile> chips;
  if (names.empty()) return chips;
  const std::string directory = catalogue_directory();
  const std::string* described = nullptr;  // the one whose file has an architecture; others may add to it
  for (const std::string& name : names) {
    chips.push_back(load_chip(directory, name, with_normalisations));
    const auto& documents = chips.back().parsed;
    const bool whole = std::any_of(documents.begin(), documents.end(), [](const formats::yaml::Node& document) {
      return document.is_map() && (document.find("architecture") != nullptr || document.find("arch") != nullptr);
    });
    if (whole && described != nullptr)
      base::fail("O1103", fmt::format("two chips, `{}` and `{}`", *described, name), {},
                 "a run is on one chip: run it once for each, and compare");
    if (whole) described = &name;
  }
  return chips;
}

formats::timeloop::Parsed parsed(const std::vector<ChipFile>& chips) {
  formats::timeloop::Parsed files;
  for (const ChipFile& chip : chips)
    for (const ChipFile* one : {&chip, chip.normalisation.get()})
      if (one && !one->parsed.empty()) files.emplace(one->file.get(), &one->parsed);
  return files;
}

std::string stem(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

}  // namespace orrery::verbs
