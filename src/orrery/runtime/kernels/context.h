// What kernels run on: threads, an instruction set, scratch memory that is kept from call to call. One caller at a
// time.
#pragma once

#include <vector>

#include "orrery/runtime/kernels/buffer.h"
#include "orrery/runtime/kernels/choice.h"
#include "orrery/runtime/kernels/function_table.h"
#include "orrery/runtime/kernels/pool.h"

namespace orrery::kernels {

// A result so large is not in the caches any more when it is used.
inline constexpr Index kStreamedBytes = Index{16} << 20;

class Context {
 public:
  // threads <= 0: as many as the machine runs at once.
  explicit Context(int threads = 0, Level level = chosen_level());

  const Table& table() const { return *table_; }
  int threads() const { return pool_.threads(); }
  Pool& pool() { return pool_; }

  // How products are computed where the level has several ways, and how attention multiplies bf16.
  const Choice& choice() const { return *choice_; }
  Arithmetic bf16() const { return choice_->bf16_lanes; }

  // Bytes of the second-level cache of a core, which blocks are cut for.
  Index cache() const { return cache_; }

  // Scratch that all workers share, and that each has of its own: at least so many units of 32 bits. To be called
  // before the tasks are run; what earlier calls got is invalid.
  std::uint32_t* shared(Index units);
  void reserve_own(Index units);
  std::uint32_t* own(int worker) const { return static_cast<std::uint32_t*>(own_[worker].data()); }

 private:
  Pool pool_;
  const Table* table_;
  const Choice* choice_;
  Index cache_;
  Buffer shared_;
  std::vector<Buffer> own_;
};

}  // namespace orrery::kernels
