#include "orrery/formats/timeloop/constraints/mapping_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <optional>
#include <vector>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/constraints/constraint_target.h"
#include "orrery/formats/timeloop/constraints/directive_text.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;
using nest::LevelMapping;
using nest::Mapping;

Count fanout(const machine::Chip& chip, int level) {
  const machine::Storage& storage = chip.storages[level];
  if (storage.mesh_x < 1 || storage.mesh_y < 1) return 1;
  Count inside = 0;
  if (__builtin_mul_overflow(chip.fanout_x(level), chip.fanout_y(level), &inside)) return 2;
  return std::max<Count>(1, inside);
}

class MappingDocumentReader {
 public:
  MappingDocumentReader(const machine::Chip& chip, const workload::Einsum& einsum, const Scope& variables,
                        base::Diagnostics& found)
      : chip_(chip), einsum_(einsum), variables_(variables), found_(found) {
    const std::size_t dimensions = einsum.dimensions.size();
    std::vector<int> problem_order(dimensions);
    std::iota(problem_order.begin(), problem_order.end(), 0);
    LevelMapping blank;
    blank.temporal.assign(dimensions, 1);
    blank.spatial.assign(dimensions, 1);
    blank.temporal_order = blank.spatial_order = problem_order;
    mapping_.levels.assign(chip.storages.size(), blank);
    places_.resize(chip.storages.size());
    reuse_.resize(chip.storages.size());
    given_.resize(chip.storages.size());
    for (Given& given : given_) given.keep.resize(einsum.dataspaces.size());
  }

  Mapping read(const yaml::Node& document) {
    if (!document.is_sequence()) {
      base::Diagnostic& error =
          found_.error("O0700", "`mapping` must be a list of directives `{target, type, ...}`", document.where);
      if (document.find("nodes") != nullptr)
        error.note("a map with `nodes` is a mapping of LoopTree or AccelForge, which is not read");
      return mapping_;
    }
    for (const yaml::Node& directive : document.items) read_directive(directive);
    fill_keeps();
    const bool rests = fill_rests();
    if (rests) check_products(document);
    fill_last_rounds();
    return mapping_;
  }

  nest::MappingPlaces places(const base::Location& whole) const { return {whole, places_}; }

  // Adds the exceptions to reuse that the directives make.
  void except(nest::Mapspace& space) const {
    space.reuse.resize(reuse_.size());
    for (std::size_t l = 0; l < reuse_.size(); ++l) {
      space.reuse[l].no_temporal_reuse |= reuse_[l].no_temporal_reuse;
      space.reuse[l].no_spatial_sharing |= reuse_[l].no_spatial_sharing;
      space.reuse[l].read_first_update |= reuse_[l].read_first_update;
      space.reuse[l].no_links |= reuse_[l].no_links;
    }
  }

 private:
  struct GivenFactor {
    int level;
    bool spatial;
    Factor factor;
  };
  struct GivenKeep {
    bool given = false;
    bool keep = false;
    base::Location where;
  };
  struct Given {
    std::optional<base::Location> temporal, spatial, dataspace;  // the first directive of each kind
    std::vector<GivenKeep> keep;
  };

