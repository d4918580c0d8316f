#include "orrery/array/machine_steps.h"

#include <algorithm>
#include <memory>

#include "orrery/array/block_run.h"
#include "orrery/array/calculate.h"
#include "orrery/array/mask_decoder.h"
#include "orrery/array/predictor_unit.h"
#include "orrery/array/quantiser_unit.h"
#include "orrery/array/registers.h"
#include "orrery/array/tile_arithmetic.h"
#include "orrery/array/timeline.h"
#include "orrery/base/check.h"

namespace orrery::array {
namespace {

// A block in the buffer between packer and preparer.
struct Buffered {
  Count tile = 0;
  PackedColumns columns;
  std::vector<std::int32_t> query_numbers;
};

class Machine {
 public:
  Machine(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
          const PredictionConstants& constants, const sparse::Mask& mask)
      : i_(instance),
        work_(work),
        plan_(plan),
        inputs_(inputs),
        mask_(mask),
        quantisers_{QuantiserUnit(constants.query, instance.quantiser_lanes),
                    QuantiserUnit(constants.key, instance.quantiser_lanes)},
        predictor_(instance, constants),
        packer_(instance.array),
        decoder_(instance.array),
        execution_(instance),
        merger_(instance, instance.query_rows),
        multiplier_(query_multiplier(instance, work.scale)) {
    column_.resize(static_cast<std::size_t>(instance.array.rows));
    tile_end_.assign(plan.tiles.size(), 0);
    out_.outputs.resize(static_cast<std::size_t>(work.shape.matrices() * work.shape.rows * work.depth));
    if (plan.predicts) out_.predicted = mask;
  }

  SteppedRun run() {
    const Count tiles = static_cast<Count>(plan_.tiles.size());
    Count now = 0;
    for (; stored_ < tiles; ++now) {
      ORRERY_CHECK(now < 100'000'000, "the machine does not stand still");
      started_ = false;
      arrive(now);
      start(now);
      step();
    }
    out_.cycles = tiles == 0 ? 0 : last_end_;
    out_.blocks = packed_;
    out_.saturated.scores = predictor_.saturated();
    return std::move(out_);
  }

 private:
  const TilePlan& tile(Count g) const { return plan_.tiles[static_cast<std::size_t>(g)]; }
  const MatrixPlan& matrix(Count m) const { return plan_.matrices[static_cast<std::size_t>(m)]; }
  Count tiles() const { return static_cast<Count>(plan_.tiles.size()); }
  bool stays(Count m) const { return resident(i_, matrix(m)); }
  Count last_tile(Count m) const { return matrix(m).first_tile + matrix(m).tiles - 1; }
  bool packed_whole(Count g) const { return g < packed_tiles_; }
  bool executed(Count g) const {
    return g < 0 || (packed_whole(g) && executed_ >= tile_end_[static_cast<std::size_t>(g)]);
  }
  bool prepared(Count g) const {
    return g < 0 || (packed_whole(g) && prepared_ >= tile_end_[static_cast<std::size_t>(g)]);
  }

  // ---- The channel: requests in the order of the program ----
  enum class Request { kKeys, kQueries, kValues, kMask, kBlock, kFetchKeys, kFetchValues, kStore };
  struct Flight {
    Request what;
    Count index, end;
  };

