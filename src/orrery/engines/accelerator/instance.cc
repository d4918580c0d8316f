// What is wrong with an instance: one function a topic, each fault with its arithmetic.
#include "orrery/engines/accelerator/instance.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace orrery::accelerator {
namespace {

class Faults {
 public:
  Faults(const Instance& instance, const Sizes& sizes) : i_(instance), s_(sizes), n_(instance.numbers) {}

  base::Diagnostics all() {
    shape();
    channel();
    formats();
    if (!found_.has_errors()) memories(), overflows();
    return std::move(found_);
  }

 private:
  void fault(const char* code, const std::string& what, const std::string& arithmetic, const std::string& way_out) {
    found_.error(code, what).note(arithmetic).hint(way_out);
  }
  void range(const char* code, const char* name, Count value, Count least, Count most) {
    if (value >= least && value <= most) return;
    fault(code, fmt::format("`{}` is {}", name, value), fmt::format("allowed: {} to {}", least, most),
          fmt::format("give `{}` a value in this range", name));
  }

  void shape() {
    constexpr const char* kShape = "O1891";
    const masks::PackArray& a = i_.array;
    range(kShape, "rows", a.rows, 1, masks::kMostPackRows);
    range(kShape, "pes", a.pes, 1, masks::kMostPackPes);
    range(kShape, "ports", a.ports, 1, masks::kMostPackPorts);
    range(kShape, "depth", i_.depth, 1, 4096);
    range(kShape, "prediction_width", i_.prediction_width, 1, 4096);
    range(kShape, "quantiser_lanes", i_.quantiser_lanes, 1, 4096);
    range(kShape, "merge_lanes", i_.merge_lanes, 1, 4096);
    range(kShape, "block_slots", i_.block_slots, 1, 65536);
    if (a.ports >= 1 && a.pes > a.ports)
      fault(kShape, fmt::format("an array of {} PEs a row needs as many column ports, it has {}", a.pes, a.ports),
            fmt::format("each PE of a row takes a port of its own, idle ones, too: {} > {}", a.pes, a.ports),
            "raise `ports`, or lower `pes`");
    if (i_.code_bits != 2 && i_.code_bits != 4 && i_.code_bits != 6 && i_.code_bits != 8)
      fault(kShape, fmt::format("codes have {} bits", i_.code_bits), "allowed: 2, 4, 6, 8",
            "give `code_bits` one of these");
    if (s_.depth > i_.depth && i_.depth >= 1)
      fault(kShape, fmt::format("heads of size {} do not fit units that are built for {}", s_.depth, i_.depth),
            fmt::format("{} > {}", s_.depth, i_.depth), fmt::format("build it with `depth` {}", s_.depth));
  }

