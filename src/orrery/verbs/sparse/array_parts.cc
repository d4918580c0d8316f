// Circuits by class, width and number; uses from the run's operations, phases and memories.
//
//   multiplexer of N inputs   N - 1 cells a bit, a binary tree. Query and key registers shift in every cycle, so all of
//                             its cells see new inputs in every cycle of scores and values, chosen or not.
//   register                  a bit costs its energy in each cycle in which it is clocked; clocks are gated by phase.
//   exponential unit          additions that multiply by log2 e, one for the table's correction; the table and the
//                             shifter as cells that choose.
//   root, division            an addition for each bit of the result.
//
// Cost: a few dozen parts.
#include "orrery/verbs/sparse/array_parts.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "orrery/engines/masks/packing/control_words.h"

namespace orrery::verbs {
namespace {

using base::Count;
using Uses = std::vector<std::pair<std::string, double>>;

double real(Count x) {
  return static_cast<double>(x);
}

// Widest word that CACTI's table is dense for; wider ones lie side by side.
constexpr Count kWidestWord = 512;
// Fewer words than CACTI builds in a bank are registers.
constexpr Count kFewestWords = 16;

class Parts {
 public:
  void multipliers(const std::string& name, Count a, Count b, double instances, double uses) {
    out.push_back({name, "intmultiplier", {{"width_a", a}, {"width_b", b}}, instances, {{"multiply", uses}}});
  }
  void adders(const std::string& name, Count bits, double instances, double uses) {
    out.push_back({name, "intadder", {{"width", bits}}, instances, {{"add", uses}}});
  }
  void comparators(const std::string& name, Count bits, double instances, double uses) {
    out.push_back({name, "comparator", {{"width", bits}}, instances, {{"compare", uses}}});
  }
  // Bits, and bits that are clocked.
  void registers(const std::string& name, double bits, double clocked) {
    out.push_back({name, "register", {{"width", Count{1}}}, bits, {{"write", clocked}}});
  }
  // Cells of one bit, and how often one is switched.
  void cells(const std::string& name, double instances, double uses) {
    out.push_back({name, "mux2", {{"width", Count{1}}}, instances, {{"select", uses}}});
  }
  void exponentials(const std::string& name, const accelerator::Instance& instance, double instances, double uses) {
    constexpr Count kAppended = 4;
    const Count bits = instance.numbers.sum.bits + kAppended;
    const double additions = (instance.exponential.long_log2 ? 4 : 2) + 1;
    const double cells_each =
        real(bits) * ((std::exp2(instance.exponential.table_bits) - 1) + std::ceil(std::log2(real(bits))));
    adders(name + ": adders", bits, instances * additions, uses * additions);
    cells(name + ": table and shifter", instances * cells_each, uses * cells_each);
  }
  void memory(const std::string& name, const accelerator::MemoryUse& use) {
    if (use.bits() == 0) return;
    if (use.words < kFewestWords) {
      registers(name, real(use.bits()), real(use.writes) * real(use.width));
      return;
    }
    const Count side = base::ceil_divide(use.width, kWidestWord);
    out.push_back({name,
                   "SRAM",
                   {{"width", base::ceil_divide(use.width, side)}, {"depth", use.words}},
                   real(use.banks * side),
                   {{"read", real(use.reads * side)}, {"write", real(use.writes * side)}}});
  }

