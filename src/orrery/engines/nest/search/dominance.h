// Prunes fronts to which an earlier one was at least as good.
//
// Everything that lies ahead of a front is a function of what it leaves (extents), of the fan-outs since
// each dataspace's keeper, and of the runs that inner loops may lengthen. So of two fronts at one level with
// equal extents and fan-outs, A dominates B when A has paid no more energy, loaded no port more, and has runs
// no shorter: whatever completes B completes A at no greater cost, since every traffic count falls with the
// run and every objective rises with energy and load. Expanding B would only repeat the work done for A. Cost: one hash
// look-up per opened front, and a comparison with the few fronts kept under its key. Memory: as given; once it is full,
// fronts are still compared with those stored, but no longer stored.
#pragma once

#include <cstdint>
#include <cstring>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "orrery/engines/nest/search/descent.h"

namespace orrery::nest {

template <typename Size>
class Dominance {
 public:
  using State = Front<Size>;

  // `room`: bytes that it may take.
  explicit Dominance(double room) : room_(room) {}

  // Whether a front seen before dominates this one; if not, this one is remembered.
  bool is_dominated(const State& state, int level) {
    const Key key = key_of(state, level);
    const bool remembers = remembered_ < kMost && room_ > 0;
    auto place = seen_.end();
    bool fresh = false;
    if (remembers)
      std::tie(place, fresh) = seen_.try_emplace(key);
    else
      place = seen_.find(key);
    if (place == seen_.end()) return false;
    for (const Label& label : place->second)
      if (label.dominates(state)) return true;
    if (fresh) room_ -= sizeof(Key) + kOfAnEntry;
    if (!remembers) return false;
    std::vector<Label>& labels = place->second;
    const std::size_t before = labels.capacity();
    labels.push_back({state.energy_pj, state.read_words, state.write_words, state.run});
    room_ -= static_cast<double>(labels.capacity() - before) * sizeof(Label);
    ++remembered_;
    return false;
  }

 private:
  static constexpr std::size_t kMost = 1 << 20;  // labels
  static constexpr std::size_t kOfAnEntry = 96;  // bytes of the hash table and the allocator

  struct Label {
    double energy_pj;
    std::array<double, Size::kPorts> read_words, write_words;
    std::array<base::Count, Size::kSpaces> run;

    bool dominates(const State& state) const {
      if (energy_pj > state.energy_pj) return false;
      for (int s = 0; s < Size::kSpaces; ++s)
        if (run[s] < state.run[s]) return false;
      for (int p = 0; p < Size::kPorts; ++p)
        if (read_words[p] > state.read_words[p] || write_words[p] > state.write_words[p]) return false;
      return true;
    }
  };

  // Everything but the label, as one block of words.
  struct Key {
    std::array<base::Count, Size::kDims> extent;
    std::array<base::Count, Size::kSpaces> scatter, multicast, partition, parent_partition, parent_instances, parent;
    std::array<std::array<base::Count, Size::kSpaces>, Size::kNetworks> network_scatter;
    std::array<std::array<double, Size::kSpaces>, Size::kNetworks> network_pj;
    std::array<base::Count, Size::kNetworks> network_instances;
    base::Count instances;
    double leak;
    base::Count level;

    // Compared bitwise: there is no padding, and zeros of either sign differ.
    const char* bytes() const { return reinterpret_cast<const char*>(this); }
    bool operator==(const Key& other) const { return std::memcmp(bytes(), other.bytes(), sizeof(Key)) == 0; }
  };
  static_assert(sizeof(Key) % sizeof(std::uint64_t) == 0);

  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t hash = 0x9E3779B97F4A7C15ull;
      const char* bytes = key.bytes();
      for (std::size_t at = 0; at < sizeof(Key); at += sizeof(std::uint64_t)) {
        std::uint64_t word;
        std::memcpy(&word, bytes + at, sizeof(word));
        hash = (hash ^ word) * 0xD6E8FEB86659FD93ull;
        hash ^= hash >> 32;
      }
      return hash;
    }
  };

  static Key key_of(const State& state, int level) {
    Key key;
    key.extent = state.extent;
    key.scatter = state.scatter;
    key.multicast = state.multicast;
    key.partition = state.partition;
    key.parent_partition = state.parent_partition;
    key.parent_instances = state.parent_instances;
    for (int s = 0; s < Size::kSpaces; ++s) key.parent[s] = int{state.parent[s]};
    key.network_scatter = state.network_scatter;
    key.network_pj = state.network_pj;
    key.network_instances = state.network_instances;
    key.instances = state.instances;
    key.leak = state.leak_pj_per_cycle;
    key.level = level;
    return key;
  }

  std::unordered_map<Key, std::vector<Label>, Hash> seen_;
  std::size_t remembered_ = 0;
  double room_;
};

}  // namespace orrery::nest
