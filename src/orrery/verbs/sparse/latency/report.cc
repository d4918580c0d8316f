#include "orrery/verbs/sparse/latency/report.h"

#include <fmt/format.h>

#include "orrery/engines/masks/packing/latency.h"

namespace orrery::verbs {
namespace {

using Named = std::vector<std::pair<std::string, double>>;
Named named(const SparseLatencyAnswer& answer, double SparseLatency::*figure) {
  Named out;
  for (const SparseLatency& latency : answer.latencies) out.emplace_back(latency.name, latency.*figure);
  return out;
}

// The lines that the original prints; of given figures the last one alone.
std::string lines(const SparseLatencyAnswer& answer, double SparseLatency::*ms) {
  if (answer.masks == 0) return fmt::format("Sanger Latency: {:.3f} ms\n", answer.latencies.front().*ms);
  std::string out = fmt::format("Average Sparsity: {:.3f}\n", answer.density);
  for (const SparseLatency& latency : answer.latencies)
    out += fmt::format("Load Balance ({0}): {1:.3f}\nSanger Latency ({0}): {2:.3f} ms\n", latency.name,
                       latency.load_balance, latency.*ms);
  return out;
}

std::string without(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += fmt::format("left out: {}\n", part);
  return out;
}

}  // namespace

Document<SparseLatencyAnswer> sparse_latency_document() {
  using A = SparseLatencyAnswer;
  const Record<A> result = {
      {"v1_ms",
       "Milliseconds by the first published model, by kind of load balance; `given`: the one of the command line.",
       [](const A& a) { return named(a, &SparseLatency::v1_ms); }},
      {"v2_ms", "Milliseconds by the second published model, by kind of load balance.",
       [](const A& a) { return named(a, &SparseLatency::v2_ms); }},
      {"load_balance", "Load balance that the times are computed with, by kind: means over masks.",
       [](const A& a) { return named(a, &SparseLatency::load_balance); }},
      {"density", "Share of the pairs that is kept, mean over masks, 0 to 1; Sanger calls it sparsity.", &A::density},
      {"seq_len", "Queries of a head, and as many keys.", &A::seq_len},
      {"masks", "Lines of the log that were read; 0 without a log.", &A::masks},
      {"v1_left_out", "What the first model does not count, or counts otherwise than the array behaves.",
       [](const A&) { return masks::left_out_of_v1(); }},
      {"v2_left_out", "What the second model does not count, or counts otherwise than the array behaves.",
       [](const A&) { return masks::left_out_of_v2(); }}};
  return {"sparse_latency", "Latency of an attention layer of 768 features, modelled.", result};
}

std::string sparse_latency_text(const SparseLatencyAnswer& answer) {
  return fmt::format(
             "v1, sequence of {}: operations at the array's peak\n{}{}\nv2, sequence of {}: tiles that fill and "
             "drain\n{}{}",
             answer.seq_len, lines(answer, &SparseLatency::v1_ms), without(masks::left_out_of_v1()), answer.seq_len,
             lines(answer, &SparseLatency::v2_ms), without(masks::left_out_of_v2())) +
         "figures are modelled, by the published formulas\n";
}

}  // namespace orrery::verbs