  std::vector<ArrayPart> out;
};

void predictor(const accelerator::Instance& x, const accelerator::Widths& w, const accelerator::Simulation& run,
               Parts& parts) {
  const accelerator::Operations& o = run.operations;
  const double rows = real(x.array.rows), lanes = real(x.quantiser_lanes), pes = rows * real(x.prediction_width);
  const double products = real(o.code_products), score = real(x.numbers.score.bits);
  parts.multipliers("quantiser: multipliers", x.numbers.query.bits, w.quotient, lanes, real(o.squares + o.codes));
  parts.adders("quantiser: adders", w.square_sum, lanes, real(o.squares));
  parts.adders("quantiser: roots and reciprocals", w.norm, 2,
               real(o.roots) * w.norm + real(o.quantiser_divisions) * w.quotient);
  parts.multipliers("predictor: multipliers", x.code_bits, x.code_bits, pes, products);
  parts.adders("predictor: adders", w.code_sum, pes, products);
  const double bits = 2.0 * x.code_bits + w.code_sum;
  parts.registers("predictor: registers", pes * bits, products * bits);
  parts.multipliers("predictor: rescaling", w.factor, w.factor, 2 * rows, 2 * real(o.rescalings));
  parts.multipliers("predictor: row sums", x.numbers.sum.bits, w.factor, rows, real(o.statistics));
  parts.exponentials("predictor: exponentials", x, rows, real(o.predicted_exponentials));
  parts.adders("predictor: logarithms", x.numbers.sum.bits, 2, 2 * real(o.logarithms));
  parts.comparators("threshold: comparators", static_cast<Count>(score), rows, real(o.compares));
  parts.comparators("packer and mask decoder: counters",
                    std::max<Count>(1, std::bit_width(static_cast<std::uint64_t>(x.array.pes))), 2 * rows,
                    2 * real(o.decoded_ports) * rows);
}

void sparse_array(const accelerator::Instance& x, const accelerator::Widths& w, const accelerator::Simulation& run,
                  Parts& parts) {
  const accelerator::Operations& o = run.operations;
  const masks::PackArray& a = x.array;
  const double pes = real(a.slots()), rows = real(a.rows);
  const double sum = x.numbers.sum.bits, chain = real(a.ports - a.pes);
  const double scores = real(run.phases.scores), values = real(run.phases.values), passing = scores + values;
  const double products = real(o.score_products + o.value_products);
  parts.multipliers("PEs: multipliers", w.multiplier_a, w.multiplier_b, pes, products);
  parts.adders("PEs: adders", x.numbers.sum.bits, pes, products);
  const double operand_cells = pes * (real(a.ports + 1) * w.multiplier_a + real(a.ports) * w.multiplier_b),
               delay_cells = pes * chain * sum;
  parts.cells("PEs: multiplexers of operands", operand_cells, operand_cells * passing);
  parts.cells("PEs: multiplexers of delays", delay_cells, delay_cells * values);
  const double ports =
      rows * real(a.ports) * (x.numbers.query.bits + std::max(x.numbers.key.bits, x.numbers.value.bits));
  parts.registers("PEs: sums and exponentials", 2 * pes * sum,
                  pes * sum * (passing + real(run.phases.exponentials + run.phases.drain)));
  parts.registers("PEs: delay chains", pes * chain * sum, pes * chain * sum * values);
  parts.registers("PEs: ports' registers", ports, ports * passing);
  const double words = pes * real(masks::control_bits(a).all());
  parts.registers("PEs: control words", words, words * real(run.blocks));
  parts.exponentials("PEs: exponentials", x, pes, real(o.exponentials));
}

void merger(const accelerator::Instance& x, const accelerator::Widths& w, const accelerator::Simulation& run,
            Parts& parts) {
  const accelerator::Operations& o = run.operations;
  const double lanes = real(x.merge_lanes);
  const int bits = x.numbers.accumulator_bits;
  parts.multipliers("merger: multipliers", x.numbers.sum.bits, w.reciprocal, 2 * lanes,
                    2 * real(o.merges) + real(o.normalisations));
  parts.adders("merger: adders", bits, lanes, real(o.merges));
  parts.exponentials("merger: exponentials", x, 2, real(o.merge_exponentials));
  parts.adders("merger: reciprocal", w.reciprocal, 1, real(o.reciprocals) * w.reciprocal);
  parts.multipliers("loading: queries by 1 / sqrt(size)", x.numbers.query.bits, x.numbers.query.bits, lanes,
                    real(o.scaled_queries));
}

}  // namespace

std::vector<ArrayPart> array_parts(const accelerator::Instance& instance, const accelerator::Simulation& run,
                                   const std::string& dram) {
  Parts parts;
  const accelerator::Widths w = accelerator::widths(instance);
  predictor(instance, w, run, parts);
  sparse_array(instance, w, run, parts);
  merger(instance, w, run, parts);
  for (int i = 0; i < accelerator::kMemories; ++i)
    parts.memory(std::string("memory: ") + accelerator::name_of(static_cast<accelerator::Memory>(i)),
                 run.memories[static_cast<std::size_t>(i)]);
  const double out = real(run.bytes.outputs), in = real(run.bytes.all()) - out;
  parts.out.push_back(
      {"DRAM, " + dram, "DRAM", {{"type", dram}, {"width", Count{8}}}, 1, {{"read", in}, {"write", out}}, true});
  return std::move(parts.out);
}

std::vector<std::string> array_price_remarks() {
  return {
      "a multiplexer of N inputs is a tree of N - 1 cells a bit, all of which switch in every cycle of scores and "
      "values: its inputs are shift registers",
      "registers are clocked only in the phases that use them; every other bit changes where a cell chooses",
      "tables of constants are such trees, too, which is more than synthesis would leave",
      "whether circuits and memories reach the clock is not modelled",
      "left out: wires between ports and PEs, the clock tree, the controller, DRAM's own interface on the chip"};
}

PublishedSilicon published_silicon() {
  return {2.76, 16.9e6, 500e6, "55nm", "L. Lu et al., MICRO 2021, as others quote it; not verified"};
}

}  // namespace orrery::verbs
