// A chip's documents read once, then any number of einsums on it: only constraints, the mapping and names of the
// problem's bounds depend on what runs.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/formats/timeloop/architecture/architecture.h"
#include "orrery/formats/timeloop/documents/documents.h"
#include "orrery/formats/timeloop/expressions/expression_value.h"

namespace orrery::nest {
struct SparseDesign;  // engines/nest/sparse/sparse_design.h
}

namespace orrery::formats::timeloop {

// What the documents say of one einsum.
struct LayerReading {
  std::optional<Problem> problem;
  std::optional<nest::Mapping> mapping;
  nest::MappingPlaces mapping_places;
  MapperOptions mapper;
  std::shared_ptr<nest::SparseDesign> sparse;  // what the chip does about zeros, without prices; null: nothing
  std::vector<base::Input> inputs;             // files that the documents name, beside those of the documents
  base::Diagnostics diagnostics;               // warnings of the chip and of this einsum
};

// Not thread-safe. Architecture, tables, classes and variables are read at the first einsum, once.
class ChipReading {
 public:
  // Borrows `documents`.
  explicit ChipReading(const Documents& documents);
  ChipReading(const ChipReading&) = delete;
  ChipReading& operator=(const ChipReading&) = delete;

  // Reads constraints and mapping against `einsum`; null: the documents' own problem. Throws InputError with all
  // errors found, those of the chip included.
  LayerReading layer(const workload::Einsum* einsum);

  // Everything in one. Throws as `layer`.
  Specification specification(const workload::Einsum* einsum);

  // After the first `layer`.
  const std::optional<Architecture>& architecture() const { return architecture_; }
  bool has_energy_tables() const { return has_energy_tables_; }
  // Prices of the accesses that a sparse design saves or adds, by the documents' ERT. Warnings go to `found`.
  void price(nest::SparseDesign& design, base::Diagnostics& found) const;
  // What is to be estimated before the chip has energies; empty with an ERT.
  const std::vector<energy::Component>& components() const { return components_; }

 private:
  Scope names_for(const workload::Einsum* einsum) const;
  void read_chip();
  void read_sparse(const workload::Einsum* given, const Scope& scope, LayerReading& result,
                   base::Diagnostics& found) const;
  void read_components(const base::Location& where);
  void demand_basics(const base::Location& where);

  const Documents& documents_;
  const ReadOptions& options_;
  Scope variables_;
  bool read_ = false;
  std::optional<Architecture> architecture_;
  bool has_energy_tables_ = false;
  std::vector<energy::Component> components_;
  // In the order in which a reader of one problem meets them: before the problem, of the chip, after its constraints.
  base::Diagnostics of_variables_, of_chip_, of_components_, unread_;
};

}  // namespace orrery::formats::timeloop
