#include "orrery/formats/timeloop/documents/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/timeloop/constraints/directive_text.h"
#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using workload::Dataspace;
using workload::Dimension;
using workload::Einsum;
using workload::Rank;
using workload::Term;

constexpr std::size_t kMostDataspaces = 32;  // nest::LevelMapping::keep has one bit for each
constexpr std::size_t kMostDimensions = 64;
constexpr base::Count kMostBits = 65536;  // of a value

struct Coefficient {
  std::string name;
  base::Count value = 1;
  base::Location where;
};

// The whole reading, so that its steps share what they have learnt.
class ProblemReader {
 public:
  ProblemReader(const yaml::Node& problem, const Scope& variables, base::Diagnostics& found, bool ignore_densities)
      : problem_(problem), variables_(variables), found_(found), ignore_densities_(ignore_densities) {}

  Einsum read() {
    if (!problem_.is_map()) {
      base::Diagnostic& error =
          found_.error("O0400", "`problem` must be a map with `shape` and `instance`", problem_.where);
      if (problem_.is_sequence()) error.note("a list is a fused problem of LoopTree, which is not read");
      return einsum_;
    }
    check_version();
    const yaml::Node* shape = problem_.find("shape");
    if (!shape && has_convolution_bounds()) {
      found_
          .warning("O2033", "no shape is given: the bounds are taken as those of `cnn-layer`, as Timeloop does",
                   problem_.where)
          .severity = base::Severity::kNote;
      yaml::Node& name = named_.emplace();
      name.kind = yaml::Node::Kind::kScalar;
      name.scalar = "cnn-layer";
      name.where = problem_.where;
      shape = &name;
    }
    if (!shape) {
      found_.error("O0400", "`problem` has no `shape`", problem_.where)
          .hint("add `shape: {dimensions: [...], data_spaces: [...]}`");
      return einsum_;
    }
    instance_ = problem_.find("instance");
    if (shape->is_scalar()) {
      if (!use_named_shape(*shape)) return einsum_;
    } else if (shape->is_map()) {
      read_shape(*shape);
    } else {
      found_.error("O0400", "`shape` must be a map, or the name of a shape", shape->where);
      return einsum_;
    }
    if (!instance_) instance_ = &problem_;  // older documents write the bounds beside `shape`
    if (!instance_->is_map()) {
      found_.error("O0400", "`instance` must be a map from each dimension to its bound", instance_->where);
      return einsum_;
    }
    for (const yaml::Node* node : {shape, instance_, &problem_})
      if (node != &problem_ || instance_ != &problem_) read_widths(*node);
    read_instance();
    resolve_coefficients();
    check_use();
    check_size(*shape);
    return einsum_;
  }

 private:
  // A term whose coefficient is a name: its value is known only after the instance is read.
  struct PendingTerm {
    std::size_t dataspace, rank, term;
    std::size_t coefficient;
  };

  bool has_convolution_bounds() const {
    const yaml::Node* bounds = problem_.find("instance");
    if (!bounds) bounds = &problem_;
    if (!bounds->is_map() || !(bounds->find("K") || bounds->find("M"))) return false;
    for (const char* dimension : {"R", "S", "P", "Q", "C", "N"})
      if (!bounds->find(dimension)) return false;
    return true;
  }

  void check_version() {
    static const std::vector<std::string> kVersions = {"0.2", "0.3", "0.4"};
    const yaml::Node* version = problem_.find("version");
    if (version && std::find(kVersions.begin(), kVersions.end(), version->scalar) == kVersions.end())
      found_.error("O0409", fmt::format("version `{}` of `problem` is not known", version->scalar), version->where)
          .note(fmt::format("known versions: {}", quoted_list(kVersions)));
    static const std::vector<std::string> kKeys = {"version", "shape",     "instance",
                                                   "name",    "bitwidths", "bits_per_value"};
    if (problem_.find("instance")) warn_unknown_keys(problem_, kKeys, "O0410", "`problem`", found_);
  }

