#include "orrery/report/run_operators.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/report/table.h"
#include "orrery/report/train_table.h"

namespace orrery::report {
namespace {

using machine::LevelCost;
using scenario::RunOperator;
using scenario::TrainedModel;

constexpr std::size_t kMostRows = 24;

std::string shown_joules(double joules) {
  static constexpr const char* kUnits[] = {"pJ", "nJ", "uJ", "mJ", "J", "kJ", "MJ", "GJ"};
  double value = joules * 1e12;
  int unit = 0;
  for (; value >= 999.5 && unit < 7; ++unit) value /= 1000;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string shape_of(const machine::Operator& one) {
  const machine::MatrixProduct& p = one.product;
  if (one.kind == machine::OperatorKind::kAttention)
    return fmt::format("{} heads of {} x {}, width {}", p.batch, p.m, p.n, p.k);
  if (one.kind != machine::OperatorKind::kProduct) return fmt::format("{:.4g} MB", one.bytes / 1e6);
  const std::string product = fmt::format("{} x {} x {}", p.m, p.k, p.n);
  return p.batch > 1 ? fmt::format("{} of {}", p.batch, product) : product;
}

}  // namespace

std::string run_operators_table(const TrainedModel& trained) {
  if (trained.listed.empty()) return {};
  Table table;
  table.header = {"operator", "pass", "shape", "times", "each", "share %", "bound by", "energy of one"};
  table.left_columns = {1, 2, 6};
  const std::size_t shown = std::min(kMostRows, trained.listed.size());
  double left = 0;
  for (std::size_t i = 0; i < trained.listed.size(); ++i) {
    const RunOperator& one = trained.listed[i];
    if (i >= shown) {
      left += one.share;
      continue;
    }
    table.rows.push_back({one.use.name, std::string(cluster::name(one.use.pass)), shape_of(one.use.one),
                          fmt::format("{:.6g}", one.use.times), shown_seconds(one.cost.seconds),
                          fmt::format("{:.2f}", 100 * one.share), one.cost.binds.empty() ? "-" : one.cost.binds,
                          one.cost.joules ? shown_joules(*one.cost.joules) : "-"});
  }
  std::string out =
      "operators of an iteration, one accelerator of every stage taken together; products M x K x N\n" + text(table);
  if (shown < trained.listed.size())
    out += fmt::format("... and {} more, {:.2f} % (--json has all)\n", trained.listed.size() - shown, 100 * left);
  if (trained.joules)
    out += fmt::format(
        "energy        {} an iteration by operators on all accelerators; networks, hosts and waiting apart\n",
        shown_joules(*trained.joules));
  if (!trained.chip.empty())
    out += fmt::format(
        "{}: {} products mapped for the least time, {}\n", trained.chip, trained.searched,
        trained.unproven.empty() ? "every mapping proven" : fmt::format("{} without a proof", trained.unproven.size()));
  return out + "\n";
}

Record<TrainedModel> run_operators_record() {
  using O = RunOperator;
  const Record<LevelCost> level = {{"name", "Of the chip's storage, or `compute`.", &LevelCost::name},
                                   {"bytes", "In and out, all instances.", &LevelCost::bytes},
                                   {"seconds", "That it needs by itself.", &LevelCost::seconds}};
  const auto product = [](const O& o) -> const machine::MatrixProduct& { return o.use.one.product; };
  const auto is_product = [](const O& o) {
    return o.use.one.kind == machine::OperatorKind::kProduct || o.use.one.kind == machine::OperatorKind::kAttention;
  };
  const Record<machine::MatrixProduct> shape = {{"batch", "Equal products.", &machine::MatrixProduct::batch},
                                                {"m", "Rows.", &machine::MatrixProduct::m},
                                                {"n", "Columns.", &machine::MatrixProduct::n},
                                                {"k", "Summed over.", &machine::MatrixProduct::k}};
  const Record<O> one = {
      {"name", "Of the matrix, or of what is done.", [](const O& o) { return o.use.name; }},
      {"pass", "When it runs.", [](const O& o) { return cluster::name(o.use.pass); },
       OneOf{{"forward", "input gradient", "weight gradient", "backward", "recomputation", "step"}}},
      {"kind", "What it is.", [](const O& o) { return machine::name(o.use.one.kind); },
       OneOf{{"product", "attention", "sparse attention", "normalisation", "element-wise", "scan"}}},
      {"product", "Its sizes; of attention m queries, n keys and their width k, a batch of heads; else left out.",
       product, shape, when(is_product)},
      {"bytes", "That it moves; 0 of products.", [](const O& o) { return o.use.one.bytes; }},
      {"times", "In an iteration, one rank of every stage taken together.", [](const O& o) { return o.use.times; }},
      {"each_s", "Seconds of one.", [](const O& o) { return o.cost.seconds; }},
      {"seconds", "Of all of them.", &O::seconds},
      {"share_percent", "Of the seconds of all operators.", [](const O& o) { return 100 * o.share; }},
      {"joules", "Of one; null where it is not known.", [](const O& o) { return o.cost.joules; }},
      {"binds", "The level that takes longest, or `compute`; empty where it is not known.",
       [](const O& o) { return o.cost.binds; }},
      {"basis", "What the figures rest on.", [](const O& o) { return machine::name(o.cost.basis); },
       OneOf{{"modelled", "measured", "published"}}},
      {"gap", "Of the seconds over a proven bound, as a share; 0: proven, or nothing was searched.",
       [](const O& o) { return o.cost.gap; }},
      {"levels", "Of the chip, outermost first; empty where it is not known.",
       [](const O& o) -> const std::vector<LevelCost>& { return o.cost.levels; }, level}};
  return {
      {"operators", "The longest first.", &TrainedModel::listed, one},
      {"joules", "Of an iteration, operators on all accelerators; null where one is not known.", &TrainedModel::joules},
      {"searched", "Products whose mapping on the chip was searched.", &TrainedModel::searched},
      {"unproven", "Of them, those without a proof.",
       [](const TrainedModel& t) { return static_cast<base::Count>(t.unproven.size()); }}};
}

}  // namespace orrery::report