  // The next request of the program, if it is known yet. A step of the program that asks for nothing is passed by.
  struct Next {
    bool known = false;
    Request what = Request::kKeys;
    Count index = 0;
  };
  Next next_request() {
    const auto matrices = static_cast<Count>(plan_.matrices.size());
    for (;;) {
      if (slot_ == tiles()) return final_stored_ ? Next{} : Next{true, Request::kStore, tiles() - 1};
      const Count g = slot_;
      const auto ask = [&](bool wanted, Request what, Count index, Next& next) {
        if (wanted) next = {true, what, index};
        return wanted;
      };
      Next next;
      if (g < 0) {
        // Before the first tile: keys, queries, values, mask.
        const bool keys = plan_.predicts || stays(0), mask = wants_mask(0);
        switch (program_) {
          case 0:
            if (ask(keys, Request::kKeys, 0, next)) return next;
            break;
          case 1:
            return {true, Request::kQueries, 0};
          case 2:
            if (ask(stays(0), Request::kValues, 0, next)) return next;
            break;
          case 3:
            if (ask(mask, Request::kMask, 0, next)) return next;
            break;
          default:
            slot_ = 0, program_ = 0, of_tile_ = 0;
            continue;
        }
        ++program_;
        continue;
      }
      const Count m = tile(g).matrix;
      switch (program_) {
        case 0:  // the first two blocks
        case 5:  // the others
        {
          if (program_ == 0 && of_tile_ == 2) break;
          const Count b = first_block_ + of_tile_;
          if (!plan_.packed && stays(m)) break;
          if (plan_.packed) {
            if (of_tile_ == tile(g).blocks) break;
            if (request_of_block_ == 0) return {true, Request::kBlock, b};
            if (stays(m)) {
              ++of_tile_, request_of_block_ = 0;
              continue;
            }
          } else {
            if (packed_whole(g) && b >= tile_end_[static_cast<std::size_t>(g)]) break;
            if (b >= packed_) return {};
          }
          if (request_of_block_ <= 1) return {true, Request::kFetchKeys, b};
          if (request_of_block_ == 2) return {true, Request::kFetchValues, b};
          ++of_tile_, request_of_block_ = 0;
          continue;
        }
        case 1:
          if (ask(g + 1 < tiles(), Request::kQueries, g + 1, next)) return next;
          break;
        case 2:
          if (ask(matrix(m).first_tile == g && m + 1 < matrices && (plan_.predicts || stays(m + 1)), Request::kKeys,
                  m + 1, next))
            return next;
          break;
        case 3:
          if (ask(matrix(m).first_tile == g && m + 1 < matrices && stays(m + 1), Request::kValues, m + 1, next))
            return next;
          break;
        case 4:
          if (ask(g >= 1, Request::kStore, g - 1, next)) return next;
          break;
        case 6:
          if (ask(g + 1 < tiles() && wants_mask(g + 1), Request::kMask, g + 1, next)) return next;
          break;
        default:
          // Where its blocks end is known once it is packed, of given ones beforehand.
          if (!plan_.packed && !packed_whole(g)) return {};
          first_block_ = plan_.packed ? tile(g).first_block + tile(g).blocks : tile_end_[static_cast<std::size_t>(g)];
          ++slot_, program_ = 0, of_tile_ = 0, request_of_block_ = 0;
          continue;
      }
      ++program_;
    }
  }
  bool wants_mask(Count g) const { return !plan_.predicts && !plan_.packed && tile(g).keys > 0; }

  void advance(Request what) {
    switch (what) {
      case Request::kBlock:
        request_of_block_ = 1;
        return;
      case Request::kFetchKeys:
        request_of_block_ = 2;
        return;
      case Request::kFetchValues:
        request_of_block_ = 3;
        return;
      case Request::kStore:
        if (slot_ == tiles()) {
          final_stored_ = true;
          return;
        }
        [[fallthrough]];
      default:
        ++program_;
    }
  }

  bool allowed(const Next& next) const {
    const Count x = next.index;
    switch (next.what) {
      case Request::kKeys:
      case Request::kValues: {
        if (x < 2) return true;
        const Count g = last_tile(x - 2);
        return prepared(g) && (next.what == Request::kValues || !plan_.predicts || predicted_ > g);
      }
      case Request::kQueries:
        return executed(x - 2);
      case Request::kMask:
        return x == 0 || packed_whole(x - 1);
      case Request::kBlock:
        return prepared_ > x - i_.block_slots;
      case Request::kFetchKeys:
        return x < packed_ && executed_ > x - 2;
      case Request::kFetchValues:
        return true;
      case Request::kStore:
        return normalised_ > x;
    }
    return false;
  }

