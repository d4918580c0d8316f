#include "orrery/inputs/checkout.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNormalised = "_NOs";
constexpr std::size_t kMostFolders = 400;  // that are looked at for tables
constexpr const char* kScripted[] = {"KQV", "KTQ", "VScores", "Out", "FF1", "FF2", "softmax", "layernorm"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error))
    out.push_back(at->path());
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> documents_in(const fs::path& folder) {
  std::vector<fs::path> out = entries(folder);
  std::erase_if(out, [](const fs::path& path) {
    return (path.extension() != ".yaml" && path.extension() != ".yml") || !is_file(path);
  });
  return out;
}

// The first of these that is there; else empty.
fs::path first_of(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (is_folder(folder / name) || is_file(folder / name)) return folder / name;
  return {};
}

// `system_eyeriss.yaml` and `arch_v2.yaml` go by what follows the first `_`.
std::string word_of(const fs::path& chip) {
  const std::string name = chip.stem().string();
  const std::size_t line = name.find('_');
  return line == std::string::npos ? name : name.substr(line + 1);
}

bool is_normalisation(const std::string& layer) {
  return layer.starts_with("softmax") || layer.starts_with("layernorm");
}

struct Layout {
  fs::path folder, chips, layers, top;
  std::vector<fs::path> systems;  // one of which is the chip
  std::vector<fs::path> beside;   // documents beside them that describe none: variables, tables of energy
  bool flat = false;              // chips lie beside the other documents

  [[nodiscard]] bool known() const { return !top.empty() || (!layers.empty() && !systems.empty()); }
};

Layout layout_of(const fs::path& folder) {
  Layout out;
  out.folder = folder;
  if (!is_folder(folder)) return out;
  out.top = documents_in(folder).empty() ? first_of(folder, {"top.yaml.jinja", "top.yaml.jinja2"}) : fs::path();
  if (!out.top.empty()) {
    out.layers = first_of(folder, {"inputs"});
    return out;
  }
  out.layers = first_of(folder, {"layers", "problems"});
  out.flat = is_file(folder / "arch.yaml");
  out.chips = out.flat ? folder : first_of(folder, {"arch_v0.4", "arch"});  // of both, run.py reads the former
  if (out.chips.empty() || out.layers.empty()) return out;
  out.systems = documents_in(out.chips);
  if (out.flat)
    std::erase_if(out.systems, [](const fs::path& file) { return !file.filename().string().starts_with("arch"); });
  const auto describes_chip = [](const fs::path& file) {
    return base::read_file(file.string())->text.find("architecture") != std::string::npos;
  };
  const auto others = std::stable_partition(out.systems.begin(), out.systems.end(), describes_chip);
  if (others != out.systems.begin() && !out.flat) {
    out.beside.assign(others, out.systems.end());
    out.systems.erase(others, out.systems.end());
  }
  return out;
}

fs::path partner_of(const fs::path& system) {
  return system.parent_path() / (system.stem().string() + std::string(kNormalised) + system.extension().string());
}

// The chip that is meant where none is named: the one with a partner for normalisations, `arch.yaml`, or the only one.
bool is_usual(const Layout& layout, const fs::path& system) {
  return is_file(partner_of(system)) || system.filename() == "arch.yaml" || layout.systems.size() == 1;
}

fs::path usual_system(const Layout& layout) {
  for (const fs::path& system : layout.systems)
    if (is_usual(layout, system)) return system;
  std::vector<std::string> words;
  for (const fs::path& system : layout.systems) words.push_back(word_of(system));
  base::fail("O1107", fmt::format("`{}` describes {} chips", layout.chips.string(), words.size()), {},
             fmt::format("write the name of one after the folder: {}", base::joined(words, ", ")));
}

fs::path layer_file(const Layout& layout, const std::string& word) {
  const fs::path& in = layout.layers;
  if (in.empty() || word.empty() || word.find("..") != std::string::npos) return {};
  for (const std::string& name : {word + "_layer.yaml", word + ".yaml", "problem_" + word + ".yaml"})
    if (is_file(in / name) && (layout.top.empty() || name.starts_with("problem_"))) return in / name;
  return {};
}

// Layers that the scripts know; in folders of others, all.
std::vector<fs::path> all_layers(const Layout& layout) {
  std::vector<fs::path> out;
  for (const char* name : kScripted)
    if (fs::path file = layer_file(layout, name); !file.empty()) out.push_back(std::move(file));
  return out.empty() ? documents_in(layout.layers) : out;
}

