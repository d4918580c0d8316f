// Text of directives -> numbers.
//
// Factors come in two dialects: `NAME op VALUE` (op one of = <= >=), where VALUE may be an expression, and the
// mapper's own `E1 D16`. In both, several stand in one text, apart by commas or blanks. A blank inside an
// expression does not end it: it does only where neither side of it is an operator and no parenthesis is open.
// One pass over the text; linear.
#include "orrery/formats/timeloop/constraints/directive_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "orrery/formats/timeloop/expressions/key_check.h"

namespace orrery::formats::timeloop {
namespace {

using nest::Comparison;

struct Piece {
  std::size_t begin = 0, end = 0;
};

bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

bool binds(char c) {
  return std::string_view("=<>+-*/%").find(c) != std::string_view::npos;
}

std::vector<Piece> split_factors(std::string_view text) {
  std::vector<Piece> pieces;
  std::size_t i = 0;
  while (i < text.size()) {
    if (is_blank(text[i]) || text[i] == ',') {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    std::size_t end = i;  // one past the last character that is no blank
    int depth = 0;
    for (; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (depth <= 0 && c == ',') break;
      if (!is_blank(c)) {
        end = i + 1;
        continue;
      }
      if (depth > 0) continue;
      std::size_t next = i;
      while (next < text.size() && is_blank(text[next])) ++next;
      if (next == text.size() || (!binds(text[end - 1]) && !binds(text[next]))) break;
    }
    pieces.push_back({begin, end});
  }
  return pieces;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

class FactorReader {
 public:
  FactorReader(const workload::Einsum& einsum, const Scope& variables, base::Diagnostics& found, bool rests)
      : einsum_(einsum), variables_(variables), found_(found), rests_(rests) {}

  void read(const yaml::Node& node) {
    switch (node.kind) {
      case yaml::Node::Kind::kNull:
        return;
      case yaml::Node::Kind::kScalar:
        read_text(node);
        return;
      case yaml::Node::Kind::kSequence:
        for (const yaml::Node& item : node.items) {
          if (item.is_scalar() || item.is_map())
            read(item);
          else
            malformed("a list of factors holds texts such as `D=16`", item.where);
        }
        return;
      case yaml::Node::Kind::kMap:
        for (const yaml::Node::Entry& entry : node.entries) {
          const int d = dimension(entry.key, entry.key_where);
          if (d >= 0)
            add(d, Comparison::kEqual, entry.value, fmt::format("{}={}", entry.key, entry.value.scalar),
                entry.key_where);
        }
        return;
    }
  }

  std::vector<Factor> take() { return std::move(factors_); }

 private:
  int dimension(std::string_view name, const base::Location& where) {
    const int d = einsum_.dimension_index(name);
    if (d < 0) {
      const std::vector<std::string> names = dimension_names(einsum_);
      suggest(
          found_.error("O0505", fmt::format("`{}` is not a dimension of the problem `{}`", name, einsum_.name), where),
          name, names, "its dimensions");
    }
    return d;
  }

  void malformed(const std::string& message, const base::Location& where) {
    found_.error("O0507", message, where).hint("write each factor as `D=16`, `D<=16` or `D>=16`");
  }

  void read_text(const yaml::Node& node) {
    const std::string_view text = node.scalar;
    std::size_t end = 0;  // of the factor before
    for (const Piece& piece : split_factors(text)) {
      // A number right behind a factor and its comma is what the last round has of it.
      const bool rest = rests_ && end > 0 && piece.begin == end + 1 && text[end] == ',' &&
                        is_digits(text.substr(piece.begin, piece.end - piece.begin));
      const std::size_t before = factors_.size();
      if (rest)
        read_rest(node, piece);
      else
        read_piece(node, piece);
      end = !rest && factors_.size() > before ? piece.end : 0;
    }
  }

  void read_rest(const yaml::Node& node, const Piece& piece) {
    Factor& factor = factors_.back();
    const yaml::Node value = part(node, piece.begin, piece.end - piece.begin);
    factor.last = as_count(value, variables_, einsum_.dimensions[factor.dimension].name, found_);
    factor.text += "," + value.scalar;
    if (!factor.last || (factor.comparison == Comparison::kEqual && *factor.last >= 1 && *factor.last <= factor.value))
      return;
    found_
        .error("O1949",
               fmt::format("`{}`: the last round has {} iterations, where a factor of {} can have 1 to {}", factor.text,
                           *factor.last, factor.value, factor.value),
               value.where)
        .hint(fmt::format("write `{}={}` if the factor leaves no rest", einsum_.dimensions[factor.dimension].name,
                          factor.value));
    factor.last.reset();
  }

  void read_piece(const yaml::Node& node, const Piece& piece) {
    const std::string text = node.scalar.substr(piece.begin, piece.end - piece.begin);
    const base::Location where = within(node, piece.begin, text.size());
    const std::size_t op = text.find_first_of("<>=");
    if (op == std::string::npos) {
      read_joined(node, piece, text, where);
      return;
    }
    const std::string_view name = trim(std::string_view(text).substr(0, op));
    Comparison comparison = Comparison::kEqual;
    std::size_t value_at = op + 1;
    if (text[op] != '=') {
      if (value_at >= text.size() || text[value_at] != '=') {
        malformed(fmt::format("`{}` compares with `{}`; factors allow `=`, `<=` and `>=`", text, text[op]), where);
        return;
      }
      comparison = text[op] == '<' ? Comparison::kAtMost : Comparison::kAtLeast;
      ++value_at;
    }
    while (value_at < text.size() && is_blank(text[value_at])) ++value_at;
    if (name.empty() || value_at >= text.size()) {
      malformed(fmt::format("`{}` is not a factor: a {} is missing", text, name.empty() ? "dimension" : "value"),
                where);
      return;
    }
    const int d = dimension(name, within(node, piece.begin, name.size()));
    if (d >= 0) add(d, comparison, part(node, piece.begin + value_at, text.size() - value_at), text, where);
  }

  // `E16`: the longest dimension that begins the text and leaves only digits.
  void read_joined(const yaml::Node& node, const Piece& piece, const std::string& text, const base::Location& where) {
    if (is_digits(text)) {
      found_.error("O0507", fmt::format("`{}` stands alone: no dimension is given for it", text), where)
          .hint(rests_
                    ? "write `D=16,5`, without a blank, for a factor of 16 that has 5 iterations in its last round"
                    : "constraints say what a factor is, mappings what its last round has: write one factor for each "
                      "dimension");
      return;
    }
    int best = -1;
    std::size_t longest = 0;
    for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) {
      const std::string& name = einsum_.dimensions[d].name;
      if (name.size() > longest && text.size() > name.size() && text.compare(0, name.size(), name) == 0 &&
          is_digits(std::string_view(text).substr(name.size()))) {
        best = static_cast<int>(d);
        longest = name.size();
      }
    }
    if (best >= 0) {
      add(best, Comparison::kEqual, part(node, piece.begin + longest, text.size() - longest), text, where);
      return;
    }
    const std::size_t digits = text.find_last_not_of("0123456789") + 1;
    if (digits < text.size())
      dimension(text.substr(0, digits), within(node, piece.begin, digits));
    else
      malformed(fmt::format("`{}` is not a factor", text), where);
  }

  static yaml::Node part(const yaml::Node& node, std::size_t offset, std::size_t length) {
    yaml::Node value;
    value.kind = yaml::Node::Kind::kScalar;
    value.scalar = node.scalar.substr(offset, length);
    value.where = within(node, offset, length);
    return value;
  }

  void add(int d, Comparison comparison, const yaml::Node& value, std::string text, const base::Location& where) {
    const std::optional<base::Count> count = as_count(value, variables_, einsum_.dimensions[d].name, found_);
    if (!count) return;
    const base::Count least = comparison == Comparison::kAtMost ? 1 : 0;
    if (*count < least) {
      found_.error("O0518", fmt::format("the factor `{}` must be at least {}, but is {}", text, least, *count), where)
          .note("`=0` stands for the whole dimension");
      return;
    }
    factors_.push_back({d, comparison, *count, std::move(text), where});
  }

  const workload::Einsum& einsum_;
  const Scope& variables_;
  base::Diagnostics& found_;
  const bool rests_;
  std::vector<Factor> factors_;
};

class PermutationReader {
 public:
  PermutationReader(const workload::Einsum& einsum, base::Diagnostics& found) : einsum_(einsum), found_(found) {
    one_letter_ = std::all_of(einsum.dimensions.begin(), einsum.dimensions.end(),
                              [](const workload::Dimension& d) { return d.name.size() == 1; });
  }

  std::optional<Permutation> read(const yaml::Node& node) {
    result_.where = node.where;
    const int errors_before = errors_;
    if (node.is_scalar()) {
      result_.text = node.scalar;
      read_text(node);
    } else if (node.is_sequence()) {
      for (const yaml::Node& item : node.items) {
        if (!item.is_scalar()) {
          fail("a permutation is a list of dimensions", item.where);
          continue;
        }
        result_.text += (result_.text.empty() ? "" : " ") + item.scalar;
        read_text(item);
      }
    } else if (!node.is_null()) {
      fail("a permutation is a text such as `EDL`, or a list of dimensions", node.where);
    }
    if (errors_ != errors_before || (result_.inner.empty() && result_.outer.empty())) return std::nullopt;
    return result_;
  }

 private:
  void fail(const std::string& message, const base::Location& where) {
    ++errors_;
    found_.error("O0507", message, where).hint("list dimensions from the innermost loop outwards: `[E, D, L]`");
  }

  void read_text(const yaml::Node& node) {
    const std::string& text = node.scalar;
    std::size_t i = 0;
    while (i < text.size()) {
      if (is_blank(text[i]) || text[i] == ',') {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < text.size() && !is_blank(text[end]) && text[end] != ',') ++end;
      read_token(node, i, end);
      i = end;
    }
  }

  // A token is a dimension, or `_`, or several of these run together: the longest name that fits comes first.
  void read_token(const yaml::Node& node, std::size_t begin, std::size_t end) {
    const std::string_view token = std::string_view(node.scalar).substr(begin, end - begin);
    if (const int d = einsum_.dimension_index(token); d >= 0) {
      add(d, within(node, begin, token.size()));
      return;
    }
    std::size_t at = 0;
    std::vector<std::pair<int, std::size_t>> dimensions;
    while (at < token.size()) {
      int best = -1;
      std::size_t longest = 0;
      for (std::size_t d = 0; d < einsum_.dimensions.size(); ++d) {
        const std::string& name = einsum_.dimensions[d].name;
        if (name.size() > longest && token.substr(at, name.size()) == name) {
          best = static_cast<int>(d);
          longest = name.size();
        }
      }
      if (best >= 0) {
        add(best, within(node, begin + at, longest));
        at += longest;
      } else if (token[at] == '_') {
        split_ = true;
        ++at;
      } else {
        const std::size_t length = one_letter_ ? 1 : token.size() - at;
        unknown(token.substr(at, length), within(node, begin + at, length));
        at += length;
      }
    }
  }

  void unknown(std::string_view name, const base::Location& where) {
    ++errors_;
    const std::vector<std::string> names = dimension_names(einsum_);
    suggest(
        found_.error("O0505", fmt::format("`{}` is not a dimension of the problem `{}`", name, einsum_.name), where),
        name, names, "its dimensions");
  }

  void add(int d, const base::Location& where) {
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (seen_[i] != d) continue;
      ++errors_;
      found_.error("O0519", fmt::format("`{}` stands twice in this permutation", einsum_.dimensions[d].name), where)
          .also(seen_where_[i], "first here");
      return;
    }
    seen_.push_back(d);
    seen_where_.push_back(where);
    (split_ ? result_.outer : result_.inner).push_back(d);
  }

  const workload::Einsum& einsum_;
  base::Diagnostics& found_;
  bool one_letter_ = true;
  bool split_ = false;
  int errors_ = 0;
  Permutation result_;
  std::vector<int> seen_;
  std::vector<base::Location> seen_where_;
};

}  // namespace

std::vector<Factor> read_factors(const yaml::Node& node, const workload::Einsum& einsum, const Scope& variables,
                                 base::Diagnostics& found, bool rests) {
  FactorReader reader(einsum, variables, found, rests);
  reader.read(node);
  return reader.take();
}

std::optional<Permutation> read_permutation(const yaml::Node& node, const workload::Einsum& einsum,
                                            base::Diagnostics& found) {
  return PermutationReader(einsum, found).read(node);
}

std::vector<DataspaceName> read_dataspaces(const yaml::Node& node, const workload::Einsum& einsum,
                                           base::Diagnostics& found) {
  std::vector<DataspaceName> result;
  if (node.is_null()) return result;
  if (node.is_scalar() || node.is_sequence()) {
    const std::size_t count = node.is_sequence() ? node.items.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const yaml::Node& item = node.is_sequence() ? node.items[i] : node;
      if (item.is_scalar() && item.scalar == "*") {
        for (std::size_t s = 0; s < einsum.dataspaces.size(); ++s) result.push_back({static_cast<int>(s), item.where});
        continue;
      }
      const int s = item.is_scalar() ? einsum.dataspace_index(item.scalar) : -1;
      if (s >= 0) {
        result.push_back({s, item.where});
      } else {
        const std::vector<std::string> names = dataspace_names(einsum);
        suggest(
            found.error("O0506", fmt::format("`{}` is not a dataspace of the problem `{}`", item.scalar, einsum.name),
                        item.where),
            item.scalar, names, "its dataspaces");
      }
    }
    return result;
  }
  found.error("O0506", "a list of dataspaces is needed here", node.where)
      .note(fmt::format("the dataspaces of `{}`: {}", einsum.name, quoted_list(dataspace_names(einsum))));
  return result;
}

