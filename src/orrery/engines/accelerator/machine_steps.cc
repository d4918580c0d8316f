#include "orrery/engines/accelerator/machine_steps.h"

#include <algorithm>
#include <memory>

#include "orrery/base/diagnostics/check.h"
#include "orrery/engines/accelerator/calculate.h"
#include "orrery/engines/accelerator/controller.h"
#include "orrery/engines/accelerator/tile_arithmetic.h"
#include "orrery/engines/accelerator/timeline.h"
#include "orrery/engines/accelerator/units/block_run.h"
#include "orrery/engines/accelerator/units/mask_decoder.h"
#include "orrery/engines/accelerator/units/predictor_unit.h"
#include "orrery/engines/accelerator/units/quantiser_unit.h"
#include "orrery/engines/accelerator/units/registers.h"

namespace orrery::accelerator {
namespace {

// A block in the buffer between packer and preparer.
struct Buffered {
  PackedColumns columns;
  std::vector<std::int32_t> query_numbers;
};

// Whose data a memory's two banks hold: from the first word that is written on, those of the new owner.
struct Banks {
  std::array<Count, 2> owners{-1, -1};
  void take(Count owner) { owners[static_cast<std::size_t>(owner % 2)] = owner; }
  void check(Count owner) const {
    ORRERY_CHECK(owners[static_cast<std::size_t>(owner % 2)] == owner, "a bank holds what is read from it");
  }
};

class Machine {
 public:
  Machine(const Instance& instance, const Work& work, const RunPlan& plan, const FixedInputs& inputs,
          const PredictionConstants& constants, const masks::Mask& mask)
      : i_(instance),
        work_(work),
        plan_(plan),
        inputs_(inputs),
        mask_(mask),
        controller_(instance, plan),
        quantisers_{QuantiserUnit(constants.query, instance.quantiser_lanes),
                    QuantiserUnit(constants.key, instance.quantiser_lanes)},
        predictor_(instance, constants),
        packer_(instance.array),
        decoder_(instance.array),
        execution_(instance),
        merger_(instance, instance.query_rows),
        multiplier_(query_multiplier(instance, work.scale)) {
    column_.resize(static_cast<std::size_t>(instance.array.rows));
    out_.memories = memories(instance);
    out_.outputs.resize(static_cast<std::size_t>(work.shape.matrices() * work.shape.rows * work.depth));
    if (plan.predicts) out_.predicted = mask;
  }

  SteppedRun run() {
    for (Count now = 0; !controller_.ended(); ++now) {
      ORRERY_CHECK(now < 100'000'000, "the machine does not stand still");
      arrive(now);
      start(now);
      step();
    }
    out_.blocks = controller_.packed();
    out_.saturated.scores = predictor_.saturated();
    return std::move(out_);
  }

 private:
  using Coding = Controller::Coding;
  using Merging = Controller::Merging;
  using Next = RequestProgram::Next;

  const TilePlan& tile(Count g) const { return plan_.tiles[static_cast<std::size_t>(g)]; }
  const MatrixPlan& matrix(Count m) const { return plan_.matrices[static_cast<std::size_t>(m)]; }
  // Where a token's numbers begin among the inputs.
  Count query_row(Count g) const { return matrix(tile(g).matrix).matrix * work_.shape.rows + tile(g).first_query; }
  Count key_row(Count m) const { return matrix(m).matrix * work_.shape.columns; }
  template <class T>
  static T& bank(std::array<T, 2>& of, Count owner) {
    return of[static_cast<std::size_t>(owner % 2)];
  }

  void access(Memory memory, Count reads, Count writes) {
    MemoryUse& use = out_.memories[static_cast<std::size_t>(memory)];
    use.reads += reads, use.writes += writes;
  }
  // PE rows of a block that have entries.
  Count rows_of(Count b) const {
    const auto& counts = buffer_[static_cast<std::size_t>(b)].columns.counts;
    return std::count_if(counts.begin(), counts.end(), [](std::uint32_t n) { return n > 0; });
  }
  Count keys_of(Count b) const { return static_cast<Count>(buffer_[static_cast<std::size_t>(b)].columns.keys.size()); }

  // ---- The channel ----
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
        return keys_of(x) * depth * element(next.what == Request::kFetchKeys ? i_.numbers.key : i_.numbers.value);
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
      if (flight.what == Request::kBlock) take_given(flight.index);
      controller_.arrived(flight.what, flight.index);
      if (flight.what == Request::kStore) out_.cycles = now;
      write(flight.what, flight.index);
    }
  }

