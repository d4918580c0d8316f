#include "orrery/engines/accelerator/units/registers.h"

#include <algorithm>
#include <string_view>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/accelerator/run_plan.h"
#include "orrery/engines/accelerator/tile_arithmetic.h"

namespace orrery::accelerator {
namespace {

constexpr std::uint32_t kIdentity = 0x4f525259;  // "ORRY"

constexpr RegisterInfo kRegisters[] = {
    {0x000, "ID", 32, Access::kRead, kIdentity, "the letters ORRY"},
    {0x004, "ROWS", 11, Access::kRead, 0, "rows of the array, as built"},
    {0x008, "PES", 7, Access::kRead, 0, "PEs of a row"},
    {0x00c, "PORTS", 10, Access::kRead, 0, "column ports"},
    {0x010, "DEPTH_MOST", 13, Access::kRead, 0, "the largest head size"},
    {0x014, "KEYS_MOST", 25, Access::kRead, 0, "keys that the score memory has room for"},
    {0x020, "CONTROL", 7, Access::kWrite, 0,
     "0 START, reads 0; 1 interrupt enabled; 2 masks are predicted; 3 rows are normalised; 4 causal; 5 blocks are "
     "given; "
     "6 overlap"},
    {0x024, "STATUS", 3, Access::kClearByOne, 0, "0 BUSY, read only; 1 DONE; 2 ERROR"},
    {0x030, "SEQUENCES", 9, Access::kWrite, 0, "sequences, 1 to 256"},
    {0x034, "HEADS", 16, Access::kWrite, 0, "heads of each"},
    {0x038, "QUERIES", 16, Access::kWrite, 0, "queries of a matrix in the DRAM"},
    {0x03c, "KEYS", 16, Access::kWrite, 0, "keys of a matrix in the DRAM"},
    {0x040, "DEPTH", 13, Access::kWrite, 0, "head size"},
    {0x044, "QUERY_MULTIPLIER", 16, Access::kWrite, 0x8000, "m of scaled queries, 15 bits behind the point"},
    {0x048, "QUERY_POINT", 5, Access::kWrite, 10, "p', bits behind the point of scaled queries"},
    {0x050, "QUERY_RECIPROCAL", 17, Access::kWrite, 0, "the quantiser's, of queries"},
    {0x054, "QUERY_SHIFT", 6, Access::kWrite, 0, ""},
    {0x058, "QUERY_FACTOR", 17, Access::kWrite, 0, ""},
    {0x05c, "QUERY_FACTOR_SHIFT", 6, Access::kWrite, 0, ""},
    {0x060, "KEY_RECIPROCAL", 17, Access::kWrite, 0, "the quantiser's, of keys"},
    {0x064, "KEY_SHIFT", 6, Access::kWrite, 0, ""},
    {0x068, "KEY_FACTOR", 17, Access::kWrite, 0, ""},
    {0x06c, "KEY_FACTOR_SHIFT", 6, Access::kWrite, 0, ""},
    {0x070, "SCORE_SHIFT", 6, Access::kWrite, 1, "k of predicted scores"},
    {0x074, "THRESHOLD", 24, Access::kWrite, 0, "log2 of the threshold, signed, 16 bits behind the point"},
    {0x080, "QUERY_BASE_LOW", 32, Access::kWrite, 0, "addresses in the DRAM: queries"},
    {0x084, "QUERY_BASE_HIGH", 32, Access::kWrite, 0, ""},
    {0x088, "KEY_BASE_LOW", 32, Access::kWrite, 0, "keys"},
    {0x08c, "KEY_BASE_HIGH", 32, Access::kWrite, 0, ""},
    {0x090, "VALUE_BASE_LOW", 32, Access::kWrite, 0, "values"},
    {0x094, "VALUE_BASE_HIGH", 32, Access::kWrite, 0, ""},
    {0x098, "MASK_BASE_LOW", 32, Access::kWrite, 0, "masks, or packed blocks"},
    {0x09c, "MASK_BASE_HIGH", 32, Access::kWrite, 0, ""},
    {0x0a0, "OUTPUT_BASE_LOW", 32, Access::kWrite, 0, "outputs"},
    {0x0a4, "OUTPUT_BASE_HIGH", 32, Access::kWrite, 0, ""},
    {0x0c0, "CYCLES_LOW", 32, Access::kRead, 0, "of the last run"},
    {0x0c4, "CYCLES_HIGH", 32, Access::kRead, 0, ""},
    {0x0c8, "WAITING_LOW", 32, Access::kRead, 0, "cycles in which the array waited"},
    {0x0cc, "WAITING_HIGH", 32, Access::kRead, 0, ""},
    {0x0d0, "BLOCKS", 32, Access::kRead, 0, "blocks that it ran"},
    {0x0d4, "KEPT_LOW", 32, Access::kRead, 0, "entries that it computed"},
    {0x0d8, "KEPT_HIGH", 32, Access::kRead, 0, ""},
    {0x0dc, "SATURATED", 32, Access::kRead, 0, "outputs that did not fit their format"},
};

const RegisterInfo* found(std::uint32_t address) {
  const auto* const one = std::lower_bound(std::begin(kRegisters), std::end(kRegisters), address,
                                           [](const RegisterInfo& r, std::uint32_t a) { return r.address < a; });
  return one != std::end(kRegisters) && one->address == address ? one : nullptr;
}
bool of_lengths(std::uint32_t address) {
  return address >= kLengths && address < kLengths + 4 * kMostSequences && address % 4 == 0;
}
std::uint32_t cut(std::uint32_t value, int bits) {
  return bits == 32 ? value : value & ((1U << static_cast<unsigned>(bits)) - 1);
}

}  // namespace

std::span<const RegisterInfo> registers() {
  return kRegisters;
}

const RegisterInfo& register_named(const char* name) {
  const auto* const one = std::find_if(std::begin(kRegisters), std::end(kRegisters),
                                       [&](const RegisterInfo& r) { return std::string_view(r.name) == name; });
  ORRERY_CHECK(one != std::end(kRegisters), "a register of this name");
  return *one;
}

RegisterFile::RegisterFile(const Instance& instance) {
  for (const RegisterInfo& one : kRegisters) values_[one.address] = one.reset;
  for (std::uint32_t i = 0; i < kMostSequences; ++i) values_[kLengths + 4 * i] = 0;
  set("ROWS", static_cast<std::uint64_t>(instance.array.rows));
  set("PES", static_cast<std::uint64_t>(instance.array.pes));
  set("PORTS", static_cast<std::uint64_t>(instance.array.ports));
  set("DEPTH_MOST", static_cast<std::uint64_t>(instance.depth));
  set("KEYS_MOST", static_cast<std::uint64_t>(instance.score_keys));
}

void RegisterFile::set(const char* name, std::uint64_t value) {
  const RegisterInfo& one = register_named(name);
  ORRERY_CHECK(one.bits == 32 || value >> static_cast<unsigned>(one.bits) == 0, "a value that its register holds");
  values_[one.address] = static_cast<std::uint32_t>(value);
}

std::uint32_t RegisterFile::read(std::uint32_t address) const {
  const auto at = values_.find(address);
  return at == values_.end() ? 0 : at->second;
}

void RegisterFile::write(std::uint32_t address, std::uint32_t value) {
  std::uint32_t& status = values_[register_named("STATUS").address];
  const RegisterInfo* const one = found(address);
  const bool busy = (status & kBusy) != 0;
  if (one != nullptr && one->access == Access::kClearByOne) {
    status &= ~(value & (kDone | kError));
    return;
  }
  if ((one == nullptr && !of_lengths(address)) || (one != nullptr && one->access == Access::kRead) || busy) {
    status |= kError;
    return;
  }
  const std::uint32_t kept = one == nullptr ? value : cut(value, one->bits);
  const bool control = one != nullptr && std::string_view(one->name) == "CONTROL";
  values_[address] = control ? kept & ~kStart : kept;
  if (control && (kept & kStart) != 0) status = (status & ~kDone) | kBusy;
}

bool RegisterFile::interrupt() const {
  return (at("CONTROL") & kInterrupts) != 0 && (at("STATUS") & kDone) != 0;
}

void RegisterFile::done(const Simulation& run) {
  const auto wide = [&](const char* low, const char* high, Count value) {
    set(low, static_cast<std::uint64_t>(value) & 0xffffffffU);
    set(high, static_cast<std::uint64_t>(value) >> 32U);
  };
  wide("CYCLES_LOW", "CYCLES_HIGH", run.cycles);
  wide("WAITING_LOW", "WAITING_HIGH", run.phases.waiting);
  wide("KEPT_LOW", "KEPT_HIGH", run.kept);
  set("BLOCKS", static_cast<std::uint64_t>(run.blocks) & 0xffffffffU);
  set("SATURATED", static_cast<std::uint64_t>(std::min<Count>(run.saturated.outputs, 0xffffffff)));
  std::uint32_t& status = values_[register_named("STATUS").address];
  status = (status & ~kBusy) | kDone;
}

void program(RegisterFile& file, const Instance& instance, const Work& work, const PredictionConstants& constants) {
  ORRERY_CHECK(work.shape.batch <= Count{kMostSequences} && work.shape.rows < 65536 && work.shape.columns < 65536,
               "sequences and lengths that the registers hold");
  const auto put = [&](const char* name, std::uint64_t value) {
    file.write(register_named(name).address, static_cast<std::uint32_t>(value));
  };
  put("SEQUENCES", static_cast<std::uint64_t>(work.shape.batch));
  put("HEADS", static_cast<std::uint64_t>(work.shape.heads));
  put("QUERIES", static_cast<std::uint64_t>(work.shape.rows));
  put("KEYS", static_cast<std::uint64_t>(work.shape.columns));
  put("DEPTH", static_cast<std::uint64_t>(work.depth));
  put("QUERY_MULTIPLIER", static_cast<std::uint64_t>(query_multiplier(instance, work.scale)));
  put("QUERY_POINT", static_cast<std::uint64_t>(scaled_point(instance, work.scale)));
  if (work.prediction) {
    put("QUERY_RECIPROCAL", constants.query.reciprocal), put("KEY_RECIPROCAL", constants.key.reciprocal);
    put("QUERY_SHIFT", static_cast<std::uint64_t>(constants.query.shift));
    put("KEY_SHIFT", static_cast<std::uint64_t>(constants.key.shift));
    put("QUERY_FACTOR", constants.query.factor), put("KEY_FACTOR", constants.key.factor);
    put("QUERY_FACTOR_SHIFT", static_cast<std::uint64_t>(constants.query.factor_shift));
    put("KEY_FACTOR_SHIFT", static_cast<std::uint64_t>(constants.key.factor_shift));
    put("SCORE_SHIFT", static_cast<std::uint64_t>(constants.score_shift));
    put("THRESHOLD", static_cast<std::uint64_t>(constants.threshold));
  }
  for (const MatrixPlan& matrix : planned_tiles(instance, work).matrices)
    file.write(kLengths + 4 * static_cast<std::uint32_t>(matrix.matrix / work.shape.heads),
               static_cast<std::uint32_t>(matrix.queries) | static_cast<std::uint32_t>(matrix.keys) << 16U);
  const bool causal = work.mask != nullptr ? work.mask->causal : work.causal;
  put("CONTROL", kStart | (work.prediction ? kPredict : 0) | (constants.query.normalise ? kNormalise : 0) |
                     (causal ? kCausal : 0) | (work.packing != nullptr ? kPacked : 0) |
                     (instance.overlap ? kOverlap : 0));
}

PredictionConstants constants_in(const RegisterFile& file, const Instance& instance) {
  PredictionConstants all;
  const auto number = [&](const char* name) { return static_cast<int>(file.at(name)); };
  for (QuantiserConstants* const one : {&all.query, &all.key}) {
    one->most = (1 << (instance.code_bits - 1)) - 1;
    one->norm_bits = widths(instance).norm;
    one->normalise = (file.at("CONTROL") & kNormalise) != 0;
  }
  all.query.point = instance.numbers.query.point, all.key.point = instance.numbers.key.point;
  all.query.reciprocal = file.at("QUERY_RECIPROCAL"), all.key.reciprocal = file.at("KEY_RECIPROCAL");
  all.query.shift = number("QUERY_SHIFT"), all.key.shift = number("KEY_SHIFT");
  all.query.factor = file.at("QUERY_FACTOR"), all.key.factor = file.at("KEY_FACTOR");
  all.query.factor_shift = number("QUERY_FACTOR_SHIFT"), all.key.factor_shift = number("KEY_FACTOR_SHIFT");
  all.score_shift = number("SCORE_SHIFT");
  all.threshold = FixedPoint{24, 16}.wrapped(file.at("THRESHOLD"));
  all.depth = number("DEPTH");
  return all;
}

}  // namespace orrery::accelerator