std::uint32_t mask_of(const std::vector<DataspaceName>& names) {
  std::uint32_t bits = 0;
  for (const DataspaceName& name : names) bits |= std::uint32_t{1} << name.dataspace;
  return bits;
}

std::uint32_t* reuse_mask(nest::ReuseRules& rules, const std::string& plain_key, bool spatial) {
  if (plain_key == "no_temporal_reuse" || (plain_key == "no_reuse" && !spatial)) return &rules.no_temporal_reuse;
  if (spatial && (plain_key == "no_reuse" || plain_key == "no_multicast_no_reduction"))
    return &rules.no_spatial_sharing;
  if (plain_key == "rmw_first_update" || plain_key == "rmw_on_first_writeback") return &rules.read_first_update;
  return plain_key == "no_link_transfer" ? &rules.no_links : nullptr;
}

base::Location within(const yaml::Node& scalar, std::size_t offset, std::size_t length) {
  base::Location where = scalar.where;
  if (scalar.scalar.find('\n') != std::string::npos ||
      static_cast<std::size_t>(std::max(0, where.length)) < scalar.scalar.size())
    return where;
  where.column += static_cast<int>(offset) + (scalar.quoted ? 1 : 0);
  where.length = static_cast<int>(std::max<std::size_t>(1, length));
  return where;
}

std::vector<std::string> dimension_names(const workload::Einsum& einsum) {
  std::vector<std::string> names;
  for (const workload::Dimension& dimension : einsum.dimensions) names.push_back(dimension.name);
  return names;
}

std::vector<std::string> dataspace_names(const workload::Einsum& einsum) {
  std::vector<std::string> names;
  for (const workload::Dataspace& dataspace : einsum.dataspaces) names.push_back(dataspace.name);
  return names;
}

}  // namespace orrery::formats::timeloop
