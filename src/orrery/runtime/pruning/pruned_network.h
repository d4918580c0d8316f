// Pruned attention in every layer of a network.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "orrery/runtime/network/network.h"
#include "orrery/runtime/pruning/pruned_core.h"

namespace orrery::pruning {

enum class PlaceKind { kEncoder, kDecoder, kCross };

// An attention of a network: of the encoder's or only stack, of the decoder's, or its cross attention.
struct Place {
  PlaceKind kind = PlaceKind::kEncoder;
  network::Index layer = 0;
  std::string name() const;  // "encoder.3", "decoder.0.cross"
};

std::vector<Place> places_of(const network::Description& description);

// Every place of the network that is attached to asks `core` for attention.
void attach(network::Network& network, const Place& place, layer::AttentionCore* core);

class PrunedNetwork {
 public:
  PrunedNetwork(const network::Description& description, const masks::Pruning& pruning);

  // In every layer of the network, until it is detached; the network must be of this description.
  void attach(network::Network& network);
  void detach(network::Network& network);
  void set_mode(masks::Mode mode);

  const std::vector<Place>& places() const { return places_; }
  PrunedAttention& core(std::size_t place) { return cores_[place]; }
  const PrunedAttention& core(std::size_t place) const { return cores_[place]; }
  const masks::Pruning& pruning() const { return pruning_; }

 private:
  masks::Pruning pruning_;
  std::vector<Place> places_;
  std::deque<PrunedAttention> cores_;
};

}  // namespace orrery::pruning
