// Layouts as AMPeD's are known: config_summary.txt and training_time_breakdown.txt line by line, mat_dims.txt as
// DeepFlow's coupling reads it. Of gemm_breakdown.txt and compute_graph.txt only the names are known.
#include "orrery/formats/amped/output_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/formats/amped/gemms.h"

namespace orrery::formats::amped {
namespace {

constexpr double kSecondsOfYear = 365 * 86400.0;

std::string number(double value) {
  if (std::floor(value) == value && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{}", value);
}

std::string upper_title(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '_' ? ' ' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return out;
}

struct SummaryLine {
  equations::Category category;
  std::string key, value, description;
};

std::vector<SummaryLine> summary_lines(const Resolved& resolved) {
  std::vector<SummaryLine> lines;
  const auto quantities = equations::quantity_table();
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (resolved.origin[i] == Origin::kAbsent) continue;
    lines.push_back({quantities[i].category, std::string(quantities[i].name),
                     number(resolved.quantities.*quantities[i].field), resolved.description[i]});
  }
  for (const Other& other : resolved.others)
    lines.push_back({other.category, other.name, other.value, other.description});
  // One line each, whatever a file put into it.
  for (SummaryLine& line : lines)
    for (std::string* part : {&line.value, &line.description})
      std::replace_if(
          part->begin(), part->end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return lines;
}

// An aligned table, its first `left` columns to the left.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths.size() <= i) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i < left ? fmt::format("{}{:<{}}", i > 0 ? "  " : "", row[i], widths[i])
                      : fmt::format("  {:>{}}", row[i], widths[i]);
    out += "\n";
  }
  return out;
}

struct GemmTime {
  double forward_s, backward_s;
};
GemmTime gemm_time(const Gemm& gemm, const equations::Quantities& q, const equations::Model& model, double mac_s) {
  const double bits = model.constants.unit_bits;
  const double forward = std::ceil(q.weight_bits / bits);
  const double backward = std::ceil(std::max(q.weight_bits, q.gradient_bits) / bits);
  // The sizes are of a replica and a stage's share; tensor parallelism divides them further.
  const double once = mac_s * gemm.macs() / q.tp;
  return {once * forward, once * (backward + 1)};
}

}  // namespace

std::string config_summary(const Resolved& resolved) {
  const std::vector<SummaryLine> lines = summary_lines(resolved);
  std::size_t key = 0, value = 0;
  for (const SummaryLine& line : lines) {
    key = std::max(key, line.key.size());
    value = std::max(value, line.value.size());
  }
  std::string out = "FULL CONFIGURATION\n\n";
  out += fmt::format("Transformer: {} | Accelerator: {}\n", resolved.transformer, resolved.accelerator);
  for (int i = 0; i < equations::kCategories; ++i) {
    const auto category = static_cast<equations::Category>(i);
    out += fmt::format("\n{}: {}\n", i + 1, upper_title(equations::category_name(category)));
    for (const SummaryLine& line : lines)
      if (line.category == category)
        out += fmt::format("{:<{}} {:<{}}  # {}\n", line.key + ":", key + 1, line.value, value, line.description);
  }
  return out;
}

std::vector<BreakdownLine> training_time_lines(const equations::Quantities& q, const equations::Times& t) {
  const double passes = q.batches * q.layers;  // of a layer, in the whole training
  const double ranks = q.accelerators_required;
  const double macs = equations::total_macs(q);
  const double tera = macs * q.ops_per_mac / 1e12;
  const double computation = (t.forward_s + t.backward_s + t.weight_gradient_s) / ranks;
  // Every layer exchanges twice in each direction.
  const double experts_forward = 2 * t.forward.experts, experts_backward = 2 * t.backward.experts;
  std::vector<BreakdownLine> lines = {
      {"Total time to train (s)", t.total_s},
      {"Total time to train (days)", t.days},
      {"Total time to train (years)", t.total_s / kSecondsOfYear},
      {"Computation time forward pass (s)", passes * t.forward_s / ranks},
      {"Computation time backward pass (s)", passes * t.backward_s / ranks},
      {"Computation time weight updates (s)", passes * t.weight_gradient_s / ranks},
      {"Total computation time (s)", passes * computation},
  };
  const auto communication = [&](const std::string& pass, const equations::Communication& c) {
    const std::string what = "Communication time " + pass + " pass: ";
    lines.push_back({what + "tensor parallelism intra node (s)", passes * c.tp_intra});
    lines.push_back({what + "tensor parallelism inter node (s)", passes * c.tp_inter});
    lines.push_back({what + "pipeline parallelism (s)", passes * c.pp});
    lines.push_back({what + "Zero-DP (ad-hoc model gathering) (s)", passes * c.gather});
    lines.push_back({"Total communication time " + pass + " pass (s)", passes * c.total});
  };
  communication("forward", t.forward);
  communication("backward", t.backward);
  const std::string reduce = "Communication time: all-reduce gradients for DP ";
  const std::vector<BreakdownLine> rest = {
      {reduce + "intra node (s)", passes * t.dp_intra_s},
      {reduce + "inter node (s)", passes * t.dp_inter_s},
      {reduce + "total (s)", passes * t.dp_s},
      {"Total communication time (s)", passes * (t.forward.total + t.backward.total + t.dp_s)},
      {"Waiting Time due to pipeline bubbles (s)", passes * t.bubble_s},
      {"total MACs", macs},
      {"TFLOPS", tera},
      {"total TFLOPS/sec", tera / t.total_s},
      {"TFLOP/sec/GPU", tera / t.total_s / ranks},
      {"TFLOP/sec/GPU (peak)", q.peak_ops / 1e12},
      {"MoE FW pass communication overhead time (s)", passes * experts_forward},
      {"MoE BW pass communication overhead time (s)", passes * experts_backward},
      {"MoE Gating network: compute overhead time (s)", passes * t.gating_s / ranks},
      {"Total MoE communication overhead time (s)", passes * (experts_forward + experts_backward)},
  };
  lines.insert(lines.end(), rest.begin(), rest.end());
  return lines;
}

