// What a mapping costs on hardware that knows zeros. Plain data, filled by engines/nest/sparse/sparse_model.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/engines/nest/model/evaluation.h"

namespace orrery::nest {

struct SparseDesign;  // engines/nest/sparse/sparse_design.h

// Accesses of one kind: those that happen, those that are gated (their time passes, their energy is saved) and those
// that are skipped. What is skipped farther out never gets here and is none of them.
struct SplitCount {
  base::Count actual = 0, gated = 0, skipped = 0;
};

// The same of the metadata, in bits, and in units rank by rank (innermost first).
struct RankCount {
  base::Count metadata = 0, payload = 0;
};
struct SplitUnits {
  std::vector<RankCount> actual, gated, skipped;
};

// One tensor at one storage, per instance in use that holds a tile with a nonzero.
struct SparseUse {
  bool kept = false;
  std::string format;           // "UOP CP", outermost rank first; empty: every word, no metadata
  double share = 1;             // of the instances in use, those that hold such a tile
  double density = 1;           // of such a tile, on average
  base::Count dense_words = 0;  // of the tile, zeros counted
  base::Count dense_reads = 0, dense_fills = 0, dense_updates = 0;
  base::Count most_words = 0, most_metadata_bits = 0;  // that one instance holds
  std::vector<RankCount> most_units;
  SplitCount reads, fills, updates;
  SplitUnits metadata_reads, metadata_fills, metadata_updates;
  base::Count metadata_read_bits = 0, metadata_write_bits = 0;  // actual and gated: what the ports pass
  base::Count compressions = 0, decompressions = 0;             // words
  double data_pj = 0, metadata_pj = 0;                          // all instances
};

struct SparseCompute {
  double dense = 0;  // operations of the dense problem
  SplitCount operations;
};

struct SparseEvaluation {
  Evaluation evaluation;                     // with the accesses, cycles and energies that remain
  std::vector<std::vector<SparseUse>> uses;  // [level][dataspace]
  SparseCompute compute;
  std::shared_ptr<const SparseDesign> design;  // that was priced; null where whoever asked has it
};

// Why a mapping cannot run on a sparse design.
struct SparseMisfit {
  enum class Kind { kRanks, kConversion, kCapacity, kSource };
  Kind kind = Kind::kRanks;
  int level = 0;
  int dataspace = -1;  // -1: all together
  std::string text, arithmetic;
};

}  // namespace orrery::nest
