#include "orrery/verbs/accelerator/simulate/report.h"

#include <cmath>

#include <fmt/format.h>

#include "orrery/engines/masks/packing/latency.h"
#include "orrery/verbs/accelerator/array_parts.h"
#include "orrery/verbs/accelerator/bench/run.h"

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
      {"clear", "Accumulators and chains cleared.", &ArrayPhases::clear},
      {"scores", "Scores of kept pairs.", &ArrayPhases::scores},
      {"maximum", "Of each PE row.", &ArrayPhases::maximum},
      {"exponentials", "Taken.", &ArrayPhases::exponentials},
      {"values", "Weighted and added up.", &ArrayPhases::values},
      {"drain", "Sums of exponentials.", &ArrayPhases::drain},
      {"waiting", "The array does nothing; `stalls` tells why.", &ArrayPhases::waiting}};
  const Record<Stalls> stalls = {{"memory", "For transfers and their latency.", &Stalls::memory},
                                 {"prediction", "For quantiser and predictor.", &Stalls::prediction},
                                 {"packing", "For the pack unit.", &Stalls::packing},
                                 {"preparing", "For mask decoder and port buffers.", &Stalls::preparing},
                                 {"merging", "For blocks to be merged and outputs normalised.", &Stalls::merging}};
  const Record<Bytes> traffic = {{"queries", "Read.", &Bytes::queries},
                                 {"keys", "Read.", &Bytes::keys},
                                 {"values", "Read.", &Bytes::values},
                                 {"masks", "Read: given masks, and which tokens are there.", &Bytes::masks},
                                 {"blocks", "Read: descriptors of blocks that were packed before.", &Bytes::blocks},
                                 {"outputs", "Written.", &Bytes::outputs}};
  const Record<Saturated> saturated = {
      {"queries", "Beyond their format.", &Saturated::queries},
      {"keys", "Likewise.", &Saturated::keys},
      {"values", "Likewise.", &Saturated::values},
      {"codes", "Clipped by the quantiser's threshold, as is meant.", &Saturated::codes},
      {"scores", "Predicted ones.", &Saturated::scores},
      {"outputs", "Beyond their format.", &Saturated::outputs}};
  return {
      {"cycles", "All.", &Simulation::cycles},
      {"phases", "Cycles of the array by what it does; they add up to all.", &Simulation::phases, phases},
      {"utilization", "Kept pairs over blocks x PE rows x PEs, as the packing counts it.", &Simulation::utilization},
      {"stalls", "Cycles in which the array waits, by what for; they add up to `waiting`.", &Simulation::stalls,
       stalls},
      {"busy", "Cycles in which each unit works; units work beside each other.", busy},
      {"bytes", "To and from DRAM.", [](const Simulation& s) { return s.bytes.all(); }},
      {"traffic", "The same by what it is.", &Simulation::bytes, traffic},
      {"tiles", "Of queries.", &Simulation::tiles},
      {"blocks", "Configurations of the array.", &Simulation::blocks},
      {"reads", "Words read of each memory.", [](const Simulation& s) { return memory_counts(s, true); }},
      {"writes", "Words written.", [](const Simulation& s) { return memory_counts(s, false); }},
      {"max_relative_error",
       "Largest difference of outputs from attention in double precision over the same pairs, over its largest "
       "magnitude; null of masks alone.",
       &Simulation::max_relative_error},
      {"mean_relative_error", "Root of the mean square of these differences, over the same.",
       &Simulation::mean_relative_error},
      {"saturated", "Numbers that did not fit.", &Simulation::saturated, saturated}};
}

