#include "orrery/inputs/networks/stored_clips.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "orrery/formats/huggingface/networks/weight_names.h"

namespace orrery::verbs {
namespace {

using formats::checkpoint::Tensor;
using formats::huggingface::Family;
using formats::huggingface::prefix_of;
using masks::Clips;
using pruning::Place;
using pruning::PlaceKind;

// The attention's module, as the family's class calls it, without the class's prefix.
std::string module_of(Family family, const Place& place) {
  switch (family) {
    case Family::kBert:
    case Family::kRoberta:
      return fmt::format("encoder.layer.{}.attention.self.", place.layer);
    case Family::kGpt2:
      return fmt::format("h.{}.attn.", place.layer);
    case Family::kBart:
      return fmt::format("{}.layers.{}.{}.", place.kind == PlaceKind::kEncoder ? "encoder" : "decoder", place.layer,
                         place.kind == PlaceKind::kCross ? "encoder_attn" : "self_attn");
  }
  return "";
}

constexpr const char* kBuffers[] = {"input_x_thresh", "input_y_thresh", "_step"};

// The tensor of a buffer of this module, which may lie in a module of its own within it; its place in the list.
std::optional<std::size_t> buffer_of(const std::vector<Tensor>& tensors, Family family, const Place& place,
                                     const char* buffer) {
  const std::string module = module_of(family, place), whole = prefix_of(family) + module;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const std::size_t from = name.rfind(whole, 0) == 0 ? whole.size() : name.rfind(module, 0) == 0 ? module.size() : 0;
    if (from == 0) continue;
    const std::string rest = name.substr(from);
    if (rest == buffer || rest == std::string("quant_matmul.") + buffer) return i;
  }
  return std::nullopt;
}

}  // namespace

StoredClips read_clips(const CheckpointModel& model, const std::vector<Place>& places) {
  StoredClips out;
  const std::vector<Tensor>& tensors = model.checkpoint.tensors;
  for (const Place& place : places) {
    float values[3] = {};
    int found = 0;
    for (int i = 0; i < 3; ++i) {
      const auto at = buffer_of(tensors, model.runnable.family, place, kBuffers[i]);
      const std::vector<float> numbers = at ? formats::checkpoint::as_floats(tensors[*at]) : std::vector<float>();
      if (numbers.size() == 1) values[i] = numbers[0];
      if (i == 2) continue;
      found += numbers.size() == 1;
      out.any = out.any || at;
      if (at && (numbers.size() != 1 || !(values[i] > 0) || !std::isfinite(values[i])))
        out.unset.push_back(tensors[*at].name);
    }
    out.there += found == 2;
    // A checkpoint without the number of steps has been trained all the same; one threshold alone is none.
    const base::Count step = values[2] > 0 && values[2] < 1e9F ? static_cast<base::Count>(values[2]) : 1;
    out.clips.push_back(values[0] > 0 && values[1] > 0 ? Clips{{values[0], step}, {values[1], step}} : Clips{});
  }
  return out;
}

void refuse_clips(const CheckpointModel& model, const StoredClips& read, std::size_t places) {
  base::Diagnostics found;
  const std::size_t named = std::min<std::size_t>(read.unset.size(), 4);
  auto& said = found.error(
      "O1872",
      !read.unset.empty()
          ? fmt::format("{} clip thresholds in `{}` are not set: {}{}", read.unset.size(), model.folder,
                        fmt::join(read.unset.begin(), read.unset.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                        read.unset.size() > named ? ", ..." : "")
          : fmt::format("`{}` has clip thresholds for {} of its {} attentions", model.folder, read.there, places));
  said.note("codes are clipped at a threshold: with 0, every score would be predicted to be 0, and nothing pruned");
  said.hint(
      "train it with pruned attention (`orrery tune train --sparse-config`), or take thresholds from the texts: "
      "`--calibrate`");
  found.throw_if_errors();
}

void store_clips(const PrunedModel& pruned, CheckpointModel& model) {
  if (!pruned.network || !pruned.network->pruning().quantises()) return;
  std::vector<Tensor>& tensors = model.checkpoint.tensors;
  const Family family = model.runnable.family;
  for (std::size_t i = 0; i < pruned.network->places().size(); ++i) {
    const Place& place = pruned.network->places()[i];
    const Clips& clips = pruned.network->core(i).clips;
    const float values[] = {clips.query.value, clips.key.value, static_cast<float>(clips.query.step)};
    std::string module = prefix_of(family) + module_of(family, place) + "quant_matmul.";
    for (const char* const buffer : kBuffers)
      if (const auto at = buffer_of(tensors, family, place, buffer))
        module = tensors[*at].name.substr(0, tensors[*at].name.size() - std::strlen(buffer));
    for (int b = 0; b < 3; ++b) {
      const auto bytes = std::make_shared<std::string>(sizeof(float), '\0');
      std::memcpy(bytes->data(), &values[b], sizeof(float));
      Tensor tensor{module + kBuffers[b], formats::checkpoint::Element::kF32, {1}, *bytes, bytes};
      const auto at = buffer_of(tensors, family, place, kBuffers[b]);
      if (at)
        tensors[*at] = std::move(tensor);
      else
        tensors.push_back(std::move(tensor));
    }
  }
}

}  // namespace orrery::verbs
