// The laws by which a figure is scaled from value v0 of an attribute to v1, as in Accelergy's library (leak: also
// idle):
//
//   attribute                                   energy              leak                area
//   width, datawidth, both also with _a and _b  v1/v0               v1/v0               v1/v0
//   depth                                       (v1/v0)^0.78        (v1/v0)^0.78        v1/v0
//   rows, cols, columns                         1                   1                   v1/v0
//   n_inputs, n_outputs                         v1/v0               v1/v0               v1/v0
//   resolution                                  2^(v1-v0)           2^(v1-v0)           2^(v1-v0)
//   voltage                                     (v1/v0)^2           1                   1
//   average_{input,weight,output}_value         v1/v0               v1/v0               1
//   n_steps, length_mm                          v1/v0               v1/v0               no law
//   global_cycle_seconds                        1                   v1/v0               1
//   technology                                  polynomial ratio    the same            matrix   (technology.h)
//
// `length_mm` (of a wire) is ours. An attribute without which the component would not exist, such as its width, must be
// positive: otherwise the component would be free. Widths far from those of the table's designs are marked as
// extrapolated, and so are the words of a `register`, whose rows are of one word, and an `intmac` with an adder wider
// than that of its rows. A wire's `length` may be a text with a unit, and of a width that is no whole number the next
// one counts. The width of a floating-point class may be given as `exponent` and `mantissa`. Cost: a query
// looks at every row of its class, some tens.
#include "orrery/describe/energy/library.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::energy {
namespace {

enum class Target { kEnergy, kLeak, kArea };

bool among(const std::vector<std::string>& alternatives, std::string_view one) {
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const auto& other) { return base::same_letters(one, other); });
}

constexpr double kAdderOfMac = 32;  // bits, in every row of an `intmac`

constexpr double kFarWidth = 4;  // times as wide as the widest design, or as narrow as the narrowest

bool is_width(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWidths = {"width",   "datawidth",   "width_a",
                                                       "width_b", "datawidth_a", "datawidth_b"};
  return std::find(kWidths.begin(), kWidths.end(), name) != kWidths.end();
}

// Attributes that may be 0 although the component exists: a wire may have no length, the values of an array may all be
// 0.
bool may_be_zero(std::string_view name) {
  return name == "length_mm" || name == "average_input_value" || name == "average_weight_value" ||
         name == "average_output_value";
}

// Descriptions of old have widths such as log(depth): a circuit has whole bits, so the next number of them.
double whole_bits(double width) {
  return width > 1 ? std::ceil(width) : width;
}

// The factor from v0 to v1, or nothing where there is no law. Names are lower case.
std::optional<double> law(std::string_view name, double v0, double v1, Target target) {
  const auto is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool area = target == Target::kArea;
  if (is({"width", "datawidth", "width_a", "width_b", "datawidth_a", "datawidth_b"})) return v1 / v0;
  if (name == "depth") return area ? v1 / v0 : std::pow(v1 / v0, 0.78);
  if (is({"n_inputs", "n_outputs"})) return v1 / v0;
  if (is({"rows", "cols", "columns"})) return area ? v1 / v0 : 1;
  if (name == "resolution") return std::exp2(v1 - v0);
  if (name == "voltage") return target == Target::kEnergy ? (v1 / v0) * (v1 / v0) : 1;
  if (is({"average_input_value", "average_weight_value", "average_output_value"})) return area ? 1 : v1 / v0;
  if (is({"n_steps", "length_mm"})) return area ? std::nullopt : std::optional(v1 / v0);
  if (name == "global_cycle_seconds") return target == Target::kLeak ? v1 / v0 : 1;
  return std::nullopt;
}

struct Match {
  double scale = 1;
  double farness = 0;  // of every step, whether up or down
  int matches = 0;
  std::vector<std::string> steps;    // what was scaled, for the source
  std::vector<std::string> assumed;  // what the query does not give
  bool another_node = false;         // scaled from one technology to another
  std::string failure;               // not empty: no candidate
};

struct Given {
  std::string_view name;
  const Value* value = nullptr;
};

Given given(const LibraryAttribute& attribute, const Attributes& attributes) {
  for (const std::string& name : attribute.names)
    for (const auto& [key, value] : attributes)
      if (base::same_letters(key, name) && !std::holds_alternative<std::monostate>(value)) return {name, &value};
  return {};
}

