// Files and inputs that the tests of this folder share.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/amped/amped_parameters.h"

namespace orrery::formats::amped {

using base::replaced, base::source;

// Stated, looked-up and calculated parameters; 64 accelerators.
inline const char* const kConfig = R"({
  "neural_network_training_parameters": {
    "lookup_config": {"lookup_table_name": "transformer_network_parameters", "lookup_table_row": "small"},
    "parameters": {
      "microbatch_size": {"calculated": true},
      "layers": {"from_lookup_table": true},
      "dimensionality": {"from_lookup_table": true},
      "attention_heads": {"from_lookup_table": true, "lookup_name": "heads"},
      "hidden_layer_dimension_for_attention_sublayers": {"calculated": true},
      "key_query_value_length": {"value": 64},
      "hidden_layer_dimension_MLP_2": {"value": 3072, "description": "inner width"},
      "context": {"value": 1024},
      "tokens_to_train": {"value": "300 Gtokens"},
      "batch_size": {"value": 512},
      "number_of_tokens_in_vocabulary": {"value": 50257},
      "number_of_experts": {"value": 1},
      "weight_precision": {"value": "16 bits"},
      "activation_precision": {"value": 16},
      "gradient_precision": {"value": 16},
      "optimizer_state_precision": {"value": 32},
      "total_number_of_parameters_without_embedding": {"calculated": true}
    }
  },
  "mapping_parameters": {
    "parameters": {
      "intra_node_data_parallel_degree": {"value": 2},
      "inter_node_data_parallel_degree": {"value": 4},
      "intra_node_tensor_parallel_degree": {"value": 4},
      "inter_node_tensor_parallel_degree": {"value": 1},
      "intra_node_pipeline_parallel_degree": {"value": 1},
      "inter_node_pipeline_parallel_degree": {"value": 2},
      "data_parallel_degree": {"calculated": true},
      "number_of_microbatches_per_minibatch": {"value": 8}
    }
  },
  "system_architecture_parameters": {
    "parameters": {
      "inter_accelerator_bandwidth": {"value": "2.4 Tb/s"},
      "inter_accelerator_latency": {"value": "3 us"},
      "inter_node_latency": {"value": 5e-6},
      "bandwidth_per_network_card": {"value": "200 Gb/s"},
      "number_of_accelerators_per_node": {"value": 8}
    }
  },
  "accelerator_architecture_parameters": {
    "lookup_config": {"lookup_table_name": "accelerator_specifications", "lookup_table_row": "A100"},
    "parameters": {
      "frequency": {"from_lookup_table": true},
      "number_of_cores": {"from_lookup_table": true},
      "functional_units_per_core": {"value": 4},
      "functional_unit_hardware_8bit_MAC_per_cycle": {"value": 256},
      "non_linear_functional_units_per_core": {"value": 4},
      "non_linear_functional_unit_hardware_8bit_NLIN_per_cycle": {"value": 4}
    }
  }
}
)";

inline const char* const kTables = R"({
  "accelerator_specifications": {"A100": {"frequency": "1.41 GHz", "number_of_cores": 108}, "V100": {"frequency": 1.53e9}},
  "transformer_network_parameters": {"small": {"layers": 12, "dimensionality": 768, "heads": 12}}
}
)";

inline Resolved resolved(const std::string& config, const std::string& tables = kTables,
                         const Overrides& overrides = {}) {
  base::Diagnostics found;
  const Config read = read_config(source(config), overrides, found);
  const LookupTables read_tables =
      tables.empty() ? LookupTables{} : read_lookup_tables(source(tables, "lookup_tables.json"), found);
  return resolve(read, read_tables, {}, found);
}

}  // namespace orrery::formats::amped