  void read_directive(const yaml::Node& directive) {
    if (!directive.is_map()) {
      found_.error("O0700", "a directive must be a map `{target, type, ...}`", directive.where);
      return;
    }
    const yaml::Node* target = directive.find("target");
    const yaml::Node* type = directive.find("type");
    if (!target || !target->is_scalar() || !type || !type->is_scalar()) {
      found_
          .error("O0700", fmt::format("this directive has no `{}`", target && target->is_scalar() ? "type" : "target"),
                 directive.where)
          .note(fmt::format("levels, outermost first: {}", quoted_list(target_names(chip_))));
      return;
    }
    const std::string kind = plain_key(type->scalar);
    const bool spatial = kind == "spatial";
    const bool loops = spatial || kind == "temporal";
    const bool dataspace = kind == "datatype" || kind == "dataspace" || kind == "bypass" || kind == "bypassing";
    if (kind == "skew") {
      found_.error("O0705", "skewed mappings are not modelled: they would change the figures", type->where)
          .hint("remove this directive to model the mapping without skew");
      return;
    }
    if (!loops && !dataspace) {
      static const std::vector<std::string> kTypes = {"temporal", "spatial", "dataspace", "datatype", "bypass"};
      suggest(found_.error("O0701", fmt::format("`{}` is not a type of directive", type->scalar), type->where), kind,
              kTypes, "types");
      return;
    }
    const int level = level_of(*target, spatial);
    if (level < 0) return;
    std::optional<base::Location>& first = dataspace ? given_[level].dataspace
                                           : spatial ? given_[level].spatial
                                                     : given_[level].temporal;
    if (first && !dataspace) {
      found_
          .error("O0704", fmt::format("`{}` has two {} directives", chip_.storages[level].name, kind), directive.where)
          .also(*first, "first here")
          .hint("keep one of the two");
      return;
    }
    first = directive.where;
    if (dataspace) {
      places_[level].keep = directive.where;
      read_keeps(level, directive);
    } else {
      read_loops(level, spatial, directive);
    }
  }

