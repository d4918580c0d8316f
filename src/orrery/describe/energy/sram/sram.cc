#include "orrery/describe/energy/sram/sram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/describe/energy/register_file.h"
#include "orrery/describe/energy/sram/sram_text.h"
#include "orrery/describe/energy/technology.h"

namespace orrery::energy {
namespace {

constexpr double kDataShare = 0.7, kAddressShare = 0.3;
constexpr double kPjPerMwSecond = 1e9;
constexpr double kUm2PerMm2 = 1e6;
constexpr double kMostBits = 1 << 20;  // of a word, and a limit for banks
constexpr double kMostBytes = 1LL << 50;

struct Bad {
  std::string reason;
  std::string way_out = {};
};

// The number `name`, at least 1 (or above 0), or `otherwise` where it is not given.
double positive(const Attributes& attributes, std::string_view name, std::optional<double> otherwise, double least) {
  const Value* value = find(attributes, name);
  if (!value && otherwise) return *otherwise;
  if (!value) throw Bad{fmt::format("needs attribute `{}`", name)};
  const auto given = number(*value);
  if (!given) throw Bad{fmt::format("`{}` is not a number, but `{}`", name, text(*value))};
  if (!(*given > 0) || *given < least)
    throw Bad{fmt::format("`{}` is {}; it must be at least {}", name, text(*value), least)};
  return *given;
}

double technology(const Attributes& attributes) {
  const Value* value = find(attributes, "technology");
  if (!value) throw Bad{"needs attribute `technology`, such as 32nm"};
  const auto nm = node_nm(*value);
  if (!nm || !(*nm > 0)) throw Bad{fmt::format("`technology` is not a length, but `{}`", text(*value))};
  if (*nm < kSramLeastNm || *nm > kSramMostNm)
    throw Bad{
        fmt::format(
            "`technology` is {:g} nm; CACTI knows 22 to 90 nm, and its figures are scaled to {:g} to {:g} nm at most",
            *nm, kSramLeastNm, kSramMostNm),
        "correct `technology`, or give figures of this memory with `--tables`"};
  return *nm;
}

SramDescription description(const Attributes& attributes) {
  SramDescription memory;
  memory.technology_nm = technology(attributes);
  memory.width_bits = positive(attributes, "width", std::nullopt, 1);
  memory.depth = positive(attributes, "depth", std::nullopt, 1);
  memory.banks = positive(attributes, "n_banks", 1, 1);
  const double ports = positive(attributes, "n_rw_ports", 1, 1);
  if (ports != std::floor(ports)) throw Bad{fmt::format("`n_rw_ports` is {}, not a whole number", ports)};
  if (memory.width_bits > kMostBits || memory.banks > kMostBits || ports > kMostBits ||
      memory.depth > kMostBytes / memory.width_bits)
    throw Bad{fmt::format("{:g} words of {:g} bit in {:g} banks are larger than any SRAM", memory.depth,
                          memory.width_bits, memory.banks)};
  memory.ports = static_cast<int>(ports);
  return memory;
}

// `depth: 0`, as chips have it where a level is left out.
bool empty(const Attributes& attributes) {
  const Value* depth = find(attributes, "depth");
  return depth != nullptr && number(*depth) == 0.0;
}

bool changes(const Attributes& arguments, std::string_view name) {
  const Value* value = find(arguments, name);
  if (!value) return true;
  const auto given = number(*value);
  if (!given) throw Bad{fmt::format("argument `{}` is not a number, but `{}`", name, text(*value))};
  return *given != 0;
}

double cycle_seconds(const Query& query) {
  for (const Attributes* from : {&query.arguments, &query.attributes})
    if (find(*from, "global_cycle_seconds")) return positive(*from, "global_cycle_seconds", std::nullopt, 0);
  throw Bad{"needs attribute `global_cycle_seconds` for leakage"};
}

struct Wanted {
  SramFigure figure = kRead;
  double factor = 1;
};

// The figure of an action, and the factor that makes it pJ or um^2.
Wanted wanted(const Query& query) {
  if (query.wants_area()) return {kArea, kUm2PerMm2};
  if (query.action == "leak" || query.action == "idle") return {kLeak, kPjPerMwSecond * cycle_seconds(query)};
  if (query.action != "read" && query.action != "write" && query.action != "update")
    throw Bad{fmt::format("knows read, write, update and leak of an SRAM, not `{}`", query.action)};
  const double share = (changes(query.arguments, "data_delta") ? kDataShare : 0) +
                       (changes(query.arguments, "address_delta") ? kAddressShare : 0);
  return {query.action == "read" ? kRead : kWrite, share};
}

}  // namespace

std::optional<double> Sram::accuracy(const Query& query) const {
  const bool storage = query.class_name == "storage" && !is_small_storage(query);
  if (query.class_name != "SRAM" && query.class_name != "sram" && !storage) return std::nullopt;
  return accuracy_percent_;
}

Answer Sram::estimate(const Query& query) const {
  try {
    const Wanted what = wanted(query);
    if (empty(query.attributes)) {
      Figure nothing;
      nothing.accuracy_percent = accuracy_percent_;
      nothing.estimator = name_;
      nothing.basis = Basis::kAssumed;
      nothing.source = "a memory of no words: nothing is built";
      return nothing;
    }
    const SramDescription memory = description(query.attributes);
    const SramRequest asked = request(memory);
    Figure figure;
    figure.accuracy_percent = accuracy_percent_;
    figure.estimator = name_;
    figure.beyond = beyond(memory);
    figure.node_rule = node_rule(memory, asked);
    std::vector<SramSourceOfFigures> from;
    std::string how;
    bool exact = asked.technologies.size() == 1;
    for (const SramBuild& build : asked.technologies) {
      const auto answer = model_(build.technology_nm, asked.point);
      if (const Refusal* refusal = std::get_if<Refusal>(&answer)) return *refusal;
      const SramAnswer& known = std::get<SramAnswer>(answer);
      figure.value += build.weight * known.figures[what.figure];
      from.push_back(known.from);
      exact = exact && known.from.origin == SramOrigin::kTable;
      if (how.empty() || known.how.size() > how.size()) how = known.how;
      if (!known.beyond.empty() && from.size() == 1) figure.beyond.push_back(known.beyond);
    }
    figure.value *= asked.scale[what.figure] * what.factor;
    figure.basis = !figure.beyond.empty() ? Basis::kExtrapolated : exact ? Basis::kModelled : Basis::kInterpolated;
    if (errors_) {
      const auto percent = errors_->expected_percent(memory, asked, from);
      if (percent) figure.expected_error_percent = (*percent)[what.figure];
    }
    figure.source = describe(memory, asked, how);
    if (query.class_name == "storage") figure.source += "; a storage, taken as an SRAM";
    if (!figure.node_rule.empty()) figure.source += "; technology " + figure.node_rule;
    return figure;
  } catch (const Bad& bad) {
    return Refusal{bad.reason, bad.way_out};
  }
}

}  // namespace orrery::energy
