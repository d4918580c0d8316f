#include "orrery/engines/accelerator/timeline.h"

#include <algorithm>
#include <initializer_list>

#include "orrery/engines/masks/unfinished.h"

namespace orrery::accelerator {
namespace {

constexpr Count kNone = -1;

// An operation: when, of what kind, and which other one it waited for last.
struct Operation {
  Unit unit = Unit::kMemory;
  Count begin = 0, end = 0;
  Count blocker = kNone;
};

class Run {
 public:
  Run(const Instance& instance, const RunPlan& plan, Count depth, const std::function<void(const Interval&)>& trace,
      const base::Budget& budget)
      : i_(instance), plan_(plan), depth_(depth), trace_(trace), clock_(budget), t_(timing(instance, depth)) {
    last_.fill(kNone);
  }

  Timeline run() {
    const Count tiles = static_cast<Count>(plan_.tiles.size());
    predict_.assign(static_cast<std::size_t>(tiles), kNone);
    pack_ = normalise_ = store_ = query_ = query_codes_ = mask_ = predict_;
    const auto blocks = plan_.blocks.size();
    prepare_.assign(blocks, kNone);
    execute_ = merge_ = prepare_;
    keys_.assign(plan_.matrices.size(), kNone);
    values_ = key_codes_ = keys_;
    i_.overlap ? overlapped(tiles) : sequential(tiles);
    finish();
    return out_;
  }

 private:
  using Deps = std::initializer_list<Count>;

  const TilePlan& tile(Count g) const { return plan_.tiles[static_cast<std::size_t>(g)]; }
  const MatrixPlan& matrix(Count m) const { return plan_.matrices[static_cast<std::size_t>(m)]; }
  static Count at(const std::vector<Count>& of, Count i) { return i < 0 ? kNone : of[static_cast<std::size_t>(i)]; }
  static Count& put(std::vector<Count>& of, Count i) { return of[static_cast<std::size_t>(i)]; }

  // Appends an operation that begins when `deps` have ended, and, of one unit after the other, its predecessor.
  Count add(Unit unit, Count free, Count cycles, const Deps& deps) {
    Operation op{unit, free, 0, free > 0 ? last_[index(unit)] : kNone};
    const auto wait = [&](Count dep) {
      if (dep != kNone && operations_[static_cast<std::size_t>(dep)].end > op.begin)
        op.begin = operations_[static_cast<std::size_t>(dep)].end, op.blocker = dep;
    };
    for (const Count dep : deps) wait(dep);
    if (!i_.overlap) wait(previous_);
    op.end = op.begin + cycles;
    out_.busy[index(unit)] += cycles;
    if (operations_.size() % 4096 == 4095) clock_(Count{1} << 22);
    operations_.push_back(op);
    return previous_ = last_[index(unit)] = static_cast<Count>(operations_.size()) - 1;
  }
  Count add(Unit unit, Count cycles, const Deps& deps) {
    const Count before = last_[index(unit)];
    return add(unit, before == kNone ? 0 : operations_[static_cast<std::size_t>(before)].end, cycles, deps);
  }
  Count end_of(Count op) const { return operations_[static_cast<std::size_t>(op)].end; }
  static std::size_t index(Unit unit) { return static_cast<std::size_t>(unit); }

  // A request: it holds the channel while it transfers; its data are there some cycles later.
  Count request(Count bytes, Count Bytes::*purpose, const char* what, Count g, Count b, const Deps& deps) {
    const Count transfer = transfer_cycles(i_, bytes);
    Count needed = barrier_;
    for (const Count dep : deps)
      if (needed == kNone || (dep != kNone && end_of(dep) > end_of(needed))) needed = dep;
    const Count op = add(Unit::kMemory, channel_free_, transfer + i_.latency, {needed});
    channel_free_ = operations_.back().begin + transfer;
    out_.busy[index(Unit::kMemory)] -= i_.latency;
    out_.bytes.*purpose += bytes;
    show(op, what, g, b, operations_.back().begin + transfer);
    return op;
  }

  void show(Count op, const char* what, Count g, Count b, Count end = kNone) const {
    if (!trace_) return;
    const Operation& o = operations_[static_cast<std::size_t>(op)];
    const bool of_matrix = g < 0;
    const Count m = of_matrix ? -g - 1 : tile(g).matrix;
    trace_({o.unit, what, matrix(m).matrix, of_matrix ? kNone : g - matrix(m).first_tile, b, o.begin,
            end == kNone ? o.end : end});
  }