  // Words that a transfer writes; a given mask is read once, too, a column at a time.
  void write(Request what, Count index) {
    if (what == Request::kKeys) access(Memory::kKeys, 0, matrix(index).keys);
    if (what == Request::kValues) access(Memory::kValues, 0, matrix(index).keys);
    if (what == Request::kQueries) access(Memory::kQueries, 0, tile(index).queries);
    if (what == Request::kMask) {
      const Count words = base::ceil_divide(tile(index).keys, i_.numbers.score.bits);
      access(Memory::kScores, words, words);
    }
  }

  // A block that was packed beforehand.
  void take_given(Count b) {
    const masks::PackedBlock& from = work_.packing->blocks[static_cast<std::size_t>(b)];
    const auto rows = static_cast<std::size_t>(i_.array.rows);
    Buffered to;
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
    access(Memory::kBlocks, 0, keys_of(b));
  }

  // ---- What starts ----
  bool idle() const {
    return coding_ == Coding::kNone && !predicting_ && !packing_ && !preparing_ && !execution_.busy() &&
           !merger_.busy() && flights_.empty();
  }

  void start(Count now) {
    // Without overlap, one thing at a time.
    const auto may = [&] { return i_.overlap || idle(); };
    if (!merger_.busy() && may()) start_merger();
    if (!execution_.busy() && may() && controller_.executes()) start_array();
    if (!preparing_ && may() && controller_.prepares()) start_preparer();
    if (!packing_ && may() && controller_.packs()) packing_ = true;
    if (!predicting_ && may() && controller_.predicts()) start_predictor();
    if (coding_ == Coding::kNone && may()) start_quantiser();
    if (now >= channel_free_ && may()) start_request(now);
  }

  void start_request(Count now) {
    const Next next = controller_.request();
    if (!next.known) return;
    const Count transfer = transfer_cycles(i_, bytes_of(next));
    channel_free_ = now + transfer;
    out_.busy[static_cast<std::size_t>(Unit::kMemory)] += transfer;
    flights_.push_back({next.what, next.index, channel_free_ + i_.latency});
    if (next.what == Request::kKeys) key_banks_.take(next.index);
    if (next.what == Request::kValues) value_banks_.take(next.index);
    if (next.what == Request::kQueries) query_banks_.take(next.index);
    if (next.what == Request::kFetchKeys) port_banks_.take(next.index);
    controller_.requested();
  }

  void start_quantiser() {
    coding_ = controller_.coding();
    const Count depth = work_.depth;
    if (coding_ == Coding::kKeys) {
      const Count m = controller_.coded_keys();
      key_banks_.check(m), code_banks_[1].take(m);
      quantisers_[1].begin(inputs_.key.data() + key_row(m) * depth, matrix(m).keys, depth);
    } else if (coding_ == Coding::kQueries) {
      const Count g = controller_.coded_queries();
      query_banks_.check(g), code_banks_[0].take(g);
      quantisers_[0].begin(inputs_.query.data() + query_row(g) * depth, tile(g).queries, depth);
    }
  }

  void start_predictor() {
    const Count g = controller_.predicted(), m = tile(g).matrix;
    const TilePlan& own = tile(g);
    there_ = std::make_unique<masks::There>(mask_, matrix(m).matrix / work_.shape.heads);
    PredictedTile job;
    job.rows = own.queries, job.keys = own.keys, job.depth = work_.depth;
    code_banks_[0].check(g), code_banks_[1].check(m);
    const Codes &query = bank(query_codes_, g), &key = bank(key_codes_, m);
    job.query_codes = query.codes.data(), job.query_factors = query.factors.data();
    job.key_codes = key.codes.data(), job.key_factors = key.factors.data();
    job.valid = [this, &own](Count row, Count column) {
      const auto& words = there_->pairs_of(own.first_query + row);
      return (words[static_cast<std::size_t>(column / masks::kWordBits)] >> (column % masks::kWordBits) & 1) != 0;
    };
    predictor_.begin(job);
    predicting_ = true;
    // Codes are read as they enter the array: each key's once, each query's once a pass.
    access(Memory::kCodes, own.keys + own.queries * base::ceil_divide(own.keys, i_.prediction_width), 0);
    access(Memory::kScores, 0, own.keys);
  }