  // Timeloop's installation ships the convolution under this name; documents refer to it without repeating it. Its
  // output channels are `K` there and `M` in later documents: the instance tells which.
  bool use_named_shape(const yaml::Node& name) {
    if (plain_key(name.scalar) != "cnn_layer") {
      found_
          .error("O0413", fmt::format("the shape `{}` is only named here, and Orrery does not ship it", name.scalar),
                 name.where)
          .hint("write the shape inline: `shape: {dimensions: [...], data_spaces: [...]}`")
          .note("the one shape known by name is `cnn-layer`");
      return false;
    }
    einsum_.name = "cnn-layer";
    const yaml::Node& bounds = instance_ != nullptr ? *instance_ : problem_;
    const char* channels = bounds.is_map() && bounds.find("K") != nullptr && bounds.find("M") == nullptr ? "K" : "M";
    for (const char* dimension : {"C", channels, "R", "S", "N", "P", "Q"}) add_dimension(dimension, name.where);
    for (const char* coefficient : {"Wstride", "Hstride", "Wdilation", "Hdilation"})
      coefficients_.push_back({coefficient, 1, name.where});
    enum { kC, kM, kR, kS, kN, kP, kQ };
    enum { kWstride, kHstride, kWdilation, kHdilation };
    const auto plain = [](int dimension) { return Rank{{{dimension, 1}}}; };
    einsum_.dataspaces = {
        {"Weights", {plain(kC), plain(kM), plain(kR), plain(kS)}, false},
        {"Inputs", {plain(kN), plain(kC), Rank{{{kR, 1}, {kP, 1}}}, Rank{{{kS, 1}, {kQ, 1}}}}, false},
        {"Outputs", {plain(kN), plain(kM), plain(kQ), plain(kP)}, true},
    };
    pending_ = {{1, 2, 0, kWdilation}, {1, 2, 1, kWstride}, {1, 3, 0, kHdilation}, {1, 3, 1, kHstride}};
    return true;
  }

  void read_shape(const yaml::Node& shape) {
    static const std::vector<std::string> kKeys = {"name",         "dimensions", "data_spaces", "dataspaces",
                                                   "coefficients", "version",    "bitwidths",   "bits_per_value"};
    warn_unknown_keys(shape, kKeys, "O0410", "`shape`", found_);
    if (const yaml::Node* name = shape.find("name"); name && name->is_scalar()) einsum_.name = name->scalar;
    if (einsum_.name.empty()) einsum_.name = "problem";

    const yaml::Node* dimensions = shape.find("dimensions");
    if (!dimensions || !dimensions->is_sequence() || dimensions->items.empty()) {
      found_.error("O0400", "`shape` needs `dimensions`, a list of names", dimensions ? dimensions->where : shape.where)
          .hint("for a matrix product: `dimensions: [D, E, L]`");
    } else {
      for (const yaml::Node& item : dimensions->items) {
        if (item.is_scalar() && is_name(item.scalar))
          add_dimension(item.scalar, item.where);
        else
          found_.error("O0400", "a dimension must be a name of letters, digits and `_`", item.where)
              .hint("factors are written as `NAME=VALUE`, so a name may not contain other characters");
      }
    }
    read_coefficients(shape.find("coefficients"));

    const yaml::Node* dataspaces = shape.find("data_spaces");
    if (!dataspaces) dataspaces = shape.find("dataspaces");
    if (!dataspaces || !dataspaces->is_sequence() || dataspaces->items.empty()) {
      found_.error("O0400", "`shape` needs `data_spaces`, a list of `{name, projection, read_write}`",
                   dataspaces ? dataspaces->where : shape.where);
      return;
    }
    if (dataspaces->items.size() > kMostDataspaces) {
      found_.error(
          "O0414",
          fmt::format("{} dataspaces; a problem can have {} at most", dataspaces->items.size(), kMostDataspaces),
          dataspaces->where);
      return;
    }
    for (const yaml::Node& item : dataspaces->items) read_dataspace(item);
    if (std::none_of(einsum_.dataspaces.begin(), einsum_.dataspaces.end(),
                     [](const Dataspace& dataspace) { return dataspace.read_write; }))
      found_.error("O0404", fmt::format("the problem `{}` has no output", einsum_.name), dataspaces->where)
          .hint("mark the dataspace that is written with `read_write: true`");
  }

