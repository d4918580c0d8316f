#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/text_table.h"
#include "orrery/verbs/sparse/mask_report.h"

namespace orrery::verbs {
namespace {

using masks::Measured;

std::vector<std::string> cells(const std::string& name, const Measured& m) {
  std::vector<std::string> out = {name, percent(m.density)};
  for (const double balance : m.load_balance) out.push_back(fmt::format("{:.4f}", balance));
  return out;
}

Table table_of(const char* first) {
  Table table;
  table.header = {first, "density %"};
  for (const std::string_view name : masks::kLoadBalanceNames) table.header.emplace_back(name);
  return table;
}

std::string shape(const masks::Mask& mask) {
  return fmt::format("{} sequence{}, {} head{}, {} queries, {} keys", mask.batch(), base::plural(mask.batch()),
                     mask.heads(), base::plural(mask.heads()), mask.rows(), mask.columns());
}

std::string policy(masks::EmptyRows empty) {
  return empty == masks::EmptyRows::kArgmax  ? "the most probable key of each is kept"
         : empty == masks::EmptyRows::kDense ? "all keys of each are kept"
                                             : "they stay empty";
}

}  // namespace

std::string sparse_measure_table(const SparseMeasurement& answer) {
  Table table = table_of("mask");
  for (const MeasuredMask& mask : answer.masks)
    table.rows.push_back(cells(mask.name.empty() ? "predicted" : mask.name, mask.figures));
  if (answer.masks.size() > 1) {
    table.rules_before.push_back(table.rows.size());
    table.rows.push_back(cells("mean", answer.mean));
  }
  std::string out = answer.masks.size() == 1 ? shape(answer.mask) + "\n\n" : "";
  out += text(table);
  out += fmt::format("\nkept          {} of {} pairs that are there\n", answer.mean.kept, answer.mean.pairs);
  out += fmt::format("vectors of 64 {}, {} of which keep nothing\n", answer.mean.vectors, answer.mean.empty_vectors);
  if (answer.clips)
    out += fmt::format("clipped at    {:.6g} (queries), {:.6g} (keys)\n", answer.clips->first, answer.clips->second);
  if (answer.emptied > 0)
    out += fmt::format("empty rows    {} lost every key: {}\n", answer.emptied, policy(answer.predictor.empty));
  if (answer.error)
    out += fmt::format(
        "error         {:.4g} of attention's output, mean of heads; {:.4g} the worst; {} % of the probability kept\n",
        answer.error->relative, answer.error->worst, percent(answer.error->kept_mass));
  if (!answer.packing.empty()) {
    Table packed;
    packed.header = {"packing", "utilisation", "bound", "blocks", "PE rows", "fits the array"};
    for (const masks::PackedScheme& scheme : answer.packing)
      packed.rows.push_back({scheme.name, fmt::format("{:.3f}", scheme.utilization),
                             fmt::format("{:.3f}", scheme.bound),
                             scheme.blocks > 0 ? fmt::format("{}", scheme.blocks) : "-",
                             fmt::format("{}", scheme.sub_rows), scheme.fits ? "yes" : "no"});
    out += "\n" + text(packed) + "\n";
  }
  if (answer.predicting)
    out += fmt::format("prediction    {:.3f} ms, median of {}, {} on {} thread{}\n", answer.predicting->median * 1e3,
                       answer.predicting->count, answer.isa, answer.threads, base::plural(answer.threads));
  if (answer.measuring) out += fmt::format("figures       {:.3f} ms\n", answer.measuring->median * 1e3);
  return out + "load balance: kept pairs over places in rows of 32 (50%) and 16 (25%) processing elements; measured\n";
}

std::string sparse_mask_table(const SparseMask& answer) {
  Table table = table_of("mask");
  table.rows.push_back(cells(answer.kind, answer.figures));
  return shape(answer.mask) + "\n\n" + text(table) +
         fmt::format("\nkept          {} of {} pairs that are there\n", answer.figures.kept, answer.figures.pairs);
}

}  // namespace orrery::verbs
