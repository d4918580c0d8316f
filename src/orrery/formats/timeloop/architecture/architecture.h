// `architecture` documents, v4 (`nodes`) and v3 (`subtree`), into machine::Chip.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/text.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/formats/timeloop/architecture/level_builder.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

// `constraints:` written inside a v4 node: a map with any of temporal, spatial, dataspace, ...
// `target` is the user's node name (container or component).
struct AttachedConstraints {
  std::string target;
  const yaml::Node* body = nullptr;  // borrowed from the documents
};

// What `!Parallel` says about its branches: each dataspace belongs to one branch. `branches` holds
// levels (indices into Chip::storages) per branch; a `!Nothing` branch is empty but may have constraints
// (`nothing` points to its `constraints` map).
struct ParallelGroup {
  struct Branch {
    std::vector<int> levels;
    const yaml::Node* nothing = nullptr;
  };
  std::vector<Branch> branches;
  base::Location where;
};

struct Flattened;  // architecture_forms.h

struct Architecture {
  machine::Chip chip;
  std::vector<AttachedConstraints> attached;
  std::vector<ParallelGroup> parallel;
  Apart apart;
  bool v3 = false;         // the processed or hand-written `subtree` form: macros are not expanded there
  bool before_v4 = false;  // by its `version`: 0.2 or 0.3
  // Its components with the attributes that hold for each; borrows the documents and `variables`.
  std::shared_ptr<const Flattened> flat;
};

// `variables` become attributes of the top container; inner attributes win. A container (or leaf) with a
// spatial mesh becomes a pass-through storage `inter_<name>_spatial` just outside its contents, as
// Timeloop's front end makes it. Errors: O03xx, collected in `found`; the result is then unusable.
Architecture read_architecture(const yaml::Node& architecture, const Scope& variables, base::Diagnostics& found,
                               Purpose purpose = Purpose::kMapping);

// Level that a constraint or mapping target names: the storage itself, or for a container the level
// `inter_<name>_spatial`. -1 if none.
int target_level(const machine::Chip& chip, std::string_view target);

// Component names without range: `PE[0..15]` -> `PE`, 16.
std::pair<std::string, base::Count> split_range(std::string_view name);

// How many "2..5" are; nothing where it is no range of whole numbers.
std::optional<base::Count> range_size(std::string_view range);

}  // namespace orrery::formats::timeloop