  void add_dimension(const std::string& name, const base::Location& where) {
    if (einsum_.dimensions.size() >= kMostDimensions) {
      if (einsum_.dimensions.size() == kMostDimensions && !too_many_)
        found_.error("O0414", fmt::format("a problem can have {} dimensions at most", kMostDimensions), where);
      too_many_ = true;
      return;
    }
    const int first = einsum_.dimension_index(name);
    if (first >= 0) {
      found_.error("O0405", fmt::format("the dimension `{}` is named twice", name), where)
          .also(dimension_where_[first], "first here");
      return;
    }
    einsum_.dimensions.push_back({name, 1});
    dimension_where_.push_back(where);
  }

  void read_coefficients(const yaml::Node* list) {
    if (!list || list->is_null()) return;
    if (!list->is_sequence()) {
      found_.error("O0400", "`coefficients` must be a list of `{name, default}`", list->where);
      return;
    }
    for (const yaml::Node& item : list->items) {
      const yaml::Node* name = item.is_map() ? item.find("name") : nullptr;
      if (!name || !name->is_scalar()) {
        found_.error("O0400", "a coefficient must be a map `{name, default}`", item.where);
        continue;
      }
      if (const Coefficient* first = coefficient(name->scalar)) {
        found_.error("O0405", fmt::format("the coefficient `{}` is named twice", name->scalar), name->where)
            .also(first->where, "first here");
        continue;
      }
      Coefficient added{name->scalar, 1, name->where};
      if (const yaml::Node* value = item.find("default"))
        added.value = coefficient_value(*value, variables_, name->scalar);
      coefficients_.push_back(std::move(added));
    }
  }

  const Coefficient* coefficient(std::string_view name) const {
    for (const Coefficient& known : coefficients_)
      if (known.name == name) return &known;
    return nullptr;
  }

  base::Count coefficient_value(const yaml::Node& node, const Scope& scope, const std::string& name) {
    const std::optional<base::Count> value = as_count(node, scope, name, found_);
    if (value && *value < 0) {
      found_.error("O0408", fmt::format("the coefficient `{}` is {}; it must not be negative", name, *value),
                   node.where);
      return 1;
    }
    return value.value_or(1);
  }

  // A key of other versions of Timeloop that changes the figures.
  bool refused(const yaml::Node::Entry& entry) {
    if (entry.key != "stream" || entry.value.is_null()) return false;
    found_.error("O0512", "`stream` is not modelled: it would change the figures", entry.key_where).hint("remove it");
    return true;
  }

  static bool gives_widths(std::string_view key) { return key == "bitwidths" || key == "bits_per_value"; }

  // Bits of the values of dataspaces: of each by its name, or one number for all.
  void read_widths(const yaml::Node& node) {
    if (!node.is_map()) return;
    for (const yaml::Node::Entry& entry : node.entries) {
      if (!gives_widths(entry.key) || entry.value.is_null()) continue;
      if (!entry.value.is_map()) {
        for (Dataspace& dataspace : einsum_.dataspaces) read_width(entry.value, dataspace);
        continue;
      }
      for (const yaml::Node::Entry& one : entry.value.entries) {
        if (const int s = einsum_.dataspace_index(one.key); s >= 0) {
          read_width(one.value, einsum_.dataspaces[s]);
          continue;
        }
        std::vector<std::string> names;
        for (const Dataspace& dataspace : einsum_.dataspaces) names.push_back(dataspace.name);
        suggest(found_.error("O0415", fmt::format("`{}` is not a dataspace", one.key), one.key_where), one.key, names,
                "dataspaces");
      }
    }
  }

