// The roofline of Williams, Waterman and Patterson (2009): units do `units` operations a cycle, ports move `rate`
// bytes; with I operations a byte a block takes at least max(1 / units, 1 / (I rate)) cycles an operation, and I =
// units / rate is the ridge between the two. Fusion leaves operations as they are and moves fewer bytes, so that a
// block goes to the right. An operation is a point of an operator's iteration space, which a unit takes one cycle for.
#include "orrery/verbs/map/fuse/block_roofline.h"

#include <algorithm>

namespace orrery::verbs {
namespace {

constexpr double kBitsOfByte = 8;

// Operations, and bits read and written in the outermost storage, of all instances.
std::pair<double, double> work_and_bits(const Chain& chain, const std::vector<Group>& groups) {
  double work = 0, bits = 0;
  for (const Group& group : groups)
    for (const GroupPart& part : group.parts) {
      const LayerQuestion& question = chain[part.place].question;
      double points = static_cast<double>(question.instances), words = 0;
      const nest::StorageCost& outside = part.cost.storages.back();
      for (const nest::DataspaceCost& one : outside.dataspaces)
        words += static_cast<double>(one.reads) + static_cast<double>(one.fills) + static_cast<double>(one.updates);
      bits +=
          points * words * static_cast<double>(outside.utilized_instances) * question.chip->storages.back().word_bits;
      for (const workload::Dimension& d : question.einsum.dimensions) points *= static_cast<double>(d.bound);
      work += points;
    }
  return {work, bits};
}

std::optional<double> ridge_of(const machine::Chip& chip) {
  const machine::Storage& outside = chip.storages.back();
  const auto& rate = outside.shared_words_per_cycle ? outside.shared_words_per_cycle : outside.read_words_per_cycle;
  if (!rate || *rate <= 0) return std::nullopt;
  return static_cast<double>(chip.compute.instances) / (*rate * outside.word_bits / kBitsOfByte);
}

}  // namespace

BlockRoofline roofline_of(const Chain& chain, const std::vector<Group>& best, const std::vector<Group>& unfused) {
  BlockRoofline out;
  // Norms may run on a chip of their own: the ridge is that of the operators that do most.
  out.storage = chain[0].question.chip->storages.back().name;
  double most = 0;
  for (std::size_t i = 0; i < chain.length; ++i) {
    const LayerQuestion& question = chain[i].question;
    double points = static_cast<double>(question.instances);
    for (const workload::Dimension& d : question.einsum.dimensions) points *= static_cast<double>(d.bound);
    if (points <= most) continue;
    most = points;
    out.ridge = ridge_of(*question.chip);
    out.storage = question.chip->storages.back().name;
  }
  const auto [work, bits] = work_and_bits(chain, best);
  out.bytes = bits / kBitsOfByte;
  if (bits > 0) out.intensity = work / out.bytes;
  const auto [unfused_work, unfused_bits] = work_and_bits(chain, unfused);
  if (unfused_bits <= 0) return out;
  out.unfused_bytes = unfused_bits / kBitsOfByte;
  out.unfused_intensity = unfused_work / *out.unfused_bytes;
  return out;
}

}  // namespace orrery::verbs
