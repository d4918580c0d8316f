// Timeloop documents, read into Orrery's types. One call for the faces: `read`.
//
//   documents.h    gather files: which top-level key came from where; merge; the front door `read`
//   chip_reading.* what the documents say of the chip, read once, and of each einsum that runs on it
//   jinja.*        documents that are templates
//   expression.*   the arithmetic that any string value may be
//   architecture.* v4 nodes and v3 subtrees -> machine::Chip
//   problem.*      problem -> workload::Einsum
//   constraints.*  constraints and their macros -> nest::Mapspace
//   mapping_document.*  mapping <-> nest::Mapping (reads and writes)
//   energy_tables.*     ERT, ART -> figures in machine::Chip
//   energy_components.* architecture, compound_components -> energy::Component, where there is no ERT
//   mapper.*       mapper -> objective and what else still means something
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/describe/energy/component.h"
#include "orrery/describe/energy/energy_options.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/describe/workload/einsum.h"
#include "orrery/engines/nest/model/mapping.h"
#include "orrery/engines/nest/search/search.h"
#include "orrery/engines/nest/space/mapspace.h"
#include "orrery/formats/timeloop/documents/jinja.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::timeloop {

struct ReadOptions {
  // `--set path=value`: overrides applied to the merged document, e.g. "variables.SEQ_LENGTH=512",
  // "architecture.nodes.DRAM.attributes.width=128".
  base::Overrides overrides;
  // Without an ERT: an error (O0601) where the documents lack what an estimate needs.
  bool energies_required = true;
  bool mapped = true;                // false: only the components' energies count, which need not make a chip
  bool tables_wanted = true;         // false: ERT and ART are left aside, so that all is estimated
  bool mapping_wanted = true;        // false: a `mapping` is left aside, as by a search for a better one
  bool remainders = false;           // the search takes factors that leave a rest, as the template `ruby` asks
  bool ignore_densities = false;     // sparse data and formats for it are taken as dense
  TemplateOptions templates;         // what templates may name and read; the folders of the files come by themselves
  energy::EstimateOptions estimate;  // how `components` are taken apart
};

// What the `mapper` document still means to an exact search.
struct MapperOptions {
  std::vector<nest::Metric> objective;  // empty: not given
  int threads = 0;                      // 0: not given
};

// One problem of the input with the map space its constraints make.
struct Problem {
  workload::Einsum einsum;
  nest::Mapspace space;
};

// Everything the documents said. A part that was not given is absent.
struct Specification {
  std::optional<machine::Chip> chip;
  std::optional<Problem> problem;
  std::optional<nest::Mapping> mapping;  // read against `chip` and `problem`
  nest::MappingPlaces mapping_places;
  MapperOptions mapper;
  bool has_energy_tables = false;
  // What is to be estimated before the chip has energies: empty with an ERT, or without an architecture.
  std::vector<energy::Component> components;
  std::vector<base::Input> inputs;
  base::Diagnostics diagnostics;  // warnings; errors are thrown
};

// Files that were parsed before, without a diagnostic, and what they say.
using Parsed = std::map<const base::SourceFile*, const std::vector<yaml::Node>*>;

// The merged documents before any meaning: top-level key -> values with their places.
class Documents {
 public:
  // Parses and merges; order of files does not matter. Throws InputError.
  static Documents gather(const std::vector<std::shared_ptr<const base::SourceFile>>& files, const ReadOptions& options,
                          const Parsed& parsed = {});

  const yaml::Node* find(std::string_view top_level_key) const;
  const std::vector<yaml::Node::Entry>& top() const { return top_; }

  // Reads chip, problem, constraints, mapping, tables. Throws InputError with all errors found.
  Specification read() const;

  // The same for another einsum than that of the documents. For many einsums on one chip: chip_reading.h.
  Specification read_for(const workload::Einsum& einsum) const;

  const ReadOptions& options() const { return options_; }
  // Names of files and overrides with the hashes of their contents.
  const std::vector<base::Input>& inputs() const { return inputs_; }
  const base::Diagnostics& diagnostics() const { return diagnostics_; }  // warnings of gathering

 private:
  std::vector<yaml::Node::Entry> top_;  // all top-level entries of all files, `targets` lists merged
  ReadOptions options_;
  std::vector<base::Input> inputs_;
  base::Diagnostics diagnostics_;
};

}  // namespace orrery::formats::timeloop
