// How wide a config.json says that its weights are: `quantization_config`, else `dtype` or `torch_dtype`.
//
// A quantised file stores matrices in few bits, with scales beside them; tables, norms, biases and the modules that it
// names stay as wide as `dtype` says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/formats/huggingface/module_names.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {

// How a matrix is stored that is converted.
struct StoredFormat {
  int bits = 16;
  base::Count group_in = 0, group_out = 1;  // inputs and outputs that share a scale; 0: all
  double scale_bits = 0;                    // of a group: the scale, and where zero lies
  double input_bits = 0;                    // of an input: GPTQ's order of them
  double module_bits = 0;                   // of a matrix
  // That engines multiply it in where the chip can; 16 bits: weights are widened first.
  machine::Precision products = machine::Precision::kBf16;
};

struct Quantisation {
  struct Group {
    std::vector<ModulePattern> targets;  // none: every matrix
    StoredFormat format;
  };
  std::string method;
  std::vector<Group> groups;        // the first that picks a matrix counts; none: nothing is converted
  std::vector<ModulePattern> kept;  // what stays as it is
  bool head = false;                // the logits' matrix may be converted, too
  bool routers = false, tower = false;
  bool experts_only = false;
  std::optional<machine::Precision> caches;  // of keys and values, where the file says one
  std::string unknown_caches;                // what it says of them, where that is not understood
  base::Location where;
};

struct WeightWidths {
  int bits = 16;        // of what is not converted
  bool stated = false;  // false: the file does not say, and 16 are taken
  Quantisation quantisation;
};

// Of a language model in `object`, inside of `outer` where that is not null. Finds widths of a wrong kind (O0903,
// O0910); warnings: types and methods that are not known (O0926), slips in the names of keys (O0916). Of
// `quantization_config`, warnings only where `bytes_matter`.
WeightWidths read_widths(const json::Node& object, const json::Node* outer, const std::vector<std::string>& ignored,
                         bool bytes_matter, base::Diagnostics& found);

}  // namespace orrery::formats::huggingface