// The bits of a floating-point word whose `exponent` and `mantissa` are given: 1 + exponent + mantissa. A width that is
// given, too, must be that, or without the hidden bit of a mantissa that counts it. Nothing for other queries.
std::optional<std::variant<base::Count, Refusal>> width_of_format(const Query& query) {
  if (query.class_name.size() < 2 || !base::same_letters(query.class_name.substr(0, 2), "fp")) return std::nullopt;
  std::array<base::Count, 2> parts{};
  constexpr std::array<const char*, 2> kParts{"exponent", "mantissa"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value* value = find(query.attributes, kParts[i]);
    if (!value) return std::nullopt;
    constexpr double kMostBits = 1 << 20;
    const auto bits = number(*value);
    if (!bits || *bits < 0 || *bits > kMostBits || *bits != std::floor(*bits))
      return Refusal{fmt::format("`{}` is not a number of bits, but `{}`", kParts[i], text(*value))};
    parts[i] = static_cast<base::Count>(*bits);
  }
  const base::Count whole = 1 + parts[0] + parts[1];
  for (const char* name : {"width", "width_a", "width_b", "datawidth_a", "datawidth_b", "multiplier_width"}) {
    const Value* value = find(query.attributes, name);
    const auto width = value ? number(*value) : std::nullopt;
    if (!width) continue;
    const auto bits = static_cast<double>(whole);
    if (*width != bits && *width != bits - 1)
      return Refusal{fmt::format("`{}` is {:g}, but 1 + exponent {} + mantissa {} = {} bit", name, *width, parts[0],
                                 parts[1], whole),
                     fmt::format("give `{}`, or `exponent` and `mantissa`, or make them agree", name)};
    return std::nullopt;
  }
  return whole;
}

// Millimetres of a wire whose `length` is given in place of `length_mm`: `2mm`, `500um`, or a number of um, as
// Accelergy takes it.
std::optional<double> length_of_wire(const Query& query) {
  const Value* value = find(query.attributes, "length");
  if (!value || !base::same_letters(query.class_name, "wire") || find(query.attributes, "length_mm"))
    return std::nullopt;
  std::string length = text(*value);
  double mm = 1e-3;
  for (const auto& [unit, of_it] : {std::pair{"mm", 1.0}, std::pair{"um", 1e-3}, std::pair{"nm", 1e-6}}) {
    if (!length.ends_with(unit)) continue;
    length.resize(length.size() - 2);
    mm = of_it;
    break;
  }
  const auto count = number(Value(length));
  return count && *count >= 0 ? std::optional(*count * mm) : std::nullopt;
}

class Matcher {
 public:
  Matcher(const NodeScaling& scaling, bool scales_technology, const Query& query)
      : scaling_(scaling), scales_technology_(scales_technology), query_(query) {
    // What is gated does nothing but leak.
    const bool leaks = base::same_letters(query.action, "leak") || base::same_letters(query.action, "idle") ||
                       query.action.ends_with("_gated");
    target_ = query.wants_area() ? Target::kArea : leaks ? Target::kLeak : Target::kEnergy;
  }

  // `told`: also collect what was scaled and assumed, for the row that answers.
  Match match(const LibraryRow& row, bool told) const {
    Match match;
    for (const LibraryAttribute& attribute : row.attributes) {
      const Given here = given(attribute, query_.attributes);
      const std::string wanted = here.value ? text(*here.value) : "";
      if (!here.value && attribute.required) {
        const bool by_width =
            std::find(attribute.names.begin(), attribute.names.end(), "width") != attribute.names.end();
        match.failure = fmt::format("needs attribute `{}`", by_width ? "width" : attribute.names.front());
        return match;
      }
      if (!here.value) {
        if (told) match.assumed.push_back(fmt::format("{} {}", attribute.names.front(), attribute.values.front()));
      } else if (attribute.values.front() == "*" || among(attribute.values, wanted)) {
        ++match.matches;
      } else {
        const auto factor = scale(attribute, here, match.failure);
        if (!factor) return match;
        if (*factor == 1) {
          ++match.matches;
        } else {
          match.scale *= *factor;
          match.farness += std::fabs(std::log(*factor));
          match.another_node = match.another_node || attribute.names.front() == "technology";
          if (told)
            match.steps.push_back(
                fmt::format("{} {} to {} x {:.4g}", here.name, attribute.values.front(), wanted, *factor));
        }
      }
    }
    return match;
  }