  int level_of(const yaml::Node& target, bool spatial) {
    if (const auto level = level_named(chip_, target.scalar, spatial)) return *level;
    const std::string& text = target.scalar;
    const bool number = !text.empty() && text.size() < 4 && std::all_of(text.begin(), text.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c));
    });
    if (number && std::stoul(text) < chip_.storages.size()) return static_cast<int>(std::stoul(text));
    const std::vector<std::string> names = target_names(chip_);
    suggest(found_.error("O0701", fmt::format("no level is called `{}`", text), target.where), text, names,
            "levels, outermost first");
    return -1;
  }

  void read_loops(int level, bool spatial, const yaml::Node& directive) {
    static const std::vector<std::string> kSpatial = {"target",           "type", "factors", "permutation", "split",
                                                      "no_link_transfer", "name"};
    static const std::vector<std::string> kTemporal = {"target", "type", "factors", "permutation", "name"};
    for (const yaml::Node::Entry& entry : directive.entries) {
      if (std::uint32_t* exceptions = reuse_mask(reuse_[level], plain_key(entry.key), spatial))
        *exceptions |= mask_of(read_dataspaces(entry.value, einsum_, found_));
      else
        warn_unknown_key(entry, spatial ? kSpatial : kTemporal, "O0706",
                         fmt::format("a {} directive", spatial ? "spatial" : "temporal"), found_);
    }
    LevelMapping& mapped = mapping_.levels[level];
    if (const yaml::Node* permutation = directive.find("permutation")) read_order(mapped, spatial, *permutation);
    const yaml::Node* factors = directive.find("factors");
    if (factors) read_level_factors(level, spatial, *factors);
    (spatial ? places_[level].spatial : places_[level].temporal) = factors ? factors->where : directive.where;
    if (spatial) read_split(mapped, directive.find("split"));
  }

  void read_order(LevelMapping& mapped, bool spatial, const yaml::Node& node) {
    const std::optional<Permutation> permutation = read_permutation(node, einsum_, found_);
    if (!permutation) return;
    std::vector<int> order = permutation->inner;
    const auto named = [&](int d) {
      return std::find(permutation->inner.begin(), permutation->inner.end(), d) != permutation->inner.end() ||
             std::find(permutation->outer.begin(), permutation->outer.end(), d) != permutation->outer.end();
    };
    for (int d = 0; d < static_cast<int>(einsum_.dimensions.size()); ++d)
      if (!named(d)) order.push_back(d);
    order.insert(order.end(), permutation->outer.begin(), permutation->outer.end());
    (spatial ? mapped.spatial_order : mapped.temporal_order) = order;
  }

  void read_level_factors(int level, bool spatial, const yaml::Node& node) {
    std::vector<const Factor*> seen(einsum_.dimensions.size(), nullptr);
    std::vector<Factor> factors = read_factors(node, einsum_, variables_, found_, true);
    for (const Factor& factor : factors) {
      const std::string& name = einsum_.dimensions[factor.dimension].name;
      if (factor.comparison != nest::Comparison::kEqual) {
        found_.error("O0700", fmt::format("a mapping decides: `{}` leaves `{}` open", factor.text, name), factor.where)
            .hint(fmt::format("write `{}=N`", name));
        continue;
      }
      if (const Factor* first = seen[factor.dimension]) {
        found_
            .error("O0704", fmt::format("`{}` has two factors of `{}`", chip_.storages[level].name, name), factor.where)
            .also(first->where, fmt::format("`{}` here", first->text));
        continue;
      }
      seen[factor.dimension] = &factor;
      if (spatial && factor.value > 1 && fanout(chip_, level) == 1) {
        found_
            .error("O0708",
                   fmt::format("`{}` cannot be spread: one instance of `{}` has one instance inside it", factor.text,
                               chip_.storages[level].name),
                   factor.where)
            .note(fmt::format("fan-outs: {}", fanouts()));
        continue;
      }
      LevelMapping& mapped = mapping_.levels[level];
      (spatial ? mapped.spatial : mapped.temporal)[factor.dimension] = std::max<Count>(1, factor.value);
      all_factors_.push_back({level, spatial, factor});
    }
  }

  std::string fanouts() const {
    std::string text;
    for (int level = 0; level < static_cast<int>(chip_.storages.size()); ++level)
      if (fanout(chip_, level) > 1)
        text += fmt::format("{}`{}` {} x {}", text.empty() ? "" : ", ", chip_.storages[level].name,
                            chip_.fanout_x(level), chip_.fanout_y(level));
    return text.empty() ? "none" : text;
  }

  void read_split(LevelMapping& mapped, const yaml::Node* node) {
    const Count loops = static_cast<Count>(einsum_.dimensions.size());
    mapped.split = static_cast<int>(loops);
    if (!node || node->is_null()) return;
    const std::optional<Count> split = as_count(*node, variables_, "split", found_);
    if (!split) return;
    if (*split < 0) {
      found_.error("O0518", fmt::format("`split` must be at least 0, but is {}", *split), node->where);
      return;
    }
    mapped.split = static_cast<int>(std::min(*split, loops));
  }

  void read_keeps(int level, const yaml::Node& directive) {
    static const std::vector<std::string> kKeys = {"target", "type", "keep", "bypass", "name"};
    for (const yaml::Node::Entry& entry : directive.entries) {
      const bool empty = entry.value.is_null() || (entry.value.is_sequence() && entry.value.items.empty());
      if (plain_key(entry.key) != "no_coalesce")
        warn_unknown_key(entry, kKeys, "O0706", "a dataspace directive", found_);
      else if (!empty)
        found_.error("O0512", "`no_coalesce` is not modelled: it would change the figures", entry.key_where)
            .note("the level would pass each access of its children on to its parent")
            .hint("remove it");
    }
    for (bool keep : {true, false}) {
      const yaml::Node* names = directive.find(keep ? "keep" : "bypass");
      if (!names) continue;
      for (const DataspaceName& name : read_dataspaces(*names, einsum_, found_)) {
        GivenKeep& given = given_[level].keep[name.dataspace];
        if (given.given && given.keep != keep)
          found_
              .error("O0704",
                     fmt::format("`{}` is told both to keep and to bypass `{}`", chip_.storages[level].name,
                                 einsum_.dataspaces[name.dataspace].name),
                     name.where)
              .also(given.where, "kept here");
        if (keep && chip_.storages[level].pass_through)
          found_.error("O0708",
                       fmt::format("`{}` cannot keep `{}`: it is a fan-out without a store", chip_.storages[level].name,
                                   einsum_.dataspaces[name.dataspace].name),
                       name.where);
        given = {true, keep, name.where};
      }
    }
  }

  void fill_keeps() {
    for (std::size_t l = 0; l < mapping_.levels.size(); ++l)
      for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s) {
        const GivenKeep& given = given_[l].keep[s];
        const bool kept = given.given ? given.keep : !chip_.storages[l].pass_through;
        if (kept) mapping_.levels[l].keep |= std::uint32_t{1} << s;
      }
  }

  // Product of the factors of one dimension, `except` left out; nothing when it leaves 64 bits.
  std::optional<Count> product(int dimension, const GivenFactor* except) const {
    Count result = 1;
    for (const GivenFactor& given : all_factors_) {
      if (&given == except || given.factor.dimension != dimension) continue;
      if (__builtin_mul_overflow(result, given.factor.value, &result)) return std::nullopt;
    }
    return result;
  }

  bool fill_rests() {
    bool good = true;
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) {
      GivenFactor* rest = nullptr;
      for (GivenFactor& given : all_factors_) {
        if (given.factor.dimension != static_cast<int>(d) || given.factor.value != 0) continue;
        if (rest) {
          found_
              .error("O0707",
                     fmt::format("two factors of `{}` are 0: only one can be what the others leave",
                                 einsum_.dimensions[d].name),
                     given.factor.where)
              .also(rest->factor.where, fmt::format("`{}` here", rest->factor.text));
          good = false;
        }
        rest = &given;
      }
      if (!rest || !good) continue;
      const Count bound = einsum_.dimensions[d].bound;
      const std::optional<Count> others = product(static_cast<int>(d), rest);
      if (!others || *others < 1 || bound % *others != 0) {
        base::Diagnostic& error =
            found_.error("O0707",
                         fmt::format("`{}` cannot be the rest of {}: the other factors do not divide it",
                                     rest->factor.text, einsum_.dimensions[d].name),
                         rest->factor.where);
        rest->factor.value = others && *others > 0 ? (bound - 1) / *others + 1 : 1;
        error.note(fmt::format("with the rest rounded up, {}", arithmetic(static_cast<int>(d))))
            .hint(fmt::format("give `{}={}` here, and {}", einsum_.dimensions[d].name, rest->factor.value,
                              way_out(static_cast<int>(d))));
        good = false;
        continue;
      }
      rest->factor.value = bound / *others;
      LevelMapping& mapped = mapping_.levels[rest->level];
      (rest->spatial ? mapped.spatial : mapped.temporal)[d] = rest->factor.value;
    }
    return good;
  }

  bool leaves_rest(int dimension) const {
    return std::any_of(all_factors_.begin(), all_factors_.end(), [&](const GivenFactor& given) {
      return given.factor.dimension == dimension && given.factor.last && *given.factor.last != given.factor.value;
    });
  }

  // Whether they come to the bounds is seen with all else that a mapping must obey (engines/nest/model/legality.h).
  void fill_last_rounds() {
    for (const GivenFactor& given : all_factors_) {
      if (!given.factor.last || *given.factor.last == given.factor.value) continue;
      LevelMapping& mapped = mapping_.levels[given.level];
      std::vector<Count>& last = given.spatial ? mapped.spatial_last : mapped.temporal_last;
      if (last.empty()) last = given.spatial ? mapped.spatial : mapped.temporal;
      last[given.factor.dimension] = *given.factor.last;
    }
  }

  // "4 (DRAM) * 16 (PERows, spatial) = 64, but D = 128", outermost first.
  std::string arithmetic(int dimension) const {
    std::string text;
    for (int level = static_cast<int>(chip_.storages.size()) - 1; level >= 0; --level)
      for (bool spatial : {false, true})
        for (const GivenFactor& given : all_factors_)
          if (given.level == level && given.spatial == spatial && given.factor.dimension == dimension &&
              given.factor.value > 1)
            text += fmt::format("{}{} ({}{})", text.empty() ? "" : " * ", given.factor.value,
                                chip_.storages[level].name, spatial ? ", spatial" : "");
    const std::optional<Count> all = product(dimension, nullptr);
    const workload::Dimension& bound = einsum_.dimensions[dimension];
    if (text.empty())
      return fmt::format("no level has a factor of {0} above 1, and {0} = {1}", bound.name, bound.bound);
    return fmt::format("{} = {}, but {} = {}", text, all ? fmt::format("{}", *all) : "more than 64 bits",
                       einsum_.dimensions[dimension].name, einsum_.dimensions[dimension].bound);
  }

  void check_products(const yaml::Node& document) {
    if (found_.has_errors()) return;
    for (int d = 0; d < static_cast<int>(einsum_.dimensions.size()); ++d) {
      const std::optional<Count> all = product(d, nullptr);
      if ((all && *all == einsum_.dimensions[d].bound) || leaves_rest(d)) continue;
      const GivenFactor* largest = nullptr;
      for (const GivenFactor& given : all_factors_)
        if (given.factor.dimension == d && (!largest || given.factor.value > largest->factor.value)) largest = &given;
      found_
          .error("O0702", fmt::format("the factors of `{}` do not multiply to its bound", einsum_.dimensions[d].name),
                 largest ? largest->factor.where : document.where)
          .note(arithmetic(d))
          .hint(way_out(d));
    }
  }

  // Factors that are too many are a last round that is too long; too few, a rest that nobody took.
  std::string way_out(int dimension) const {
    const workload::Dimension& bound = einsum_.dimensions[dimension];
    const std::optional<Count> all = product(dimension, nullptr);
    if (!all || *all <= bound.bound) return fmt::format("let one level take the rest with `{}=0`", bound.name);
    for (const GivenFactor& given : all_factors_) {
      if (given.factor.dimension != dimension || given.factor.value < 2) continue;
      Count outer = 1;
      for (const GivenFactor& other : all_factors_)
        if (other.factor.dimension == dimension &&
            (other.level > given.level || (other.level == given.level && given.spatial && !other.spatial)))
          outer *= other.factor.value;
      const Count inner = *all / outer / given.factor.value;
      const Count last = bound.bound / inner - (outer - 1) * given.factor.value;
      if (bound.bound % inner != 0 || last < 1 || last >= given.factor.value) continue;
      const std::string& level = chip_.storages[given.level].name;
      if (outer == 1) return fmt::format("let `{}` do fewer rounds: `{}={}`", level, bound.name, last);
      return fmt::format("let the last round of `{}` be shorter: `{}={},{}`", level, bound.name, given.factor.value,
                         last);
    }
    return "give smaller factors";
  }

  const machine::Chip& chip_;
  const workload::Einsum& einsum_;
  const Scope& variables_;
  base::Diagnostics& found_;
  Mapping mapping_;
  std::vector<nest::LevelPlaces> places_;
  std::vector<nest::ReuseRules> reuse_;
  std::vector<Given> given_;
  std::vector<GivenFactor> all_factors_;
};