std::string training_time_breakdown(const equations::Quantities& quantities, const equations::Times& times) {
  const std::vector<BreakdownLine> lines = training_time_lines(quantities, times);
  std::size_t longest = 0;
  for (const BreakdownLine& line : lines) longest = std::max(longest, line.label.size());
  std::string out = "TRAINING TIME BREAKDOWN\n\n";
  for (const BreakdownLine& line : lines) out += fmt::format("{:-<{}} {}\n", line.label, longest, line.value);
  return out;
}

std::string gemm_breakdown(const equations::Quantities& q, const equations::Model& model) {
  const double mac_s = equations::times_of(q, model).mac_s;
  std::vector<std::vector<std::string>> rows = {
      {"product", "M", "K", "N", "count", "MACs", "share (%)", "forward (s)", "backward (s)"}};
  const std::vector<Gemm> products = gemms(q, model.defects);
  double all = 0, forward = 0, backward = 0;
  for (const Gemm& gemm : products) all += gemm.macs();
  for (const Gemm& gemm : products) {
    const GemmTime time = gemm_time(gemm, q, model, mac_s);
    forward += time.forward_s;
    backward += time.backward_s;
    rows.push_back({gemm.name, number(std::floor(gemm.m)), number(std::floor(gemm.k)), number(std::floor(gemm.n)),
                    number(std::floor(gemm.count)), number(gemm.macs()), fmt::format("{:.2f}", 100 * gemm.macs() / all),
                    fmt::format("{:.6g}", time.forward_s), fmt::format("{:.6g}", time.backward_s)});
  }
  rows.push_back(
      {"all", "", "", "", "", number(all), "100.00", fmt::format("{:.6g}", forward), fmt::format("{:.6g}", backward)});
  return "GEMM BREAKDOWN\n\nOne layer and iteration: sizes of a replica's minibatch over the pipeline's stages, "
         "seconds "
         "of one accelerator.\nBackward: gradients of inputs and of weights.\n\n" +
         aligned(rows, 1);
}

std::string compute_graph(const equations::Quantities& q, const equations::Model& model) {
  const std::vector<Gemm> products = gemms(q, model.defects);
  const double rows = q.batch_size * q.context / q.dp / q.pp;
  std::vector<std::vector<std::string>> table = {{"operator", "reads", "writes", "elements", "MACs"}};
  const auto product = [&](std::size_t i) {
    const Gemm& gemm = products.at(i);
    table.push_back({"gemm " + gemm.name, gemm.inputs, gemm.output, number(std::floor(gemm.m * gemm.n * gemm.count)),
                     number(std::floor(gemm.macs()))});
  };
  const auto other = [&](const char* name, const char* reads, const char* writes, double elements) {
    table.push_back({name, reads, writes, number(std::floor(elements)), "0"});
  };
  product(0);
  product(1);
  other("softmax", "R", "R", q.batch_size / q.dp / q.pp * q.attention_heads * q.context * q.summarization_len);
  product(2);
  product(3);
  if (q.tp > 1) other("all-reduce tensor parallel", "O", "O", rows * q.dimensionality);
  other("add, normalise", "X O", "O", rows * q.dimensionality);
  if (q.experts > 1) {
    table.push_back({"gate", "O", "experts", number(std::floor(rows * q.experts)),
                     number(std::floor(q.gating_macs / q.dp / q.pp))});
    other("all-to-all to experts", "O", "O", rows * q.dimensionality);
  }
  product(4);
  other("non-linearity", "O1", "O1", rows * q.mlp_width);
  product(5);
  if (q.experts > 1) other("all-to-all from experts", "O2", "O2", rows * q.dimensionality);
  if (q.tp > 1) other("all-reduce tensor parallel", "O2", "O2", rows * q.dimensionality);
  other("add, normalise", "O O2", "Y", rows * q.dimensionality);
  if (q.pp > 1) other("send to next stage, last layer of a stage", "Y", "X", rows * q.dimensionality * q.pp);
  return "COMPUTE GRAPH\n\nForward pass of one layer: a replica's minibatch over the pipeline's stages, before tensor "
         "parallelism divides it.\n\n" +
         aligned(table, 3);
}

std::string mat_dims(const equations::Quantities& quantities, const equations::Defects& defects) {
  std::string out;
  for (const Gemm& gemm : gemms(quantities, defects)) {
    out += fmt::format("{:.0f}  {:.0f}  {:.0f}", std::trunc(gemm.m), std::trunc(gemm.k), std::trunc(gemm.n));
    out += defects.flat_gemms ? "\n" : fmt::format("  {:.0f}\n", std::trunc(gemm.count));
  }
  return out;
}

}  // namespace orrery::formats::amped
