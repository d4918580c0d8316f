// What a model is, without a machine: its parameters, caches, operations and operators.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/describe/workload/transformer_facts.h"
#include "orrery/describe/workload/transformer_operators.h"
#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {

struct FactsRequest {
  std::string model;  // catalogue name or path of a config.json
  ModelUse use = {{}, formats::huggingface::Outside::kWarned};
  std::optional<base::Count> sequence;  // default: as `map`
};

// An operator of a block as a product of `produced` x `reduced` weights (or keys) with `columns` columns.
struct OperatorFacts {
  std::string name;
  base::Count produced = 0, reduced = 0, columns = 0, instances = 1;
};

struct BlockFacts {
  std::string stack;
  std::string kind;  // where a stack has several
  base::Count layers = 0;
  std::vector<OperatorFacts> operators;
};

struct ModelFacts {
  Entry entry;
  std::string family;
  base::Count parameters = 0, embedding_parameters = 0, active_parameters = 0;
  std::vector<workload::Part> parts;
  formats::huggingface::StoredWeights weights;  // how wide the file has them
  base::Count layers = 0;
  base::Count kv_cache_bytes_per_token = 0;          // of 16-bit elements
  base::Count kv_cache_growing_bytes_per_token = 0;  // of layers that no window bounds
  base::Count state_elements = 0;                    // of recurrences, for a sequence
  base::Count sequence = 0;
  double forward_flop_per_token = 0;  // products and attention, every token with every other
  double attention_flop_per_token = 0;
  double visible_attention_flop_per_token = 0;  // what masks, windows and chunks leave
  std::vector<BlockFacts> blocks;
  std::vector<std::string> not_counted;                // among the operations: scans, convolutions
  base::Count predicted_ahead = 0, counted_ahead = 0;  // modules: those that are not among the figures, and that are
  base::Diagnostics warnings;
};

// Whether the model does not take sequences of so many tokens, those in the cache among them.
bool is_beyond_positions(const workload::Transformer& model, base::Count tokens);

// Warns of sequences of more tokens than the model takes (O0929), those in the cache among them.
void warn_of_length(const ModelFile& model, base::Count tokens, base::Diagnostics& warnings);

// Throws InputError as load_model does, and O0913 for sequences of no tokens.
ModelFacts model_facts(const FactsRequest& request);

}  // namespace orrery::verbs
