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
// A point has them under `config.`: "config.pe_rows". The dataflow re-pins the array: factors of the rows and columns,
// and what the registers keep, follow from it and from the meshes.
//
//             rows     columns   registers keep
//   WS        D        E         as the files have it      weights
//   OS        D        L         outputs
//   IS        L        E         inputs
//
// Each takes as many as there are. The scripts pin less: with IS and OS at least half of the rows and columns, with IS
// rows to E and columns to L; with WS nothing, so that what the files pin stays, whatever the mesh (Pins::kScripts).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/override.h"
#include "orrery/inputs/layers/layer_question.h"
#include "orrery/verbs/sweep/points/study.h"

namespace orrery::sweep {

inline constexpr const char* kConfig = "config.";

// Side by side as the objects have them, or with `mixed` all values of each key multiplied. `first`: so many objects
// are left out. Throws InputError O2058 for what is no list of such objects.
std::vector<Group> read_configs(const std::shared_ptr<const base::SourceFile>& file, bool mixed, std::size_t first);

// What the array is pinned to.
struct Pin {
  base::Count rows = 0, columns = 0;
  std::string dataflow;  // "WS", "IS", "OS"
  Pins pins = Pins::kArray;
  base::Count register_file = 0;  // words of a normalisation's registers; 0: as the files have it

  bool operator==(const Pin&) const = default;
};

// A point without `config.`: what it says of the chip's documents, and of those for normalisations under `norm.`.
struct Expanded {
  base::Overrides point;
  // Attributes that files may state beside what `point` sets, and which have to follow where they do: `entries` beside
  // `depth`, meshes of what stands in the array beside those of its rows and columns.
  base::Overrides stated;
  std::optional<Pin> pin;
};
Expanded expand(const base::Overrides& point, Pins pins = Pins::kArray);

// Where the chip has PERows, PECols and Registers, their constraints follow the pin. Where it has Registers_Inputs, a
// column's part in them is as long as the register file, and what `maximize_dims` put into the accumulator follows from
// its words.
void repin(const Pin& pin, verbs::LayerQuestion& question);

// What the scripts call their layers.
const std::vector<std::string>& script_layers();

// The key of a configuration that sets this path of a chip; empty: none does.
std::string key_that_sets(const std::string& path);

}  // namespace orrery::sweep
