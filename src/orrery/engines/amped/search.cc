// Exhaustive: AMPeD's space is small (8 accelerators a node and 512 nodes: 10 x 55 splits for each batch size), and one
// evaluation takes about a microsecond. A split is valid where the degrees within a node multiply to its accelerators,
// those across nodes to the nodes, each stage has equally many layers, each shard equally many heads, each microbatch
// equally many sequences, and the memory suffices. Layers and heads are checked once per split; the batch sizes that
// replicas and microbatches share are the multiples of their product, so all others are counted without being listed.
#include "orrery/engines/amped/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

namespace orrery::amped {
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

auto split_of(const Candidate& c) {
  return std::tuple(c.dp_intra, c.tp_intra, c.pp_intra, c.dp_inter, c.tp_inter, c.pp_inter);
}

auto rank(const Candidate& c) {
  return std::tuple_cat(std::tuple(c.total_s, c.batch), split_of(c));
}

void assign(Quantities& q, const Candidate& c) {
  q.batch_size = static_cast<double>(c.batch);
  q.dp_intra = static_cast<double>(c.dp_intra);
  q.tp_intra = static_cast<double>(c.tp_intra);
  q.pp_intra = static_cast<double>(c.pp_intra);
  q.dp_inter = static_cast<double>(c.dp_inter);
  q.tp_inter = static_cast<double>(c.tp_inter);
  q.pp_inter = static_cast<double>(c.pp_inter);
}

// Whether each quantity follows from batch size or degrees, by way of quantities that are not held.
std::vector<bool> varying(const std::vector<bool>& held) {
  const auto quantities = quantity_table();
  std::vector<bool> varies(quantities.size(), false);
  for (const char* name : {"batch_size", "intra_node_data_parallel_degree", "intra_node_tensor_parallel_degree",
                           "intra_node_pipeline_parallel_degree", "inter_node_data_parallel_degree",
                           "inter_node_tensor_parallel_degree", "inter_node_pipeline_parallel_degree"})
    varies[static_cast<std::size_t>(find_quantity(name) - quantities.data())] = true;
  for (const int i : calculation_order()) {
    const auto at = static_cast<std::size_t>(i);
    if (held[at]) continue;
    for (const int read : reads(quantities[at])) varies[at] = varies[at] || varies[static_cast<std::size_t>(read)];
  }
  return varies;
}

// What stays fixed in a search: given quantities that do not follow from the searched ones.
std::vector<bool> staying(const std::vector<bool>& given, std::vector<std::string_view>& recalculated) {
  const auto quantities = quantity_table();
  std::vector<bool> held(quantities.size(), false);
  for (const char* name : {"number_of_microbatches_per_minibatch", "number_of_accelerators_per_node", "number_of_nodes",
                           "total_number_of_accelerators", "number_of_network_cards_per_node", "inter_node_bandwidth",
                           "total_intra_node_bandwidth"}) {
    const auto at = static_cast<std::size_t>(find_quantity(name) - quantities.data());
    held[at] = given[at];
  }
  const std::vector<bool> varies = varying(held);
  std::vector<bool> stays = given;
  for (std::size_t i = 0; i < quantities.size(); ++i) {
    if (!given[i] || !varies[i] || held[i] || quantities[i].formula == nullptr) continue;
    stays[i] = false;
    recalculated.push_back(quantities[i].name);
  }
  return stays;
}

// A split of the accelerators, before its batch sizes are tried.
struct Split {
  Candidate degrees;
  std::int64_t Search::*reason = nullptr;  // why no batch size is valid; null: some may be
  base::Count step = 1;                    // valid batch sizes are its multiples
};

// Calls `visit` with every split, batch size largest.
template <typename Visit>
void for_each_split(Quantities q, const std::vector<bool>& stays, const Model& model, const Space& space,
                    const Visit& visit) {
  const std::vector<Triple> inter = splits(space.nodes);
  for (const Triple& in : splits(space.node_accelerators))
    for (const Triple& across : inter) {
      Split split;
      split.degrees = {space.largest_batch, in[0], in[1], in[2], across[0], across[1], across[2]};
      assign(q, split.degrees);
      calculate(q, stays, model.defects);
      if (!divides(q.pp, q.layers))
        split.reason = &Search::more_stages_than_layers;
      else if (!divides(q.tp, q.attention_heads))
        split.reason = &Search::heads_not_shared;
      else if (const double step = q.dp * q.microbatches; step <= static_cast<double>(space.largest_batch))
        split.step = static_cast<base::Count>(step);
      else
        split.reason = &Search::batch_not_shared;
      visit(split, q);
    }
}

}  // namespace

Search search(const Quantities& base, const std::vector<bool>& keep, const Model& model, const Space& space) {
  Search out;
  const std::vector<bool> stays = staying(keep, out.recalculated);
  for_each_split(base, stays, model, space, [&](const Split& split, Quantities& q) {
    out.considered += space.largest_batch;
    if (split.reason != nullptr) {
      out.*split.reason += space.largest_batch;
      return;
    }
    const base::Count shared = space.largest_batch / split.step;
    out.batch_not_shared += space.largest_batch - shared;
    Candidate candidate = split.degrees;
    for (base::Count i = 1; i <= shared; ++i) {
      candidate.batch = i * split.step;
      assign(q, candidate);
      calculate(q, stays, model.defects);
      if (space.memory_gb > 0 && q.memory_gb > space.memory_gb) {
        ++out.too_large;
        continue;
      }
      const Times times = times_of(q, model);
      candidate.microbatches = q.microbatches;
      candidate.memory_gb = q.memory_gb;
      candidate.iteration_s = times.iteration_s;
      candidate.total_s = times.total_s;
      out.valid.push_back(candidate);
    }
  });
  std::sort(out.valid.begin(), out.valid.end(),
            [](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  return out;
}

std::int64_t splits(const Space& space) {
  return static_cast<std::int64_t>(splits(space.node_accelerators).size() * splits(space.nodes).size());
}

Effort effort(const Quantities& base, const std::vector<bool>& keep, const Model& model, const Space& space) {
  Effort effort;
  std::vector<std::string_view> unused;
  for_each_split(base, staying(keep, unused), model, space, [&](const Split& split, const Quantities&) {
    ++effort.splits;
    if (split.reason == nullptr) effort.evaluations += space.largest_batch / split.step;
  });
  return effort;
}

std::vector<Candidate> best_candidates(const Search& search, std::size_t most) {
  std::vector<Candidate> best;
  std::set<decltype(split_of(Candidate{}))> seen;
  for (const Candidate& candidate : search.valid) {
    if (best.size() == most) break;
    if (seen.insert(split_of(candidate)).second) best.push_back(candidate);
  }
  return best;
}

}  // namespace orrery::amped
