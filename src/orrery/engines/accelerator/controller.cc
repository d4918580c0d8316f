#include "orrery/engines/accelerator/controller.h"

#include <algorithm>

namespace orrery::accelerator {

Controller::Controller(const Instance& instance, const RunPlan& plan)
    : instance_(instance),
      plan_(plan),
      program_(instance, plan),
      keys_(plan.matrices.size()),
      values_(plan.matrices.size()),
      masks_(plan.tiles.size()) {
  close_given();
}

void Controller::close_given() {
  while (plan_.packed && packed_tiles() < tiles() && end_of(packed_tiles()) <= packed()) has_packed_tile();
}

// Known of given blocks beforehand, of others once the tile is packed.
Count Controller::end_of(Count g) const {
  if (plan_.packed) return tile(g).first_block + tile(g).blocks;
  return g < packed_tiles() ? ends_[static_cast<std::size_t>(g)] : -1;
}

RequestProgram::Next Controller::request() {
  const RequestProgram::Next next = program_.next({packed(), [this](Count g) { return end_of(g); }});
  return next.known && allowed(next) ? next : RequestProgram::Next{};
}

bool Controller::allowed(const RequestProgram::Next& next) const {
  const Count x = next.index;
  switch (next.what) {
    case Request::kKeys:
      return x < 2 || (through(last_tile(x - 2), prepared_) && (!plan_.predicts || predicted_ > last_tile(x - 2)));
    case Request::kValues:
      return x < 2 || through(last_tile(x - 2), prepared_);
    case Request::kQueries:
      return through(x - 2, executed_);
    case Request::kMask:
      return x <= packed_tiles();
    case Request::kBlock:
      return prepared_ > x - instance_.block_slots;
    case Request::kFetchKeys:
      return x < packed() && executed_ > x - 2;
    case Request::kFetchValues:
      return true;
    case Request::kStore:
      return normalised_ > x;
  }
  return false;
}

void Controller::arrived(Request what, Count index) {
  switch (what) {
    case Request::kKeys:
      keys_[static_cast<std::size_t>(index)] = true;
      return;
    case Request::kValues:
      values_[static_cast<std::size_t>(index)] = true;
      return;
    case Request::kQueries:
      ++queries_;
      return;
    case Request::kMask:
      masks_[static_cast<std::size_t>(index)] = true;
      return;
    case Request::kBlock:
      has_packed(packed_tiles());
      close_given();
      return;
    case Request::kFetchKeys:
      return;
    case Request::kFetchValues:
      fetched_ = index + 1;
      return;
    case Request::kStore:
      ++stored_;
  }
}

// In order: keys 0, queries 0; for each tile g queries g + 1 and, where g begins a matrix m, keys m + 1.
Controller::Coding Controller::coding() const {
  if (!plan_.predicts) return Coding::kNone;
  const auto matrices = static_cast<Count>(plan_.matrices.size());
  const Count m = coded_keys_, g = coded_queries_;
  const bool keys = m == 0 || (m < matrices && g > 0 && g >= std::min(matrix(m - 1).first_tile + 2, tiles()));
  if (keys)
    return keys_[static_cast<std::size_t>(m)] && (m < 2 || predicted_ > last_tile(m - 2)) ? Coding::kKeys
                                                                                          : Coding::kNone;
  return g < queries_ && predicted_ > g - 2 ? Coding::kQueries : Coding::kNone;
}

bool Controller::predicts() const {
  const Count g = predicted_;
  return plan_.predicts && g < coded_queries_ && tile(g).matrix < coded_keys_ && g <= packed_tiles();
}

bool Controller::packs() const {
  const Count g = packed_tiles();
  if (plan_.packed || g >= tiles() || prepared_ <= packed() - instance_.block_slots) return false;
  if (plan_.predicts) return g < predicted_;
  return program_.wants_mask(g) ? masks_[static_cast<std::size_t>(g)] : g < queries_;
}

bool Controller::prepares() const {
  const Count b = prepared_;
  if (b >= packed() || executed_ <= b - 2) return false;
  const Count m = tile(tile_of(b)).matrix;
  return program_.stays(m) ? keys_[static_cast<std::size_t>(m)] && values_[static_cast<std::size_t>(m)] : b < fetched_;
}

bool Controller::executes() const {
  const Count b = executed_;
  return b < prepared_ && merged_ > b - 2 && tile_of(b) < queries_;
}

Controller::Merging Controller::merging() const {
  const Count g = normalised_;
  if (g >= tiles()) return Merging::kNone;
  // Blocks of a tile, then its outputs.
  if (g < packed_tiles() && merged_ == ends_[static_cast<std::size_t>(g)])
    return stored_ > g - 2 ? Merging::kOutputs : Merging::kNone;
  return merged_ < executed_ ? Merging::kBlock : Merging::kNone;
}

}  // namespace orrery::accelerator