  void read_width(const yaml::Node& node, Dataspace& dataspace) {
    const std::optional<base::Count> bits = as_count(node, variables_, "width of " + dataspace.name, found_);
    if (!bits) return;
    if (*bits < 1 || *bits > kMostBits)
      found_.error("O0415",
                   fmt::format("values of `{}` have {} bits; 1 to {} can be", dataspace.name, *bits, kMostBits),
                   node.where);
    else if (dataspace.bits > 0 && dataspace.bits != *bits)
      found_
          .error(
              "O0415",
              fmt::format("values of `{}` have {} bits here and {} elsewhere", dataspace.name, *bits, dataspace.bits),
              node.where)
          .hint("give the width once");
    else
      dataspace.bits = *bits;
  }

  void read_dataspace(const yaml::Node& item) {
    const yaml::Node* name = item.is_map() ? item.find("name") : nullptr;
    if (!name || !name->is_scalar() || name->scalar.empty()) {
      found_.error("O0400", "a dataspace must be a map `{name, projection, read_write}`", item.where);
      return;
    }
    static const std::vector<std::string> kKeys = {"name", "projection", "read_write", "bits_per_value"};
    static const std::vector<std::string> kWidths = {"bits_per_value", "bitwidth", "bitwidths", "datawidth",
                                                     "word_bits"};
    std::vector<const yaml::Node*> widths;
    for (const yaml::Node::Entry& entry : item.entries)
      if (std::find(kWidths.begin(), kWidths.end(), plain_key(entry.key)) != kWidths.end())
        widths.push_back(&entry.value);
      else if (!refused(entry))
        warn_unknown_key(entry, kKeys, "O0410", fmt::format("the dataspace `{}`", name->scalar), found_);
    const int first = einsum_.dataspace_index(name->scalar);
    if (first >= 0) {
      found_.error("O0405", fmt::format("the dataspace `{}` is named twice", name->scalar), name->where)
          .also(dataspace_where_[first], "first here");
      return;
    }
    Dataspace dataspace;
    dataspace.name = name->scalar;
    if (const yaml::Node* flag = item.find("read_write"))
      dataspace.read_write = as_bool(*flag, variables_, "read_write", found_).value_or(false);
    for (const yaml::Node* width : widths)
      if (!width->is_null()) read_width(*width, dataspace);
    const std::size_t index = einsum_.dataspaces.size();
    const yaml::Node* projection = item.find("projection");
    if (!projection || projection->is_null()) {
      found_.error("O0411", fmt::format("the dataspace `{}` has no `projection`", dataspace.name), item.where)
          .hint("list one coordinate per line: `projection: [[[D]], [[E]]]`");
    } else {
      read_projection(*projection, dataspace, index);
    }
    einsum_.dataspaces.push_back(std::move(dataspace));
    dataspace_where_.push_back(name->where);
  }

  void read_projection(const yaml::Node& projection, Dataspace& dataspace, std::size_t index) {
    if (projection.is_scalar()) {
      Rank rank;
      read_term(projection, rank, dataspace, index);
      dataspace.ranks.push_back(std::move(rank));
      return;
    }
    if (!projection.is_sequence()) {
      bad_projection(projection);
      return;
    }
    for (const yaml::Node& item : projection.items) {
      Rank rank;
      if (item.is_scalar()) {
        read_term(item, rank, dataspace, index);
      } else if (item.is_sequence() && !item.items.empty()) {
        // `[R, Wdilation]` is one term with its coefficient; `[[R, Wdilation], [L, Wstride]]` is a sum.
        const bool flat = item.items.size() == 2 && item.items[0].is_scalar() && item.items[1].is_scalar() &&
                          einsum_.dimension_index(item.items[1].scalar) < 0;
        if (flat)
          read_term(item, rank, dataspace, index);
        else
          for (const yaml::Node& term : item.items) read_term(term, rank, dataspace, index);
      } else {
        bad_projection(item);
        continue;
      }
      dataspace.ranks.push_back(std::move(rank));
    }
  }

