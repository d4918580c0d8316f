// The blocks of keys and values: counted references, contents by hash, and which free block is taken next.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace orrery::serving {

// What full blocks of tokens have in them, and all blocks before them: equal keys are equal contents. A private key is
// that of one request alone.
using BlockKey = std::uint64_t;
inline constexpr BlockKey kNoKey = 0;
inline constexpr BlockKey kSharedKey = BlockKey{1} << 63;  // of those that several blocks may have
inline constexpr BlockKey kOwnKey = BlockKey{1} << 62;     // of them, those of one request

// Free blocks keep their contents until they are taken, from the one that became free first: in the beginning in order.
// Takes memory for those that were ever taken.
class BlockPool {
 public:
  explicit BlockPool(std::int32_t blocks) : size_(blocks), free_(blocks) {}

  std::int32_t free() const { return free_; }
  std::int32_t size() const { return size_; }
  bool is_free(std::int32_t block) const { return blocks_[at(block)].references == 0; }
  // Whether `block` has these contents still.
  bool has(std::int32_t block, BlockKey key) const { return blocks_[at(block)].key == key; }
  // The block that had these shared contents first; -1: none has.
  std::int32_t find(BlockKey shared) const;

  std::int32_t take();                     // the first free one; its contents are lost. There is one.
  BlockKey lost() const { return lost_; }  // contents that no block has since the last take(); kNoKey: there are none
  void share(std::int32_t block);          // one reference more
  void release(std::int32_t block);
  void fill(std::int32_t block, BlockKey key);

 private:
  static constexpr std::int32_t kEnds = -1;  // of the list
  struct Block {
    BlockKey key = kNoKey;
    std::int32_t references = 0;
    std::int32_t before = kEnds, behind = kEnds;  // among free blocks that were taken before
  };
  Block& node(std::int32_t block) { return block == kEnds ? ends_ : blocks_[at(block)]; }
  static std::size_t at(std::int32_t block) { return static_cast<std::size_t>(block); }
  void unlink(std::int32_t block);

  std::vector<Block> blocks_;  // those that were taken
  Block ends_;
  std::int32_t size_, free_;
  BlockKey lost_ = kNoKey;
  std::unordered_map<BlockKey, std::vector<std::int32_t>> shared_;  // in the order in which they were filled
};

}  // namespace orrery::serving
