#include "orrery/formats/onnx/open_dimensions.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/onnx/onnx_reader.h"

namespace orrery::formats::onnx {
namespace {

constexpr std::size_t kNamed = 8;  // of a long list

// The symbols of inputs, in their order, with where each stands first.
struct Open {
  std::vector<std::string> symbols;
  std::map<std::string, std::string> where;
};

Open open_in(const std::vector<Declared>& inputs) {
  Open open;
  for (const Declared& input : inputs) {
    if (!input.dimensions) continue;
    for (std::size_t i = 0; i < input.dimensions->size(); ++i) {
      if ((*input.dimensions)[i].size != kUnknown) continue;
      const std::string symbol = symbol_of(input, i);
      if (open.where.emplace(symbol, fmt::format("dimension {} of the input `{}`", i, input.name)).second)
        open.symbols.push_back(symbol);
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

std::string symbol_of(const Declared& declared, std::size_t dimension) {
  const std::string& symbol = (*declared.dimensions)[dimension].symbol;
  return symbol.empty() ? fmt::format("{}[{}]", declared.name, dimension) : symbol;
}

std::map<std::string, Count> sizes_of_symbols(const Model& model, const base::Overrides& defined) {
  const Open open = open_in(model.inputs);
  std::set<std::string> known(open.symbols.begin(), open.symbols.end());
  for (const std::vector<Declared>* list : {&model.outputs, &model.values})
    for (const Declared& declared : *list)
      if (declared.dimensions)
        for (const Dimension& dimension : *declared.dimensions)
          if (!dimension.symbol.empty()) known.insert(dimension.symbol);

  base::Diagnostics found;
  std::map<std::string, Count> sizes;
  for (const base::Override& define : defined) {
    const std::optional<Count> size = base::parse_number<Count>(define.value, 0, kMostSize);
    if (!size) {
      found.error("O0933", fmt::format("`--define {}={}` gives no size", define.path, define.value))
          .hint("write a whole number from 0 on, such as `--define batch=8`");
    } else if (known.count(define.path) == 0) {
      found.error("O0933", fmt::format("no dimension of `{}` is called `{}`", model.file->name, define.path))
          .hint(base::did_you_mean(define.path, open.symbols,
                                   open.symbols.empty()
                                       ? std::string("its inputs leave no dimension open")
                                       : fmt::format("open are `{}`", fmt::join(open.symbols, "`, `"))));
    } else if (const auto [at, first] = sizes.emplace(define.path, *size); !first && at->second != *size) {
      found.error("O0933", fmt::format("`--define` gives `{}` two sizes, {} and {}", define.path, at->second, *size))
          .hint("leave one of them out");
    }
  }
  found.throw_if_errors();

  std::vector<std::string> missing;
  for (const std::string& symbol : open.symbols)
    if (sizes.count(symbol) == 0) missing.push_back(symbol);
  if (missing.empty()) return sizes;
  std::string options;
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i) {
    const char* quote = plain(missing[i]) ? "" : "'";
    options += fmt::format("{}--define {}{}={}{}", i > 0 ? " " : "", quote, missing[i], guess(missing[i]), quote);
  }
  base::Diagnostic& error = found.error(
      "O0932",
      fmt::format("`{}` leaves {} open: `{}`", model.file->name,
                  missing.size() == 1 ? "a size" : fmt::format("{} sizes", missing.size()), fmt::join(missing, "`, `")),
      model.whole());
  for (std::size_t i = 0; i < std::min(missing.size(), kNamed); ++i)
    error.note(fmt::format("`{}`: {}", missing[i], open.where.at(missing[i])));
  error.hint(fmt::format("say what it runs on: `{}`{}", options, missing.size() > kNamed ? " ..." : ""));
  throw base::InputError(found.all());
}

}  // namespace orrery::formats::onnx
