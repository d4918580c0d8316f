// A doubly linked list in the blocks themselves, so that a block found by its contents leaves the middle of the queue
// at once. Shared contents are looked up in a table; private ones never are, since only the request that wrote them
// asks for them, and it knows in which blocks they were: most blocks of a trace need no table. All operations are O(1).
#include "orrery/engines/serving/simulation/block_pool.h"

#include <algorithm>

namespace orrery::serving {

void BlockPool::unlink(std::int32_t block) {
  Block& b = blocks_[at(block)];
  node(b.before).behind = b.behind;
  node(b.behind).before = b.before;
  --free_;
}

std::int32_t BlockPool::find(BlockKey shared) const {
  const auto found = shared_.find(shared);
  return found == shared_.end() ? -1 : found->second.front();
}

std::int32_t BlockPool::take() {
  lost_ = kNoKey;
  if (blocks_.size() < at(size_)) {
    blocks_.emplace_back().references = 1;
    --free_;
    return static_cast<std::int32_t>(blocks_.size()) - 1;
  }
  const std::int32_t block = ends_.behind;
  unlink(block);
  Block& b = blocks_[at(block)];
  b.references = 1;
  lost_ = b.key;
  if ((b.key & kSharedKey) != 0) {
    const auto found = shared_.find(b.key);
    std::erase(found->second, block);
    if (found->second.empty())
      shared_.erase(found);
    else
      lost_ = kNoKey;
  }
  b.key = kNoKey;
  return block;
}

void BlockPool::share(std::int32_t block) {
  if (blocks_[at(block)].references++ == 0) unlink(block);
}

void BlockPool::release(std::int32_t block) {
  Block& b = blocks_[at(block)];
  if (--b.references > 0) return;
  b.before = ends_.before;
  b.behind = kEnds;
  node(ends_.before).behind = block;
  ends_.before = block;
  ++free_;
}

void BlockPool::fill(std::int32_t block, BlockKey key) {
  blocks_[at(block)].key = key;
  if ((key & kSharedKey) != 0) shared_[key].push_back(block);
}

}  // namespace orrery::serving