  Count bytes_of(const Next& next) const {
    const Count x = next.index, depth = work_.depth;
    const auto element = [&](const FixedPoint& f) { return base::ceil_divide(f.bits, 8); };
    switch (next.what) {
      case Request::kKeys:
        return key_bytes(i_, matrix(x), depth) + validity_bytes(plan_, matrix(x).keys);
      case Request::kValues:
        return value_bytes(i_, matrix(x), depth);
      case Request::kQueries:
        return query_bytes(i_, tile(x), depth) + validity_bytes(plan_, tile(x).queries);
      case Request::kMask:
        return mask_bytes(i_, tile(x));
      case Request::kBlock:
        return descriptor_bytes(i_);
      case Request::kFetchKeys:
      case Request::kFetchValues: {
        const auto keys = static_cast<Count>(buffer_[static_cast<std::size_t>(x)].columns.keys.size());
        return keys * depth * element(next.what == Request::kFetchKeys ? i_.numbers.key : i_.numbers.value);
      }
      case Request::kStore:
        return output_bytes(i_, tile(x), depth);
    }
    return 0;
  }

  void arrive(Count now) {
    while (!flights_.empty() && flights_.front().end == now) {
      const Flight flight = flights_.front();
      flights_.erase(flights_.begin());
      switch (flight.what) {
        case Request::kKeys:
          ++keys_loaded_;
          break;
        case Request::kValues:
          ++values_loaded_;
          break;
        case Request::kQueries:
          ++queries_loaded_;
          query_bank_[static_cast<std::size_t>(flight.index % 2)] = flight.index;
          break;
        case Request::kMask:
          ++masks_loaded_;
          break;
        case Request::kBlock:
          take_given(flight.index);
          break;
        case Request::kFetchKeys:
          break;
        case Request::kFetchValues:
          ++fetched_;
          break;
        case Request::kStore:
          ++stored_;
          last_end_ = now;
          break;
      }
    }
  }

  // A block that was packed beforehand.
  void take_given(Count b) {
    const sparse::PackedBlock& from = work_.packing->blocks[static_cast<std::size_t>(b)];
    const auto rows = static_cast<std::size_t>(i_.array.rows);
    Buffered to;
    while (b >= tile(packing_tile_).first_block + tile(packing_tile_).blocks) ++packing_tile_;
    to.tile = packing_tile_;
    to.columns.keys = from.keys;
    to.columns.bits.assign(from.keys.size() * rows, 0);
    to.columns.counts.assign(rows, 0);
    to.query_numbers.assign(rows, -1);
    for (std::size_t r = 0; r < from.rows.size(); ++r) {
      to.query_numbers[r] = from.rows[r].query;
      to.columns.counts[r] = static_cast<std::uint32_t>(from.rows[r].ports.size());
      for (const std::int32_t port : from.rows[r].ports) to.columns.bits[static_cast<std::size_t>(port) * rows + r] = 1;
    }
    buffer_.push_back(std::move(to));
    ++packed_;
    const TilePlan& own = tile(packing_tile_);
    if (packed_ == own.first_block + own.blocks)
      while (packed_tiles_ <= packing_tile_) tile_end_[static_cast<std::size_t>(packed_tiles_++)] = packed_;
  }

  // ---- What may start ----
  bool idle() const {
    return !quantising_ && !predicting_ && !packing_ && !preparing_ && !execution_.busy() && !merger_.busy() &&
           flights_.empty();
  }
  // Without overlap, one thing at a time.
  bool may() { return i_.overlap || (!started_ && idle()); }

  void start(Count now) {
    // What is empty ends at once: given blocks of a tile that has none.
    while (plan_.packed && packed_tiles_ < tiles() &&
           tile(packed_tiles_).first_block + tile(packed_tiles_).blocks <= packed_)
      tile_end_[static_cast<std::size_t>(packed_tiles_++)] = packed_;
    if (!merger_.busy() && may()) start_merger();
    if (!execution_.busy() && may()) start_array();
    if (!preparing_ && may()) start_preparer();
    if (!packing_ && may()) start_packer();
    if (!predicting_ && may()) start_predictor();
    if (!quantising_ && may()) start_quantiser();
    if (now >= channel_free_ && may()) start_request(now);
  }