std::vector<int> units_last(const std::vector<int>& order, const std::vector<Count>& factors) {
  std::vector<int> result;
  for (int d : order)
    if (factors[d] > 1) result.push_back(d);
  for (std::size_t d = 0; d < factors.size(); ++d)
    if (factors[d] <= 1) result.push_back(static_cast<int>(d));
  return result;
}

// As YAML: quoted unless it is plainly a name.
std::string quoted(const std::string& name) {
  const bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) &&
                     std::all_of(name.begin(), name.end(), [](char c) {
                       return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
                     });
  if (plain) return name;
  std::string text = "'";
  for (char c : name) text += c == '\'' ? std::string("''") : std::string(1, c);
  return text + "'";
}

std::string list_of(const std::vector<std::string>& names) {
  if (names.empty()) return "\n      []";
  std::string text;
  for (const std::string& name : names) text += "\n      - " + quoted(name);
  return text;
}

std::string factors_of(const workload::Einsum& einsum, const LevelMapping& level, bool spatial) {
  // A name with a digit could run into its factor.
  const bool plain = std::none_of(einsum.dimensions.begin(), einsum.dimensions.end(), [](const auto& dimension) {
    return dimension.name.find_first_of("0123456789") != std::string::npos;
  });
  std::string text;
  for (std::size_t d = 0; d < einsum.dimensions.size(); ++d) {
    const nest::Factor factor = level.factor(spatial, static_cast<int>(d));
    text += fmt::format("{}{}{}{}", d ? " " : "", einsum.dimensions[d].name, plain ? "" : "=", factor.iterations);
    if (!factor.perfect()) text += fmt::format(",{}", factor.last);
  }
  return text;
}

