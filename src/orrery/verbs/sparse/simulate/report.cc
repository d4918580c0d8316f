#include "orrery/verbs/sparse/simulate/report.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/engines/masks/packing/latency.h"
#include "orrery/verbs/sparse/array_parts.h"
#include "orrery/verbs/sparse/bench/run.h"

namespace orrery::verbs {
namespace {

using accelerator::Simulation;
using base::Count;
using Counts = std::vector<std::pair<std::string, Count>>;

Counts memory_counts(const Simulation& s, bool reads) {
  Counts out;
  for (int i = 0; i < accelerator::kMemories; ++i) {
    const accelerator::MemoryUse& use = s.memories[static_cast<std::size_t>(i)];
    out.emplace_back(accelerator::name_of(static_cast<accelerator::Memory>(i)), reads ? use.reads : use.writes);
  }
  return out;
}

Counts busy(const Simulation& s) {
  Counts out;
  for (int i = 0; i < accelerator::kUnits; ++i)
    out.emplace_back(accelerator::name_of(static_cast<accelerator::Unit>(i)), s.busy[static_cast<std::size_t>(i)]);
  return out;
}

// What a run takes: of one case, and of all together.
Record<Simulation> figures() {
  using accelerator::ArrayPhases;
  using accelerator::Bytes;
  using accelerator::Saturated;
  using accelerator::Stalls;
  const Record<ArrayPhases> phases = {
      {"clear", "Cycles in which accumulators and chains are cleared.", &ArrayPhases::clear},
      {"scores", "Cycles in which scores of kept pairs are computed.", &ArrayPhases::scores},
      {"maximum", "Cycles in which the maximum of each PE row is found.", &ArrayPhases::maximum},
      {"exponentials", "Cycles in which exponentials are taken.", &ArrayPhases::exponentials},
      {"values", "Cycles in which values are weighted and added up.", &ArrayPhases::values},
      {"drain", "Cycles in which sums of exponentials leave the array.", &ArrayPhases::drain},
      {"waiting", "Cycles in which the array does nothing; `stalls` tells why.", &ArrayPhases::waiting}};
  const Record<Stalls> stalls = {
      {"memory", "Cycles of waiting for transfers from memory and their latency.", &Stalls::memory},
      {"prediction", "Cycles of waiting for quantiser and predictor.", &Stalls::prediction},
      {"packing", "Cycles of waiting for the pack unit.", &Stalls::packing},
      {"preparing", "Cycles of waiting for mask decoder and port buffers.", &Stalls::preparing},
      {"merging", "Cycles of waiting for blocks to be merged and outputs to be normalised.", &Stalls::merging}};
  const Record<Bytes> traffic = {
      {"queries", "Bytes of queries read.", &Bytes::queries},
      {"keys", "Bytes of keys read.", &Bytes::keys},
      {"values", "Bytes of values read.", &Bytes::values},
      {"masks", "Bytes of given masks, and of which tokens exist, read.", &Bytes::masks},
      {"blocks", "Bytes of descriptors of blocks that were packed before, read.", &Bytes::blocks},
      {"outputs", "Bytes of outputs written.", &Bytes::outputs}};
  const Record<Saturated> saturated = {
      {"queries", "Queries that did not fit their format.", &Saturated::queries},
      {"keys", "Keys that did not fit their format.", &Saturated::keys},
      {"values", "Values that did not fit their format.", &Saturated::values},
      {"codes", "Codes that the quantiser's threshold clipped, as intended.", &Saturated::codes},
      {"scores", "Predicted scores that did not fit their format.", &Saturated::scores},
      {"outputs", "Outputs that did not fit their format.", &Saturated::outputs}};
  return {
      {"cycles", "Cycles of the whole run.", &Simulation::cycles},
      {"phases", "Cycles of the array by what it does; they add up to `cycles`.", &Simulation::phases, phases},
      {"utilization", "Kept pairs over blocks x PE rows x PEs, 0 to 1.", &Simulation::utilization},
      {"stalls", "Cycles in which the array waits, by reason; they add up to `waiting`.", &Simulation::stalls, stalls},
      {"busy", "Cycles in which each unit works; units work at the same time.", busy},
      {"bytes", "Bytes to and from DRAM.", [](const Simulation& s) { return s.bytes.all(); }},
      {"traffic", "Bytes to and from DRAM, by kind of data.", &Simulation::bytes, traffic},
      {"tiles", "Tiles of queries.", &Simulation::tiles},
      {"blocks", "Packed blocks: configurations of the array.", &Simulation::blocks},
      {"reads", "Words read, by memory.", [](const Simulation& s) { return memory_counts(s, true); }},
      {"writes", "Words written, by memory.", [](const Simulation& s) { return memory_counts(s, false); }},
      {"max_relative_error",
       "Largest difference between outputs and double-precision attention over the same pairs, relative to the largest "
       "magnitude; null where only masks were given.",
       &Simulation::max_relative_error},
      {"mean_relative_error",
       "Root mean square of these differences, relative to the same magnitude; null where only masks were given.",
       &Simulation::mean_relative_error},
      {"saturated", "Numbers that did not fit their format, by kind.", &Simulation::saturated, saturated}};
}

Record<SimulatedCase> case_record() {
  Record<SimulatedCase> out = {
      {"name", "Name of the mask's file or of the attention; empty: arrays were given.", &SimulatedCase::name},
      {"batch", "Sequences of the case.", [](const SimulatedCase& c) { return c.shape.batch; }},
      {"heads", "Heads of each sequence.", [](const SimulatedCase& c) { return c.shape.heads; }},
      {"queries", "Queries of a head.", [](const SimulatedCase& c) { return c.shape.rows; }},
      {"keys", "Keys of a head.", [](const SimulatedCase& c) { return c.shape.columns; }},
      {"head_size", "Elements of a query, a key and a value.", &SimulatedCase::depth},
      {"predicted", "Whether the accelerator predicts the mask itself.", &SimulatedCase::predicted},
      {"kept", "Pairs that are computed.", [](const SimulatedCase& c) { return c.of.kept; }},
      {"pairs", "Pairs of existing tokens that the mask could keep.",
       [](const SimulatedCase& c) { return c.of.pairs; }},
      {"relative_error", "|array - dense| / |dense| of the outputs; null where only masks were given.",
       [](const SimulatedCase& c) { return c.of.relative_error; }},
      {"pruning_error",
       "Part of `relative_error` that pruning causes: exact arithmetic over the same pairs; null where only masks were "
       "given.",
       [](const SimulatedCase& c) { return c.of.pruning_error; }}};
  out.add(figures().of<SimulatedCase>([](const SimulatedCase& c) -> const Simulation& { return c.of.run; }));
  return out;
}

Record<PricedPart> part_record() {
  using P = PricedPart;
  return {{"name", "Name of the circuits or the memory.", &P::name},
          {"instances", "Number of instances; of registers and multiplexers, bits and cells.", &P::instances},
          {"uses", "Operations of all instances.", &P::uses},
          {"energy_pj", "Energy of these operations, in pJ.", &P::energy_pj},
          {"leakage_pj", "Leakage over all cycles, in pJ.", &P::leakage_pj},
          {"area_um2", "Area of all instances, in um^2.", &P::area_um2},
          {"basis", "What the figures rest on: published, modelled, interpolated, extrapolated or assumed.", &P::basis},
          {"sources", "Where the figures come from, and how they were brought to this size.", &P::sources}};
}

Record<LatencyLine> line_record() {
  using L = LatencyLine;
  return {{"part", "Part of the work.", &L::part},
          {"v1_ms", "Milliseconds by Sanger's first model; null where it leaves the part out.", &L::v1_ms},
          {"v2_ms", "Milliseconds by Sanger's second model; null where it leaves the part out.", &L::v2_ms},
          {"simulated_ms", "Milliseconds of the simulated array.", &L::simulated_ms},
          {"remark", "Why the three differ.", &L::remark}};
}

Record<CpuTimes> cpu_record() {
  using C = CpuTimes;
  return {{"dense_ms", "Dense attention of the first case's sizes on this machine, median of 5 in milliseconds.",
           &C::dense_ms},
          {"sparse_ms", "Attention over the case's given mask on this machine, median of 5 in milliseconds.",
           &C::sparse_ms},
          {"threads", "Threads that computed.", &C::threads},
          {"isa", "Instruction set that the kernels used.", &C::isa}};
}

}  // namespace

Record<accelerator::Instance> array_instance() {
  using I = accelerator::Instance;
  const auto format = [](accelerator::FixedPoint accelerator::Numbers::*of) {
    return [of](const I& x) { return fmt::format("{}.{}", (x.numbers.*of).bits, (x.numbers.*of).point); };
  };
  return {
      {"rows", "PE rows; each takes a query.", [](const I& x) { return x.array.rows; }},
      {"pes", "PEs of a row.", [](const I& x) { return x.array.pes; }},
      {"ports", "Column ports; each takes a key.", [](const I& x) { return x.array.ports; }},
      {"depth", "Elements of the largest head.", &I::depth},
      {"code_bits", "Bits of the codes of queries and keys by which the mask is predicted.", &I::code_bits},
      {"prediction_width", "Columns of the array that predicts.", &I::prediction_width},
      {"quantiser_lanes", "Elements quantised in a cycle.", &I::quantiser_lanes},
      {"merge_lanes", "Elements merged or normalised in a cycle.", &I::merge_lanes},
      {"data_format", "Format of queries, keys, values and outputs: bits, and how many of them behind the point.",
       format(&accelerator::Numbers::query)},
      {"sum_format", "Format of scores, exponentials and weighted values: bits, and how many of them behind the point.",
       format(&accelerator::Numbers::sum)},
      {"query_rows", "Queries of a tile, in each of two banks.", &I::query_rows},
      {"key_tokens", "Keys and values, in each of two banks.", &I::key_tokens},
      {"score_keys", "Keys for which a tile's predicted scores are held.", &I::score_keys},
      {"block_slots", "Packed blocks that can wait.", &I::block_slots},
      {"overlap", "Whether units work at the same time.", &I::overlap},
      {"frequency_hz", "Frequency of the clock, in Hz.", &I::frequency},
      {"bandwidth_bytes_per_s", "Bandwidth of DRAM, in bytes a second; null: unlimited.",
       [](const I& x) { return std::isinf(x.bandwidth) ? std::nullopt : std::optional(x.bandwidth); }},
      {"latency_cycles", "Latency of DRAM, in cycles.", &I::latency}};
}

Document<SparseSimulate> sparse_simulate_document() {
  using A = SparseSimulate;
  const Record<WholeLayer> whole = {
      {"v1_ms", "Milliseconds of the whole layer by Sanger's first model, projections included.", &WholeLayer::v1_ms},
      {"v2_ms", "Milliseconds of the whole layer by Sanger's second model, projections included.", &WholeLayer::v2_ms},
      {"projections_ms",
       "Projections of queries, keys and values at the array's peak, in milliseconds, as both models count them.",
       &WholeLayer::projections_ms},
      {"output_as_pruned_ms",
       "The output projection times density / load balance, in milliseconds, as both models count it.",
       &WholeLayer::output_as_pruned_ms},
      {"output_ms", "The output projection at peak, dense as it is, in milliseconds.", &WholeLayer::output_ms}};
  using Silicon = PublishedSilicon;
  const Record<Silicon> silicon = {{"power_w", "Power, in W.", &Silicon::power_w},
                                   {"area_um2", "Area, in um^2.", &Silicon::area_um2},
                                   {"technology", "Technology that it is of.", &Silicon::technology},
                                   {"frequency_hz", "Frequency of its clock, in Hz.", &Silicon::frequency_hz},
                                   {"source", "Where the figures are from.", &Silicon::source}};
  const Record<PublishedFigure> published = {
      {"what", "Which machine is said to be faster than which.", &PublishedFigure::what},
      {"value", "How many times faster, as published.", &PublishedFigure::value},
      {"source", "Publication that the figure is from.", &PublishedFigure::source}};
  Record<A> result = figures().of<A>(&A::sum);
  result.add(
      {{"seconds", "Time of all cycles, in seconds.", &A::seconds},
       {"energy_pj", "Energy with leakage, in pJ.", [](const A& a) { return a.price.energy_pj; }},
       {"leakage_pj", "Leakage, in pJ; part of `energy_pj`.", [](const A& a) { return a.price.leakage_pj; }},
       {"area_um2", "Area without DRAM, in um^2.", [](const A& a) { return a.price.area_um2; }},
       {"watts", "Mean power, in W.",
        [](const A& a) { return a.seconds > 0 ? a.price.energy_pj * 1e-12 / a.seconds : 0; }},
       {"density", "Kept pairs over pairs of existing tokens, 0 to 1.", &A::density},
       {"kept", "Pairs that are computed.", &A::kept},
       {"pairs", "Pairs of existing tokens that the masks could keep.", &A::pairs},
       {"matrices", "Heads of all sequences.", &A::matrices},
       {"relative_error",
        "|array - dense| / |dense| of the outputs, the worst case's: pruning and fixed point together; null where only "
        "masks were given.",
        &A::relative_error},
       {"pruning_error",
        "Part of `relative_error` that pruning causes: exact arithmetic over the same pairs; null where only masks "
        "were given.",
        &A::pruning_error},
       {"instance", "The accelerator, with memories large enough for this work.", &A::instance, array_instance()},
       {"packing", "Where masks are packed: `pack` on the accelerator, `orrery` before.",
        [](const A& a) { return a.choice.packing; }},
       {"technology", "Technology that energies and areas are of.", [](const A& a) { return a.choice.technology; }},
       {"parts", "Energy and area by part, each with its origin.",
        [](const A& a) -> const std::vector<PricedPart>& { return a.price.parts; }, part_record()},
       {"assumed", "What energies and areas assume.", [](const A&) { return verbs::array_price_remarks(); }},
       {"load_balance",
        "Load balance as Sanger's models have it: vectors of as many keys as ports, split over PE rows; null where "
        "cases differ in size.",
        [](const A& a) { return a.shape ? std::optional(a.shape->load_balance) : std::nullopt; }},
       {"beside", "Sanger's latency models beside this simulation, part by part, without projections.", &A::lines,
        line_record()},
       {"layer", "Sanger's models of the whole layer; null where they do not describe it.", &A::whole, whole},
       {"cpu", "Times of this machine; null where they were not asked for.", &A::cpu, cpu_record()},
       {"published", "Published figures of others; nothing of them is computed here.",
        [](const A&) { return verbs::published_speedups(); }, published},
       {"published_silicon", "What is said of the silicon of Sanger's own array; nothing of it is computed here.",
        [](const A&) { return verbs::published_silicon(); }, silicon},
       {"rule", "What the model's checkpoint keeps, in words; empty where no model was given.", &A::rule},
       {"trace_left_out", "Intervals that the trace had no room for.", &A::events_left_out},
       {"interrupted", "Whether an interrupt ended the run early.", &A::interrupted},
       {"unfinished", "Cases that a limit or an interrupt left out.", &A::unfinished},
       {"cases", "Figures of each case; the figures above are of all, one after the other.", &A::cases,
        case_record()}});
  return {"sparse_simulate", "Cycles are simulated, energies and areas modelled.", result};
}

}  // namespace orrery::verbs
