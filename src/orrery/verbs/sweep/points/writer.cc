#include "orrery/verbs/sweep/points/writer.h"

#include <utility>

#include <fmt/format.h>

namespace orrery::sweep {

Writer::Writer(store::Store& store, std::int64_t study) : store_(store), study_(study), thread_([this] { work(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Writer::wait(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return !next_ && !busy_; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Writer::write(Load load) {
  std::unique_lock lock(mutex_);
  wait(lock);
  next_ = std::move(load);
  changed_.notify_all();
}

void Writer::finish() {
  std::unique_lock lock(mutex_);
  wait(lock);
}

std::optional<store::Result> Writer::result(const std::string& key) {
  const std::lock_guard lock(store_mutex_);
  std::optional<store::Result> found = store_.result(key);
  if (found) ids_.add(key, found->id);
  return found;
}

bool Writer::each_result(std::size_t most, const std::function<void(const store::Result&)>& take) {
  const std::lock_guard lock(store_mutex_);
  return store_.each_result(most, [&](const store::Result& result) {
    ids_.add(result.key, result.id);
    take(result);
  });
}

void Writer::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return next_ || ending_; });
    if (!next_) return;
    Load load = *std::move(next_);
    next_.reset();
    busy_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      store_one(load);
    } catch (...) {
      failure = std::current_exception();
    }
    load = {};
    lock.lock();
    busy_ = false;
    failure_ = failure;
    changed_.notify_all();
  }
}

std::int64_t Writer::id_of(const std::string& key) {
  if (const std::int64_t* id = ids_.find(key)) return *id;
  return ids_.add(key, store_.result_id(key));
}

void Writer::store_one(Load& load) {
  const std::lock_guard lock(store_mutex_);
  std::vector<std::int64_t> ids;
  store_.write(study_, load.results, ids, [&](const std::vector<std::int64_t>& written) {
    for (std::size_t r = 0; r < written.size(); ++r) ids_.add(load.results[r].key, written[r]);
    std::vector<store::PointRow> rows;
    for (Row& row : load.rows) {
      for (const Part& part : row.answer.parts)
        row.answer.outcome.parts += fmt::format("{} {} {}\n", id_of(part.key), part.instances, part.name);
      rows.push_back({row.point, std::move(row.answer.outcome)});
    }
    return rows;
  });
}

}  // namespace orrery::sweep