std::string permutation_of(const workload::Einsum& einsum, const std::vector<int>& order) {
  const bool one_letter = std::all_of(einsum.dimensions.begin(), einsum.dimensions.end(),
                                      [](const workload::Dimension& d) { return d.name.size() == 1; });
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i)
    text += (i && !one_letter ? "," : "") + einsum.dimensions[order[i]].name;
  return text;
}

}  // namespace

nest::Mapping read_mapping(const yaml::Node& mapping, const machine::Chip& chip, const workload::Einsum& einsum,
                           const Scope& variables, base::Diagnostics& found, nest::MappingPlaces* places,
                           nest::Mapspace* space) {
  MappingDocumentReader reader(chip, einsum, variables, found);
  nest::Mapping result = reader.read(mapping);
  if (places) *places = reader.places(mapping.where);
  if (space) reader.except(*space);
  return result;
}

nest::Mapping canonical(const nest::Mapping& mapping) {
  Mapping result = mapping;
  for (LevelMapping& level : result.levels) {
    int on_x = 0;
    for (int i = 0; i < level.split && i < static_cast<int>(level.spatial_order.size()); ++i)
      on_x += level.spatial[level.spatial_order[i]] > 1;
    level.split = on_x;
    level.temporal_order = units_last(level.temporal_order, level.temporal);
    level.spatial_order = units_last(level.spatial_order, level.spatial);
  }
  return result;
}