Record<SimulatedCase> case_record() {
  Record<SimulatedCase> out = {
      {"name", "Of a mask's file or an attention; empty: arrays.", &SimulatedCase::name},
      {"batch", "Sequences.", [](const SimulatedCase& c) { return c.shape.batch; }},
      {"heads", "Of each.", [](const SimulatedCase& c) { return c.shape.heads; }},
      {"queries", "Of a head.", [](const SimulatedCase& c) { return c.shape.rows; }},
      {"keys", "Of a head.", [](const SimulatedCase& c) { return c.shape.columns; }},
      {"head_size", "Elements of a query, a key and a value.", &SimulatedCase::depth},
      {"predicted", "The machine predicts the mask itself.", &SimulatedCase::predicted},
      {"kept", "Pairs that are computed.", [](const SimulatedCase& c) { return c.of.kept; }},
      {"pairs", "That are there.", [](const SimulatedCase& c) { return c.of.pairs; }},
      {"relative_error", "As of all cases.", [](const SimulatedCase& c) { return c.of.relative_error; }},
      {"pruning_error", "Likewise.", [](const SimulatedCase& c) { return c.of.pruning_error; }}};
  out.add(figures().of<SimulatedCase>([](const SimulatedCase& c) -> const Simulation& { return c.of.run; }));
  return out;
}

Record<PricedPart> part_record() {
  using P = PricedPart;
  return {{"name", "Of the circuits or the memory.", &P::name},
          {"instances", "How many; of registers and multiplexers: bits, cells.", &P::instances},
          {"uses", "Operations of all of them.", &P::uses},
          {"energy_pj", "Of these.", &P::energy_pj},
          {"leakage_pj", "Of all cycles.", &P::leakage_pj},
          {"area_um2", "Of all instances.", &P::area_um2},
          {"basis", "What figures are: published, modelled, interpolated, extrapolated, assumed.", &P::basis},
          {"sources", "Of these figures, and how they were brought to this size.", &P::sources}};
}

Record<LatencyLine> line_record() {
  using L = LatencyLine;
  return {{"part", "Of the work.", &L::part},
          {"v1_ms", "By Sanger's first model; null: it leaves it out.", &L::v1_ms},
          {"v2_ms", "By its second.", &L::v2_ms},
          {"simulated_ms", "Of the array's time.", &L::simulated_ms},
          {"remark", "Why they differ.", &L::remark}};
}

Record<CpuTimes> cpu_record() {
  using C = CpuTimes;
  return {{"dense_ms", "Dense attention of the first case's sizes; measured, median of 5.", &C::dense_ms},
          {"sparse_ms", "Attention over its mask, which is given.", &C::sparse_ms},
          {"threads", "That ran.", &C::threads},
          {"isa", "Instruction set.", &C::isa}};
}

}  // namespace

Record<accelerator::Instance> array_instance() {
  using I = accelerator::Instance;
  const auto format = [](accelerator::FixedPoint accelerator::Numbers::*of) {
    return [of](const I& x) { return fmt::format("{}.{}", (x.numbers.*of).bits, (x.numbers.*of).point); };
  };
  return {{"rows", "PE rows, a query each.", [](const I& x) { return x.array.rows; }},
          {"pes", "PEs of a row.", [](const I& x) { return x.array.pes; }},
          {"ports", "Column ports.", [](const I& x) { return x.array.ports; }},
          {"depth", "The largest head.", &I::depth},
          {"code_bits", "Of predicted queries and keys.", &I::code_bits},
          {"prediction_width", "Columns of the array that predicts.", &I::prediction_width},
          {"quantiser_lanes", "Elements quantised in a cycle.", &I::quantiser_lanes},
          {"merge_lanes", "Elements merged or normalised in a cycle.", &I::merge_lanes},
          {"data_format", "Of queries, keys, values and outputs: bits, of which behind the point.",
           format(&accelerator::Numbers::query)},
          {"sum_format", "Of scores, exponentials and weighted values.", format(&accelerator::Numbers::sum)},
          {"query_rows", "Of a tile, in each of two banks.", &I::query_rows},
          {"key_tokens", "Keys and values in each of two banks.", &I::key_tokens},
          {"score_keys", "Keys of which a tile's predicted scores are held.", &I::score_keys},
          {"block_slots", "Packed blocks that wait.", &I::block_slots},
          {"overlap", "Units work beside each other.", &I::overlap},
          {"frequency_hz", "Of the clock.", &I::frequency},
          {"bandwidth_bytes_per_s", "Of DRAM; null: unlimited.",
           [](const I& x) { return std::isinf(x.bandwidth) ? std::nullopt : std::optional(x.bandwidth); }},
          {"latency_cycles", "Of DRAM.", &I::latency}};
}

