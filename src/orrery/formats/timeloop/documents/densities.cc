#include "orrery/formats/timeloop/documents/densities.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/timeloop/documents/nonzero_file.h"
#include "orrery/formats/timeloop/documents/template_paths.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::Density;

constexpr Count kMostNonzeros = 4'000'000;  // that are stored one by one
constexpr double kRounded = 5e-3;           // what a stated density may differ by from the one that is counted

const std::vector<std::string>& distributions() {
  static const std::vector<std::string> kNames = {"fixed_structured", "fixed",    "hypergeometric",
                                                  "banded",           "diagonal", "table"};
  return kNames;
}

class Reader {
 public:
  Reader(const workload::Einsum& einsum, const Scope& scope, const std::vector<std::string>& folders,
         std::vector<base::Input>& read, base::Diagnostics& found)
      : einsum_(einsum), scope_(scope), folders_(folders), read_(read), found_(found) {
    std::vector<Count> bounds;
    for (const workload::Dimension& dimension : einsum.dimensions) bounds.push_back(dimension.bound);
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) {
      words_.push_back(einsum.volume(static_cast<int>(s), bounds));
      auto& extents = extents_.emplace_back();
      for (const workload::Rank& rank : einsum.dataspaces[s].ranks) {
        Count extent = 1;
        for (const workload::Term& term : rank.terms)
          extent += term.coefficient * (bounds[static_cast<std::size_t>(term.dimension)] - 1);
        extents.push_back(extent);
      }
    }
  }

  Density read(const yaml::Node& node, std::size_t s) const {
    if (!node.is_map()) return of_share(node, "fixed_structured", s, node);
    const yaml::Node* kind = node.find("distribution");
    std::string name = "fixed_structured";
    if (kind != nullptr && !kind->is_null())
      name = plain_key(as_string(*kind, scope_, "distribution", found_).value_or(name));
    if (name == "banded" || name == "diagonal") return of_band(node, name, s);
    if (name == "table") return of_table(node, s);
    if (std::find(distributions().begin(), distributions().end(), name) == distributions().end()) {
      base::Diagnostic& error =
          found_.error("O0407", fmt::format("`{}` is not a distribution of nonzeros", name), kind->where);
      if (name.find("real") != std::string::npos || name.find("actual") != std::string::npos)
        error.hint(
            "where the nonzeros are is read from a file: `{distribution: table, file: A.mtx}`, in Matrix Market's "
            "coordinates or a line of whole numbers for each");
      else
        suggest(error, name, distributions(), "distributions");
      return {};
    }
    static const std::vector<std::string> kKeys = {"distribution", "density", "workload_tensor_size"};
    warn_unknown_keys(node, kKeys, "O0407", "a density", found_);
    const yaml::Node* share = node.find("density");
    if (share == nullptr || share->is_null()) {
      found_.error("O0407", fmt::format("the {} distribution of `{}` has no `density`", name, tensor(s)), node.where)
          .hint("add `density: 0.5` with the share of words that are not zero");
      return {};
    }
    return of_share(*share, name, s, node);
  }

 private:
  const std::string& tensor(std::size_t s) const { return einsum_.dataspaces[s].name; }

  Density of_share(const yaml::Node& node, const std::string& name, std::size_t s, const yaml::Node& owner) const {
    const auto share = as_number(node, scope_, fmt::format("density of {}", tensor(s)), found_);
    if (!share) return {};
    if (!(*share > 0 && *share <= 1)) {
      found_.error("O0407", fmt::format("the density of `{}` is {}", tensor(s), *share), node.where)
          .note("a density is the share of words that are not zero: above 0, at most 1");
      return {};
    }
    if (name != "hypergeometric") return Density::structured(*share);
    Count words = words_[s];
    const yaml::Node* size = owner.is_map() ? owner.find("workload_tensor_size") : nullptr;
    if (size != nullptr && !size->is_null()) {
      const auto given = as_count(*size, scope_, "workload_tensor_size", found_);
      if (given && *given < words) {
        found_.error("O0407", fmt::format("`workload_tensor_size` of `{}` is {}", tensor(s), *given), size->where)
            .note(fmt::format("the tensor has {} words", words))
            .hint("leave it out: it is known from the bounds");
        return {};
      }
      words = given.value_or(words);
    }
    return Density::hypergeometric(*share, words);
  }

  Density of_band(const yaml::Node& node, const std::string& name, std::size_t s) const {
    static const std::vector<std::string> kKeys = {"distribution", "band_width", "density"};
    warn_unknown_keys(node, kKeys, "O0407", "a density", found_);
    if (extents_[s].size() != 2) {
      found_.error("O0407",
                   fmt::format("`{}` has {} rank{}; only a matrix has a band", tensor(s), extents_[s].size(),
                               base::plural(extents_[s].size())),
                   node.where);
      return {};
    }
    const yaml::Node* given = node.find("band_width");
    const Count width =
        given == nullptr || given->is_null() ? 0 : as_count(*given, scope_, "band_width", found_).value_or(0);
    if (width < 0) {
      found_.error("O0407", fmt::format("the band of `{}` has a negative width {}", tensor(s), width), given->where);
      return {};
    }
    const Count rows = extents_[s][0], columns = extents_[s][1];
    const Count across = std::min(columns, 2 * std::min(width, columns) + 1);
    if (rows > kMostNonzeros / across) {
      found_.error("O0407", fmt::format("the band of `{}` has too many nonzeros", tensor(s)), node.where)
          .note(fmt::format("{} rows of up to {}; {} are counted at most", rows, across, kMostNonzeros))
          .hint("a hypergeometric density of the same share needs no list of them");
      return {};
    }
    Density density = Density::pattern(nest::band(rows, columns, width));
    if (name == "banded" && (given == nullptr || given->is_null()))
      found_
          .warning("O0407",
                   fmt::format("the band of `{}` has no `band_width`: only its diagonal is not zero", tensor(s)),
                   node.where)
          .hint("add `band_width: 0`, or how many places on either side of the diagonal are not zero");
    const yaml::Node* share = node.find("density");
    if (share == nullptr || share->is_null()) return density;
    const auto stated = as_number(*share, scope_, fmt::format("density of {}", tensor(s)), found_);
    if (stated && std::abs(*stated - density.share()) > kRounded * density.share())
      found_
          .warning("O0407",
                   fmt::format("the density {:g} of `{}` is not used: its band has {:.6g}", *stated, tensor(s),
                               density.share()),
                   share->where)
          .note(fmt::format("{} x {} words, of which those with |i - j| <= {} are not zero", rows, columns, width))
          .hint("leave `density` out, or take another distribution");
    return density;
  }

  Density of_table(const yaml::Node& node, std::size_t s) const {
    static const std::vector<std::string> kKeys = {"distribution", "nonzeros", "file"};
    warn_unknown_keys(node, kKeys, "O0407", "a density", found_);
    const yaml::Node* nonzeros = node.find("nonzeros");
    const yaml::Node* file = node.find("file");
    if (file != nullptr && !file->is_null()) {
      if (nonzeros == nullptr || nonzeros->is_null()) return of_file(*file, s);
      found_.error("O0407", fmt::format("the table of `{}` has both `file` and `nonzeros`", tensor(s)), file->where)
          .hint("leave one of them out");
      return {};
    }
    if (nonzeros == nullptr || !nonzeros->is_sequence() || nonzeros->items.empty()) {
      found_.error("O0407", fmt::format("the table of `{}` has no list `nonzeros`", tensor(s)), node.where)
          .hint("write `nonzeros: [[0, 1], [2, 3]]`, the place of each word that is not zero, or `file: NAME`");
      return {};
    }
    nest::Pattern pattern{extents_[s], {}};
    std::set<std::vector<Count>> seen;
    for (const yaml::Node& item : nonzeros->items) {
      std::vector<Count> place;
      for (const yaml::Node& coordinate : item.items)
        if (const auto value = as_count(coordinate, scope_, "a coordinate", found_)) place.push_back(*value);
      bool inside = place.size() == pattern.bounds.size();
      for (std::size_t r = 0; inside && r < place.size(); ++r) inside = place[r] >= 0 && place[r] < pattern.bounds[r];
      if (!inside) {
        found_.error("O0407", fmt::format("not a place in `{}`", tensor(s)), item.where)
            .note(fmt::format("its ranks have {} words", base::joined(pattern.bounds, " x ")));
        return {};
      }
      if (!seen.insert(place).second) {
        found_.error("O0407", fmt::format("this place in `{}` is listed before", tensor(s)), item.where);
        return {};
      }
      pattern.coordinates.insert(pattern.coordinates.end(), place.begin(), place.end());
    }
    return Density::pattern(std::move(pattern));
  }

  // A file beside the document, or in a folder that was given.
  Density of_file(const yaml::Node& node, std::size_t s) const {
    const auto name = as_string(node, scope_, "file", found_);
    if (!name) return {};
    const std::string document = node.where.known() ? node.where.file->name : "";
    try {
      const std::string path = TemplatePaths(folders_, document)
                                   .one(*name, std::filesystem::path(document).parent_path(), folders_, node.where);
      const auto file = base::read_file(path);
      read_.push_back(base::file_input(*file));
      nest::Pattern pattern{extents_[s], read_nonzeros(file, tensor(s), extents_[s], found_)};
      if (!pattern.coordinates.empty()) return Density::pattern(std::move(pattern));
    } catch (const base::InputError& error) {
      found_.append(error.diagnostics);
    }
    return {};
  }

  const workload::Einsum& einsum_;
  const Scope& scope_;
  const std::vector<std::string>& folders_;
  std::vector<base::Input>& read_;
  base::Diagnostics& found_;
  std::vector<Count> words_;
  std::vector<std::vector<Count>> extents_;
};

}  // namespace

