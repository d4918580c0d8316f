// The one place where a chip, the model's switches and the exceptions to reuse become prices, and the one account of
// what a crossing costs. The model, the branch and bound, the lattice and the tiles all settle by it.
//
// Words of dataspace s cross from the storage that keeps them (outer) into the next one inside that does (inner; the
// compute units below the innermost). Per instance, `content` leaves the outer one, `share` enters the inner one, and
// `seen` are the different words that an instance sees over the whole run:
//
//                  outer: reads                 updates   fills                   inner: fills     reads
//     read-only    content                      -         -                       share            -
//     read-write   content - seen (1)           content   -                       share - seen     share if drained
//
// The first update of each word has nothing to add to (first-read elision), but (1) where first updates read, content
// is read whole. Energies buy whole blocks, per instance and kind of access; a cluster of instances pays once. From
// here on words are the units of each storage (units.h): a dataspace's own bits are what it occupies, pays and waits
// for.
//
// The searches settle one crossing at a time, the model a whole level; so the words are a number of any kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/chip.h"
#include "orrery/engines/nest/model/model_options.h"
#include "orrery/engines/nest/model/units.h"
#include "orrery/engines/nest/space/mapspace.h"

namespace orrery::nest {

// One storage as every account sees it.
struct PricedLevel {
  double read_pj = 0, write_pj = 0, update_pj = 0;           // per block
  double block = 1;                                          // units; 1, too, where part of a block costs that part
  double leak_pj_per_cycle = 0;                              // of one instance
  double read_limit = 0, write_limit = 0, shared_limit = 0;  // units per cycle of one instance; 0: none
  base::Count clusters = 0;                                  // that pay at most; 0: each instance pays
  ReuseRules rules;
  Units units;
  bool drains = false;  // outputs are read once more when they are sent up

  bool reads_first(int s) const { return rules.read_first_update >> s & 1; }
  bool limited() const { return read_limit > 0 || write_limit > 0 || shared_limit > 0; }
  double paying(double instances) const {
    return clusters == 0 ? instances : std::min(instances, static_cast<double>(clusters));
  }
  // What the slowest port needs for units of all dataspaces, in cycles.
  double port_cycles(double reads, double writes) const {
    double cycles = 0;
    if (read_limit > 0) cycles = std::max(cycles, reads / read_limit);
    if (write_limit > 0) cycles = std::max(cycles, writes / write_limit);
    if (shared_limit > 0) cycles = std::max(cycles, (reads + writes) / shared_limit);
    return cycles;
  }
  double blocks(double words) const { return block == 1 ? words : std::ceil(words / block); }
  // Units that one payment may buy, at most.
  double widest_block(const machine::Storage& storage) const {
    return block * static_cast<double>(std::max<base::Count>(1, storage.cluster_size));
  }
};

std::vector<PricedLevel> priced_levels(const workload::Einsum& einsum, const machine::Chip& chip,
                                       const ModelOptions& options, const std::vector<ReuseRules>& reuse);

// Units per instance, of one dataspace.
template <typename Number>
struct Words {
  Number reads{}, fills{}, updates{};

  Words& operator+=(const Words& other) {
    reads += other.reads;
    fills += other.fills;
    updates += other.updates;
    return *this;
  }
};

// What `content` words of dataspace s, of which `seen` are seen for the first time, are to the level that serves them.
template <typename Number>
Words<Number> served(const PricedLevel& outer, bool read_write, int s, Number content, Number seen) {
  const Number each = static_cast<Number>(outer.units.value[s]);
  if (!read_write) return {each * content, {}, {}};
  return {each * (outer.reads_first(s) ? content : content - seen), {}, each * content};
}

// What `share` words are to the level that they enter.
template <typename Number>
Words<Number> received(const PricedLevel& inner, bool read_write, int s, Number share, Number seen) {
  const Number each = static_cast<Number>(inner.units.value[s]);
  if (!read_write) return {{}, each * share, {}};
  return {inner.drains ? each * share : Number{}, each * (share - seen), {}};
}

// Energy of all instances; `paying` of them pay.
template <typename Number>
double energy_pj(const PricedLevel& level, const Words<Number>& words, double paying) {
  return paying * (level.blocks(static_cast<double>(words.reads)) * level.read_pj +
                   level.blocks(static_cast<double>(words.fills)) * level.write_pj +
                   level.blocks(static_cast<double>(words.updates)) * level.update_pj);
}

}  // namespace orrery::nest
