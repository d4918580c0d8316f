// What the generations of DFModel do otherwise. It grew without releases; published runs come from five numerically
// different versions of it (commits 04f93d5, 52c34a8, 5ba2040, a33985b, f9cda5e).
#pragma once

#include "orrery/base/diagnostics/defect.h"

namespace orrery::dataflow {

// All false: Orrery's own formulas (docs/model/dataflow.md).
struct Defects {
  // communication
  bool table_collectives = false;
  bool doubled_all_reduce = false, half_connected_all_reduce = false, no_link_latency = false;
  bool one_group_exchange = false, squared_exchange = false, negative_bisection = false;
  bool update_bytes_as_ns = false, lonely_chips_send = false, simultaneous_groups = false;
  // time and money of a run
  bool short_bubble = false, graph_is_whole_model = false, flop_of_slowest_stage = false;
  bool inputs_are_free = false, vector_products_are_shallow = false, free_fourth_dimension = false;
  // what may be decided
  bool services_as_stated = false, tiles_divide = false, short_tiles_divide = false, tile_size_counts_tiles = false;
  bool tiles_by_configuration = false, published_shardings = false, fewest_bytes = false;
  bool state_space_unsharded = false, shards_computed_anew = false;
  // what is checked and printed
  bool weights_of_both_directions = false;
  bool unchecked_recommendation_sram = false, unchecked_state_space_sram = false, mamba_sram_alone = false;
  bool final_ii_in_log = false;

  bool operator==(const Defects&) const = default;
};

inline constexpr base::Defect<Defects> kDefects[] = {
    {"table_collectives", &Defects::table_collectives, "gen1 gen2 gen3 gen4 head",
     "collectives cost what DFModel's table says: an all-reduce moves its tensor once, a ring's all-gather one way, an "
     "all-to-all the tensor for each pair"},
    {"doubled_all_reduce", &Defects::doubled_all_reduce, "gen1",
     "an all-reduce is always a reduce-scatter and an all-gather, one after the other"},
    {"half_connected_all_reduce", &Defects::half_connected_all_reduce, "gen2 gen3 gen4 head",
     "an all-reduce in a fully connected group moves half of its bytes"},
    {"no_link_latency", &Defects::no_link_latency, "gen1 gen2", "the latency of links is left out"},
    {"one_group_exchange", &Defects::one_group_exchange, "gen1 gen2 gen3 gen4 head",
     "a whole-machine exchange crosses the bisections of one group, with its messages"},
    {"squared_exchange", &Defects::squared_exchange, "gen1",
     "that exchange has N^2 / 2 messages, and a fully connected group x^2 / 4 links in its bisection"},
    {"negative_bisection", &Defects::negative_bisection, "gen3",
     "the bisection of rings of fully connected groups is negative and never the slowest"},
    {"update_bytes_as_ns", &Defects::update_bytes_as_ns, "gen1 gen2 gen3 gen4 head",
     "DLRM's updates: their bytes are taken for nanoseconds"},
    {"lonely_chips_send", &Defects::lonely_chips_send, "gen1 gen2 gen3 gen4 head",
     "Linpack: a direction of the grid with one chip sends, too"},
    {"simultaneous_groups", &Defects::simultaneous_groups, "head",
     "tensor- and data-parallel groups communicate at once"},
    {"short_bubble", &Defects::short_bubble, "gen1 gen2 gen3 gen4 head",
     "the pipeline's bubble is divided by the layers of a stage less one"},
    {"graph_is_whole_model", &Defects::graph_is_whole_model, "gen1 gen2 gen3 gen4 head",
     "a graph of several layers is spread over all stages, as if it were the whole model"},
    {"flop_of_slowest_stage", &Defects::flop_of_slowest_stage, "gen1 gen2 gen3 gen4 head",
     "a run of unequal stages counts the FLOP of its slowest stage"},
    {"inputs_are_free", &Defects::inputs_are_free, "gen1 gen2 gen3 gen4 head",
     "`num_input` does not multiply the time at a given utilisation"},
    {"vector_products_are_shallow", &Defects::vector_products_are_shallow, "gen1 gen2 gen3 gen4 head",
     "a product on vector lanes takes as long as an elementwise kernel, whatever its K"},
    {"free_fourth_dimension", &Defects::free_fourth_dimension, "gen1 gen2 gen3 gen4 head",
     "links and switches of the fourth dimension of a network cost nothing"},
    {"services_as_stated", &Defects::services_as_stated, "gen1 gen2 gen3 gen4 head",
     "what a dimension of the network serves is not searched for"},
    {"tiles_divide", &Defects::tiles_divide, "gen1 gen2 gen3", "tiles must divide the sequence"},
    {"short_tiles_divide", &Defects::short_tiles_divide, "gen4",
     "tiles must divide a sequence of fewer than 32,768 tokens"},
    {"tile_size_counts_tiles", &Defects::tile_size_counts_tiles, "gen1", "`tile_size` is the number of tiles"},
    {"tiles_by_configuration", &Defects::tiles_by_configuration, "gen4 head",
     "every configuration has tiles of its own"},
    {"published_shardings", &Defects::published_shardings, "gen1 gen2 gen3 gen4 head",
     "graphs of the shape of a published run are sharded as that run was"},
    {"fewest_bytes", &Defects::fewest_bytes, "gen1 gen2 gen3 gen4 head",
     "the sharding with the fewest bytes is taken, not the one with the least time"},
    {"state_space_unsharded", &Defects::state_space_unsharded, "gen1 gen2 gen3 gen4 head",
     "kernels of state-space models are not sharded"},
    {"shards_computed_anew", &Defects::shards_computed_anew, "gen1 gen2 gen3 gen4 head",
     "shards and buffers in the file hold with `skip_inter_chip_optimization` only"},
    {"weights_of_both_directions", &Defects::weights_of_both_directions, "gen1 gen2 gen3 gen4 head",
     "DRAM holds the weights of forward kernels and, once more, of the backward kernels that read them"},
    {"unchecked_recommendation_sram", &Defects::unchecked_recommendation_sram, "gen4 head",
     "the SRAM of DLRM is not checked"},
    {"unchecked_state_space_sram", &Defects::unchecked_state_space_sram, "gen1 gen2 gen3",
     "the SRAM of state-space models is not checked"},
    {"mamba_sram_alone", &Defects::mamba_sram_alone, "gen4 head", "of state-space models only `mamba`'s is"},
    {"final_ii_in_log", &Defects::final_ii_in_log, "head", "the log calls the time of the run final_ii_s"},
};

// The generations, for callers that want one as a whole.
inline constexpr Defects kCorrected{};
inline constexpr Defects kGen1 = base::defects_of(kDefects, "gen1");
inline constexpr Defects kGen2 = base::defects_of(kDefects, "gen2");
inline constexpr Defects kGen3 = base::defects_of(kDefects, "gen3");
inline constexpr Defects kGen4 = base::defects_of(kDefects, "gen4");
inline constexpr Defects kHead = base::defects_of(kDefects, "head");

}  // namespace orrery::dataflow