  void load_keys(Count m) {
    if (plan_.predicts || resident(i_, matrix(m))) {
      const Count before = m >= 2 ? released(m - 2) : kNone, predicted = m >= 2 ? last_predict(m - 2) : kNone,
                  packed = m >= 2 ? last_pack(m - 2) : kNone;
      const Count validity = validity_bytes(plan_, matrix(m).keys);
      put(keys_, m) = request(key_bytes(i_, matrix(m), depth_) + validity, &Bytes::keys, "load keys", -m - 1, kNone,
                              {before, predicted, packed});
      out_.bytes.keys -= validity, out_.bytes.masks += validity;
    }
  }
  void load_values(Count m) {
    if (resident(i_, matrix(m)))
      put(values_, m) = request(value_bytes(i_, matrix(m), depth_), &Bytes::values, "load values", -m - 1, kNone,
                                {m >= 2 ? released(m - 2) : kNone, m >= 2 ? last_pack(m - 2) : kNone});
  }
  void code_keys(Count m) {
    if (!plan_.predicts) return;
    put(key_codes_, m) = add(Unit::kQuantiser, matrix(m).keys * t_.quantise_row + t_.quantise_tail,
                             {at(keys_, m), m >= 2 ? last_predict(m - 2) : kNone});
    show(previous_, "quantise keys", -m - 1, kNone);
  }
  void load_queries(Count g) {
    const Count validity = validity_bytes(plan_, tile(g).queries);
    put(query_, g) = request(query_bytes(i_, tile(g), depth_) + validity, &Bytes::queries, "load queries", g, kNone,
                             {executed(g - 2), at(pack_, g - 2)});
    out_.bytes.queries -= validity, out_.bytes.masks += validity;
  }
  void code_queries(Count g) {
    if (!plan_.predicts) return;
    put(query_codes_, g) = add(Unit::kQuantiser, tile(g).queries * t_.quantise_row + t_.quantise_tail,
                               {at(query_, g), at(predict_, g - 2)});
    show(previous_, "quantise queries", g, kNone);
  }
  void predict(Count g) {
    if (!plan_.predicts) return;
    const Count passes = base::ceil_divide(tile(g).keys, i_.prediction_width);
    put(predict_, g) = add(Unit::kPredictor, passes * t_.predict_pass + t_.predict_tail,
                           {at(query_codes_, g), at(key_codes_, tile(g).matrix), at(pack_, g - 1)});
    show(previous_, "predict", g, kNone);
  }
  void load_mask(Count g) {
    if (plan_.predicts || plan_.packed || tile(g).keys == 0) return;
    put(mask_, g) = request(mask_bytes(i_, tile(g)), &Bytes::masks, "load mask", g, kNone, {at(pack_, g - 1)});
  }
  // A block comes into the buffer: packed here, or given.
  void pack(Count g, Count b) {
    const Count slot = at(prepare_, b - i_.block_slots);
    if (plan_.packed) {
      put(pack_, g) = request(descriptor_bytes(i_), &Bytes::blocks, "load block", g, b, {slot});
      return;
    }
    put(pack_, g) = add(Unit::kPacker, plan_.blocks[static_cast<std::size_t>(b)].pack_cycles,
                        {at(predict_, g), at(mask_, g), slot});
    show(previous_, "pack", g, b);
  }
  void pack_nothing(Count g) {
    if (tile(g).blocks > 0 || plan_.packed) return;
    // Without keys there is no mask to wait for: its queries tell that the tile's turn has come.
    put(pack_, g) = add(Unit::kPacker, tile(g).empty_cycles,
                        {at(predict_, g), tile(g).keys > 0 ? at(mask_, g) : at(query_, g),
                         at(prepare_, tile(g).first_block - i_.block_slots)});
    show(previous_, "pack", g, kNone);
  }
  void execute(Count g, Count b) {
    const Count m = tile(g).matrix, bank = at(execute_, b - 2);
    Count fetched = kNone;
    if (!resident(i_, matrix(m))) {
      const Count keys = plan_.blocks[static_cast<std::size_t>(b)].keys, packed = at(pack_, g);
      const Numbers& n = i_.numbers;
      request(keys * depth_ * base::ceil_divide(n.key.bits, 8), &Bytes::keys, "fetch keys", g, b, {packed, bank});
      fetched = request(keys * depth_ * base::ceil_divide(n.value.bits, 8), &Bytes::values, "fetch values", g, b, {});
    }
    put(prepare_, b) =
        add(Unit::kPreparer, t_.prepare,
            {at(pack_, g), resident(i_, matrix(m)) ? at(keys_, m) : kNone, at(values_, m), fetched, bank});
    show(previous_, "prepare", g, b);
    const Count before = last_[index(Unit::kArray)];
    put(execute_, b) = add(Unit::kArray, t_.block(), {at(prepare_, b), at(query_, g), at(merge_, b - 2)});
    explain(before == kNone ? 0 : operations_[static_cast<std::size_t>(before)].end, previous_);
    show_phases(previous_, g, b);
    put(merge_, b) = add(Unit::kMerger, t_.merge, {at(execute_, b)});
    show(previous_, "merge", g, b);
  }
  void normalise(Count g) {
    put(normalise_, g) =
        add(Unit::kMerger, tile(g).queries * t_.normalise_row + t_.normalise_tail, {at(pack_, g), at(store_, g - 2)});
    show(previous_, "normalise", g, kNone);
  }
  void store(Count g) {
    if (g < 0) return;
    put(store_, g) =
        request(output_bytes(i_, tile(g), depth_), &Bytes::outputs, "store outputs", g, kNone, {at(normalise_, g)});
  }
  void block(Count g, Count b) { pack(g, b), execute(g, b); }

