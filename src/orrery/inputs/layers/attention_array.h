// A simulated array of pruned attention: what `sparse simulate` wrote, as a price for each score.
//
// The answer says how long the array took for so many pairs of query and key; pairs that are there at other lengths
// take as long each, since prediction, blocks and merging are proportional to them at a density. Heads must have the
// size that was simulated. `train` (array_operators.h) and `map` (array_rows.h) ask.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "orrery/base/numbers/count.h"

namespace orrery::base {
class Diagnostics;
struct Diagnostic;
struct SourceFile;
}  // namespace orrery::base

namespace orrery::verbs {

struct AttentionArray {
  std::string name;                                    // of the file
  double seconds_per_score = 0, joules_per_score = 0;  // kept or not
  base::Count head_size = 0, queries = 0, keys = 0;
  double density = 0;
};

// Of an answer of `sparse simulate` in JSON. Throws InputError O1905.
AttentionArray read_attention_array(const std::shared_ptr<const base::SourceFile>& file);

// O1905, where `what` ("the model's queries") have another size than the heads that were simulated.
void check_heads(const AttentionArray& array, std::string_view what, base::Count size, base::Diagnostics& found);

// Says in `warning` that a score is taken to cost the same at the lengths that `where` ("the model") has, if they are
// not those that were simulated.
void note_lengths(const AttentionArray& array, std::string_view where, base::Count queries, base::Count keys,
                  base::Diagnostic& warning);

}  // namespace orrery::verbs
