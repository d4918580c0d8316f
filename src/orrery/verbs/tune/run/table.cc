#include "orrery/verbs/tune/run/table.h"

#include <algorithm>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/present/json_value.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

std::string described(const TunedRun& run) {
  const layer::Shape& s = run.layer.shape;
  std::string out = run.layer.model.empty() ? "a layer of given sizes" : "one layer of " + run.layer.model;
  if (!run.layer.stack.empty()) out += fmt::format(" ({})", run.layer.stack);
  out += fmt::format(": width {}, {} heads of {}", s.width, s.heads, s.head());
  if (s.kv_heads() != s.heads) out += fmt::format(" ({} of keys and values)", s.kv_heads());
  out += fmt::format(", {}{} of {}, {} norms{}", s.gated ? "gated " : "", verbs::activation_name(s.activation),
                     s.hidden, s.norms == layer::Place::kPost ? "post" : "pre", s.causal ? ", causal" : "");
  if (s.window > 0) out += fmt::format(", window of {}", s.window);
  if (s.cross) out += fmt::format(", attends to {} tokens of an encoder", s.memory_length);
  return out;
}

// What the sizes do not tell: norms, biases, positions.
std::string details(const layer::Shape& s) {
  std::vector<std::string> biased;
  if (s.qkv_bias) biased.emplace_back("queries, keys and values");
  if (s.out_bias) biased.emplace_back("attention's output");
  if (s.network_bias) biased.emplace_back("network");
  std::string out = s.centred ? "LayerNorm" : "RMSNorm";
  if (s.centred != s.shift) out += s.shift ? " with a bias" : " without a bias";
  out += biased.empty() ? "; no biases" : fmt::format("; biases: {}", base::joined(biased, ", "));
  if (s.rotary == layer::Rotary::kNone)
    out += "; no rotary positions";
  else
    out += fmt::format("; rotary positions: {} of {} elements, base {:g}", s.turned(), s.head(), s.rotary_base);
  if (s.score_scale != 0) out += fmt::format("; scores times {:g}", s.score_scale);
  return out;
}

std::string dropped(const layer::Dropout& d) {
  if (d.attention == 0 && d.first == 0 && d.hidden == 0 && d.second == 0) return "no dropout";
  if (d.attention == d.first && d.first == d.hidden && d.hidden == d.second)
    return fmt::format("dropout {:g}", d.attention);
  return fmt::format("dropout {:g}, {:g}, {:g}, {:g}", d.attention, d.first, d.hidden, d.second);
}

std::vector<std::string> pass_row(const char* name, const base::Sample& s) {
  const auto ms = [](double seconds) { return fmt::format("{:.3f}", seconds * 1e3); };
  return {name, ms(s.median), ms(s.min), ms(s.max), s.count > 1 ? ms(s.stddev) : "-", fmt::format("{}", s.count)};
}

// Of a peak; what is beyond it bears a mark, which the last lines explain.
std::string marked_percent(double share) {
  return fmt::format("{:.1f}{}", 100 * share, share > 1 ? "*" : "");
}

bool beyond_peaks(const TunedRun& run) {
  return run.rate() > run.peak || std::any_of(run.operators.begin(), run.operators.end(),
                                              [](const MeasuredOperator& one) { return one.of_bound > 1; });
}

std::string operators_table(const TunedRun& run) {
  Table table;
  table.header = {"operator", "pass", "ms", "share %", "GFLOP/s", "GB/s", "bound by", "of peak %"};
  table.left_columns = {1, 6};
  double all = 0;
  for (const MeasuredOperator& one : run.operators) all += one.seconds;
  bool backward = false;
  for (const MeasuredOperator& one : run.operators) {
    if (one.backward != backward) table.rules_before.push_back(table.rows.size());
    backward = one.backward;
    const auto rate = [&](double amount) {
      return amount > 0 && one.seconds > 0 ? fmt::format("{:.1f}", amount / one.seconds / 1e9) : std::string("-");
    };
    table.rows.push_back({one.name, one.backward ? "backward" : "forward", fmt::format("{:.3f}", one.seconds * 1e3),
                          fmt::format("{:.1f}", all > 0 ? 100 * one.seconds / all : 0), rate(one.operations),
                          rate(one.bytes), one.bound, marked_percent(one.of_bound)});
  }
  return text(table);
}