Document<SparseSimulate> sparse_simulate_document() {
  using A = SparseSimulate;
  const Record<WholeLayer> whole = {
      {"v1_ms", "The first model, projections included.", &WholeLayer::v1_ms},
      {"v2_ms", "The second.", &WholeLayer::v2_ms},
      {"projections_ms", "Of queries, keys and values at the array's peak, in both models.",
       &WholeLayer::projections_ms},
      {"output_as_pruned_ms", "The output projection times density / load balance, as both have it.",
       &WholeLayer::output_as_pruned_ms},
      {"output_ms", "The output projection at peak, dense as it is.", &WholeLayer::output_ms}};
  const Record<PublishedFigure> published = {{"what", "Is said to be faster than what.", &PublishedFigure::what},
                                             {"value", "How many times, as published.", &PublishedFigure::value},
                                             {"source", "Of it.", &PublishedFigure::source}};
  Record<A> result = figures().of<A>(&A::sum);
  result.add(
      {{"seconds", "Of all cycles.", &A::seconds},
       {"energy_pj", "Leakage included.", [](const A& a) { return a.price.energy_pj; }},
       {"leakage_pj", "Of that.", [](const A& a) { return a.price.leakage_pj; }},
       {"area_um2", "Without DRAM.", [](const A& a) { return a.price.area_um2; }},
       {"watts", "Energy over time.",
        [](const A& a) { return a.seconds > 0 ? a.price.energy_pj * 1e-12 / a.seconds : 0; }},
       {"density", "Kept pairs over those that are there.", &A::density},
       {"kept", "Pairs that are computed.", &A::kept},
       {"pairs", "That are there.", &A::pairs},
       {"matrices", "Heads of all sequences.", &A::matrices},
       {"relative_error",
        "|array - dense| / |dense| of outputs, the worst case's: pruning and fixed point together; null of masks "
        "alone.",
        &A::relative_error},
       {"pruning_error", "Of that, what exact arithmetic over the same pairs has.", &A::pruning_error},
       {"instance", "The accelerator, with memories that hold this.", &A::instance, array_instance()},
       {"packing", "In the machine (pack), or before (orrery).", [](const A& a) { return a.choice.packing; }},
       {"technology", "Of energies and areas.", [](const A& a) { return a.choice.technology; }},
       {"parts", "What energy and area consist of, each with its origin.",
        [](const A& a) -> const std::vector<PricedPart>& { return a.price.parts; }, part_record()},
       {"assumed", "Of energies and areas.", [](const A&) { return verbs::array_price_remarks(); }},
       {"load_balance",
        "Of Sanger's models: vectors of as many keys as ports, split over PE rows; null where cases differ in size.",
        [](const A& a) { return a.shape ? std::optional(a.shape->load_balance) : std::nullopt; }},
       {"beside", "Sanger's latency models and this simulation, part by part; projections left out.", &A::lines,
        line_record()},
       {"layer", "The models of the whole layer; null where it is not what they are of.", &A::whole, whole},
       {"cpu", "This machine; null: not asked for.", &A::cpu, cpu_record()},
       {"published", "Figures of others; nothing of them is computed here.",
        [](const A&) { return verbs::published_speedups(); }, published},
       {"rule", "What a model's checkpoint keeps, in words; empty: no model.", &A::rule},
       {"trace_left_out", "Intervals beyond what the trace takes.", &A::events_left_out},
       {"interrupted", "It was told to stop.", &A::interrupted},
       {"unfinished", "What the limits or an interrupt left out.", &A::unfinished},
       {"cases", "One by one; the figures above are of all, one after the other.", &A::cases, case_record()}});
  return {"sparse_simulate", "Cycles are simulated, energies and areas modelled.", result};
}

}  // namespace orrery::verbs