  void start_request(Count now) {
    const Next next = next_request();
    if (!next.known || !allowed(next)) return;
    const Count transfer = transfer_cycles(i_, bytes_of(next));
    channel_free_ = now + transfer;
    out_.busy[static_cast<std::size_t>(Unit::kMemory)] += transfer;
    flights_.push_back({next.what, next.index, channel_free_ + i_.latency});
    started_ = true;
    advance(next.what);
  }

  void start_quantiser() {
    if (!plan_.predicts) return;
    // Keys of the first matrix, then each tile's queries, followed by the next matrix's keys where a matrix begins.
    const bool keys = quantise_keys_next();
    const Count m = keys_coded_, g = queries_coded_;
    const auto depth = work_.depth;
    if (keys) {
      if (m >= keys_loaded_ || (m >= 2 && predicted_ <= last_tile(m - 2))) return;
      quantisers_[1].begin(inputs_.key.data() + matrix(m).matrix * work_.shape.columns * depth, matrix(m).keys, depth);
    } else {
      if (g >= tiles() || g >= queries_loaded_ || predicted_ <= g - 2) return;
      const Count row = matrix(tile(g).matrix).matrix * work_.shape.rows + tile(g).first_query;
      ORRERY_CHECK(query_bank_[static_cast<std::size_t>(g % 2)] == g, "the queries' bank holds this tile");
      quantisers_[0].begin(inputs_.query.data() + row * depth, tile(g).queries, depth);
    }
    quantising_ = true, quantising_keys_ = keys, started_ = true;
  }
  // In order: K0 Q0, then for each tile g: Q(g + 1), and K(m + 1) if g begins matrix m.
  bool quantise_keys_next() const {
    const auto matrices = static_cast<Count>(plan_.matrices.size());
    if (keys_coded_ == 0) return true;
    if (keys_coded_ >= matrices || queries_coded_ == 0) return false;
    // Keys m + 1 follow queries g + 1, g the first tile of m.
    const Count m = keys_coded_ - 1;
    return queries_coded_ >= std::min(matrix(m).first_tile + 2, tiles());
  }

  void start_predictor() {
    const Count g = predicted_;
    if (!plan_.predicts || g >= tiles() || g >= queries_coded_ || tile(g).matrix >= keys_coded_) return;
    if (g > 0 && !packed_whole(g - 1)) return;
    const TilePlan& own = tile(g);
    const Count m = own.matrix, batch = matrix(m).matrix / work_.shape.heads;
    there_ = std::make_unique<sparse::There>(mask_, batch);
    PredictedTile job;
    job.rows = own.queries, job.keys = own.keys, job.depth = work_.depth;
    const Codes& query = query_codes_[static_cast<std::size_t>(g % 2)];
    const Codes& key = key_codes_[static_cast<std::size_t>(m % 2)];
    ORRERY_CHECK(query.owner == g && key.owner == m, "banks of codes hold this tile's");
    job.query_codes = query.codes.data(), job.query_factors = query.factors.data();
    job.key_codes = key.codes.data(), job.key_factors = key.factors.data();
    job.valid = [this, &own](Count row, Count column) {
      const auto& words = there_->pairs_of(own.first_query + row);
      return (words[static_cast<std::size_t>(column / sparse::kWordBits)] >> (column % sparse::kWordBits) & 1) != 0;
    };
    predictor_.begin(job);
    predicting_ = true, started_ = true;
  }

  void start_packer() {
    const Count g = packed_tiles_;
    if (plan_.packed || g >= tiles()) return;
    if (plan_.predicts ? g >= predicted_ : wants_mask(g) && masks_loaded_ <= mask_number(g)) return;
    if (prepared_ <= packed_ - i_.block_slots) return;
    // A tile without entries needs no room, and would not wait for it.
    if (packing_key_ == 0 && !in_tile_) packer_.begin(), in_tile_ = true;
    packing_ = true, started_ = true;
  }
  // Masks are loaded for tiles with keys only.
  Count mask_number(Count g) const {
    Count before = 0;
    for (Count t = 0; t < g; ++t) before += wants_mask(t) ? 1 : 0;
    return before;
  }

