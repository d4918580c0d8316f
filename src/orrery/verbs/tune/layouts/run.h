// Every layout of the contractions and fused kernels of a layer, and files of them as Substation's einsum_perms writes
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/inputs/output_file.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/kernel_space.h"

namespace orrery::verbs {

struct LayoutsRequest {
  std::optional<base::Count> b, h, i, j;  // all four must be given
  std::optional<base::Count> k, p, u;     // default: j, i / h, 4 i
};

struct ContractionAnswer {
  std::string name, einsum;
  bool used = true;  // by the encoder's layer
  tuning::ContractionSpace space;
};

struct LayoutsAnswer {
  tuning::Sizes sizes;
  std::vector<ContractionAnswer> contractions;

  // Of the contractions that the encoder's layer uses.
  base::Count layouts() const;
  base::Count calls() const;
};

// Throws InputError: O1700 for sizes that are missing or do not go together, O1701 where a tensor has more words than a
// count of 64 bits holds.
LayoutsAnswer tune_layouts(const LayoutsRequest& request);

// NAME.csv with each layout, NAME-pruned.csv with each call once, size-params.txt.
std::vector<OutputFile> layout_files(const LayoutsAnswer& answer);

}  // namespace orrery::verbs