  void bad_projection(const yaml::Node& node) {
    found_
        .error("O0411",
               "a projection is a list of coordinates, each a sum of terms `[dimension]` or "
               "`[dimension, coefficient]`",
               node.where)
        .hint("a matrix D x E: `projection: [[[D]], [[E]]]`");
  }

  void read_term(const yaml::Node& node, Rank& rank, const Dataspace& dataspace, std::size_t index) {
    const yaml::Node* dimension = node.is_sequence() && !node.items.empty() ? &node.items[0] : &node;
    if (!dimension->is_scalar() || (node.is_sequence() && node.items.size() > 2)) {
      bad_projection(node);
      return;
    }
    Term term;
    term.dimension = einsum_.dimension_index(dimension->scalar);
    if (term.dimension < 0) {
      const std::vector<std::string> names = dimension_names(einsum_);
      base::Diagnostic& error = found_.error(
          "O0403",
          fmt::format("the projection of `{}` uses `{}`, which is not a dimension", dataspace.name, dimension->scalar),
          dimension->where);
      suggest(error, dimension->scalar, names, "dimensions");
      return;
    }
    if (node.is_sequence() && node.items.size() == 2) {
      const yaml::Node& factor = node.items[1];
      const auto known = std::find_if(coefficients_.begin(), coefficients_.end(),
                                      [&](const Coefficient& c) { return c.name == factor.scalar; });
      if (!factor.is_scalar()) {
        bad_projection(factor);
        return;
      }
      if (known != coefficients_.end()) {
        pending_.push_back({index, dataspace.ranks.size(), rank.terms.size(),
                            static_cast<std::size_t>(known - coefficients_.begin())});
      } else if (is_number(factor.scalar) || variables_.lookup(factor.scalar, found_)) {
        term.coefficient = coefficient_value(factor, variables_, factor.scalar);
      } else {
        std::vector<std::string> names;
        for (const Coefficient& c : coefficients_) names.push_back(c.name);
        base::Diagnostic& error =
            found_.error("O0412", fmt::format("`{}` is not a coefficient of this shape", factor.scalar), factor.where);
        suggest(error, factor.scalar, names, "coefficients");
        if (names.empty()) error.hint(fmt::format("add `coefficients: [{{name: {}, default: 1}}]`", factor.scalar));
        return;
      }
    }
    rank.terms.push_back(term);
  }

