// The accelerator run: masks, or queries, keys and values, in; cycles, events and fixed-point outputs out.
//
// A matrix is one head of one sequence. Its queries go through the machine in tiles of the array's rows, a tile's mask
// in packed blocks. Cycles follow from the blocks by the rules of docs/model/sparse_array.md (timeline.h), numbers from
// the arithmetic of its modules, bit by bit (tile_arithmetic.h); machine_steps.h is the same machine, a cycle at a
// time.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/limits/budget.h"
#include "orrery/engines/accelerator/instance.h"
#include "orrery/engines/masks/mask.h"
#include "orrery/engines/masks/packing/packing.h"

namespace orrery::accelerator {

// Masks predicted from queries and keys, as Sanger does.
struct Prediction {
  double threshold = 0.002;                    // keep where softmax(predicted score) exceeds it; 0 to below 1
  bool normalise = true;                       // rows are divided by their norms before they are quantised
  std::optional<double> query_clip, key_clip;  // frozen; else the largest magnitude of this input
};

// What is run. Pointers are not owned.
struct Work {
  masks::MaskShape shape;  // rows: queries, columns: keys
  Count depth = 0;
  double scale = 1;  // of q k: above 0, at most 1
  // [matrix][token][depth], finite; all three, or none: then only cycles and events are counted.
  const float *query = nullptr, *key = nullptr, *value = nullptr;
  // One of these three; a mask beside a packing is what utilisation and errors refer to, and must be what it packs.
  std::optional<Prediction> prediction;
  const masks::Mask* mask = nullptr;
  const masks::Packing* packing = nullptr;  // needs `mask`, too
  // Of predicted masks; a mask brings its own.
  std::vector<std::uint8_t> valid_rows, valid_columns;  // as masks::Mask has them
  bool causal = false;

  bool calculates() const { return query != nullptr; }
};
Sizes sizes_of(const Work& work);

enum class Unit { kMemory, kQuantiser, kPredictor, kPacker, kPreparer, kArray, kMerger };
inline constexpr int kUnits = 7;
const char* name_of(Unit unit);

// What a unit does from cycle `begin` to before `end`.
struct Interval {
  Unit unit = Unit::kMemory;
  const char* what = "";                    // "load keys", "scores", "merge", ...
  Count matrix = 0, tile = -1, block = -1;  // -1: of no tile, or block; blocks count through the whole run
  Count begin = 0, end = 0;
};

// What the array does in each cycle. They add up to all cycles.
struct ArrayPhases {
  Count clear = 0, scores = 0, maximum = 0, exponentials = 0, values = 0, drain = 0;
  Count waiting = 0;  // of which Stalls tell why
  Count all() const { return clear + scores + maximum + exponentials + values + drain + waiting; }
};

// Why the array waits: what it waits for, or what that waited for. They add up to `waiting`.
struct Stalls {
  Count memory = 0;      // transfers and their latency
  Count prediction = 0;  // quantiser and predictor
  Count packing = 0;
  Count preparing = 0;  // mask decoder and port buffers
  Count merging = 0;    // blocks merged, outputs normalised
  Count all() const { return memory + prediction + packing + preparing + merging; }
};

// Bytes to and from the DRAM.
struct Bytes {
  Count queries = 0, keys = 0, values = 0;
  Count masks = 0;   // given ones, and which tokens are valid
  Count blocks = 0;  // descriptors of packed ones
  Count outputs = 0;
  Count all() const { return queries + keys + values + masks + blocks + outputs; }
};

// Operations, for energy.
struct Operations {
  Count code_products = 0;                       // multiply-adds of the prediction array
  Count score_products = 0, value_products = 0;  // of PEs with an entry
  Count idle_products = 0;                       // of PEs without one, whose operand is 0
  Count exponentials = 0;                        // in PEs
  Count predicted_exponentials = 0, merge_exponentials = 0;
  Count squares = 0, codes = 0;  // multiplications of the quantiser
  Count roots = 0, quantiser_divisions = 0;
  Count rescalings = 0;  // predicted scores: three factors
  Count statistics = 0;  // updates of a row's maximum and sum: a multiplication
  Count logarithms = 0, compares = 0;
  Count merges = 0;                           // elements: two multiplications
  Count reciprocals = 0, normalisations = 0;  // elements: one multiplication
  Count scaled_queries = 0;                   // elements multiplied by 1 / sqrt(d) as they are loaded
  Count decoded_ports = 0;                    // ports that the mask decoder went through
};

enum class Memory {
  kQueries,
  kKeys,
  kValues,
  kCodes,
  kScores,
  kBlocks,
  kPortKeys,
  kPortValues,
  kOutputs,
  kAccumulators
};
inline constexpr int kMemories = 10;
const char* name_of(Memory memory);

// A memory as it is built, and how often it was read and written.
struct MemoryUse {
  Count words = 0, width = 0, banks = 1;  // of a bank; bits; banks of the same kind
  Count reads = 0, writes = 0;            // of whole words
  Count bits() const { return words * width * banks; }
};
using Memories = std::array<MemoryUse, kMemories>;
Memories memories(const Instance& instance);  // none used yet

// Where numbers did not fit, or fitted badly.
struct Saturated {
  Count queries = 0, keys = 0, values = 0;  // inputs beyond their format
  Count codes = 0;                          // clipped by the quantiser's threshold
  Count scores = 0;                         // predicted ones
  Count outputs = 0;
};

struct Simulation {
  Count cycles = 0;
  ArrayPhases phases;
  Stalls stalls;
  std::array<Count, kUnits> busy{};  // cycles in which each unit works
  Count tiles = 0, blocks = 0, kept = 0;
  double utilization = 1;  // kept / (blocks x rows x PEs), as the packing counts it; 1 without blocks
  Bytes bytes;
  Operations operations;
  Memories memories;

  // With numbers.
  Saturated saturated;
  std::vector<std::int32_t> outputs;               // [matrix][query][depth], in the format `output`
  std::optional<double> max_relative_error;        // of outputs, against the largest of attention in double precision
  std::optional<double> mean_relative_error;       // root of the mean square, against the same
  std::optional<masks::Mask> predicted;            // the mask, where it was predicted
  std::optional<std::pair<double, double>> clips;  // thresholds of queries and keys, where they were quantised
};

struct SimulateOptions {
  int threads = 1;                             // results do not depend on them
  bool compare = true;                         // with attention in double precision
  std::function<void(const Interval&)> trace;  // each interval of each unit, by unit and time
};

// The instance has no faults for sizes_of(work). Throws masks::Unfinished; InputError O1894 where a quantiser has no
// scale: a clip threshold of 0, or too small for its widths.
Simulation simulate(const Instance& instance, const Work& work, const SimulateOptions& options = {},
                    const base::Budget& budget = {});

// The output as numbers.
std::vector<double> real_outputs(const Instance& instance, const Simulation& simulation);

}  // namespace orrery::accelerator
