// Cases that DFModel published with their results, made from the generators: what the model's tests and benchmarks run.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "orrery/describe/workload/graphs/dlrm_graph.h"
#include "orrery/describe/workload/graphs/fft_graph.h"
#include "orrery/describe/workload/graphs/hpl_graph.h"
#include "orrery/describe/workload/graphs/plain_graphs_test_util.h"
#include "orrery/engines/dataflow/model/evaluate.h"

namespace orrery::dataflow::cases {

// Files hold 32-bit floats.
inline double rounded(double value) {
  return static_cast<double>(static_cast<float>(value));
}

inline void round_sizes(workload::KernelGraph& graph) {
  for (workload::Kernel& kernel : graph.kernels)
    for (double* bytes : {&kernel.input_bytes, &kernel.second_bytes, &kernel.output_bytes, &kernel.communication_bytes,
                          &kernel.second_communication_bytes, &kernel.memory_bytes})
      *bytes = rounded(*bytes);
}

inline Prices prices(double accelerator, double accelerator_power, double link_x, double link_y, double switch_power) {
  Prices result;
  result.link_price = 2;
  result.switch_price = 24;
  result.dram_price = 1;
  result.accelerator_price = rounded(accelerator);
  result.accelerator_power = rounded(accelerator_power);
  result.link_power[0] = rounded(link_x);
  result.link_power[1] = rounded(link_y);
  result.switch_power = rounded(switch_power);
  result.dram_power = rounded(0.16248);
  return result;
}

struct Chip {
  machine::CoreArray cores;
  double sram_bytes = 0;
};

inline Chip chip(Count cores, Count width, Count height, double ghz, double sram) {
  return {{cores, width, height, rounded(ghz)}, rounded(sram)};
}

inline void put(const Chip& chip, System& system) {
  system.cores = chip.cores;
  system.accelerator.on_chip_bytes = chip.sram_bytes;
}

// A trillion parameters on 8 x 128 chips of type SN30, two rings; 41 kernels in 6 configurations. First generation.
inline Setup readme() {
  Setup setup;
  setup.graph = workload::language_model_graph({.hidden = 25600, .heads = 160, .head_width = 160, .ffn = 102400}, 2048,
                                               workload::Passes::kForwardBackward);
  round_sizes(setup.graph);
  setup.system.chips = 1024;
  put(chip(1280, 32, 6, 1.25, 671088640), setup.system);
  setup.system.network = {{Link::kRing, 8, 50, Parallelism::kTensor}, {Link::kRing, 128, 50, Parallelism::kPipeline}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 300;
  setup.system.accelerator.memory_bytes = rounded(1.0995116e12);
  setup.prices = prices(16522.25023, 444.7061955, 0.052, 0.052, 0.052);
  LanguageModelRun model{.hidden = 25600, .head_width = 160, .heads = 160, .sequence = 2048, .layers = 128};
  model.global_batch = 3072;
  model.micro_batch = 1;
  model.tile_size = 2048;
  setup.execution.workload = model;
  setup.execution.configurations = 6;
  setup.execution.compute_utilization = rounded(0.9);
  return setup;
}

// The shardings of the published runs, a letter per kernel; M for Add_2 where a backward pass follows.
inline std::vector<workload::KernelDimension> published_sharding(std::size_t kernels) {
  const std::string letters = kernels == 20   ? "--oooooooooK---MMK--"
                              : kernels == 18 ? "--oooooooK---MMK--"
                              : kernels == 41 ? "--oooooooK---MMK-M--MMK--MooKooooooMMMMMM"
                                              : std::string(kernels, '-');
  std::vector<workload::KernelDimension> result;
  for (const char letter : letters)
    result.push_back(letter == 'o'   ? workload::KernelDimension::kOuter
                     : letter == 'M' ? workload::KernelDimension::kM
                     : letter == 'K' ? workload::KernelDimension::kK
                                     : workload::KernelDimension::kNone);
  return result;
}

inline Mapping mapping(const Setup& setup, Degrees degrees, Count tiles, std::vector<int> configuration) {
  Mapping result;
  result.degrees = std::move(degrees);
  result.sharding = published_sharding(setup.graph.kernels.size());
  result.tiles = tiles;
  result.configuration = std::move(configuration);
  return result;
}

// The proven optimum: kernels 1-13 | 14 | 15-18 | 19-21 | 22-24, 36 | 25-35, 37-41.
inline Mapping readme_optimum(const Setup& setup) {
  std::vector<int> configuration(41, 5);
  for (int i = 0; i < 13; ++i) configuration[i] = 0;
  configuration[13] = 1;
  for (int i = 14; i < 18; ++i) configuration[i] = 2;
  for (int i = 18; i < 21; ++i) configuration[i] = 3;
  for (const int i : {21, 22, 23, 35}) configuration[i] = 4;
  return mapping(setup, {.tensor = 8, .pipeline = 128, .sizes = {8, 128}}, 2048, std::move(configuration));
}

// GPT-3 forward on eight SN10 chips, cores chosen kernel by kernel. Second generation.
inline Setup gpt3(std::vector<NetworkDimension> network, int configurations) {
  Setup setup;
  setup.graph = workload::language_model_graph({.hidden = 12288, .heads = 96, .head_width = 128, .ffn = 49152}, 2048,
                                               workload::Passes::kForward);
  round_sizes(setup.graph);
  setup.system.chips = 8;
  put(chip(640, 32, 6, 1.25, 335544320), setup.system);
  setup.system.network = std::move(network);
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 100;
  setup.system.accelerator.memory_bytes = rounded(1.0995116e12);
  setup.prices = prices(16522.25023, 444.7061955, 0.052, 0.052, 0.052);
  LanguageModelRun model{.hidden = 12288, .head_width = 128, .heads = 96, .sequence = 2048, .layers = 96};
  model.global_batch = 2304;
  model.micro_batch = 1;
  setup.execution.workload = model;
  setup.execution.configurations = configurations;
  return setup;
}
inline Setup gpt3_4x2() {
  return gpt3({{Link::kRing, 4, 25, Parallelism::kTensor}, {Link::kRing, 2, 25, Parallelism::kData}}, 5);
}
inline Setup gpt3_8x1() {
  return gpt3({{Link::kRing, 8, 25, Parallelism::kTensor}}, 4);
}

// 1-13 | 14-18 in the last two configurations, tiles of 128 tokens.
inline Mapping gpt3_8x1_optimum(const Setup& setup) {
  std::vector<int> configuration(18, 3);
  for (int i = 0; i < 13; ++i) configuration[i] = 2;
  return mapping(setup, {.tensor = 8, .sizes = {8}}, 16, std::move(configuration));
}

inline std::vector<int> one_each(std::size_t kernels) {
  std::vector<int> result(kernels);
  for (std::size_t i = 0; i < kernels; ++i) result[i] = static_cast<int>(i);
  return result;
}

// Linpack on 24 x 24 GPUs of the machine Circe, kernel by kernel. Second generation.
inline Setup hpl_circe() {
  Setup setup;
  setup.graph = workload::hpl_graph(65536, 1024);
  round_sizes(setup.graph);
  setup.system.chips = 576;
  put(chip(2560, 1, 1, 1.38, 230686720), setup.system);
  setup.system.network = {{Link::kSwitch, 24, 12.5, std::nullopt}, {Link::kSwitch, 24, 12.5, std::nullopt}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 897;
  setup.system.accelerator.memory_bytes = 17179869184;
  setup.prices = prices(33000, 750, 0.0104, 0.0104, 0.052);
  setup.execution.workload = Linpack{.n = 65536, .block = 1024, .copies = 1};
  setup.execution.style = Style::kKernelByKernel;
  setup.execution.word_bytes = 8;
  return setup;
}

// A transform of 1.07e12 elements on 1,024 A100 GPUs. Second generation.
inline Setup fft_1024() {
  Setup setup;
  setup.graph = workload::fft_graph(1073740000000, 2, 4);
  round_sizes(setup.graph);
  setup.system.chips = 1024;
  put(chip(6912, 1, 1, 1.41, 105119744), setup.system);
  setup.system.network = {{Link::kSwitch, 8, 300, std::nullopt}, {Link::kSwitch, 128, 12.5, std::nullopt}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 2039;
  setup.system.accelerator.memory_bytes = 85899345920;
  setup.prices = prices(33000, 750, 0.0104, 0.0104, 0.052);
  setup.execution.workload = FourierTransform{.length = 1073740000000, .copies = 1};
  setup.execution.style = Style::kKernelByKernel;
  setup.execution.word_bytes = 4;
  return setup;
}

// A recommendation model on 8 x 16 A100 GPUs, rings of fully connected nodes. Second generation.
inline Setup dlrm_i() {
  Setup setup;
  setup.graph = workload::dlrm_graph({.bottom = 3,
                                      .top = 3,
                                      .width = 1825,
                                      .tables = 60,
                                      .pooled_rows = 70,
                                      .embedding = 92,
                                      .micro_batch = 2048,
                                      .word_bytes = 2});
  round_sizes(setup.graph);
  setup.system.chips = 128;
  put(chip(432, 16, 16, 1.41, 88080384), setup.system);
  setup.system.network = {{Link::kRing, 8, 300, std::nullopt}, {Link::kFullyConnected, 16, 25, std::nullopt}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 1555;
  setup.system.accelerator.memory_bytes = 42949672960;
  setup.prices = prices(19999.99997, 511.5771047, 0.0104, 0.052, 0);
  setup.execution.workload =
      Recommendation{.tables = 60, .embedding = 92, .rows = 60144927, .global_batch = 128000000, .copies = 1};
  setup.execution.style = Style::kKernelByKernel;
  return setup;
}

inline Mapping whole_machine(const Setup& setup) {
  Mapping result;
  for (const NetworkDimension& dimension : setup.system.network) result.degrees.sizes.push_back(dimension.size);
  if (std::holds_alternative<Recommendation>(setup.execution.workload)) result.degrees.data = setup.system.chips;
  result.sharding.assign(setup.graph.kernels.size(), workload::KernelDimension::kNone);
  result.configuration = one_each(setup.graph.kernels.size());
  return result;
}

// A token of GPT-3 on twelve chips with links that take 2 us, weights and cache streamed. Third generation.
inline Setup decode() {
  Setup setup;
  setup.graph =
      workload::decode_graph({.hidden = 12288, .heads = 96, .head_width = 128, .ffn = 49152}, 10001, 12, 1, 1);
  round_sizes(setup.graph);
  setup.system.chips = 12;
  put(chip(25000, 16, 16, 1, 107374182400), setup.system);
  setup.system.link_latency_ns = 2000;
  setup.system.network = {{Link::kRing, 12, 300, Parallelism::kTensor}};
  setup.system.accelerator.memory_bytes_per_s = 1e9 * 4000;
  setup.system.accelerator.memory_bytes = 42949672960;
  setup.prices = prices(33000, 750, 0.0104, 0, 0.052);
  LanguageModelRun model{.hidden = 12288, .head_width = 128, .heads = 96, .sequence = 1, .layers = 96};
  model.global_batch = 1;
  model.micro_batch = 1;
  model.tile_size = 1;
  setup.execution.workload = model;
  setup.execution.configurations = 1;
  setup.execution.overlap = Overlap::kComputeMemory;
  setup.execution.separate_reduce_scatter_all_gather = true;
  setup.execution.compute_utilization = 1;
  setup.execution.word_bytes = 1;
  return setup;
}

}  // namespace orrery::dataflow::cases
