// A text in the format of the catalogue's systems, so that `--set system.` works on it and its figures have origins.
// Products may run faster than the peak of multiply-adds (fp32 on tiles of bf16); the peak is then what they reach.
#include "orrery/inputs/systems/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/inputs/systems/machine_operators.h"
#include "orrery/runtime/kernels/isa.h"

namespace orrery::verbs {
namespace {

constexpr const char kDocument[] = R"yaml(system:
  title: "This machine: {0}, {1} on {2} thread{3}"
  description: "Measured by this run: the threads together are one accelerator."
  sources:
    probe: "Measured by this run (src/orrery/runtime/kernels/machine_peaks.h)"
    system: "What the operating system says"
  node_size: {{value: 1, source: system}}
  max_accelerators: {{value: 1, source: system}}
  accelerator:
    name: "{0}"
    peak:
      fp32: {{value: {4:.6g} GFLOP/s, source: probe, unusual: true}}
      bf16: {{value: {5:.6g} GFLOP/s, source: probe, unusual: true}}
    units: {{value: {2}, source: system}}
    memory: {{value: {6:.0f} B, source: system}}
    memory_bandwidth: {{value: {7:.6g} GB/s, source: probe, unusual: true}}
    memory_efficiency: {{value: 1, source: probe}}
    matrix_efficiency: {{value: {8:.4f}, source: probe}}
    host_time_per_operator: {{value: 5 us, assumption: "a call that wakes the threads; not measured"}}
  networks:
    - name: memory
      topology: switch
      size: {{value: 1, source: system}}
      bandwidth: {{value: {9:.6g} GB/s, assumption: "a write and a read of another process's memory"}}
)yaml";

// What Linux calls the processor; letters, digits and plain marks only.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    std::string out;
    for (const char c : line.substr(std::min(line.find(':'), line.size() - 1) + 1)) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
      if (plain || (c == ' ' && !out.empty() && out.back() != ' ')) out += c;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    if (!out.empty()) return out;
  }
  return "processor";
}

}  // namespace

ThisMachine::ThisMachine(int threads) : context_(threads), peaks_(kernels::machine_peaks(context_)) {}

std::shared_ptr<const base::SourceFile> ThisMachine::document() const {
  constexpr base::Count kRows = 2048, kSide = 1024;
  const auto rate = [&](machine::Precision precision) {
    const machine::MatrixProduct product{1, kRows, kSide, kSide, precision};
    return product.flops() / MachineOperators(*this, precision).matrix_product_seconds(product);
  };
  const double fp32 = rate(machine::Precision::kFp32), bf16 = rate(machine::Precision::kBf16);
  const double peak32 = std::max(peaks_.fp32, fp32), peak16 = std::max(peaks_.bf16, bf16);
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::string figures =
      fmt::format(kDocument, processor(), kernels::name_of(context_.table().level), context_.threads(),
                  base::plural(context_.threads()), peak32 / 1e9, peak16 / 1e9, memory, peaks_.memory / 1e9,
                  std::clamp(fp32 / peak32, 0.01, 1.0), peaks_.memory / 2e9);
  return std::make_shared<base::SourceFile>(base::SourceFile{"<this-machine>", figures});
}

}  // namespace orrery::verbs