  // The last execution of a tile, or of those before it: nothing of it is needed any more.
  Count executed(Count g) const { return g < 0 ? kNone : at(execute_, tile(g).first_block + tile(g).blocks - 1); }
  Count released(Count m) const {
    const TilePlan& last = tile(matrix(m).first_tile + matrix(m).tiles - 1);
    return at(prepare_, last.first_block + last.blocks - 1);
  }
  Count last_pack(Count m) const { return at(pack_, matrix(m).first_tile + matrix(m).tiles - 1); }
  Count last_predict(Count m) const { return at(predict_, matrix(m).first_tile + matrix(m).tiles - 1); }

  void sequential(Count tiles) {
    for (Count g = 0; g < tiles; ++g) {
      const Count m = tile(g).matrix;
      if (matrix(m).first_tile == g) load_keys(m), load_values(m), code_keys(m);
      load_queries(g), code_queries(g), predict(g), load_mask(g);
      for (Count b = 0; b < tile(g).blocks; ++b) block(g, tile(g).first_block + b);
      pack_nothing(g), normalise(g), store(g);
    }
  }

  void overlapped(Count tiles) {
    const auto matrices = static_cast<Count>(plan_.matrices.size());
    if (tiles == 0) return;
    load_keys(0), load_queries(0), load_values(0), load_mask(0);
    code_keys(0), code_queries(0), predict(0);
    for (Count g = 0; g < tiles; ++g) {
      const TilePlan& own = tile(g);
      const Count first = std::min<Count>(own.blocks, 2), m = own.matrix;
      pack_nothing(g);
      // Whoever asks for the keys of blocks must know that there are none.
      if (own.blocks == 0 && !plan_.packed && !resident(i_, matrix(m))) barrier_ = at(pack_, g);
      for (Count b = 0; b < first; ++b) block(g, own.first_block + b);
      if (g + 1 < tiles) load_queries(g + 1), code_queries(g + 1);
      if (matrix(m).first_tile == g && m + 1 < matrices) load_keys(m + 1), load_values(m + 1), code_keys(m + 1);
      store(g - 1);
      for (Count b = first; b < own.blocks; ++b) block(g, own.first_block + b);
      normalise(g);
      if (g + 1 < tiles) load_mask(g + 1), predict(g + 1);
    }
    store(tiles - 1);
  }

  Count& stall_of(Unit unit) {
    switch (unit) {
      case Unit::kQuantiser:
      case Unit::kPredictor:
        return out_.stalls.prediction;
      case Unit::kPacker:
        return out_.stalls.packing;
      case Unit::kPreparer:
        return out_.stalls.preparing;
      case Unit::kMerger:
        return out_.stalls.merging;
      default:
        return out_.stalls.memory;
    }
  }

