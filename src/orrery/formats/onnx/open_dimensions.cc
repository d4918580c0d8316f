#include "orrery/formats/onnx/open_dimensions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/onnx/onnx_reader.h"

namespace orrery::formats::onnx {
namespace {

constexpr std::size_t kNamed = 8;  // of a long list

// Symbols that one input has several times: placeholders such as `?`, under which no size can be told from another.
std::set<std::string> placeholders(const std::vector<Declared>& inputs) {
  std::set<std::string> out;
  for (const Declared& input : inputs) {
    std::set<std::string> seen;
    if (!input.dimensions) continue;
    for (const Dimension& dimension : *input.dimensions)
      if (dimension.size == kUnknown && !seen.insert(dimension.symbol).second) out.insert(dimension.symbol);
  }
  return out;
}

// What inputs leave open, in their order, less what has a size, with where each stands.
struct Open {
  std::vector<std::string> names;
  std::map<std::string, std::string> where;
};

Open open_in(const std::vector<Declared>& inputs, const std::map<std::string, Count>& sizes) {
  const std::set<std::string> repeated = placeholders(inputs);
  Open open;
  for (const Declared& input : inputs) {
    if (!input.dimensions) continue;
    for (std::size_t i = 0; i < input.dimensions->size(); ++i) {
      const Dimension& dimension = (*input.dimensions)[i];
      if (dimension.size != kUnknown || size_of(input, i, sizes)) continue;
      const bool by_place = dimension.symbol.empty() || repeated.count(dimension.symbol) > 0;
      const std::string name = by_place ? place_of(input, i) : dimension.symbol;
      std::string where = fmt::format("dimension {} of the input `{}`", i, input.name);
      if (by_place && !dimension.symbol.empty()) where += fmt::format(", `{}` as others", dimension.symbol);
      if (open.where.emplace(name, std::move(where)).second) open.names.push_back(name);
    }
  }
  return open;
}

// A first guess for the hint: what people mostly call such dimensions.
int guess(const std::string& symbol) {
  return symbol.find("seq") != std::string::npos || symbol.find("len") != std::string::npos ? 128 : 1;
}

// Whether shells take the name as it is.
bool plain(const std::string& symbol) {
  return std::all_of(symbol.begin(), symbol.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; });
}

}  // namespace

std::string place_of(const Declared& declared, std::size_t dimension) {
  return fmt::format("{}[{}]", declared.name, dimension);
}

std::optional<Count> size_of(const Declared& declared, std::size_t dimension,
                             const std::map<std::string, Count>& sizes) {
  auto given = sizes.find(place_of(declared, dimension));
  if (given == sizes.end()) given = sizes.find((*declared.dimensions)[dimension].symbol);
  return given == sizes.end() ? std::nullopt : std::optional<Count>(given->second);
}

std::map<std::string, Count> sizes_of_symbols(const Model& model, const base::Overrides& defined) {
  const Open open = open_in(model.inputs, {});
  std::set<std::string> known;
  for (const std::vector<Declared>* list : {&model.inputs, &model.outputs, &model.values})
    for (const Declared& declared : *list)
      for (std::size_t i = 0; declared.dimensions && i < declared.dimensions->size(); ++i) {
        const Dimension& dimension = (*declared.dimensions)[i];
        if (!dimension.symbol.empty()) known.insert(dimension.symbol);
        if (list == &model.inputs && dimension.size == kUnknown) known.insert(place_of(declared, i));
      }

  base::Diagnostics found;
  std::map<std::string, Count> sizes;
  for (const base::Override& define : defined) {
    const std::optional<Count> size = base::parse_number<Count>(define.value, 0, kMostSize);
    if (!size) {
      found.error("O0933", fmt::format("`--define {}={}` gives no size", define.path, define.value))
          .hint("write a whole number from 0 on, such as `--define batch=8`");
    } else if (known.count(define.path) == 0) {
      found.error("O0933", fmt::format("no dimension of `{}` is called `{}`", model.file->name, define.path))
          .hint(base::did_you_mean(define.path, open.names,
                                   open.names.empty()
                                       ? std::string("its inputs leave no dimension open")
                                       : fmt::format("open are `{}`", base::joined(open.names, "`, `"))));
    } else if (const auto [at, first] = sizes.emplace(define.path, *size); !first && at->second != *size) {
      found.error("O0933", fmt::format("`--define` gives `{}` two sizes, {} and {}", define.path, at->second, *size))
          .hint("leave one of them out");
    }
  }
  found.throw_if_errors();

  const auto [missing, places] = open_in(model.inputs, sizes);
  if (missing.empty()) return sizes;
  std::string options;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    const char* quote = plain(missing[i]) ? "" : "'";
    options += fmt::format("{}--define {}{}={}{}", i > 0 ? " " : "", quote, missing[i], guess(missing[i]), quote);
  }
  base::Diagnostic& error =
      found.error("O0932",
                  fmt::format("`{}` leaves {} open: `{}`", model.file->name,
                              missing.size() == 1 ? "a size" : fmt::format("{} sizes", missing.size()),
                              base::joined(missing, "`, `")),
                  model.whole());
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i)
    error.note(fmt::format("`{}`: {}", missing[i], places.at(missing[i])));
  error.hint(fmt::format("say what it runs on: `{}`{}", options, missing.size() > kNamed ? " ..." : ""));
  throw base::InputError(found.all());
}

}  // namespace orrery::formats::onnx