std::vector<Density> read_densities(const yaml::Node& problem, const workload::Einsum& einsum, const Scope& variables,
                                    const std::vector<std::string>& folders, std::vector<base::Input>& read,
                                    base::Diagnostics& found) {
  std::vector<Density> densities(einsum.dataspaces.size());
  const yaml::Node* instance = problem.find("instance");
  if (instance == nullptr) instance = &problem;
  const yaml::Node* each = instance->find("densities");
  const yaml::Node* common = instance->find("commonDensity");
  if ((each == nullptr || each->is_null()) && (common == nullptr || common->is_null())) return densities;
  Scope scope(&variables);
  for (const yaml::Node::Entry& entry : instance->entries) {
    const int d = einsum.dimension_index(entry.key);
    if (d >= 0)
      scope.define(entry.key, Value(einsum.dimensions[static_cast<std::size_t>(d)].bound));
    else if (&entry.value != each && &entry.value != common)
      scope.define(entry.key, &entry.value);
  }
  const Reader reader(einsum, scope, folders, read, found);
  if (common != nullptr && !common->is_null()) {
    for (std::size_t s = 0; s < densities.size(); ++s) densities[s] = reader.read(*common, s);
    return densities;
  }
  if (!each->is_map()) {
    found.error("O0407", "`densities` must be a map from each dataspace to its density", each->where);
    return densities;
  }
  std::vector<std::string> names;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) names.push_back(dataspace.name);
  for (const yaml::Node::Entry& entry : each->entries) {
    const int s = einsum.dataspace_index(entry.key);
    if (s < 0) {
      base::Diagnostic& error = found.error(
          "O0407", fmt::format("`densities` names `{}`, which is not a dataspace", entry.key), entry.key_where);
      suggest(error, entry.key, names, "dataspaces");
    } else if (!entry.value.is_null()) {
      densities[static_cast<std::size_t>(s)] = reader.read(entry.value, static_cast<std::size_t>(s));
    }
  }
  return densities;
}

}  // namespace orrery::formats::timeloop