  static bool is_name(const std::string& text) {
    return !text.empty() && text != "_" && !std::isdigit(static_cast<unsigned char>(text[0])) &&
           std::all_of(text.begin(), text.end(),
                       [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
  }

  static bool is_number(const std::string& text) {
    return !text.empty() &&
           (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-' || text[0] == '+' || text[0] == '.');
  }

  // An entry may use those above it, as in Timeloop's front end.
  void read_instance() {
    Scope scope(&variables_);
    std::vector<bool> given(einsum_.dimensions.size(), false);
    std::vector<const yaml::Node::Entry*> others;
    const bool beside_shape = instance_ == &problem_;
    for (const yaml::Node::Entry& entry : instance_->entries) {
      const int d = einsum_.dimension_index(entry.key);
      const auto known = std::find_if(coefficients_.begin(), coefficients_.end(),
                                      [&](const Coefficient& c) { return c.name == entry.key; });
      if (d >= 0) {
        given[d] = true;
        read_bound(entry, scope, einsum_.dimensions[d]);
        scope.define(entry.key, Value(einsum_.dimensions[d].bound));
      } else if (known != coefficients_.end()) {
        known->value = coefficient_value(entry.value, scope, entry.key);
        scope.define(entry.key, Value(known->value));
      } else if (entry.key == "densities" || entry.key == "commonDensity") {
        note_densities(entry.value, scope);
      } else if (gives_widths(entry.key) || refused(entry)) {
        continue;
      } else if (!beside_shape || (entry.key != "shape" && entry.key != "version" && entry.key != "name")) {
        scope.define(entry.key, &entry.value);
        others.push_back(&entry);
      }
    }
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d)
      if (!given[d]) report_missing_bound(einsum_.dimensions[d], dimension_where_[d], others);
    for (const yaml::Node::Entry* entry : others) warn_if_unread(*entry, scope, given);
  }

  void read_bound(const yaml::Node::Entry& entry, const Scope& scope, Dimension& dimension) {
    const std::optional<base::Count> bound = as_count(entry.value, scope, entry.key, found_);
    if (!bound) return;
    if (*bound < 1) {
      found_.error("O0402", fmt::format("the bound of `{}` is {}; it must be at least 1", entry.key, *bound),
                   entry.value.where);
      return;
    }
    dimension.bound = *bound;
  }

  void report_missing_bound(const Dimension& dimension, const base::Location& declared,
                            const std::vector<const yaml::Node::Entry*>& others) {
    base::Diagnostic& error =
        found_.error("O0401", fmt::format("`instance` gives no bound for `{}`", dimension.name), instance_->where);
    error.also(declared, "dimension named here");
    std::vector<std::string> extra;
    for (const yaml::Node::Entry* entry : others) extra.push_back(entry->key);
    const std::string near = dimension.name.size() > 1 ? base::closest(dimension.name, extra) : std::string();
    if (!near.empty())
      error.hint(fmt::format("`{}` is given; is it `{}`?", near, dimension.name));
    else
      error.hint(fmt::format("add `{}: 1` (or its bound) to `instance`", dimension.name));
  }

  // What is given, but no bound and no coefficient: a near miss of a name that is not given, the same letters in
  // another case, or a number that something might have been made of.
  void warn_if_unread(const yaml::Node::Entry& entry, const Scope& scope, const std::vector<bool>& given) {
    std::vector<std::string> absent;
    std::string near;
    const auto consider = [&](const std::string& name, bool is_given) {
      if (!is_given) absent.push_back(name);
      if (base::same_letters(entry.key, name)) near = name;
    };
    for (std::size_t d = 0; d < given.size(); ++d) consider(einsum_.dimensions[d].name, given[d]);
    for (const Coefficient& c : coefficients_) consider(c.name, instance_->find(c.name) != nullptr);
    if (near.empty() && entry.key.size() >= 3) near = base::closest(entry.key, absent);
    const bool nested = !entry.value.is_scalar() && !entry.value.is_null();
    if (near.empty() && nested) {
      if (instance_ == &problem_) return;
      found_
          .warning("O0410", fmt::format("`{}` means nothing in an instance; it is ignored", entry.key), entry.key_where)
          .hint("an instance has bounds, coefficients and `densities`");
      return;
    }
    if (near.empty() && !matters(entry, scope)) return;
    static const std::vector<std::string> kDensities = {"densities", "commonDensity"};
    if (near.empty() && entry.key.size() >= 3) near = base::closest(entry.key, kDensities);
    base::Diagnostic& warning =
        found_.warning("O0410", fmt::format("`{}` is neither a dimension nor a coefficient; it is ignored", entry.key),
                       entry.key_where);
    if (!near.empty())
      warning.hint(base::did_you_mean(near));
    else
      warning.note(fmt::format("dimensions of `{}`: {}", einsum_.name, quoted_list(dimension_names(einsum_))));
  }

  // A number other than 1, by which no other entry is computed. `H` and `W` are the sizes of what a convolution takes,
  // which follow from those of its output and its filter.
  bool matters(const yaml::Node::Entry& entry, const Scope& scope) const {
    if (!entry.value.is_scalar()) return false;
    base::Diagnostics unsaid;
    const std::optional<double> value = as_number(entry.value, scope, entry.key, unsaid);
    if (!value || *value == 1) return false;
    const auto has = [&](const char* dimension) { return einsum_.dimension_index(dimension) >= 0; };
    if ((entry.key == "H" && has("P")) || (entry.key == "W" && has("Q"))) return false;
    return std::none_of(instance_->entries.begin(), instance_->entries.end(), [&](const yaml::Node::Entry& other) {
      return &other != &entry && names(other.value.scalar, entry.key);
    });
  }

  // Whether `word` stands in an expression.
  static bool names(const std::string& expression, const std::string& word) {
    const auto continues = [&](std::size_t at) {
      return at < expression.size() &&
             (std::isalnum(static_cast<unsigned char>(expression[at])) || expression[at] == '_');
    };
    for (std::size_t at = expression.find(word); at != std::string::npos; at = expression.find(word, at + 1))
      if ((at == 0 || !continues(at - 1)) && !continues(at + word.size())) return true;
    return false;
  }

  // Densities are read in densities.cc, once the bounds are known.
  void note_densities(const yaml::Node& densities, const Scope& scope) {
    if (!ignore_densities_ || !densities.is_map()) return;
    for (const yaml::Node::Entry& entry : densities.entries) {
      const yaml::Node* value = entry.value.is_map() ? entry.value.find("density") : &entry.value;
      if (!value || value->is_null()) continue;
      const std::optional<double> density = as_number(*value, scope, fmt::format("density of {}", entry.key), found_);
      if (!density || *density == 1) continue;
      found_
          .warning("O0407", fmt::format("`{}` has density {}; it is taken as dense", entry.key, *density), value->where)
          .severity = base::Severity::kNote;
    }
  }

  void resolve_coefficients() {
    for (const PendingTerm& term : pending_) {
      if (term.dataspace >= einsum_.dataspaces.size()) continue;
      std::vector<Rank>& ranks = einsum_.dataspaces[term.dataspace].ranks;
      if (term.rank >= ranks.size() || term.term >= ranks[term.rank].terms.size()) continue;
      ranks[term.rank].terms[term.term].coefficient = coefficients_[term.coefficient].value;
    }
  }

  void check_use() {
    if (found_.has_errors()) return;
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) {
      bool used = false;
      for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s)
        used = used || einsum_.relevant(static_cast<int>(s), static_cast<int>(d));
      if (!used && einsum_.dimensions[d].bound > 1)
        found_
            .warning("O0406",
                     fmt::format("no dataspace uses `{0}`: its {1} iterations repeat the same work",
                                 einsum_.dimensions[d].name, einsum_.dimensions[d].bound),
                     dimension_where_[d])
            .hint("remove the dimension, or add it to a projection");
    }
  }

