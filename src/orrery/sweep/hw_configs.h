// Timeloop-Experiments' hardware configurations: a JSON list of objects, each a chip.
//
//   scratchpad_size, shared_glb_size              words of that storage
//   accumulator_size                              words of a row's accumulator; for normalisations times pe_rows
//   scratchpad_bandwidth, shared_glb_bandwidth    words a cycle, reads and writes
//   accumulator_bandwidth                         likewise; for normalisations times pe_rows
//   pe_rows, pe_cols                              meshes of PERows and PECols
//   dataflow                                      which operand stays: WS (weights), IS (inputs), OS (outputs)
//   rf_size                                       words of the register files of normalisations
//   use_IMC_as_buffer, IMC_buffer_bandwidth       read by nothing, there or here
//
// A point has them under `config.`: "config.pe_rows". The dataflow re-pins the array, which the original does for IS
// and OS only: factors of the rows and columns, and what the registers keep, follow from it and from the meshes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostic.h"
#include "orrery/base/override.h"
#include "orrery/scenario/layer_question.h"
#include "orrery/sweep/study.h"

namespace orrery::sweep {

inline constexpr const char* kConfig = "config.";

// Side by side as the objects have them, or with `mixed` all values of each key multiplied. `first`: so many objects
// are left out. Throws InputError O2058 for what is no list of such objects.
std::vector<Group> read_configs(const std::shared_ptr<const base::SourceFile>& file, bool mixed, std::size_t first);

// What the array is pinned to.
struct Pin {
  base::Count rows = 0, columns = 0;
  std::string dataflow;  // "WS", "IS", "OS"

  bool operator==(const Pin&) const = default;
};

// A point without `config.`: what it says of the chip's documents, and of those for normalisations under `norm.`.
struct Expanded {
  base::Overrides point;
  std::optional<Pin> pin;
};
Expanded expand(const base::Overrides& point);

// Where the chip has PERows, PECols and Registers, their constraints follow the pin.
void repin(const Pin& pin, scenario::LayerQuestion& question);

}  // namespace orrery::sweep