  void start_preparer() {
    const Count b = prepared_;
    if (b >= packed_ || executed_ <= b - 2) return;
    const Buffered& block = buffer_[static_cast<std::size_t>(b)];
    const Count m = tile(block.tile).matrix;
    if (stays(m)) {
      if (loaded_keys_of(m) || loaded_values_of(m)) return;
    } else if (fetched_ <= fetch_number(b)) {
      return;
    }
    decoder_.begin(block.columns.counts);
    prepare_port_ = 0;
    BlockOperands& into = operands_[static_cast<std::size_t>(b % 2)];
    into.depth = work_.depth, into.query_point = scaled_point(i_, work_.scale);
    const auto ports = static_cast<std::size_t>(i_.array.ports * work_.depth);
    into.keys.assign(ports, 0), into.value_rows.assign(ports, 0);
    preparing_ = true, started_ = true;
  }
  // Whether they are still missing. Those of matrices that do not stay are not loaded, or not as a whole.
  bool loaded_keys_of(Count m) const { return keys_loaded_ <= number_of(m, plan_.predicts); }
  bool loaded_values_of(Count m) const { return values_loaded_ <= number_of(m, false); }
  Count number_of(Count m, bool all) const {
    Count before = 0;
    for (Count n = 0; n < m; ++n) before += all || stays(n) ? 1 : 0;
    return before;
  }
  Count fetch_number(Count b) const {
    Count before = 0;
    for (Count c = 0; c < b; ++c) before += stays(tile(buffer_[static_cast<std::size_t>(c)].tile).matrix) ? 0 : 1;
    return before;
  }

  void start_array() {
    const Count b = executed_;
    if (b >= prepared_ || merged_ <= b - 2) return;
    const Count g = buffer_[static_cast<std::size_t>(b)].tile;
    if (g >= queries_loaded_) return;
    ORRERY_CHECK(query_bank_[static_cast<std::size_t>(g % 2)] == g, "the queries' bank holds this tile");
    fill_queries(b, g);
    execution_.begin(operands_[static_cast<std::size_t>(b % 2)], outputs_[static_cast<std::size_t>(b % 2)]);
    started_ = true;
  }
  void fill_queries(Count b, Count g) {
    BlockOperands& into = operands_[static_cast<std::size_t>(b % 2)];
    const Count depth = work_.depth;
    into.query_numbers = buffer_[static_cast<std::size_t>(b)].query_numbers;
    into.queries.assign(static_cast<std::size_t>(i_.array.rows * depth), 0);
    for (Count r = 0; r < i_.array.rows; ++r) {
      const std::int32_t query = into.query_numbers[static_cast<std::size_t>(r)];
      if (query < 0) continue;
      const Count row = matrix(tile(g).matrix).matrix * work_.shape.rows + tile(g).first_query + query;
      for (Count i = 0; i < depth; ++i)
        into.queries[static_cast<std::size_t>(r * depth + i)] =
            scaled_query(multiplier_, inputs_.query[static_cast<std::size_t>(row * depth + i)]);
    }
  }

  void start_merger() {
    // Blocks of a tile, then its outputs.
    const Count g = normalised_;
    if (g >= tiles()) return;
    if (packed_whole(g) && merged_ == tile_end_[static_cast<std::size_t>(g)]) {
      if (stored_ <= g - 2) return;
      merger_.normalise(tile(g).queries, work_.depth);
      normalising_ = true, started_ = true;
    } else if (merged_ < executed_) {
      merger_.merge(outputs_[static_cast<std::size_t>(merged_ % 2)], work_.depth);
      normalising_ = false, started_ = true;
    }
  }

