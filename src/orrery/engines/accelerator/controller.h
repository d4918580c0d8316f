// The controller: what has gone through each unit so far, and so what may go next.
//
// Every unit takes matrices, tiles or blocks in their order, so that counters are all it remembers, and a bit for what
// the channel has brought. Each question below is the rule of a row of the controller's table in
// docs/model/sparse_array.md, asked of a unit that is free. What a cycle ends counts from the next one on.
#pragma once

#include <vector>

#include "orrery/engines/accelerator/request_program.h"

namespace orrery::accelerator {

class Controller {
 public:
  Controller(const Instance& instance, const RunPlan& plan);

  // What may begin.
  RequestProgram::Next request();  // known: the next one, if it may begin
  enum class Coding { kNone, kKeys, kQueries };
  Coding coding() const;  // of matrix coded_keys(), or of tile coded_queries()
  bool predicts() const;  // tile predicted()
  bool packs() const;     // a block of tile packed_tiles(), or what is left of it
  bool prepares() const;  // block prepared()
  bool executes() const;  // block executed()
  enum class Merging { kNone, kBlock, kOutputs };
  Merging merging() const;  // of block merged(), or of tile normalised()
  bool ended() const { return stored_ == tiles(); }

  // What has ended, or begun.
  void requested() { program_.take(); }
  void arrived(Request what, Count index);
  void has_coded(Coding what) { ++(what == Coding::kKeys ? coded_keys_ : coded_queries_); }
  void has_predicted() { ++predicted_; }
  void has_packed(Count tile) { tiles_of_blocks_.push_back(tile); }
  void has_packed_tile() { ends_.push_back(packed()); }
  void has_prepared() { ++prepared_; }
  void has_executed() { ++executed_; }
  void has_merged() { ++merged_; }
  void has_normalised() { ++normalised_; }

  Count coded_keys() const { return coded_keys_; }
  Count coded_queries() const { return coded_queries_; }
  Count predicted() const { return predicted_; }
  Count packed() const { return static_cast<Count>(tiles_of_blocks_.size()); }
  Count packed_tiles() const { return static_cast<Count>(ends_.size()); }
  Count prepared() const { return prepared_; }
  Count executed() const { return executed_; }
  Count merged() const { return merged_; }
  Count normalised() const { return normalised_; }
  Count tile_of(Count block) const { return tiles_of_blocks_[static_cast<std::size_t>(block)]; }

 private:
  Count tiles() const { return static_cast<Count>(plan_.tiles.size()); }
  const TilePlan& tile(Count g) const { return plan_.tiles[static_cast<std::size_t>(g)]; }
  const MatrixPlan& matrix(Count m) const { return plan_.matrices[static_cast<std::size_t>(m)]; }
  Count last_tile(Count m) const { return matrix(m).first_tile + matrix(m).tiles - 1; }
  // Whether all blocks of a tile, and of those before it, are through; of no tile: yes.
  bool through(Count g, Count blocks) const {
    return g < 0 || (g < packed_tiles() && blocks >= ends_[static_cast<std::size_t>(g)]);
  }
  Count end_of(Count g) const;
  void close_given();  // tiles of which all given blocks are there; at once those that have none
  bool allowed(const RequestProgram::Next& next) const;

  const Instance& instance_;
  const RunPlan& plan_;
  RequestProgram program_;
  std::vector<bool> keys_, values_, masks_;  // whether they are loaded, by matrix and by tile
  std::vector<Count> tiles_of_blocks_;       // of blocks that are in the buffer, or were
  std::vector<Count> ends_;                  // of tiles that are packed: one more than their last block
  Count queries_ = 0, coded_keys_ = 0, coded_queries_ = 0, predicted_ = 0, normalised_ = 0, stored_ = 0;
  Count fetched_ = 0;  // one more than the last block whose keys and values were fetched
  Count prepared_ = 0, executed_ = 0, merged_ = 0;
};

}  // namespace orrery::accelerator
