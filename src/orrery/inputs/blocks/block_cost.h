// What a group of operators costs, and whether it has room: pure functions of the mappings, which know no search.
//
// A group hands each matrix inside of it on in a storage X of its own (block_chain.h) and runs in turns: the loops
// outside X walk over the columns L that all of its operators have and, inside of that, over the keys of an online
// softmax (online_softmax.h). Each operator makes its part of a turn before the next one begins. A part's mapping is
// that of the whole operator, the turns being the outermost loops; nest::evaluate prices it, the matrices that are
// handed on not kept outside of X.
//
// X may stand inside fan-outs: VMEM, of which each core has one. A turn's columns are then spread over the instances,
// alike in the operator that makes the matrix and in the one that takes it, so that each instance takes what it made;
// nothing else is spread outside X. Example: 2,048 columns on four cores: each makes 512 columns of scores, turns them
// into weights and weighs values with them.
//
// Room: while an operator works, a storage holds its tiles; what other operators of the group keep from turn to turn
// (`lasting`); and in X what was made before and is taken later. A tile lasts if no turn brings it again: it is all
// that an instance sees of the tensor in one round of the innermost loop over turns that does not touch it. Of a group
// in several stages (block_overlap.h) each thread has the most that its parts need, beside what passes between stages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engines/nest/model/model.h"
#include "orrery/inputs/blocks/block_chain.h"

namespace orrery::verbs {

// The loops outside X.
struct Turns {
  base::Count columns = 1, keys = 1;

  base::Count all() const { return columns * keys; }
  auto operator<=>(const Turns&) const = default;
};

struct GroupPart {
  std::size_t place = 0;                       // in Chain::links
  std::optional<std::size_t> takes, hands_on;  // the storage of its chip in which it does; nothing: outside
  bool leaves = true;                          // what it makes goes out, too
  int keys = -1;                               // its dimension that the turns over keys walk over; -1: none
  bool streams = false;                        // its columns are those of every turn: nothing of them comes again
  nest::Mapping mapping;
  nest::Evaluation cost;            // of one instance, all turns
  std::vector<base::Count> beside;  // words of each storage that the rest of the group holds while it works
};

struct Group {
  Turns turns;
  bool online = false;  // its softmax makes do with parts of columns
  std::vector<GroupPart> parts;
  std::vector<std::size_t> stages = {0};  // the first part of each
  std::size_t threads = 1;                // that run side by side: stage s is one of thread s % threads
  double energy_pj = 0, cycles = 0;       // all instances
  double leakage_share = 1;               // cycles, of those of its parts one after the other: how long it leaks
};

// The operators from `first` to `last` in turns over columns, without mappings; each matrix is handed on in a storage
// of its own.
Group plain_group(const Chain& chain, std::size_t first, std::size_t last, base::Count columns,
                  const std::vector<std::string>& storages);

// Turns over a part's columns.
base::Count columns_of(const GroupPart& part, const Turns& turns);

// Turns over one of a part's dimensions.
base::Count turns_over(const Chain& chain, const GroupPart& part, const Turns& turns, int dimension);

// The innermost storage in which a part takes or hands on a matrix.
std::size_t innermost_exchange(const GroupPart& part);

// Drops what is handed on, and weights that stay, from the storages outside of where they are.
void keep_inside(const Chain& chain, GroupPart& part);

// Makes a part's mapping of one turn one of all turns, in which what is handed on does not go out.
void repeat(const Chain& chain, const Turns& turns, GroupPart& part);

// Fills `cost`; false where the mapping is not legal or not allowed.
bool price(const Chain& chain, GroupPart& part, const nest::ModelOptions& model);

// Words of an instance's storage that stay from turn to turn, and those that a turn needs besides.
std::pair<base::Count, base::Count> kept(const Chain& chain, const GroupPart& part, const Turns& turns,
                                         std::size_t level);

// Whether each matrix is whole where it is handed on, and each instance of a storage takes what it made.
bool hands_on_whole(const Chain& chain, const Group& group);

// Whether the parts have room beside each other, everywhere; fills `beside`. Of operators that are priced.
bool fits(const Chain& chain, Group& group);

// Leakage of a part alone, and what of its energy is the group's, in pJ of one instance.
double leakage_of(const GroupPart& part);
double energy_in(const Group& group, const GroupPart& part);

// Sets energy, cycles and leakage from parts and stages. Leakage lasts as long as the group.
void add_up(const Chain& chain, Group& group);

double energy_of(const std::vector<Group>& groups);
double cycles_of(const std::vector<Group>& groups);

}  // namespace orrery::verbs