 private:
  std::optional<double> scale(const LibraryAttribute& attribute, const Given& here, std::string& failure) const {
    const std::string& from = attribute.values.front();
    const std::string& law_name = attribute.names.front();
    const auto refuse = [&](std::string why) {
      failure = std::move(why);
      return std::nullopt;
    };
    if (law_name == "technology") {
      if (!scales_technology_)
        return refuse(fmt::format("knows it for {}, not {}", base::joined(attribute.values, ", "), text(*here.value)));
      const auto v0 = node_nm(Value(from));
      const auto v1 = node_nm(*here.value);
      if (!v0 || !v1) return refuse(fmt::format("cannot scale technology {} to `{}`", from, text(*here.value)));
      const auto factor =
          target_ == Target::kArea ? area_factor(scaling_, *v0, *v1) : energy_factor(scaling_, *v0, *v1);
      if (!factor)
        return refuse(fmt::format("scales technologies from {:g} to {:g} nm, not {:g} nm", scaling_.nodes_nm.back(),
                                  scaling_.nodes_nm.front(), *v1));
      return factor;
    }
    const auto v0 = number(Value(from));
    auto v1 = number(*here.value);
    if (v1 && is_width(law_name)) v1 = whole_bits(*v1);
    if (!v0 || !v1) return refuse(fmt::format("cannot scale {} {} to `{}`", here.name, from, text(*here.value)));
    if (*v0 == *v1) return 1;
    if (*v1 <= 0 && !may_be_zero(law_name))
      return refuse(fmt::format("`{}` is {:g}; it must be positive", here.name, *v1));
    if (is_width(law_name) && std::floor(*v1) != *v1)  // less than one bit
      return refuse(fmt::format("`{}` is {:g}; it must be a whole number of bits", here.name, *v1));
    const auto factor = law(law_name, *v0, *v1, target_);
    if (!factor) return refuse(fmt::format("has no law to scale {} {} to {}", here.name, from, text(*here.value)));
    if (!std::isfinite(*factor) || *factor < 0)
      return refuse(fmt::format("cannot scale {} {} to {}", here.name, from, text(*here.value)));
    return factor;
  }

  const NodeScaling& scaling_;
  bool scales_technology_;
  const Query& query_;
  Target target_;
};

}  // namespace

Library::Library(std::vector<LibraryRow> rows, NodeScaling scaling, LibraryOptions options)
    : rows_(std::move(rows)), scaling_(std::move(scaling)), options_(std::move(options)) {}

std::vector<std::string> Library::classes() const {
  std::vector<std::string> classes;
  for (const LibraryRow& row : rows_)
    for (const std::string& name : row.classes)
      if (std::find(classes.begin(), classes.end(), name) == classes.end()) classes.push_back(name);
  return classes;
}

std::optional<double> Library::accuracy(const Query& query) const {
  for (const LibraryRow& row : rows_)
    if (among(row.classes, query.class_name)) return options_.accuracy_percent;
  return std::nullopt;
}

// One text for each bound of the rows' designs that the query lies far beyond.
std::vector<std::string> Library::beyond(const LibraryRow& best, const Query& query) const {
  std::vector<std::string> bounds;
  for (const LibraryAttribute& attribute : best.attributes) {
    if (!is_width(attribute.names.front())) continue;
    const Given here = given(attribute, query.attributes);
    const auto width = here.value ? number(*here.value) : std::nullopt;
    if (!width) continue;
    if (whole_bits(*width) != *width)
      bounds.push_back(
          fmt::format("`{}` is {:.4g}, no number of bits; {:g} are taken", here.name, *width, whole_bits(*width)));
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const LibraryRow& row : rows_) {
      if (row.classes != best.classes) continue;
      for (const LibraryAttribute& other : row.attributes) {
        const auto known = number(Value(other.values.front()));
        if (other.names != attribute.names || !known) continue;
        least = std::min(least, *known);
        most = std::max(most, *known);
      }
    }
    if (most <= 1) continue;  // rows of one bit: any number of them may be placed side by side
    std::string text;
    if (*width > kFarWidth * most)
      text = fmt::format("`{}` {:g} is above the {:g} bit of the widest design in the table, by a factor of {:.3g}",
                         here.name, *width, most, *width / most);
    if (*width * kFarWidth < least)
      text = fmt::format("`{}` {:g} is below the {:g} bit of the narrowest design in the table, by a factor of {:.3g}",
                         here.name, *width, least, least / *width);
    if (!text.empty() && std::find(bounds.begin(), bounds.end(), text) == bounds.end()) bounds.push_back(text);
  }
  if (among(best.classes, "intmac")) {
    const Value* adder = find(query.attributes, "adder_width");
    const auto width = adder ? number(*adder) : std::nullopt;
    if (width && *width > kAdderOfMac)
      bounds.push_back(fmt::format("`adder_width` {:g} is above the {:g} bit of the adder that is in the figures",
                                   *width, kAdderOfMac));
  }
  if (among(best.classes, "register")) {
    for (const auto& [key, value] : query.attributes) {
      if (!base::same_letters(key, "depth") && !base::same_letters(key, "entries")) continue;
      const auto words = number(value);
      if (words && *words != 1)
        bounds.push_back(
            fmt::format("`{}` {:g}: the figures, area and leakage included, are those of one word", key, *words));
    }
  }
  return bounds;
}

