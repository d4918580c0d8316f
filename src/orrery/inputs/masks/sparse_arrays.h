// Queries, keys, values and masks from NumPy's files, with shapes that belong together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/limits/budget.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/engines/masks/attention_input.h"

namespace orrery::verbs {

struct SparseArrayFiles {
  std::string query, key, value;     // [batch, heads, tokens, size]; [batch * heads, tokens, size] with `heads`
  std::string valid, valid_queries;  // [batch, tokens]; `valid` is the keys', and the queries' where as many
  std::optional<base::Count> heads;  // of arrays with three dimensions
  bool causal = false;
  bool scaled = false;  // the queries were, in their projection (BART)
};

struct SparseArrays {
  masks::AttentionInput input;  // points into the vectors
  std::vector<float> query, key, value;
  base::Count value_size = 0;  // 0: no values
  std::vector<base::Input> inputs;
  SparseArrays() = default;
  SparseArrays(SparseArrays&&) = default;  // vectors keep their memory
  SparseArrays& operator=(SparseArrays&&) = default;
};

// Throws InputError: those of formats/numpy/array.h, O1803 (shapes), O1806 (elements of a kind that is not meant),
// O1840 (more than the budget has room for).
SparseArrays read_sparse_arrays(const SparseArrayFiles& files, const base::Budget& budget = {});

// A mask of bytes or bits: [batch, heads, rows, columns], [heads, rows, columns] or [rows, columns]. Bits are packed as
// numpy.packbits(..., bitorder="little") does, eight columns a byte; `columns` says how many there are, and is needed
// only where rows and columns differ or every byte is 0 or 1. Throws as above.
masks::Mask read_mask(const std::string& path, std::optional<base::Count> columns, base::Input* input = nullptr,
                      const base::Budget& budget = {});

// The tokens that are there, for a mask that was read: as `valid` above.
void apply_valid(masks::Mask& mask, const SparseArrayFiles& files, std::vector<base::Input>& inputs);

}  // namespace orrery::verbs