  void channel() {
    constexpr const char* kChannel = "O1892";
    if (!(i_.bandwidth > 0))
      fault(kChannel, fmt::format("a memory with a bandwidth of {:g} B/s", i_.bandwidth),
            "each query, key, value and output passes it: the run would never end",
            "give `bandwidth` a value above 0; infinity stands for a memory that never limits");
    if (!(i_.frequency > 0) || !std::isfinite(i_.frequency))
      fault(kChannel, fmt::format("a frequency of {:g} Hz", i_.frequency), "allowed: above 0, finite",
            "give `frequency` in Hz: 1e9 is Sanger's");
    range(kChannel, "latency", i_.latency, 0, 1'000'000'000);
    if (i_.bandwidth > 0 && i_.frequency > 0 && i_.bytes_per_cycle() < 1e-3)
      fault(kChannel, fmt::format("a bandwidth of {:g} bytes a cycle", i_.bytes_per_cycle()),
            fmt::format("{:g} B/s / {:g} Hz; allowed: from 1e-3", i_.bandwidth, i_.frequency), "raise `bandwidth`");
  }

  void format(const char* name, const FixedPoint& f, int most) {
    constexpr const char* kWidths = "O1890";
    if (f.bits < 2 || f.bits > most || f.point < 0 || f.point >= f.bits + 16)
      fault(kWidths, fmt::format("`{}` numbers have {} bits, {} of them behind the point", name, f.bits, f.point),
            fmt::format("allowed: 2 to {} bits, 0 to bits + 15 behind the point", most),
            fmt::format("change `{}`", name));
  }

  void formats() {
    constexpr const char* kWidths = "O1890";
    format("query", n_.query, 20);
    format("key", n_.key, 20);
    format("value", n_.value, 20);
    format("output", n_.output, 32);
    format("sum", n_.sum, 32);
    format("score", n_.score, 24);
    if (n_.sum.point < 4 || n_.sum.point > 24 || n_.sum.point > n_.sum.bits - 2)
      fault(kWidths, fmt::format("`sum` has {} bits behind the point", n_.sum.point),
            fmt::format("exponentials go to 1: {} bits, of which at least 2 stand before the point; allowed: 4 to 24",
                        n_.sum.bits),
            "give `sum` the published 32 bits with 16 behind the point");
    for (const auto& [name, f] : {std::pair{"key", n_.key},
                                  {"value", n_.value},
                                  {"query", n_.query},
                                  {"score", n_.score},
                                  {"output", n_.output}})
      if (f.point > n_.sum.point)
        fault(kWidths, fmt::format("`{}` has more bits behind the point than sums have", name),
              fmt::format("{} > {}: they would be lost before they count", f.point, n_.sum.point),
              fmt::format("give `sum` at least {} bits behind the point", f.point));
    if (n_.score.bits - n_.score.point > 6)
      fault(kWidths, "predicted scores reach farther than the threshold's logarithm",
            fmt::format("{} - {} > 6 bits before the point: differences beyond 64, where thresholds end at 88",
                        n_.score.bits, n_.score.point),
            "give `score` at most 6 bits before the point");
    const int most = std::min(44, 61 - n_.sum.point);
    if (n_.accumulator_bits < n_.sum.bits || n_.accumulator_bits > most)
      fault(kWidths, fmt::format("accumulators of {} bits", n_.accumulator_bits),
            fmt::format("they take sums of {} bits and are multiplied by exponentials of {}: allowed are {} to {}",
                        n_.sum.bits, n_.sum.point + 1, n_.sum.bits, most),
            "change `accumulator_bits`");
    if (i_.exponential.table_bits < 1 || i_.exponential.table_bits > 12)
      fault(kWidths, fmt::format("exponentials with a table of 2^{} entries", i_.exponential.table_bits),
            "allowed: 2^1 to 2^12", "change `exp_table_bits`");
  }

  void capacity(const char* what, const char* name, Count need, Count have, const std::string& why) {
    if (need <= have) return;
    fault("O1893", fmt::format("{} do not fit: {} of {}", what, need, have), why,
          fmt::format("build it with `{}` {}", name, need));
  }

  void memories() {
    range("O1893", "query_rows", i_.query_rows, 1, Count{1} << 24);
    range("O1893", "key_tokens", i_.key_tokens, 1, Count{1} << 24);
    range("O1893", "score_keys", i_.score_keys, 1, Count{1} << 24);
    const Count tile = s_.packed ? s_.queries : std::min(s_.queries, i_.array.rows);
    capacity("queries of a tile", "query_rows", tile, i_.query_rows,
             s_.packed
                 ? fmt::format("blocks that were packed beforehand may mix all {} queries of a matrix", s_.queries)
                 : fmt::format("a tile has a query for each of the array's {} rows", i_.array.rows));
    if (!s_.packed)
      capacity("keys of a tile's mask", "score_keys", s_.keys, i_.score_keys,
               s_.predicts
                   ? fmt::format("predicted scores of {} rows x {} keys x {} bits are held until they are packed",
                                 i_.array.rows, s_.keys, n_.score.bits)
                   : fmt::format("the mask of {} rows x {} keys is held until it is packed", i_.array.rows, s_.keys));
    else if (s_.keys > Count{1} << 24)
      capacity("keys", "key_tokens", s_.keys, Count{1} << 24, "blocks name keys by at most 24 bits");
  }

  // Largest magnitudes, in real numbers, against what a width holds.
  void overflows() {
    constexpr const char* kWidths = "O1890";
    if (!(s_.scale > 0) || s_.scale > 1) {
      fault(kWidths, fmt::format("scores are scaled by {:g}", s_.scale), "allowed: above 0, at most 1",
            "attention scales by 1 / sqrt(head size)");
      return;
    }
    const auto reach = [](const FixedPoint& f, int point) { return std::ldexp(1.0, f.bits - 1 - point); };
    const int point = scaled_point(i_, s_.scale);
    const double query = reach(n_.query, point), key = reach(n_.key, n_.key.point),
                 value = reach(n_.value, n_.value.point);
    const double holds = reach(n_.sum, n_.sum.point), depth = static_cast<double>(s_.depth);
    // Each product is floored by less than a last bit.
    const double score = depth * (query * key + std::ldexp(1.0, -n_.sum.point));
    if (score >= holds)
      fault(kWidths,
            fmt::format("scores overflow `sum`, which has {} bits, {} behind the point", n_.sum.bits, n_.sum.point),
            fmt::format("{} products of a scaled query up to {:g} and a key up to {:g}: {:g} >= 2^{}", s_.depth, query,
                        key, score, n_.sum.bits - 1 - n_.sum.point),
            "give `query` or `key` more bits behind the point, or `sum` fewer");
    const auto pes = static_cast<double>(i_.array.pes), keys = static_cast<double>(std::max<Count>(s_.keys, 1));
    const double block = pes * (value + std::ldexp(1.0, -n_.sum.point));
    if (block >= holds)
      fault(kWidths,
            fmt::format("weighted values overflow `sum`, which has {} bits, {} behind the point", n_.sum.bits,
                        n_.sum.point),
            fmt::format("{} PEs, each with an exponential up to 1 and a value up to {:g}: {:g} >= 2^{}", i_.array.pes,
                        value, block, n_.sum.bits - 1 - n_.sum.point),
            "give `value` more bits behind the point, or `sum` fewer");
    // Each merge rounds by half a last bit.
    const double all = keys * (std::max(value, 1.0) + std::ldexp(2.0, -n_.sum.point));
    if (all >= std::ldexp(1.0, n_.accumulator_bits - 1 - n_.sum.point))
      fault(kWidths,
            fmt::format("outputs overflow accumulators of {} bits, {} behind the point", n_.accumulator_bits,
                        n_.sum.point),
            fmt::format("{} keys, each with an exponential up to 1 and a value up to {:g}: {:g} >= 2^{}", s_.keys,
                        value, all, n_.accumulator_bits - 1 - n_.sum.point),
            "raise `accumulator_bits`, or give `value` more bits behind the point");
    if (s_.predicts && keys >= holds)
      fault(kWidths,
            fmt::format("sums of predicted exponentials overflow `sum`, which has {} bits, {} behind the point",
                        n_.sum.bits, n_.sum.point),
            fmt::format("{} keys, each with an exponential up to 1: {:g} >= 2^{}", s_.keys, keys,
                        n_.sum.bits - 1 - n_.sum.point),
            "give `sum` fewer bits behind the point");
    if (const int square = widths(i_).square_sum; square > 62)
      fault(kWidths, "sums of squares overflow the quantiser",
            fmt::format("{} bits for {} squares, 8 of them behind the point; at most 62", square, i_.depth),
            "give `query` and `key` fewer bits");
  }

  const Instance& i_;
  const Sizes& s_;
  const Numbers& n_;
  base::Diagnostics found_;
};

}  // namespace

base::Diagnostics faults(const Instance& instance, const Sizes& sizes) {
  return Faults(instance, sizes).all();
}

Instance fitted(Instance instance, const Sizes& sizes) {
  const auto raise = [](Count& value, Count least) { value = std::max(value, least); };
  raise(instance.depth, sizes.depth);
  raise(instance.query_rows, sizes.packed ? sizes.queries : std::min(instance.array.rows, sizes.queries));
  if (!sizes.packed) raise(instance.score_keys, sizes.keys);
  return instance;
}

}  // namespace orrery::accelerator