Answer Library::estimate(const Query& asked) const {
  std::string format;
  Attributes with_width;
  Attributes with_length;
  if (const auto length_mm = length_of_wire(asked)) {
    with_length = asked.attributes;
    with_length.emplace("length_mm", *length_mm);
    return estimate({asked.class_name, with_length, asked.action, asked.arguments});
  }
  if (const auto bits = width_of_format(asked)) {
    if (const Refusal* refusal = std::get_if<Refusal>(&*bits)) return *refusal;
    with_width = asked.attributes;
    with_width.insert_or_assign("width", std::get<base::Count>(*bits));
    format = fmt::format("; width {}: one bit of sign, exponent {}, mantissa {}", std::get<base::Count>(*bits),
                         text(*find(asked.attributes, "exponent")), text(*find(asked.attributes, "mantissa")));
  }
  const Query query{asked.class_name, format.empty() ? asked.attributes : with_width, asked.action, asked.arguments};
  const Matcher matcher(scaling_, options_.scales_technology, query);
  const LibraryRow* best_row = nullptr;
  Match best;
  std::vector<std::string> actions;
  std::string failure;
  for (const LibraryRow& row : rows_) {
    if (!among(row.classes, query.class_name)) continue;
    if (!query.wants_area() && !among(row.actions, query.action)) {
      for (const std::string& action : row.actions)
        if (!among(actions, action)) actions.push_back(action);
      continue;
    }
    if (!(query.wants_area() ? row.area_um2 : row.energy_pj)) continue;
    Match match = matcher.match(row, false);
    if (!match.failure.empty()) {
      if (failure.empty()) failure = match.failure;
      continue;
    }
    if (!best_row || match.matches > best.matches || (match.matches == best.matches && match.farness < best.farness)) {
      best_row = &row;
      best = std::move(match);
    }
  }
  if (!best_row) {
    if (!failure.empty()) return Refusal{failure};
    if (query.wants_area()) return Refusal{fmt::format("has no area of `{}`", query.class_name)};
    return Refusal{fmt::format("of `{}` it knows {}", query.class_name, base::joined(actions, ", "))};
  }
  best = matcher.match(*best_row, true);
  Figure figure;
  figure.value = (query.wants_area() ? *best_row->area_um2 : *best_row->energy_pj) * best.scale;
  figure.accuracy_percent = options_.accuracy_percent;
  figure.basis = best_row->basis;
  figure.estimator = options_.name;
  figure.source = best_row->source;
  figure.beyond = beyond(*best_row, query);
  if (!figure.beyond.empty()) figure.basis = Basis::kExtrapolated;
  if (best.another_node) figure.node_rule = "Stillmaker and Baas, Integration 58 (2017)";
  figure.source += format;
  if (const Value* adder = find(query.attributes, "adder_width"); adder && among(best_row->classes, "intmac"))
    if (const auto width = number(*adder); width && *width != kAdderOfMac)
      figure.source += fmt::format("; its adder has {:g} bit, not {:g}", kAdderOfMac, *width);
  if (!best.steps.empty()) figure.source += fmt::format("; scaled: {}", base::joined(best.steps, ", "));
  if (!best.assumed.empty())
    figure.source += fmt::format("; not given, so taken: {}", base::joined(best.assumed, ", "));
  return figure;
}

}  // namespace orrery::energy
