// The cost of one configuration: the arithmetic behind price(), prepared once per problem.
//
// SetPricer keeps the incidence of edges at kernels, so that the price of a set costs only its kernels and their edges
// (about 10 ns each), and the price of a whole assignment is linear in the problem. Sums run over kernels in ascending
// order and over each kernel's edges in the problem's order: equal sets have equal prices to the last bit.
//
// Cores. The least bound T on the slowest kernel's time so that the least cores that reach T, summed, are within the
// chip's: bisection over the distinct times of the set's choices. Exact, as need(T) only falls with T. With memory
// units as well, the least pairs (cores, units) under T are kept by dominance, kernel after kernel: exact too, and at
// most `memory_units` pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/engines/dataflow/partition/partition.h"

namespace orrery::dataflow {

class SetPricer {
 public:
  explicit SetPricer(const PartitionProblem& problem);  // kept by reference

  struct Price {
    double compute_ns = 0, memory_ns = 0, network_ns = 0, interval_ns = 0;
    double sram_bytes = 0;
    Count weight_split = 1;
    int tiling = -1;
    bool fits = true;
  };
  // `members` ascending, without duplicates. Not thread-safe.
  Price price(std::span<const int> members);
  ConfigurationCost describe(std::span<const int> members);

  // Of a whole assignment, as price(problem, assignment) says.
  PartitionCost price_all(const std::vector<int>& assignment);

  const PartitionProblem& problem() const { return problem_; }
  std::span<const int> edges_into(int kernel) const { return into_.of(kernel); }
  std::span<const int> edges_out_of(int kernel) const { return out_of_.of(kernel); }
  // Its own and that of the edges into it: a kernel pays for conversions of its inputs wherever the producer runs.
  double network_ns(int kernel) const { return network_ns_[static_cast<std::size_t>(kernel)]; }

 private:
  struct Incidence {
    std::vector<int> start, edges;
    std::span<const int> of(int kernel) const {
      const auto k = static_cast<std::size_t>(kernel);
      return {edges.data() + start[k], static_cast<std::size_t>(start[k + 1] - start[k])};
    }
  };
  struct Buffer {
    double bytes = 0;        // fixed part
    double tiled_bytes = 0;  // divided by the weight split
    int owner = 0;           // the kernel whose lanes it must match; -1: none
    bool stage_parallel = false;
  };
  struct Cores {
    bool fits = true;
    double ns = 0;
    Count cores = 0, units = 0;
    std::vector<CoreChoice> choices;  // where asked for
  };

  static Incidence incidence(std::size_t kernels, const std::vector<PartitionEdge>& edges, bool into);
  void mark(std::span<const int> members);
  bool marked(int kernel) const { return mark_[static_cast<std::size_t>(kernel)] == round_; }
  double sram(double fixed, double tiled, Count split) const { return fixed + tiled / static_cast<double>(split); }
  Count units(const Buffer& buffer, Count split, const CoreChoice* choice) const;
  std::vector<Buffer> buffers(std::span<const int> members) const;
  double allocate_pool(std::span<const int> members, bool& fits);
  Cores allocate_units(std::span<const int> members, const std::vector<Buffer>& buffers, Count split) const;
  Cores allocate(std::span<const int> members, Count split);

  Price fastest(std::span<const int> members);

  const PartitionProblem& problem_;
  std::vector<SetPricer> tilings_;
  Incidence into_, out_of_;
  std::vector<double> network_ns_;
  std::vector<std::vector<CoreChoice>> choices_;  // by rising cores, strictly falling time
  std::vector<std::uint32_t> mark_;
  std::uint32_t round_ = 0;
};

}  // namespace orrery::dataflow
