// What `tune layouts` answers.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/runtime/tuning/contractions/contraction_layouts.h"
#include "orrery/runtime/tuning/sizes.h"

namespace orrery::verbs {

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

}  // namespace orrery::verbs
