#include "orrery/formats/orrery/system_figures.h"

namespace orrery::formats::orrery {
namespace {

using enum base::HardwareFigure;

constexpr Range kPositive = {0, kLargest, true};
constexpr Range kShare = {0, 1, true};
constexpr Range kAny = {};

}  // namespace

std::vector<Figure> accelerator_figures(cluster::System& system) {
  machine::Accelerator& chip = system.accelerator;
  return {
      {"memory", Unit::kBytes, kPositive, &chip.memory_bytes, "of an accelerator", kMemory, true},
      {"on_chip_memory", Unit::kBytes, kPositive, &chip.on_chip_bytes, "that all units share: a cache or a scratchpad",
       kOnChipMemory},
      {"memory_bandwidth", Unit::kBytesPerSecond, kPositive, &chip.memory_bytes_per_s, "of that memory",
       kMemoryBandwidth, true},
      {"memory_efficiency", Unit::kNone, kShare, &chip.memory_efficiency, "share of the bandwidth that is reached"},
      {"matrix_efficiency", Unit::kNone, kShare, &chip.matrix_efficiency, "e: share of the peak that products reach"},
      {"fill_depth", Unit::kNone, kAny, &chip.fill_depth, "K0: steps of K to fill and drain"},
      {"host_time_per_operator", Unit::kSeconds, kAny, &chip.host_seconds_per_op, "c: to issue an operator", kLatency},
      {"host_bandwidth", Unit::kBytesPerSecond, kPositive, &chip.host_bytes_per_s,
       "to the host's memory, a direction: for offload", kLinkBandwidth},
      {"host_memory", Unit::kBytes, kPositive, &chip.host_memory_bytes, "an accelerator's part of its host's memory",
       kMemory},
      {"host_memory_bandwidth", Unit::kBytesPerSecond, kPositive, &chip.host_memory_bytes_per_s,
       "its part of the bandwidth of that memory", kMemoryBandwidth},
      {"power", Unit::kWatts, kPositive, &system.watts_per_gpu, "of an accelerator", kPower},
      {"pue", Unit::kNone, {1, 10}, &system.pue, "what the site draws over what its accelerators do; else 1"},
      {"price", Unit::kDollarsPerHour, kPositive, &system.price_per_gpu_hour, "of an accelerator", kPrice},
  };
}

std::vector<Figure> peak_figures(cluster::System& system) {
  const auto peak = [&](const char* key, machine::Precision precision, base::HardwareFigure kind) {
    return Figure{key,          Unit::kFlopsPerSecond,
                  kPositive,    &system.accelerator.peak_flops_per_s[static_cast<std::size_t>(precision)],
                  "dense peak", kind};
  };
  return {
      peak("fp32", machine::Precision::kFp32, kVectorPeak),   peak("tf32", machine::Precision::kTf32, kMatrixPeak),
      peak("bf16", machine::Precision::kBf16, kMatrixPeak),   peak("fp8", machine::Precision::kFp8, kMatrixPeak),
      peak("mxfp8", machine::Precision::kMxfp8, kMatrixPeak), peak("nvfp4", machine::Precision::kNvfp4, kMatrixPeak),
      peak("int8", machine::Precision::kInt8, kMatrixPeak)};
}

std::vector<Figure> attention_figures(cluster::System& system) {
  const auto rate = [&](const char* key, machine::AttentionKernel kernel) {
    return Figure{key, Unit::kNone, kShare, &system.accelerator.attention_efficiency[static_cast<std::size_t>(kernel)],
                  "share of the 16-bit peak that the kernel reaches forwards"};
  };
  return {rate("flash1", machine::AttentionKernel::kFlash1), rate("flash2", machine::AttentionKernel::kFlash2),
          rate("flash3", machine::AttentionKernel::kFlash3), rate("cudnn", machine::AttentionKernel::kCudnn),
          rate("splash", machine::AttentionKernel::kSplash)};
}

std::vector<Figure> sustained_figures(cluster::System& system) {
  std::vector<Figure> out;
  for (const Figure& peak : peak_figures(system)) {
    const auto of = static_cast<std::size_t>(peak.into - system.accelerator.peak_flops_per_s.data());
    out.push_back({peak.key,
                   Unit::kNone,
                   {0, 2, true},
                   &system.accelerator.sustained[of],
                   "matrix_efficiency in this precision, in units of it"});
  }
  return out;
}

std::vector<Figure> network_figures(collective::Network& network) {
  return {
      {"bandwidth", Unit::kBytesPerSecond, kPositive, &network.bytes_per_s, "of one accelerator, a direction",
       kLinkBandwidth, true},
      {"efficiency", Unit::kNone, kShare, &network.efficiency, "share of the bandwidth that is reached"},
      {"in_network_efficiency", Unit::kNone, kShare, &network.in_network_efficiency,
       "the same where the switch adds; `efficiency`"},
      {"oversubscription",
       Unit::kNone,
       {1, 1e6, false},
       &network.oversubscription,
       "factor that divides the bandwidth"},
      {"latency", Unit::kSeconds, kAny, &network.latency_s, "of a step", kLatency},
  };
}

std::vector<Figure> calibration_figures(cluster::System& system) {
  cluster::Calibration& calibration = system.calibration;
  return {
      // Between nodes a message's latency is that of its step; inside, issuing it is all there is.
      {"collective_time", Unit::kSeconds, kAny, &system.fabric.levels[0].message_s, "of a collective", kLatency},
      {"jitter", Unit::kSeconds, kAny, &calibration.jitter_seconds,
       "of a layer's all-reduce, for each rank beyond the first", kLatency},
      {"loss_bytes_per_logit", Unit::kNone, kAny, &calibration.loss_bytes_per_logit, "memory traffic of the loss"},
      {"iteration_time", Unit::kSeconds, kAny, &calibration.iteration_seconds, "fixed, of an iteration", kFixedTime},
      {"optimizer_bytes_per_parameter", Unit::kNone, kAny, &calibration.optimizer_bytes_per_param,
       "memory traffic of the optimiser's step"},
  };
}

std::vector<std::string> names(std::vector<std::string> before, const std::vector<Figure>& figures,
                               const std::vector<std::string>& behind) {
  for (const Figure& figure : figures) before.push_back(figure.key);
  before.insert(before.end(), behind.begin(), behind.end());
  return before;
}

}  // namespace orrery::formats::orrery
