// Results that points of a run share, in little room: the last ones. Older ones are in the store.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "orrery/verbs/sweep/store/store.h"

namespace orrery::sweep {

// By keys of 16 bytes. Two generations: when the younger is full, the older is forgotten, and what of it is still
// wanted moves up as it is found.
template <typename Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  const Value* find(const std::string& key) {
    const auto young = young_.find(short_key(key));
    if (young != young_.end()) return &young->second;
    const auto old = old_.find(short_key(key));
    if (old == old_.end()) return nullptr;
    Value moved = std::move(old->second);
    old_.erase(old);
    return &add(key, std::move(moved));
  }
  Value& add(const std::string& key, Value value) {
    if (young_.size() >= most_ / 2) {
      forgets_ = forgets_ || !old_.empty();
      old_ = std::exchange(young_, {});
    }
    return young_[short_key(key)] = std::move(value);
  }
  bool forgets() const { return forgets_; }  // something was added that it does not know any more

 private:
  using Key = std::array<std::uint64_t, 2>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return key[0]; }
  };
  static Key short_key(const std::string& key) {
    Key out{};
    std::memcpy(out.data(), key.data(), std::min(key.size(), sizeof out));
    return out;
  }
  std::size_t most_;
  bool forgets_ = false;
  std::unordered_map<Key, Value, Hash> young_, old_;
};

class Memo {
 public:
  static constexpr std::size_t kMost = 500'000;
  std::optional<store::Result> find(const std::string& key) {
    const Slim* const slim = known_.find(key);
    if (slim == nullptr) return {};
    store::Result out{key, {}, {}, {}};
    out.outcome.status = slim->status;
    out.outcome.gap = slim->gap;
    out.outcome.figures = slim->figures;
    if (slim->reason) out.outcome.reason = *slim->reason;
    return out;
  }
  void add(const store::Result& result) {
    Slim slim{result.outcome.status, result.outcome.gap, result.outcome.figures, {}};
    if (!result.outcome.reason.empty()) slim.reason = std::make_unique<std::string>(result.outcome.reason);
    known_.add(result.key, std::move(slim));
  }
  bool forgets() const { return known_.forgets(); }

 private:
  struct Slim {
    store::Status status;
    double gap;
    store::Figures figures;
    std::unique_ptr<std::string> reason;
  };
  Recent<Slim> known_{kMost};
};

}  // namespace orrery::sweep
