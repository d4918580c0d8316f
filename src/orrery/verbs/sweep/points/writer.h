// Stores a batch while the next one is evaluated: one thread beside those that search, one transaction a batch.
//
// All use of the store goes through it while a study runs. What goes wrong in a transaction is thrown by the next call,
// whose batch is then lost with it: neither was stored, and both are computed again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/memo.h"
#include "orrery/verbs/sweep/store/store.h"

namespace orrery::sweep {

class Writer {
 public:
  struct Row {
    std::uint64_t point = 0;
    Answered answer;  // whose parts name results, of this batch or stored before
  };
  struct Load {
    std::vector<store::Result> results;
    std::vector<Row> rows;
  };

  Writer(store::Store& store, std::int64_t study);
  ~Writer();  // when all is stored, or the last batch failed
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(Load load);  // waits for the batch before
  void finish();          // waits for all
  // Of this build; where the store has it.
  std::optional<store::Result> result(const std::string& key);
  // All of them, as Store::each_result.
  bool each_result(std::size_t most, const std::function<void(const store::Result&)>& take);

 private:
  void work();
  void store_one(Load& load);
  std::int64_t id_of(const std::string& key);
  void wait(std::unique_lock<std::mutex>& lock);

  store::Store& store_;
  std::int64_t study_;
  std::mutex store_mutex_;               // one thread at a time asks the store
  Recent<std::int64_t> ids_{2'000'000};  // of results, by key
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Load> next_;
  bool busy_ = false, ending_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace orrery::sweep
