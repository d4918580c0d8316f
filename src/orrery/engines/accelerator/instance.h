// What is built: the accelerator of docs/model/sparse_array.md, its sizes, widths and memories. Plain data.
#pragma once

#include <limits>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/engines/accelerator/units/fixed_point.h"
#include "orrery/engines/masks/packing/packing.h"

namespace orrery::accelerator {

using base::Count;

// Numbers in two's complement. What comes in is rounded to `query`, `key`, `value`; what goes out is `output`.
struct Numbers {
  FixedPoint query{16, 10}, key{16, 10}, value{16, 10}, output{16, 10};
  FixedPoint sum{32, 16};     // scores, exponentials and weighted values in the sparse array; sums of exponentials
  FixedPoint score{16, 10};   // predicted scores
  int accumulator_bits = 40;  // of what the merger adds up, with the sums' point
};

// How exponentials of arguments <= 0 are computed (signed_exp_unit.h).
struct ExpShape {
  int table_bits = 6;     // the logarithm of the table's entries
  bool long_log2 = true;  // log2 e as 1 + 1/2 - 1/16 + 1/256 + 1/1024 = 1.44238; else Sanger's 1 + 1/2 - 1/16 = 1.4375
};

struct Instance {
  masks::PackArray array;       // rows, PEs of a row, column ports
  Count depth = 64;             // the largest head size
  int code_bits = 4;            // of predicted queries and keys: 2, 4, 6 or 8
  Count prediction_width = 64;  // columns of the prediction array; its rows are the array's
  Count quantiser_lanes = 64;   // elements that are quantised in a cycle
  Count merge_lanes = 16;       // elements that are merged, or normalised, in a cycle
  Numbers numbers;
  ExpShape exponential;

  // Memories.
  Count query_rows = 64;    // queries of a tile, in each of two banks; accumulators of as many
  Count key_tokens = 1024;  // keys and values of a matrix, in each of two banks; longer ones are fetched block by block
  Count score_keys = 1024;  // keys of which a tile's predicted scores, or its mask, are held, and their codes
  Count block_slots = 16;   // packed blocks that wait

  bool overlap = true;       // units work beside each other; else one at a time
  double frequency = 1e9;    // Hz
  double bandwidth = 128e9;  // bytes a second, of the DRAM; infinity: a cycle a request
  Count latency = 100;       // cycles from the end of a transfer to its data

  // May be infinite.
  double bytes_per_cycle() const { return bandwidth / frequency; }
};

// What an instance is asked to run, as far as its faults depend on it.
struct Sizes {
  Count matrices = 1, queries = 0, keys = 0, depth = 0;
  double scale = 1;         // of q k
  bool predicts = false;    // masks are predicted; else they, or packed blocks, are given
  bool packed = false;      // blocks are given: one tile holds all queries of a matrix
  bool calculates = false;  // with numbers; else only cycles and events are asked for
};

// Everything that is wrong with an instance for these sizes, each with the arithmetic that fails and a way out:
// O1890 widths that overflow, O1891 the array's shape and units, O1892 bandwidth, latency and frequency, O1893 sizes
// that its memories do not hold.
base::Diagnostics faults(const Instance& instance, const Sizes& sizes);

// The same instance with memories and a depth that hold these sizes: for those that the user left open.
Instance fitted(Instance instance, const Sizes& sizes);

// Widths that follow from an instance; bits. docs/model/sparse_array.md derives them.
struct Widths {
  int code_sum = 0;      // of a sum of products of offset codes
  int square_sum = 0;    // of a row's sum of squares, with 8 bits behind it
  int norm = 0;          // of its root: 4 bits more behind the point than the input has
  int product = 0;       // of a PE's product, before it is shifted
  int multiplier_a = 0;  // of a PE's first operand: a scaled query, or an exponential
  int multiplier_b = 0;  // of its second: a key or a value
  int quotient = 17;     // of the quantiser's reciprocal
  int factor = 16;       // of a row's and a column's factor
  int reciprocal = 25;   // of 1 / sum, 24 of them behind the point
  int query_number = 0;  // of a query in a tile
  int key_number = 0;    // of a key in a matrix
};
Widths widths(const Instance& instance);

inline constexpr int kReciprocalBits = 25;

// Bits behind the point of a query that has been multiplied by the scale of scores: as many more than `query` has as
// the scale has zeros behind its own, at most those of `sum`. It keeps its bits and never overflows.
int scaled_point(const Instance& instance, double scale);

// Cycles of each unit's work (timing.cc); the document derives them.
struct Timing {
  Count quantise_row = 0, quantise_tail = 0;  // n rows take n x row + tail
  Count predict_pass = 0, predict_tail = 0;   // a tile takes passes x pass + tail
  Count prepare = 0;                          // of a block
  Count clear = 1, scores = 0, maximum = 1, exponentials = 1, values = 0, drain = 0;
  Count merge = 0;                              // of a block
  Count normalise_row = 0, normalise_tail = 0;  // n queries take n x row + tail
  Count block() const { return clear + scores + maximum + exponentials + values + drain; }
};
// With head size `depth`, at most the instance's.
Timing timing(const Instance& instance, Count depth);

// Of a request of so many bytes on the DRAM's channel; 1 at least.
Count transfer_cycles(const Instance& instance, Count bytes);

}  // namespace orrery::accelerator
