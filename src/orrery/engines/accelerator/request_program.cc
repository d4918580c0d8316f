#include "orrery/engines/accelerator/request_program.h"

#include "orrery/engines/accelerator/timeline.h"

namespace orrery::accelerator {

bool RequestProgram::stays(Count m) const {
  return resident(instance_, plan_.matrices[static_cast<std::size_t>(m)]);
}
bool RequestProgram::wants_mask(Count g) const {
  return !plan_.predicts && !plan_.packed && plan_.tiles[static_cast<std::size_t>(g)].keys > 0;
}

RequestProgram::Answer RequestProgram::one(bool wanted, Request what, Count index, Next& next) const {
  if (!wanted || part_ > 0) return Answer::kThrough;
  next = {true, what, index};
  return Answer::kAsks;
}

RequestProgram::Answer RequestProgram::prologue(Next& next) const {
  switch (step_) {
    case 0:
      return one(plan_.predicts || stays(0), Request::kKeys, 0, next);
    case 1:
      return one(true, Request::kQueries, 0, next);
    case 2:
      return one(stays(0), Request::kValues, 0, next);
    default:
      return one(wants_mask(0), Request::kMask, 0, next);
  }
}

RequestProgram::Answer RequestProgram::ask_for_blocks(const Blocks& blocks, Next& next) {
  const bool fetches = !stays(plan_.tiles[static_cast<std::size_t>(tile_)].matrix);
  if (!plan_.packed && !fetches) return Answer::kThrough;
  for (;; ++block_, part_ = 0) {
    if (step_ == 0 && block_ == begun_ + 2) return Answer::kThrough;
    const Count end = blocks.end(tile_);
    if (end >= 0 && block_ >= end) return Answer::kThrough;
    if (!plan_.packed && block_ >= blocks.packed) return Answer::kUnknown;
    constexpr Request kParts[] = {Request::kBlock, Request::kFetchKeys, Request::kFetchValues};
    const int first = plan_.packed ? 0 : 1, last = fetches ? 3 : 1;
    if (first + part_ >= last) continue;
    next = {true, kParts[first + part_], block_};
    return Answer::kAsks;
  }
}

RequestProgram::Answer RequestProgram::ask(const Blocks& blocks, Next& next) {
  if (tile_ < 0) return prologue(next);
  const Count g = tile_, m = plan_.tiles[static_cast<std::size_t>(g)].matrix;
  const bool begins =
      plan_.matrices[static_cast<std::size_t>(m)].first_tile == g && m + 1 < static_cast<Count>(plan_.matrices.size());
  switch (step_) {
    case 0:
    case 5:
      return ask_for_blocks(blocks, next);
    case 1:
      return one(g + 1 < tiles(), Request::kQueries, g + 1, next);
    case 2:
      return one(begins && (plan_.predicts || stays(m + 1)), Request::kKeys, m + 1, next);
    case 3:
      return one(begins && stays(m + 1), Request::kValues, m + 1, next);
    case 4:
      return one(g >= 1, Request::kStore, g - 1, next);
    case 6:
      return one(g + 1 < tiles() && wants_mask(g + 1), Request::kMask, g + 1, next);
    default:
      return blocks.end(g) < 0 ? Answer::kUnknown : Answer::kThrough;
  }
}

RequestProgram::Next RequestProgram::next(const Blocks& blocks) {
  while (tile_ < tiles()) {
    Next next;
    const Answer answer = ask(blocks, next);
    if (answer != Answer::kThrough) return next;
    part_ = 0;
    const int last = tile_ < 0 ? 3 : 7;
    if (++step_ <= last) continue;
    if (tile_ >= 0) block_ = begun_ = blocks.end(tile_);
    ++tile_, step_ = 0;
  }
  return part_ > 0 || tiles() == 0 ? Next{} : Next{true, Request::kStore, tiles() - 1};
}

}  // namespace orrery::accelerator