  // ---- A cycle of every unit ----
  void step() {
    const auto works = [&](Unit unit) { ++out_.busy[static_cast<std::size_t>(unit)]; };
    if (merger_.busy()) works(Unit::kMerger), step_merger();
    if (execution_.busy()) {
      works(Unit::kArray), execution_.step();
      if (!execution_.busy()) ++ending_.executed;
    }
    if (preparing_) works(Unit::kPreparer), step_preparer();
    if (packing_) works(Unit::kPacker), step_packer();
    if (predicting_) {
      works(Unit::kPredictor), predictor_.step();
      if (!predictor_.busy()) ++ending_.predicted, predicting_ = false;
    }
    if (quantising_) works(Unit::kQuantiser), step_quantiser();
    // Counters change between cycles.
    merged_ += ending_.merged, normalised_ += ending_.normalised, executed_ += ending_.executed;
    prepared_ += ending_.prepared, predicted_ += ending_.predicted;
    ending_ = {};
  }

  void step_merger() {
    merger_.step();
    if (merger_.busy()) return;
    if (!normalising_) {
      ++ending_.merged;
      return;
    }
    const Count g = normalised_;
    const Count row = matrix(tile(g).matrix).matrix * work_.shape.rows + tile(g).first_query;
    std::copy(merger_.outputs().begin(), merger_.outputs().end(),
              out_.outputs.begin() + static_cast<std::ptrdiff_t>(row * work_.depth));
    out_.saturated.outputs = merger_.saturated();
    ++ending_.normalised;
  }

  void step_preparer() {
    const Count b = prepared_, depth = work_.depth;
    const Buffered& block = buffer_[static_cast<std::size_t>(b)];
    BlockOperands& into = operands_[static_cast<std::size_t>(b % 2)];
    const auto port = static_cast<std::size_t>(prepare_port_);
    const bool used = port < block.columns.keys.size();
    decoder_.step(used ? block.columns.bits.data() + port * static_cast<std::size_t>(i_.array.rows) : nullptr);
    if (used) {
      const Count key = matrix(tile(block.tile).matrix).matrix * work_.shape.columns + block.columns.keys[port];
      for (Count i = 0; i < depth; ++i) {
        const auto to = static_cast<std::size_t>(prepare_port_ * depth + i),
                   from = static_cast<std::size_t>(key * depth + i);
        into.keys[to] = inputs_.key[from], into.value_rows[to] = inputs_.value[from];
      }
    }
    ++prepare_port_;
    if (decoder_.busy()) return;
    into.scores = decoder_.scores(), into.values = decoder_.values();
    preparing_ = false;
    ++ending_.prepared;
  }

  void step_packer() {
    const Count g = packed_tiles_;
    const TilePlan& own = tile(g);
    if (packing_key_ == own.keys) {
      if (packer_.end()) take_packed(g);
      tile_end_[static_cast<std::size_t>(g)] = packed_;
      ++packed_tiles_;
      packing_key_ = 0, in_tile_ = packing_ = false;
      return;
    }
    const Count key = packing_key_, m = matrix(own.matrix).matrix, batch = m / work_.shape.heads,
                head = m % work_.shape.heads;
    for (Count r = 0; r < i_.array.rows; ++r) {
      const Count query = own.first_query + r;
      const bool keeps =
          plan_.predicts ? predictor_.keeps(key, r) : r < own.queries && mask_.kept(batch, head, query, key);
      column_[static_cast<std::size_t>(r)] = keeps ? 1 : 0;
      if (plan_.predicts && keeps) out_.predicted->keep(batch, head, query, key);
    }
    if (packer_.step(static_cast<std::int32_t>(key), column_)) {
      ++packing_key_;
      return;
    }
    take_packed(g);
    packing_ = false;
  }
  void take_packed(Count g) {
    Buffered block{g, packer_.closed(), std::vector<std::int32_t>(static_cast<std::size_t>(i_.array.rows), -1)};
    for (Count r = 0; r < tile(g).queries; ++r)
      block.query_numbers[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r);
    buffer_.push_back(std::move(block));
    ++packed_;
  }

