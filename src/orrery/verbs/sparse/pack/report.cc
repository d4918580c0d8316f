#include "orrery/verbs/sparse/pack/report.h"

#include <fmt/format.h>

#include "orrery/engines/masks/packing/control_words.h"
#include "orrery/formats/numpy/array.h"
#include "orrery/present/text_table.h"

namespace orrery::verbs {
namespace {

using masks::ArrayDesign;
using masks::PackArray;
using masks::PackedScheme;
constexpr base::Count kPrintedSize = 64;  // elements of a head, for which the phases are written

Record<PackArray> array_record() {
  return {{"rows", "PE rows; each takes a query.", &PackArray::rows},
          {"pes", "PEs of a row.", &PackArray::pes},
          {"ports", "Column ports; each takes a key for all rows.", &PackArray::ports}};
}

Record<ArrayDesign> design_record() {
  return {{"query_multiplexer", "Inputs of a PE's first multiplexer: ports, own score, zero.", &ArrayDesign::query_mux},
          {"key_multiplexer", "Inputs of a PE's second multiplexer: ports, zero.", &ArrayDesign::key_mux},
          {"delay_multiplexer", "Inputs of the multiplexer that chooses a delay.", &ArrayDesign::delay_mux},
          {"control_bits_of_pe", "Control bits of a PE: c1, c2 and c4.",
           [](const ArrayDesign& d) { return d.control.all(); }},
          {"control_bits", "Control bits of a block.", &ArrayDesign::control_bits},
          {"area_um2", "Area at 45 nm, in um^2, without exponential units, wires, memories and control.",
           [](const ArrayDesign& d) { return d.area(); }},
          {"arithmetic_um2", "Area of multipliers and adders, in um^2.", &ArrayDesign::arithmetic},
          {"registers_um2", "Area of registers of PEs, queries and keys, in um^2.", &ArrayDesign::registers},
          {"multiplexers_um2", "Area of all multiplexers, in um^2.", &ArrayDesign::multiplexers},
          {"sources", "Where these figures come from, and what they assume.",
           [](const ArrayDesign&) { return masks::array_area_sources(); }}};
}

std::string shape(const PackArray& array) {
  return fmt::format("{} rows of {} PEs, {} column ports", array.rows, array.pes, array.ports);
}

}  // namespace

Document<SparsePack> sparse_pack_document() {
  using A = SparsePack;
  const auto schemes = [](const auto& a) {
    std::vector<std::pair<std::string, PackedScheme>> out;
    for (const PackedScheme& scheme : a.schemes) out.emplace_back(scheme.name, scheme);
    return out;
  };
  const Record<PackedMask> mask = {{"name", "Name of the mask's file.", &PackedMask::name},
                                   {"kept", "Pairs that are computed.", &PackedMask::kept},
                                   {"pairs", "Pairs of existing tokens that the mask could keep.", &PackedMask::pairs},
                                   {"packing", "Figures of each packing scheme, by name.",
                                    [=](const PackedMask& m) { return schemes(m); }, packed_scheme()}};
  const Record<A> result = {
      {"packing", "Figures of each packing scheme, by name.", [=](const A& a) { return schemes(a); }, packed_scheme()},
      {"array", "Sizes of the array that is packed onto.", &A::array, array_record()},
      {"design", "What such an array costs.", &A::design, design_record()},
      {"kept", "Pairs that are computed.", &A::kept},
      {"pairs", "Pairs of existing tokens that the masks could keep.", &A::pairs},
      {"kept_outside", "Kept pairs of padding or beyond the causal diagonal, which are left out.", &A::kept_outside},
      {"interrupted", "Whether the search was interrupted; the packing is the best found so far.", &A::interrupted},
      {"unfinished", "Masks that a limit or an interrupt left out.", &A::unfinished},
      {"masks", "Figures of each mask; the figures above are of all together.", &A::masks, mask}};
  return {"sparse_pack", "Blocks and utilisation, modelled.", result};
}

Record<PackedScheme> packed_scheme() {
  return {
      {"utilization", "Kept pairs over what `counts` says, 0 to 1.", &PackedScheme::utilization},
      {"bound", "Proven bound: no packing counted in the same way has a higher utilisation.", &PackedScheme::bound},
      {"blocks", "Packed blocks: configurations of the array; 0 where the scheme has none.", &PackedScheme::blocks},
      {"sub_rows", "PE rows that compute something.", &PackedScheme::sub_rows},
      {"fits", "Whether the array can compute the scheme as it is counted.", &PackedScheme::fits},
      {"on_array", "Kept pairs over the slots of the scheme's blocks, 0 to 1; null where the array cannot compute it.",
       &PackedScheme::on_array},
      {"counts", "What `utilization` divides by.", &PackedScheme::counts},
      {"seconds", "Time of packing, in seconds.", &PackedScheme::seconds}};
}

std::string sparse_pack_table(const SparsePack& answer) {
  std::string out =
      fmt::format("{} of {} pairs in {} heads{}, on {}\n\n", answer.kept, answer.pairs, answer.matrices,
                  answer.masks.size() > 1 ? fmt::format(" of {} masks", answer.masks.size()) : "", shape(answer.array));
  Table table;
  table.header = {"scheme", "fits", "util. (%)", "bound (%)", "on array (%)", "blocks", "PE rows", "s"};
  for (const PackedScheme& scheme : answer.schemes)
    table.rows.push_back({scheme.name, scheme.fits ? "yes" : "no", percent(scheme.utilization), percent(scheme.bound),
                          scheme.on_array ? percent(*scheme.on_array) : "-",
                          scheme.blocks > 0 ? std::to_string(scheme.blocks) : "-", std::to_string(scheme.sub_rows),
                          fmt::format("{:.2f}", scheme.seconds)});
  out += text(table);
  if (answer.masks.size() > 1) {
    Table masks;
    masks.header = {"mask", "kept", "pack (%)", "orrery (%)", "bound (%)"};
    for (const PackedMask& one : answer.masks)
      masks.rows.push_back({one.name, std::to_string(one.kept), percent(one.schemes.front().utilization),
                            percent(one.schemes.back().utilization), percent(one.schemes.back().bound)});
    out += "\n" + text(masks);
  }
  const ArrayDesign& d = answer.design;
  out += fmt::format(
      "\nutilisation: kept pairs over the slots of blocks where a scheme fits and of pack_nowin, over those of PE rows "
      "in "
      "use of the others\n"
      "multiplexers  {}, {} and {} inputs a PE; {} control bits a PE, {} a block\n"
      "area          {:.2f} mm2 at 45 nm: arithmetic {:.2f}, registers {:.2f}, multiplexers {:.2f}; an estimate\n",
      d.query_mux, d.key_mux, d.delay_mux, d.control.all(), d.control_bits, d.area() / 1e6, d.arithmetic / 1e6,
      d.registers / 1e6, d.multiplexers / 1e6);
  for (const std::string& source : masks::array_area_sources()) out += "              " + source + "\n";
  return out + "figures are modelled; utilisation is counted from control words\n";
}

std::vector<OutputFile> sparse_pack_files(const SparsePack& answer) {
  const PackArray& array = answer.array;
  if (array.ports + 1 > 255)
    base::fail("O1839", fmt::format("control words of {} ports do not fit a byte", array.ports), {},
               "they are written for at most 254 ports; leave `-o` out for the figures alone");
  std::vector<std::uint8_t> words;
  Json::List blocks, names;
  const auto list = [](const std::vector<std::int32_t>& values) {
    Json::List out;
    for (const std::int32_t value : values) out.emplace_back(value);
    return out;
  };
  for (std::size_t m = 0; m < answer.masks.size(); ++m) {
    names.emplace_back(answer.masks[m].name);
    for (const masks::PackedBlock& block : answer.masks[m].packing.blocks) {
      const masks::BlockWords told = masks::control_words(block, array);
      for (const masks::PeWords& pe : told.pes)
        for (const std::int32_t code : {pe.score_a, pe.score_b, pe.value_a, pe.value_b, pe.delay})
          words.push_back(static_cast<std::uint8_t>(code));
      blocks.push_back(Json::Object{{"mask", static_cast<base::Count>(m)},
                                    {"matrix", told.matrix},
                                    {"keys", list(told.keys)},
                                    {"queries", list(told.queries)},
                                    {"idle_pes", list(told.idle)}});
    }
  }
  const auto count = static_cast<base::Count>(blocks.size());
  Json::List phases;
  for (const masks::Phase& phase : masks::phases(array, kPrintedSize))
    phases.push_back(Json::Object{{"name", phase.name}, {"c3", phase.c3}, {"c5", phase.c5}, {"cycles", phase.cycles}});
  const Json::Object file = {{"array", Json::Object{{"rows", array.rows}, {"pes", array.pes}, {"ports", array.ports}}},
                             {"head_size", kPrintedSize},
                             {"phases", std::move(phases)},
                             {"masks", std::move(names)},
                             {"blocks", std::move(blocks)}};
  return {{"control_words.npy", formats::numpy::file_of({count, array.rows, array.pes, 5}, words)},
          {"blocks.json", text(Json(file))}};
}

}  // namespace orrery::verbs
