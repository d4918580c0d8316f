// Results that points of a run share, in little room.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>

#include "orrery/store/store.h"

namespace orrery::sweep {

class Memo {
 public:
  std::optional<store::Result> find(const std::string& key) const {
    const auto found = known_.find(short_key(key));
    if (found == known_.end()) return {};
    const Slim& slim = found->second;
    store::Result out{key, {}, {}, {}};
    out.outcome.status = slim.status;
    out.outcome.gap = slim.gap;
    for (std::size_t i = 0; i < slim.figures.size(); ++i) out.outcome.figures[kKept[i]] = slim.figures[i];
    const auto reason = reasons_.find(slim.id);
    if (reason != reasons_.end()) out.outcome.reason = reason->second;
    return out;
  }
  std::int64_t id(const std::string& key) const {
    const auto found = known_.find(short_key(key));
    return found == known_.end() ? 0 : found->second.id;
  }
  void add(const store::Result& result, std::int64_t id) {
    Slim slim{id, result.outcome.status, result.outcome.gap, {}};
    for (std::size_t i = 0; i < slim.figures.size(); ++i) slim.figures[i] = result.outcome.figures[kKept[i]];
    known_[short_key(result.key)] = slim;
    if (!result.outcome.reason.empty()) reasons_[id] = result.outcome.reason;
  }

 private:
  static constexpr store::Figure kKept[] = {store::Figure::kEnergy, store::Figure::kCycles, store::Figure::kUtilization,
                                            store::Figure::kEdp, store::Figure::kSeconds};
  struct Slim {
    std::int64_t id;
    store::Status status;
    double gap;
    std::array<double, 5> figures;
  };
  using Key = std::array<std::uint64_t, 2>;
  struct Hash {
    std::size_t operator()(const Key& key) const { return key[0]; }
  };
  static Key short_key(const std::string& key) {
    Key out{};
    std::memcpy(out.data(), key.data(), std::min(key.size(), sizeof out));
    return out;
  }
  std::unordered_map<Key, Slim, Hash> known_;
  std::unordered_map<std::int64_t, std::string> reasons_;
};

}  // namespace orrery::sweep