  void step_quantiser() {
    QuantiserUnit& unit = quantisers_[quantising_keys_ ? 1 : 0];
    unit.step();
    if (unit.busy()) return;
    quantising_ = false;
    out_.saturated.codes += unit.clipped();
    Count& coded = quantising_keys_ ? keys_coded_ : queries_coded_;
    (quantising_keys_ ? key_codes_ : query_codes_)[static_cast<std::size_t>(coded % 2)] = {coded, unit.codes(),
                                                                                           unit.factors()};
    ++coded;
  }

  const Instance& i_;
  const Work& work_;
  const RunPlan& plan_;
  const FixedInputs& inputs_;
  const sparse::Mask& mask_;  // given; or empty, with what is valid
  SteppedRun out_;

  QuantiserUnit quantisers_[2];  // one unit, with the registers of queries and of keys
  PredictorUnit predictor_;
  PackerUnit packer_;
  MaskDecoder decoder_;
  BlockRun execution_;
  MergerUnit merger_;
  std::int64_t multiplier_;
  std::unique_ptr<sparse::There> there_;

  // Memories.
  struct Codes {
    Count owner = -1;
    std::vector<std::int8_t> codes;
    std::vector<std::uint64_t> factors;
  };
  std::array<Codes, 2> query_codes_, key_codes_;
  std::array<Count, 2> query_bank_{-1, -1};
  std::vector<Buffered> buffer_;  // every block so far; only block_slots of them are alive
  std::array<BlockOperands, 2> operands_;
  std::array<BlockOutputs, 2> outputs_;
  std::vector<std::uint8_t> column_;

  // The controller's counters: of matrices, tiles, blocks that have gone through a unit.
  Count keys_loaded_ = 0, values_loaded_ = 0, keys_coded_ = 0;
  Count queries_loaded_ = 0, queries_coded_ = 0, masks_loaded_ = 0, predicted_ = 0, packed_tiles_ = 0, normalised_ = 0,
        stored_ = 0;
  Count packed_ = 0, fetched_ = 0, prepared_ = 0, executed_ = 0, merged_ = 0;
  struct Ending {
    Count merged = 0, normalised = 0, executed = 0, prepared = 0, predicted = 0;
  } ending_;
  std::vector<Count> tile_end_;  // blocks up to the end of each tile that is packed
  bool quantising_ = false, quantising_keys_ = false, predicting_ = false, packing_ = false, preparing_ = false,
       normalising_ = false, in_tile_ = false, started_ = false;
  Count packing_key_ = 0, packing_tile_ = 0, prepare_port_ = 0;
  // The channel and its program.
  std::vector<Flight> flights_;
  Count channel_free_ = 0, last_end_ = 0;
  Count slot_ = -1, of_tile_ = 0, request_of_block_ = 0, first_block_ = 0;
  int program_ = 0;
  bool final_stored_ = false;
};

}  // namespace

SteppedRun stepped_run(const Instance& instance, const Work& work) {
  RunPlan plan = planned_tiles(instance, work);
  const FixedInputs inputs = fixed_inputs(instance, work, 1);
  PredictionConstants constants;
  sparse::Mask mask(work.shape);
  if (work.prediction) {
    const Prediction& p = *work.prediction;
    const auto found = largest_magnitudes(work, p.normalise, 1);
    base::Diagnostics problems;
    constants = prediction_constants(instance, sizes_of(work), p.normalise, p.query_clip.value_or(found.first),
                                     p.key_clip.value_or(found.second), p.threshold, problems);
    problems.throw_if_errors();
    mask.valid_rows = work.valid_rows, mask.valid_columns = work.valid_columns, mask.causal = work.causal;
  } else {
    mask = sparse::inside_valid(*work.mask);
    constants.query.norm_bits = constants.key.norm_bits = widths(instance).norm;
    constants.score_shift = 1;
  }
  if (work.packing != nullptr) add_blocks(*work.packing, plan);
  // The machine knows of its driver's numbers what stands in its registers.
  RegisterFile file(instance);
  program(file, instance, work, constants);
  ORRERY_CHECK(file.started(), "a run that was started");
  return Machine(instance, work, plan, inputs, constants_in(file, instance), mask).run();
}

}  // namespace orrery::array
