#include "orrery/study/pruned_network.h"

#include <fmt/format.h>

namespace orrery::study {

std::string Place::name() const {
  return fmt::format("{}.{}{}", kind == PlaceKind::kEncoder ? "encoder" : "decoder", layer,
                     kind == PlaceKind::kCross ? ".cross" : "");
}

std::vector<Place> places_of(const model::Description& description) {
  std::vector<Place> out;
  for (model::Index i = 0; i < description.encoder.layers; ++i) out.push_back({PlaceKind::kEncoder, i});
  for (model::Index i = 0; i < description.decoder.layers; ++i) {
    out.push_back({PlaceKind::kDecoder, i});
    if (description.decoder.layer.cross) out.push_back({PlaceKind::kCross, i});
  }
  return out;
}

void attach(model::Network& network, const Place& place, layer::AttentionCore* core) {
  layer::Encoder& layer =
      (place.kind == PlaceKind::kEncoder ? network.encoder() : network.decoder()).layer(place.layer);
  if (place.kind == PlaceKind::kCross)
    layer.replace_cross_attention(core);
  else
    layer.replace_attention(core);
}

PrunedNetwork::PrunedNetwork(const model::Description& description, const sparse::Pruning& pruning)
    : pruning_(pruning), places_(places_of(description)) {
  for (std::size_t i = 0; i < places_.size(); ++i) cores_.emplace_back(pruning);
}

void PrunedNetwork::attach(model::Network& network) {
  for (std::size_t i = 0; i < places_.size(); ++i) study::attach(network, places_[i], &cores_[i]);
}

void PrunedNetwork::detach(model::Network& network) {
  for (const Place& place : places_) study::attach(network, place, nullptr);
}

void PrunedNetwork::set_mode(sparse::Mode mode) {
  for (PrunedAttention& core : cores_) core.mode = mode;
}

}  // namespace orrery::study