std::vector<std::string> layer_names(const Layout& layout) {
  std::vector<std::string> out;
  for (const fs::path& file : documents_in(layout.layers)) {
    std::string name = file.stem().string();
    if (name.ends_with("_layer")) name.resize(name.size() - std::string_view("_layer").size());
    if (!layout.top.empty() && !name.starts_with("problem_")) continue;
    out.push_back(layout.top.empty() ? name : name.substr(std::string_view("problem_").size()));
  }
  return out;
}

[[noreturn]] void no_such_layer(const Layout& layout, const std::string& word) {
  const std::vector<std::string> known = layer_names(layout);
  std::vector<std::string> chips;
  for (const fs::path& system : layout.systems)
    if (!system.stem().string().ends_with(kNormalised)) chips.push_back(word_of(system));
  std::string also = chips.size() > 1 ? fmt::format("; chips are {}", base::joined(chips, ", ")) : std::string();
  base::fail("O1106", fmt::format("`{}` has no layer `{}`", layout.folder.string(), word), {},
             known.empty() ? fmt::format("leave it out: `{}` names its one problem", layout.top.string())
                           : base::did_you_mean(word, known,
                                                fmt::format("its layers are {}{}", base::joined(known, ", "), also)));
}

void add(std::vector<std::string>& out, const fs::path& file) {
  if (is_file(file)) out.push_back(file.lexically_normal().string());
}

// What all layers on a chip share.
std::vector<std::string> shared_documents(const Layout& layout, const fs::path& system, bool usual, bool normalised) {
  std::vector<std::string> out;
  add(out, system);
  if (layout.flat) {
    for (const fs::path& file : documents_in(layout.folder))
      if (!file.filename().string().starts_with("arch")) add(out, file);
    return out;
  }
  for (const fs::path& file : layout.beside) add(out, file);
  for (const fs::path& file : documents_in(layout.chips / "components")) add(out, file);
  for (const char* name : {"mapper.yaml", "variables.yaml"}) add(out, layout.folder / "mapper" / name);
  // The scripts constrain the usual chip only; others say in their own files how they are mapped.
  const fs::path constraints =
      layout.folder / ("constraints" + layout.chips.filename().string().substr(std::string_view("arch").size()));
  if (usual) add(out, constraints / (normalised ? fmt::format("constraints{}.yaml", kNormalised) : "constraints.yaml"));
  return out;
}

bool holds_set(const fs::path& folder) {
  const std::vector<fs::path> files = entries(folder);
  return std::any_of(files.begin(), files.end(),
                     [](const fs::path& file) { return file.filename().string().ends_with(".table.yaml"); });
}

// Classes for which a folder of tables, or one below it, has rows.
std::set<std::string> classes_in(const fs::path& folder) {
  std::set<std::string> out;
  for (const fs::path& set : entries(folder))
    for (const fs::path& one : {folder, set})
      if (is_folder(one) && holds_set(one))
        for (const fs::path& data : entries(one))
          for (const fs::path& file : entries(data))
            if (file.extension() == ".csv") out.insert(file.stem().string());
  return out;
}

bool names_class(const std::string& text, const std::string& name) {
  const std::string key = "class: " + name;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const char after = text[std::min(at + key.size(), text.size() - 1)];
    if (std::isalnum(static_cast<unsigned char>(after)) == 0 && after != '_') return true;
  }
  return false;
}

// The repository's README installs the tables of all its folders; those with a class that these files name are taken.
std::vector<std::string> tables_around(const Layout& layout, const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) text += base::read_file(file)->text + "\n";
  std::vector<fs::path> around = entries(layout.folder);
  for (const fs::path& neighbour : entries(layout.folder / ".."))
    if (std::error_code ignored; is_folder(neighbour) && !fs::equivalent(neighbour, layout.folder, ignored))
      for (fs::path& inside : entries(neighbour)) around.push_back(std::move(inside));
  std::vector<std::string> out;
  std::size_t looked_at = 0;
  for (const fs::path& one : around) {
    if (!is_folder(one) || ++looked_at > kMostFolders) continue;
    const std::set<std::string> classes = classes_in(one);
    if (std::any_of(classes.begin(), classes.end(), [&](const std::string& name) { return names_class(text, name); }))
      out.push_back(one.lexically_normal().string());
  }
  return out;
}

// The words beside a folder, sorted out.
struct Words {
  std::vector<fs::path> layers;
  fs::path system;
  std::vector<std::string> files, unknown;
  bool all = false;
};