  void start_preparer() {
    const Count b = controller_.prepared(), m = tile(controller_.tile_of(b)).matrix;
    if (resident(i_, matrix(m)))
      port_banks_.take(b);
    else
      port_banks_.check(b);
    decoder_.begin(buffer_[static_cast<std::size_t>(b)].columns.counts);
    prepare_port_ = 0;
    BlockOperands& into = bank(operands_, b);
    into.depth = work_.depth, into.query_point = scaled_point(i_, work_.scale);
    const auto ports = static_cast<std::size_t>(i_.array.ports * work_.depth);
    into.keys.assign(ports, 0), into.value_rows.assign(ports, 0);
    preparing_ = true;
  }

  void start_array() {
    const Count b = controller_.executed(), g = controller_.tile_of(b);
    query_banks_.check(g), port_banks_.check(b), output_banks_.take(b);
    fill_queries(b, g);
    execution_.begin(bank(operands_, b), bank(outputs_, b));
    access(Memory::kQueries, rows_of(b), 0), access(Memory::kOutputs, 0, rows_of(b));
    access(Memory::kPortKeys, keys_of(b), 0), access(Memory::kPortValues, keys_of(b), 0);
  }
  void fill_queries(Count b, Count g) {
    BlockOperands& into = bank(operands_, b);
    const Count depth = work_.depth;
    into.query_numbers = buffer_[static_cast<std::size_t>(b)].query_numbers;
    into.queries.assign(static_cast<std::size_t>(i_.array.rows * depth), 0);
    for (Count r = 0; r < i_.array.rows; ++r) {
      const std::int32_t query = into.query_numbers[static_cast<std::size_t>(r)];
      if (query < 0) continue;
      const Count row = query_row(g) + query;
      for (Count i = 0; i < depth; ++i)
        into.queries[static_cast<std::size_t>(r * depth + i)] =
            scaled_query(multiplier_, inputs_.query[static_cast<std::size_t>(row * depth + i)]);
    }
  }

  void start_merger() {
    merging_ = controller_.merging();
    if (merging_ == Merging::kBlock) {
      output_banks_.check(controller_.merged());
      merger_.merge(bank(outputs_, controller_.merged()), work_.depth);
      const Count rows = rows_of(controller_.merged());
      access(Memory::kOutputs, rows, 0), access(Memory::kAccumulators, rows, rows);
    } else if (merging_ == Merging::kOutputs) {
      const Count queries = tile(controller_.normalised()).queries;
      merger_.normalise(queries, work_.depth);
      access(Memory::kAccumulators, queries, queries);
    }
  }

  // ---- A cycle of every unit. What one ends the others see in the next cycle: none looks at the controller here ----
  void step() {
    const auto works = [&](Unit unit, bool does) {
      if (does) ++out_.busy[static_cast<std::size_t>(unit)];
      return does;
    };
    if (works(Unit::kMerger, merger_.busy())) step_merger();
    if (works(Unit::kArray, execution_.busy())) {
      execution_.step();
      if (!execution_.busy()) controller_.has_executed();
    }
    if (works(Unit::kPreparer, preparing_)) step_preparer();
    if (works(Unit::kPacker, packing_)) step_packer();
    if (works(Unit::kPredictor, predicting_)) {
      predictor_.step();
      predicting_ = predictor_.busy();
      if (!predicting_) controller_.has_predicted();
    }
    if (works(Unit::kQuantiser, coding_ != Coding::kNone)) step_quantiser();
  }

  void step_merger() {
    merger_.step();
    if (merger_.busy()) return;
    if (merging_ == Merging::kBlock) return controller_.has_merged();
    std::copy(merger_.outputs().begin(), merger_.outputs().end(),
              out_.outputs.begin() + static_cast<std::ptrdiff_t>(query_row(controller_.normalised()) * work_.depth));
    out_.saturated.outputs = merger_.saturated();
    controller_.has_normalised();
  }

