#include "orrery/verbs/train/run_operators_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using machine::LevelCost;

constexpr std::size_t kRunOperatorsTextMostRows = 24;

std::string shown_joules(double joules) {
  static constexpr const char* kUnits[] = {"pJ", "nJ", "uJ", "mJ", "J", "kJ", "MJ", "GJ"};
  double value = joules * 1e12;
  int unit = 0;
  for (; value >= 999.5 && unit < 7; ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

// What it computes, whatever it is priced as.
const machine::MatrixProduct& product_of(const cluster::OperatorUse& use) {
  return use.computes ? *use.computes : use.one.product;
}

std::string shape_of(const cluster::OperatorUse& use) {
  const machine::Operator& one = use.one;
  const machine::MatrixProduct& p = product_of(use);
  if (one.kind == machine::OperatorKind::kAttention)
    return fmt::format("{} heads of {} x {}, width {}", p.batch, p.m, p.n, p.k);
  if (one.kind != machine::OperatorKind::kProduct) return fmt::format("{:.4g} MB", one.bytes / 1e6);
  const std::string product = fmt::format("{} x {} x {}", p.m, p.k, p.n);
  return p.batch > 1 ? fmt::format("{} of {}", p.batch, product) : product;
}

// Of one accelerator, over the whole iteration.
double mean_watts(const TrainedModel& trained) {
  return *trained.joules / (trained.iteration.iteration_s * static_cast<double>(trained.plan.gpus));
}

}  // namespace

std::string run_operators_table(const TrainedModel& trained) {
  if (trained.listed.empty()) return {};
  Table table;
  table.header = {"operator", "pass", "shape", "times", "each", "share %", "bound by", "energy of one"};
  table.left_columns = {1, 2, 6};
  const std::size_t shown = std::min(kRunOperatorsTextMostRows, trained.listed.size());
  double left = 0;
  for (std::size_t i = 0; i < trained.listed.size(); ++i) {
    const RunOperator& one = trained.listed[i];
    if (i >= shown) {
      left += one.share;
      continue;
    }
    table.rows.push_back({one.use.name, std::string(cluster::name(one.use.pass)), shape_of(one.use),
                          fmt::format("{:.6g}", one.use.times), shown_seconds(one.cost.seconds),
                          fmt::format("{:.2f}", 100 * one.share), one.cost.binds.empty() ? "-" : one.cost.binds,
                          one.cost.joules ? shown_joules(*one.cost.joules) : "-"});
  }
  std::string out =
      "operators of an iteration, one accelerator of every stage taken together; products M x K x N\n" + text(table);
  if (shown < trained.listed.size())
    out += fmt::format("... and {} more, {:.2f} % (--json has all)\n", trained.listed.size() - shown, 100 * left);
  if (std::any_of(trained.listed.begin(), trained.listed.end(), [](const RunOperator& o) { return o.use.computes; }))
    out += "scores of fused attention are priced as products of the sizes of values: they are not written\n";
  if (trained.joules)
    out += fmt::format(
        "energy        {} an iteration by words and operations on all accelerators, on average {:.3g} W each\n"
        "              without clocks, control, what leaks while a chip waits, networks and hosts\n",
        shown_joules(*trained.joules), mean_watts(trained));
  if (!trained.chip.empty())
    out += fmt::format(
        "{}: {} products mapped for the least time, {}\n", trained.chip, trained.searched,
        trained.unproven.empty() ? "every mapping proven" : fmt::format("{} without a proof", trained.unproven.size()));
  return out + "\n";
}

Record<TrainedModel> run_operators_record() {
  using O = RunOperator;
  const Record<LevelCost> level = {
      {"name", "Name of the chip's storage, or `compute`.", &LevelCost::name},
      {"bytes", "Bytes in and out of all instances.", &LevelCost::bytes},
      {"seconds", "Time that the level needs by itself, in seconds.", &LevelCost::seconds}};
  const auto product = [](const O& o) -> const machine::MatrixProduct& { return product_of(o.use); };
  const auto priced = [](const O& o) -> const machine::MatrixProduct& { return o.use.one.product; };
  const auto is_product = [](const O& o) {
    return o.use.one.kind == machine::OperatorKind::kProduct || o.use.one.kind == machine::OperatorKind::kAttention;
  };
  const Record<machine::MatrixProduct> shape = {{"batch", "Equal GEMMs.", &machine::MatrixProduct::batch},
                                                {"m", "Rows of the result.", &machine::MatrixProduct::m},
                                                {"n", "Columns of the result.", &machine::MatrixProduct::n},
                                                {"k", "Length of the sum.", &machine::MatrixProduct::k}};
  const Record<O> one = {
      {"name", "Name of the matrix, or of the work.", [](const O& o) { return o.use.name; }},
      {"pass", "Pass that it runs in.", [](const O& o) { return cluster::name(o.use.pass); },
       OneOf{{"forward", "input gradient", "weight gradient", "backward", "recomputation", "step"}}},
      {"kind", "Kind of operator.", [](const O& o) { return machine::name(o.use.one.kind); },
       OneOf{{"product", "attention", "sparse attention", "normalisation", "element-wise", "scan"}}},
      {"product",
       "Sizes of the GEMM; of attention m queries, n keys, width k and a batch of heads; left out for other kinds.",
       product, shape, when(is_product)},
      {"priced_as", "GEMM whose cost it is given, where that is another one: of the scores of fused attention.", priced,
       shape, when([](const O& o) { return o.use.computes.has_value(); })},
      {"bytes", "Bytes that it moves; 0 for GEMMs.", [](const O& o) { return o.use.one.bytes; }},
      {"times", "How often it runs in an iteration, with one rank of every stage counted.",
       [](const O& o) { return o.use.times; }},
      {"each_s", "Time of one run, in seconds.", [](const O& o) { return o.cost.seconds; }},
      {"seconds", "Time of all runs, in seconds.", &O::seconds},
      {"share_percent", "Share of the seconds of all operators, in percent.", [](const O& o) { return 100 * o.share; }},
      {"joules", "Energy of one run, in J; null where it is not known.", [](const O& o) { return o.cost.joules; }},
      {"binds", "Level that takes longest, or `compute`; empty where it is not known.",
       [](const O& o) { return o.cost.binds; }},
      {"basis", "What the figures rest on.", [](const O& o) { return machine::name(o.cost.basis); },
       OneOf{{"modelled", "measured", "published"}}},
      {"gap", "Gap between the time and its proven bound, as a share; 0: proven, or nothing was searched.",
       [](const O& o) { return o.cost.gap; }},
      {"levels", "Levels of the chip, outermost first; empty where they are not known.",
       [](const O& o) -> const std::vector<LevelCost>& { return o.cost.levels; }, level}};
  return {{"operators", "Operators of an iteration, the longest first.", &TrainedModel::listed, one},
          {"joules", "Energy of all operators of an iteration on all accelerators, in J; null where one is not known.",
           &TrainedModel::joules},
          {"mean_watts",
           "Mean power of one accelerator's operators over the iteration, in W: without clocks, control and leakage "
           "while it waits.",
           [](const TrainedModel& t) { return t.joules ? std::optional<double>(mean_watts(t)) : std::nullopt; }},
          {"searched", "GEMMs whose mapping on the chip was searched.", &TrainedModel::searched},
          {"unproven", "Those of the searched GEMMs whose mapping is not proven to be optimal.",
           [](const TrainedModel& t) { return static_cast<base::Count>(t.unproven.size()); }}};
}

}  // namespace orrery::verbs