Words sorted_words(const Layout& layout, const std::vector<std::string>& words) {
  Words out;
  for (const std::string& word : words) {
    const auto system = std::find_if(layout.systems.begin(), layout.systems.end(), [&](const fs::path& one) {
      return word_of(one) == word && !word.ends_with(kNormalised);
    });
    if (fs::path file = layer_file(layout, word); !file.empty())
      out.layers.push_back(std::move(file));
    else if (system != layout.systems.end())
      out.system = *system;
    else if (word == "all")
      out.all = true;
    else if (word.find('.') != std::string::npos || is_file(word) || is_folder(word))
      out.files.push_back(word);
    else
      out.unknown.push_back(word);
  }
  return out;
}

// The level at which run.py fuses stands after the layer.
std::string level_of(const Layout& layout, const Words& words) {
  if (words.unknown.empty()) return {};
  const bool named = words.all || !words.layers.empty();
  if (!named || words.unknown.size() > 1 || !base::closest(words.unknown[0], layer_names(layout)).empty())
    no_such_layer(layout, words.unknown[0]);
  return words.unknown[0];
}

void take_template(const Layout& layout, const Words& words, DocumentRequest& request) {
  if (words.layers.size() > 1)
    base::fail(
        "O1107",
        fmt::format("`{}` is a template of one layer, but {} are named", layout.top.string(), words.layers.size()), {},
        "name one of them");
  add(request.files, layout.top);
  if (!words.layers.empty()) request.templates.defined.push_back({"problem", words.layers[0].filename().string()});
}

// Layers and the chips that they run on.
void take_layers(const Layout& layout, const Words& words, DocumentRequest& request, Checkout& out) {
  const fs::path system = words.system.empty() ? usual_system(layout) : words.system;
  const bool usual = is_usual(layout, system);
  const fs::path other = partner_of(system);
  std::vector<std::string> products, normalisations;
  for (const fs::path& layer : words.layers) {
    const bool normalised = is_normalisation(layer.filename().string());
    if (normalised && !layout.flat && !is_file(other))
      base::fail("O1107",
                 fmt::format("`{}` is a normalisation, but there is no `{}`", layer.stem().string(), other.string()),
                 {}, "leave the layer out, or take a chip that has one");
    add(normalised && is_file(other) ? normalisations : products, layer);
  }
  std::vector<std::string> own = shared_documents(layout, system, usual, false);
  std::vector<std::string> partner;
  if (is_file(other) && (!normalisations.empty() || words.layers.empty()))
    partner = shared_documents(layout, other, usual, true);
  const std::vector<std::string> tables = layout.flat ? std::vector<std::string>() : [&] {
    std::vector<std::string> read = own;
    read.insert(read.end(), partner.begin(), partner.end());
    return tables_around(layout, read);
  }();
  if (request.estimators.tables.empty()) request.estimators.tables = tables;
  const bool alone = products.empty() && !normalisations.empty();
  own.insert(own.end(), products.begin(), products.end());
  partner.insert(partner.end(), normalisations.begin(), normalisations.end());
  const std::vector<std::string>& first = alone ? partner : own;
  request.files.insert(request.files.end(), first.begin(), first.end());
  if (!alone) out.normalisations = std::move(partner);
}

}  // namespace

Checkout enter_checkout(DocumentRequest& request, bool with_layers) {
  Checkout out;
  Layout layout;
  std::vector<std::string> rest = request.files;
  for (auto word = rest.begin(); word != rest.end() && !out.found; ++word) {
    layout = layout_of(*word);
    if (!layout.known()) continue;
    out.found = true;
    rest.erase(word);
    break;
  }
  // As run.py in its folder, which is given the layer alone.
  const auto bare = [](const std::string& word) { return !is_file(word) && !is_folder(word); };
  if (!out.found && request.chips.empty() && std::any_of(rest.begin(), rest.end(), bare)) {
    layout = layout_of(".");
    out.found = layout.known() && std::any_of(rest.begin(), rest.end(), [&](const std::string& word) {
                  return bare(word) && !layer_file(layout, word).empty();
                });
  }
  if (!out.found) return out;
  Words words = sorted_words(layout, rest);
  out.level = level_of(layout, words);
  // Documents of the user's own say what runs; a folder that is flat is read as any other.
  const bool own = !words.files.empty() && words.layers.empty() && !words.all;
  if (own && layout.flat) return {};
  if (layout.top.empty() && words.layers.empty() && (words.all || (with_layers && !own)))
    words.layers = all_layers(layout);
  out.layers = words.layers.size();
  request.files = words.files;
  if (layout.top.empty())
    take_layers(layout, words, request, out);
  else
    take_template(layout, words, request);
  return out;
}

std::string checkout_below(const std::string& folder) {
  for (const fs::path& one : entries(folder))
    if (is_folder(one) && layout_of(one).known()) return one.lexically_normal().string();
  return {};
}

}  // namespace orrery::verbs