  void step_preparer() {
    const Count b = controller_.prepared(), depth = work_.depth, m = tile(controller_.tile_of(b)).matrix;
    const Buffered& block = buffer_[static_cast<std::size_t>(b)];
    BlockOperands& into = bank(operands_, b);
    const auto port = static_cast<std::size_t>(prepare_port_);
    const bool used = port < block.columns.keys.size();
    decoder_.step(used ? block.columns.bits.data() + port * static_cast<std::size_t>(i_.array.rows) : nullptr);
    if (used) {
      access(Memory::kBlocks, 1, 0), access(Memory::kPortKeys, 0, 1), access(Memory::kPortValues, 0, 1);
      if (resident(i_, matrix(m))) {
        key_banks_.check(m), value_banks_.check(m);
        access(Memory::kKeys, 1, 0), access(Memory::kValues, 1, 0);
      }
      const Count key = key_row(m) + block.columns.keys[port];
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
    controller_.has_prepared();
  }

  void step_packer() {
    const Count g = controller_.packed_tiles();
    const TilePlan& own = tile(g);
    if (packing_key_ == own.keys) {
      if (packer_.end()) take_packed(g);
      controller_.has_packed_tile();
      packing_key_ = 0, packing_ = false;
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
    if (plan_.predicts) access(Memory::kScores, 1, 0);
    if (packer_.step(static_cast<std::int32_t>(key), column_)) {
      ++packing_key_;
      return;
    }
    take_packed(g);
    packing_ = false;
  }
  void take_packed(Count g) {
    Buffered block{packer_.closed(), std::vector<std::int32_t>(static_cast<std::size_t>(i_.array.rows), -1)};
    for (Count r = 0; r < tile(g).queries; ++r)
      block.query_numbers[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r);
    buffer_.push_back(std::move(block));
    access(Memory::kBlocks, 0, keys_of(controller_.packed()));
    controller_.has_packed(g);
  }

  void step_quantiser() {
    const bool keys = coding_ == Coding::kKeys;
    QuantiserUnit& unit = quantisers_[keys ? 1 : 0];
    unit.step();
    if (unit.busy()) return;
    out_.saturated.codes += unit.clipped();
    const auto tokens = static_cast<Count>(unit.factors().size());
    access(keys ? Memory::kKeys : Memory::kQueries, 2 * tokens, 0), access(Memory::kCodes, 0, tokens);
    (keys ? bank(key_codes_, controller_.coded_keys()) : bank(query_codes_, controller_.coded_queries())) = {
        unit.codes(), unit.factors()};
    controller_.has_coded(coding_);
    coding_ = Coding::kNone;
  }

  const Instance& i_;
  const Work& work_;
  const RunPlan& plan_;
  const FixedInputs& inputs_;
  const masks::Mask& mask_;  // given; or empty, with what is valid
  SteppedRun out_;

  Controller controller_;
  QuantiserUnit quantisers_[2];  // one unit, with the registers of queries and of keys
  PredictorUnit predictor_;
  PackerUnit packer_;
  MaskDecoder decoder_;
  BlockRun execution_;
  MergerUnit merger_;
  std::int64_t multiplier_;
  std::unique_ptr<masks::There> there_;

  // Memories.
  struct Codes {
    std::vector<std::int8_t> codes;
    std::vector<std::uint64_t> factors;
  };
  std::array<Codes, 2> query_codes_, key_codes_;
  std::vector<Buffered> buffer_;  // every block so far; only block_slots of them are alive
  std::array<BlockOperands, 2> operands_;
  std::array<BlockOutputs, 2> outputs_;
  std::vector<std::uint8_t> column_;
  Banks query_banks_, key_banks_, value_banks_, port_banks_, output_banks_, code_banks_[2];

  // What units are at.
  Coding coding_ = Coding::kNone;
  Merging merging_ = Merging::kNone;
  bool predicting_ = false, packing_ = false, preparing_ = false;
  Count packing_key_ = 0, prepare_port_ = 0;
  struct Flight {
    Request what;
    Count index, end;
  };
  std::vector<Flight> flights_;
  Count channel_free_ = 0;
};

}  // namespace

SteppedRun stepped_run(const Instance& instance, const Work& work) {
  RunPlan plan = planned_tiles(instance, work);
  const FixedInputs inputs = fixed_inputs(instance, work, 1);
  PredictionConstants constants;
  masks::Mask mask(work.shape);
  if (work.prediction) {
    const Prediction& p = *work.prediction;
    const auto found = largest_magnitudes(work, p.normalise, 1);
    base::Diagnostics problems;
    constants = prediction_constants(instance, sizes_of(work), p.normalise, p.query_clip.value_or(found.first),
                                     p.key_clip.value_or(found.second), p.threshold, problems);
    problems.throw_if_errors();
    mask.valid_rows = work.valid_rows, mask.valid_columns = work.valid_columns, mask.causal = work.causal;
  } else {
    mask = masks::inside_valid(*work.mask);
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

}  // namespace orrery::accelerator
