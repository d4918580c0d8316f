// The `orrery` block of a chip file: what the file is, and where its figures come from.
//
//   orrery:
//     title: one line
//     description: what is modelled and what is known to be wrong with it
//     normalisation: gemmini_norm          # chip for softmax and layernorm; absent: this one
//     sources: {cacti: "CACTI 7 ...", ...}
//     figures: {Scratchpad: {shape: ..., bandwidth: ..., energy: cacti, area: cacti}, ...}
//
// In the catalogue every component has a source for its `shape` (sizes, widths, meshes), its `bandwidth`, its
// `energy` and its `area`, as far as the file states them.
#pragma once

#include <string>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/formats/orrery/entry.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::orrery {

struct CatalogueBlock {
  bool present = false;
  std::string title;
  std::string description;
  std::string normalisation;  // empty: none
  base::Location normalisation_where;
  std::vector<std::string> sources;
  std::vector<FigureSource> figures;
};

// Reads the block from a file's documents; unknown keys, wrong types and sources that are not listed are
// errors (O1113). `demand_sources`: so are a missing block and figures without a source (O1115).
CatalogueBlock read_block(const std::vector<formats::yaml::Node>& documents, const base::Location& file,
                          bool demand_sources, base::Diagnostics& found);

}  // namespace orrery::formats::orrery