  // From `since` until operation `op` begins: which units it, and what it waited for, waited for.
  void explain(Count since, Count op) {
    const Operation* one = &operations_[static_cast<std::size_t>(op)];
    Count until = one->begin;
    out_.phases.waiting += std::max<Count>(0, until - since);
    while (until > since && one->blocker != kNone) {
      one = &operations_[static_cast<std::size_t>(one->blocker)];
      stall_of(one->unit) += until - std::max(one->begin, since);
      until = one->begin;
    }
  }

  void show_phases(Count op, Count g, Count b) {
    const std::pair<const char*, Count> phases[] = {{"clear", t_.clear},     {"scores", t_.scores},
                                                    {"maximum", t_.maximum}, {"exponentials", t_.exponentials},
                                                    {"values", t_.values},   {"drain", t_.drain}};
    Count ArrayPhases::*const sums[] = {&ArrayPhases::clear,        &ArrayPhases::scores, &ArrayPhases::maximum,
                                        &ArrayPhases::exponentials, &ArrayPhases::values, &ArrayPhases::drain};
    Count begin = operations_[static_cast<std::size_t>(op)].begin;
    for (std::size_t i = 0; i < std::size(phases); begin += phases[i++].second) {
      out_.phases.*sums[i] += phases[i].second;
      if (trace_)
        trace_({Unit::kArray, phases[i].first, matrix(tile(g).matrix).matrix, g - matrix(tile(g).matrix).first_tile, b,
                begin, begin + phases[i].second});
    }
  }

  // The run ends when the last operation has: what follows the array's last block is a wait, too.
  void finish() {
    Count last = kNone;
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (last == kNone || operations_[i].end > operations_[static_cast<std::size_t>(last)].end)
        last = static_cast<Count>(i);
    if (last == kNone) return;
    const Count array = last_[index(Unit::kArray)];
    out_.cycles = operations_[static_cast<std::size_t>(last)].end;
    operations_.push_back({Unit::kArray, out_.cycles, out_.cycles, last});
    explain(array == kNone ? 0 : operations_[static_cast<std::size_t>(array)].end,
            static_cast<Count>(operations_.size()) - 1);
  }

  const Instance& i_;
  const RunPlan& plan_;
  Count depth_;
  const std::function<void(const Interval&)>& trace_;
  masks::WorkClock clock_;
  Timing t_;
  Timeline out_;
  std::vector<Operation> operations_;
  std::array<Count, kUnits> last_{};
  Count previous_ = kNone, channel_free_ = 0, barrier_ = kNone;
  // Numbers of operations: by tile, by block, by matrix.
  std::vector<Count> predict_, pack_, normalise_, store_, query_, query_codes_, mask_;
  std::vector<Count> prepare_, execute_, merge_;
  std::vector<Count> keys_, values_, key_codes_;
};

Count bytes_of(const FixedPoint& format) {
  return base::ceil_divide(format.bits, 8);
}

}  // namespace

Timeline timeline(const Instance& instance, const RunPlan& plan, Count depth,
                  const std::function<void(const Interval&)>& trace, const base::Budget& budget) {
  return Run(instance, plan, depth, trace, budget).run();
}

Count query_bytes(const Instance& instance, const TilePlan& tile, Count depth) {
  return tile.queries * depth * bytes_of(instance.numbers.query);
}
Count key_bytes(const Instance& instance, const MatrixPlan& matrix, Count depth) {
  return matrix.keys * depth * bytes_of(instance.numbers.key);
}
Count value_bytes(const Instance& instance, const MatrixPlan& matrix, Count depth) {
  return matrix.keys * depth * bytes_of(instance.numbers.value);
}
Count mask_bytes(const Instance& instance, const TilePlan& tile) {
  return tile.keys * base::ceil_divide(instance.array.rows, 8);
}
Count descriptor_bytes(const Instance& instance) {
  const masks::PackArray& a = instance.array;
  const Widths w = widths(instance);
  return base::ceil_divide(a.ports * w.key_number + a.rows * (w.query_number + 1) + a.ports * a.rows, 8);
}
Count output_bytes(const Instance& instance, const TilePlan& tile, Count depth) {
  return tile.queries * depth * bytes_of(instance.numbers.output);
}
Count validity_bytes(const RunPlan& plan, Count tokens) {
  return plan.predicts ? base::ceil_divide(tokens, 8) : 0;
}
bool resident(const Instance& instance, const MatrixPlan& matrix) {
  return matrix.keys <= instance.key_tokens;
}

}  // namespace orrery::accelerator
