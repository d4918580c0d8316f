// Exhaustive: AMPeD's space is small (8 accelerators a node and 512 nodes: 10 x 55 splits for each batch size), and one
// evaluation takes about a microsecond. A split is valid where the degrees within a node multiply to its accelerators,
// those across nodes to the nodes, each stage has equally many layers, each shard equally many heads, each microbatch
// equally many sequences, and the memory suffices.
#include "orrery/cluster/amped_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace orrery::cluster {
namespace {

using Triple = std::array<base::Count, 3>;  // data, tensor, pipeline

std::vector<base::Count> divisors(base::Count n) {
  std::vector<base::Count> found;
  for (base::Count i = 1; i <= n / i; ++i) {
    if (n % i != 0) continue;
    found.push_back(i);
    if (i != n / i) found.push_back(n / i);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<Triple> splits(base::Count n) {
  std::vector<Triple> found;
  for (const base::Count data : divisors(n))
    for (const base::Count tensor : divisors(n / data)) found.push_back({data, tensor, n / data / tensor});
  return found;
}

bool divides(double divisor, double number) {
  return std::fmod(number, divisor) == 0;
}

auto rank(const AmpedCandidate& c) {
  return std::tuple(c.total_s, c.batch, c.dp_intra, c.tp_intra, c.pp_intra, c.dp_inter, c.tp_inter, c.pp_inter);
}

void assign(AmpedQuantities& q, const AmpedCandidate& c) {
  q.batch_size = static_cast<double>(c.batch);
  q.dp_intra = static_cast<double>(c.dp_intra);
  q.tp_intra = static_cast<double>(c.tp_intra);
  q.pp_intra = static_cast<double>(c.pp_intra);
  q.dp_inter = static_cast<double>(c.dp_inter);
  q.tp_inter = static_cast<double>(c.tp_inter);
  q.pp_inter = static_cast<double>(c.pp_inter);
}

}  // namespace

AmpedSearch amped_search(const AmpedQuantities& base, std::vector<bool> keep, const AmpedModel& model,
                         const AmpedSpace& space) {
  AmpedSearch out;
  const std::vector<Triple> intra = splits(space.node_accelerators), inter = splits(space.nodes);
  AmpedQuantities q = base;
  for (const base::Count batch : space.batch_sizes)
    for (const Triple& in : intra)
      for (const Triple& across : inter) {
        ++out.considered;
        AmpedCandidate candidate{batch, in[0], in[1], in[2], across[0], across[1], across[2]};
        assign(q, candidate);
        calculate(q, keep, model.defects);
        std::int64_t* reason = nullptr;
        if (!divides(q.pp, q.layers))
          reason = &out.more_stages_than_layers;
        else if (!divides(q.tp, q.attention_heads))
          reason = &out.heads_not_shared;
        else if (!divides(q.dp, q.batch_size) || !divides(q.microbatches, q.minibatch))
          reason = &out.batch_not_shared;
        else if (space.memory_gb > 0 && q.memory_gb > space.memory_gb)
          reason = &out.too_large;
        if (reason != nullptr) {
          ++*reason;
          continue;
        }
        const AmpedTimes times = amped_times(q, model);
        candidate.microbatches = q.microbatches;
        candidate.memory_gb = q.memory_gb;
        candidate.iteration_s = times.iteration_s;
        candidate.total_s = times.total_s;
        out.valid.push_back(candidate);
      }
  std::sort(out.valid.begin(), out.valid.end(),
            [](const AmpedCandidate& a, const AmpedCandidate& b) { return rank(a) < rank(b); });
  return out;
}

std::int64_t amped_candidates(const AmpedSpace& space) {
  return static_cast<std::int64_t>(splits(space.node_accelerators).size() * splits(space.nodes).size() *
                                   space.batch_sizes.size());
}

std::vector<base::Count> amped_batch_sizes(base::Count largest) {
  std::vector<base::Count> sizes;
  for (base::Count size = 1; size < largest; size *= 2) {
    sizes.push_back(size);
    if (size > largest / 2) break;
  }
  sizes.push_back(largest);
  return sizes;
}

}  // namespace orrery::cluster