std::string write_mapping_yaml(const workload::Einsum& einsum, const machine::Chip& chip,
                               const nest::Mapping& mapping) {
  ORRERY_CHECK(mapping.levels.size() == chip.storages.size(), "a mapping has one entry per storage");
  const Mapping written = canonical(mapping);
  std::string text = "mapping:\n";
  for (std::size_t l = 0; l < written.levels.size(); ++l) {
    std::vector<std::string> keep, bypass;
    for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s)
      ((written.levels[l].keep >> s) & 1U ? keep : bypass).push_back(einsum.dataspaces[s].name);
    text += fmt::format("  - target: {}\n    type: datatype\n    keep:{}\n    bypass:{}\n",
                        quoted(chip.storages[l].name), list_of(keep), list_of(bypass));
  }
  const auto loops = [&](std::size_t l, bool spatial) {
    const LevelMapping& level = written.levels[l];
    text +=
        fmt::format("  - target: {}\n    type: {}\n    factors: {}\n    permutation: {}\n",
                    quoted(chip.storages[l].name), spatial ? "spatial" : "temporal", factors_of(einsum, level, spatial),
                    permutation_of(einsum, spatial ? level.spatial_order : level.temporal_order));
  };
  for (std::size_t l = 0; l < written.levels.size(); ++l) {
    const LevelMapping& level = written.levels[l];
    const bool spread = std::any_of(level.spatial.begin(), level.spatial.end(), [](Count f) { return f > 1; });
    if (spread || fanout(chip, static_cast<int>(l)) > 1) {
      loops(l, true);
      text += fmt::format("    split: {}\n", level.split);
    }
    loops(l, false);
  }
  return text;
}

}  // namespace orrery::formats::timeloop
