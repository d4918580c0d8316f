// Attributes of components that say what a chip is, in one place: a misspelling of one changes the chip (O0322), and
// none of them is without effect (O0330).
#pragma once

#include <array>
#include <string_view>

namespace orrery::formats::timeloop {

inline constexpr auto kKnownAttributes = std::to_array<std::string_view>({"entries",
                                                                          "depth",
                                                                          "sizeKB",
                                                                          "width",
                                                                          "datawidth",
                                                                          "word_bits",
                                                                          "block_size",
                                                                          "cluster_size",
                                                                          "instances",
                                                                          "meshX",
                                                                          "meshY",
                                                                          "bandwidth",
                                                                          "read_bandwidth",
                                                                          "write_bandwidth",
                                                                          "shared_bandwidth",
                                                                          "multiple_buffering",
                                                                          "min_utilization",
                                                                          "network_read",
                                                                          "network_update",
                                                                          "network_fill",
                                                                          "network_drain",
                                                                          "network_fill_latency",
                                                                          "network_drain_latency",
                                                                          "network_word_bits",
                                                                          "network_operand",
                                                                          "network_result",
                                                                          "vector_access_energy",
                                                                          "reduction_supported",
                                                                          "power_gated_at",
                                                                          "technology",
                                                                          "global_cycle_seconds"});

}  // namespace orrery::formats::timeloop
