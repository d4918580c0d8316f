// Room for tables that are made by the hundred and given up together: blocks that stay with the process, since it takes
// the system longer to clear fresh pages than a search to fill them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

namespace orrery::nest::lattice {

class Blocks {
 public:
  static constexpr std::size_t kFigures = std::size_t{1} << 18;  // of a block; larger tables have one of their own

 private:
  friend class Room;
  std::vector<std::unique_ptr<float[]>> free_;
};

// What is taken from it holds until it goes.
class Room {
 public:
  explicit Room(Blocks& blocks) : blocks_(blocks) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() { std::move(used_.begin(), used_.end(), std::back_inserter(blocks_.free_)); }

  // Not initialised.
  float* take(std::size_t count) {
    if (count > Blocks::kFigures) {
      large_.push_back(std::make_unique_for_overwrite<float[]>(count));
      return large_.back().get();
    }
    if (count > left_) {
      if (blocks_.free_.empty()) {
        used_.push_back(std::make_unique_for_overwrite<float[]>(Blocks::kFigures));
      } else {
        used_.push_back(std::move(blocks_.free_.back()));
        blocks_.free_.pop_back();
      }
      left_ = Blocks::kFigures;
    }
    float* const taken = used_.back().get() + (Blocks::kFigures - left_);
    left_ -= count;
    return taken;
  }

 private:
  Blocks& blocks_;
  std::vector<std::unique_ptr<float[]>> used_, large_;
  std::size_t left_ = 0;  // of the last one used
};

}  // namespace orrery::nest::lattice