std::string check_lines(const LayerCheck& check) {
  Table table;
  table.header = {fmt::format("against {}", verbs::type_name(check.against)), "largest error", "RMS error"};
  for (const TensorError& one : check.tensors)
    table.rows.push_back({one.name, fmt::format("{:.2e}", one.max_error), fmt::format("{:.2e}", one.rms_error)});
  return "\n" + text(table) +
         fmt::format("{} sequence{} of {} tokens compared, without dropout: RMS errors are {} {:.0e}\n",
                     check.shape.batch, base::plural(check.shape.batch), check.shape.length,
                     check.passed() ? "within" : "beyond", check.tolerance);
}

}  // namespace

std::string tune_table(const TunedRun& run) {
  const layer::Shape& s = run.layer.shape;
  std::string out = described(run) + "\n" + details(s) + "\n";
  out += fmt::format("batch {}, sequence {}; {}, {}; {} on {} thread{}\n\n", s.batch, s.length,
                     verbs::type_name(s.type), run.training ? "training, " + dropped(run.dropout) : "inference",
                     run.isa, run.threads, base::plural(run.threads));
  if (!run.layout.empty()) {
    out.pop_back();
    out += fmt::format("operator by operator, as {} has them\n\n", run.layout);
  }
  if (run.plan) {
    out.pop_back();
    out += fmt::format("the machine's plan: {}; measured {:.1f} ms built in, {:.1f} ms in the best layouts\n\n",
                       run.plan->built_in() ? "as it is built in" : "by layouts", run.plan->built_in_ms,
                       run.plan->layouts_ms);
  }
  Table table;
  table.header = {"ms", "median", "min", "max", "deviation", "iterations"};
  table.rows.push_back(pass_row("forward", run.forward));
  if (run.training) {
    table.rows.push_back(pass_row("backward", run.backward));
    table.rows.push_back({"sum of medians", fmt::format("{:.3f}", run.seconds() * 1e3), "", "", "", ""});
  }
  out += text(table) + "\n";
  if (run.plan)
    out += fmt::format("the plan's measurements say {:.1f} ms: this run took {:+.1f} %\n\n", run.plan->predicted_ms(),
                       100 * (run.seconds() * 1e3 / run.plan->predicted_ms() - 1));
  out += operators_table(run) + "\n";
  out += fmt::format("products    {:.1f} GFLOP/s, {} % of the peak\n", run.rate() / 1e9,
                     marked_percent(run.peak > 0 ? run.rate() / run.peak : 0));
  out += fmt::format("peaks       fp32 {:.0f} GFLOP/s, bf16 {:.0f} GFLOP/s, memory {:.1f} GB/s, measured in this run\n",
                     run.peaks.fp32 / 1e9, run.peaks.bf16 / 1e9, run.peaks.memory / 1e9);
  if (run.training) out += fmt::format("saved state {:.1f} MB for the backward pass\n", run.saved_bytes / 1e6);
  if (run.got.disturbed() || run.got_by_peaks.disturbed())
    out += fmt::format(
        "disturbed   threads waited for a processor {:.0f} % of the time, {:.0f} % while peaks were probed\n",
        100 * run.got.lost(), 100 * run.got_by_peaks.lost());
  if (beyond_peaks(run))
    out += "* beyond the peak that was probed: operands stayed in caches, or other programs slowed the probe\n";
  if (run.check) out += check_lines(*run.check);
  if (run.ended_early) out += "ended early: figures are of the iterations that were measured\n";
  return out + "figures are measured\n";
}

std::string layer_trace(const TunedRun& run) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out += fmt::format(R"({{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{{"name":{}}}}})",
                     json_quoted(described(run)));
  const char* passes[] = {"forward", "backward"};
  for (int pass = 0; pass < (run.training ? 2 : 1); ++pass)
    out += fmt::format(
        ",\n"
        R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
        pass, passes[pass]);
  for (const TracedOperator& one : run.trace)
    out += fmt::format(
        ",\n"
        R"({{"ph":"X","pid":1,"tid":{},"name":{},"ts":{:.3f},"dur":{:.3f}}})",
        one.backward ? 1 : 0, json_quoted(one.name), one.start * 1e6, one.seconds * 1e6);
  return out + "\n]}\n";
}

}  // namespace orrery::verbs
