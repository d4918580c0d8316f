#include "orrery/runtime/pruning/pruned_network.h"

#include <fmt/format.h>

namespace orrery::pruning {

std::string Place::name() const {
  return fmt::format("{}.{}{}", kind == PlaceKind::kEncoder ? "encoder" : "decoder", layer,
                     kind == PlaceKind::kCross ? ".cross" : "");
}

std::vector<Place> places_of(const network::Description& description) {
  std::vector<Place> out;
  for (network::Index i = 0; i < description.encoder.layers; ++i) out.push_back({PlaceKind::kEncoder, i});
  for (network::Index i = 0; i < description.decoder.layers; ++i) {
    out.push_back({PlaceKind::kDecoder, i});
    if (description.decoder.layer.cross) out.push_back({PlaceKind::kCross, i});
  }
  return out;
}

void attach(network::Network& network, const Place& place, layer::AttentionCore* core) {
  layer::Encoder& layer =
      (place.kind == PlaceKind::kEncoder ? network.encoder() : network.decoder()).layer(place.layer);
  if (place.kind == PlaceKind::kCross)
    layer.replace_cross_attention(core);
  else
    layer.replace_attention(core);
}

PrunedNetwork::PrunedNetwork(const network::Description& description, const masks::Pruning& pruning)
    : pruning_(pruning), places_(places_of(description)) {
  for (std::size_t i = 0; i < places_.size(); ++i) cores_.emplace_back(pruning);
}

void PrunedNetwork::attach(network::Network& network) {
  for (std::size_t i = 0; i < places_.size(); ++i) pruning::attach(network, places_[i], &cores_[i]);
}

void PrunedNetwork::detach(network::Network& network) {
  for (const Place& place : places_) pruning::attach(network, place, nullptr);
}

void PrunedNetwork::set_mode(masks::Mode mode) {
  for (PrunedAttention& core : cores_) core.mode = mode;
}

}  // namespace orrery::pruning
