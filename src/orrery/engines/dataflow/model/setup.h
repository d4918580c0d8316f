// The question `place` answers: a graph of kernels on a system of accelerators, and how it is run.
//
// Plain data in the vocabulary of the field; formats/dfmodel reads it from DFModel's text protobuf. Units as DFModel
// has them: bytes, GB/s (bytes / (GB/s) = ns), GHz, ns. Source: kosho2013/DFModel, arXiv 2412.16432.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orrery/base/numbers/count.h"
#include "orrery/describe/machine/operator.h"
#include "orrery/describe/machine/systolic_cores.h"
#include "orrery/describe/workload/graphs/kernel_graph.h"
#include "orrery/engines/dataflow/model/defects.h"

namespace orrery::dataflow {

using base::Count;

// More are refused (contradictions.h).
inline constexpr Count kMostChips = (Count{1} << 31) - 1;

// What DFModel says of a chip's inside beyond its cores.
struct Floorplan {
  Count memory_units = 0;  // `pmu`: 0: SRAM is one pool
  double memory_unit_bytes = 0;
  Count grid_x = 0, grid_y = 0;
  bool diagonal_placement = false;
};

// A second level of DRAM takes what the first does not hold; it is no faster than the first. 0 bytes: there is none.
struct SecondMemory {
  double bandwidth_gb_per_s = 0;
  double capacity_bytes = 0;
};

enum class Link { kRing, kSwitch, kFullyConnected };
enum class Parallelism { kTensor, kPipeline, kData, kSequence };

// One dimension of the network, x first.
struct NetworkDimension {
  Link link = Link::kRing;
  Count size = 0;                 // 0: searched; the product of all is the number of chips
  double bandwidth_gb_per_s = 0;  // of a link, each way
  std::optional<Parallelism> parallelism;
};

// Degrees that must be; 0: searched.
struct WantedDegrees {
  Count tensor = 0, pipeline = 0, data = 0;
};

// The accelerator is the one that every engine knows. Of what is read here its peaks are those of the cores
// (data_sheet) and a capacity of 0 is unlimited.
struct System {
  Count chips = 0;
  WantedDegrees wanted;  // of a language model; no file states them
  machine::Accelerator accelerator;
  machine::CoreArray cores;
  Floorplan floorplan;
  SecondMemory second_memory;
  double link_latency_ns = 0;             // of a step from chip to chip, whatever the dimension
  std::vector<NetworkDimension> network;  // one to four
  Count high_bandwidth_domain = 0;  // `HBD`: chips of a tensor- or data-parallel group joined by the first dimension

  // Exactly what was read: GB/s have 32 bits, and 1e9 times that fits 64.
  double memory_gb_per_s() const { return accelerator.memory_bytes_per_s / 1e9; }
  // Of all traffic where the second level is in use: the mean by capacity.
  double mixed_memory_gb_per_s() const {
    const double first = accelerator.memory_bytes, second = second_memory.capacity_bytes;
    return (first * memory_gb_per_s() + second * second_memory.bandwidth_gb_per_s) / (first + second);
  }
};

// Dollars and watts; per GB/s for links, switches and DRAM.
struct Prices {
  double link_price = 0, switch_price = 0, dram_price = 0, accelerator_price = 0;
  double link_power[4] = {0, 0, 0, 0};  // x, y, z, w
  double switch_power = 0, dram_power = 0, accelerator_power = 0;
};

// How often the layers of the graph run, and on what. The model itself is the graph.
struct LanguageModelRun {
  Count hidden = 0;                 // width of what passes between pipeline stages
  Count head_width = 0, heads = 0;  // of the file, compared with the graph; no time depends on them
  Count sequence = 0, layers = 0;
  Count global_batch = 0, micro_batch = 0;
  Count tile_size = 0;  // tokens per tile; 0: searched
  Count layers_in_graph = 1;
  // `tile_size` is the number of tiles, as in DFModel's first generation: in its files, and with the defect of that
  // name in all.
  bool tile_size_counts_tiles = false;
};
struct Recommendation {  // DLRM
  Count tables = 0, embedding = 0, rows = 0, global_batch = 0, copies = 1;
};
struct Linpack {
  Count n = 0, block = 0, copies = 1;
};
struct FourierTransform {
  Count length = 0, copies = 1;
};
// A state-space or FFT-based language model (`mamba`, `gemm_fft_llm`, `vector_fft_llm`, `regular_fft_llm`).
struct StateSpaceModel {
  std::string kind;  // the name of its message
  Count hidden = 0, sequence = 0, tile_size = 0, effective_stages = 0;
};
using Workload = std::variant<LanguageModelRun, Recommendation, Linpack, FourierTransform, StateSpaceModel>;

enum class Style { kDataflow, kKernelByKernel };
enum class Overlap { kPerfect, kNone, kComputeMemory };

struct Execution {
  Workload workload;
  Style style = Style::kDataflow;
  int configurations = 0;  // 0: as many as kernels (kKernelByKernel), else stated
  Overlap overlap = Overlap::kPerfect;
  std::optional<double> compute_utilization;  // nothing: cores are given to kernels explicitly
  // Kernels run one by one, each of them whole: what computes it cuts it into tiles of its own, as GPUs and loop nests
  // do. One tile, and no room on the chip that it must fit.
  bool whole_kernels = false;
  bool stream_weights = false;  // weights pass DRAM once a pass; false: they are on the chip before it begins
  Count word_bytes = 2;
  std::optional<machine::Precision> precision;  // nothing: the usual one of so many bytes
  bool separate_reduce_scatter_all_gather = false;
  Count effective_stages = 0;
  bool skip_inter_chip = false;  // shardings and shards stand as they are in the file
  bool place_and_route = true;   // `turn_off_p_and_r` makes it false
  std::string terms = "CMN";     // which of compute, memory, network enter without overlap
};

struct SolverHints {
  int threads = 0;
  double gap = 0;
  double seconds = 0;  // 0: none
};

struct Setup {
  workload::KernelGraph graph;
  System system;
  Prices prices;
  Execution execution;
  SolverHints solver;
};

}  // namespace orrery::dataflow