  void check_size(const yaml::Node& shape) {
    try {
      einsum_.operations();
      std::vector<base::Count> bounds;
      for (const Dimension& dimension : einsum_.dimensions) bounds.push_back(dimension.bound);
      for (std::size_t s = 0; s < einsum_.dataspaces.size(); ++s) einsum_.volume(static_cast<int>(s), bounds);
    } catch (const base::OverflowError&) {
      std::string product;
      for (const Dimension& dimension : einsum_.dimensions)
        product += fmt::format("{}{} = {}", product.empty() ? "" : ", ", dimension.name, dimension.bound);
      found_.error("O0414", fmt::format("the problem `{}` is too large to count in 64 bits", einsum_.name), shape.where)
          .note(product);
    }
  }

  const yaml::Node& problem_;
  const Scope& variables_;
  base::Diagnostics& found_;
  bool ignore_densities_;
  const yaml::Node* instance_ = nullptr;
  std::optional<yaml::Node> named_;
  Einsum einsum_;
  std::vector<Coefficient> coefficients_;
  std::vector<base::Location> dimension_where_, dataspace_where_;
  std::vector<PendingTerm> pending_;
  bool too_many_ = false;
};

}  // namespace

workload::Einsum read_problem(const yaml::Node& problem, const Scope& variables, base::Diagnostics& found,
                              bool ignore_densities) {
  return ProblemReader(problem, variables, found, ignore_densities).read();
}

}  // namespace orrery::formats::timeloop
