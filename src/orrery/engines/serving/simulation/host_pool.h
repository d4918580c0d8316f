// Copies of blocks in the host's memory, by their contents: the one that was stored or loaded longest ago goes first.
#pragma once

#include <list>
#include <unordered_map>

#include "orrery/base/numbers/count.h"
#include "orrery/engines/serving/simulation/block_pool.h"

namespace orrery::serving {

class HostPool {
 public:
  explicit HostPool(base::Count blocks) : room_(static_cast<std::size_t>(blocks)) {}

  bool has(BlockKey key) const { return places_.count(key) > 0; }
  // It is there.
  void touch(BlockKey key) { order_.splice(order_.end(), order_, places_.at(key)); }
  // It is there, and goes back to the device.
  void remove(BlockKey key) {
    const auto place = places_.find(key);
    order_.erase(place->second);
    places_.erase(place);
  }
  // What is there stays where it is in the order.
  void store(BlockKey key) {
    if (room_ == 0 || has(key)) return;
    if (order_.size() == room_) {
      places_.erase(order_.front());
      order_.pop_front();
    }
    places_[key] = order_.insert(order_.end(), key);
  }

 private:
  std::size_t room_;
  std::list<BlockKey> order_;
  std::unordered_map<BlockKey, std::list<BlockKey>::iterator> places_;
};

}  // namespace orrery::serving
