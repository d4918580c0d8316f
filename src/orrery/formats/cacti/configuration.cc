#include "orrery/formats/cacti/configuration.h"

#include <fmt/format.h>

namespace orrery::formats::cacti {
namespace {

// The memory itself; CACTI matches the beginnings of lines.
constexpr const char* kMemory = R"(-size (bytes) {bytes}
-block size (bytes) {block}
-output/input bus width {width}
-UCA bank count {banks}
-read-write port {ports}
-technology (u) {microns}
)";

constexpr const char* kRest = R"(-cache type "ram"
-associativity 1
-tag size (b) 0
-exclusive read port 0
-exclusive write port 0
-single ended read ports 0
-access mode (normal, sequential, fast) - "fast"
-Cache model (NUCA, UCA) - "UCA"
-Core count 1
-Data array cell type - "itrs-lstp"
-Data array peripheral type - "itrs-lstp"
-Tag array cell type - "itrs-lstp"
-Tag array peripheral type - "itrs-lstp"
-operating temperature (K) 300
-design objective (weight delay, dynamic power, leakage power, cycle time, area) 0:0:1000000:0:0
-deviate (delay, dynamic power, leakage power, cycle time, area) 20:10:100000:100:100
-NUCAdesign objective (weight delay, dynamic power, leakage power, cycle time, area) 100:100:0:0:100
-NUCAdeviate (delay, dynamic power, leakage power, cycle time, area) 10:10000:10000:10000:10000
-NUCA bank count 0
-Optimize ED or ED^2 (ED, ED^2, NONE): "ED^2"
-Wire signaling (fullswing, lowswing, default) - "Global_30"
-Wire inside mat - "semi-global"
-Wire outside mat - "semi-global"
-Interconnect projection - "normal"
-Add ECC - "false"
-Array Power Gating - "false"
-WL Power Gating - "false"
-CL Power Gating - "false"
-Bitline floating - "false"
-Interconnect Power Gating - "false"
-Power Gating Performance Loss 0.01
-Force cache config - "false"
-Print level (DETAILED, CONCISE) - "CONCISE"
-Print input parameters - "false"
-page size (bits) 0
-burst length 8
-internal prefetch width 8
)";

// CACTI also prices a DRAM interface in every run, and divides by zero without these. Nothing of it is used.
constexpr const char* kInterface = R"(-dram_type "DDR3"
-io state "WRITE"
-addr_timing 1.0
-mem_density 4 Gb
-bus_freq 800 MHz
-duty_cycle 1.0
-activity_dq 1.0
-activity_ca 0.5
-num_dq 72
-num_dqs 18
-num_ca 25
-num_clk 2
-num_mem_dq 2
-mem_data_width 8
-num_bobs 1
-capacity 80
-num_channels_per_bob 1
-first metric "Cost"
-second metric "Bandwidth"
-third metric "Energy"
-DIMM model "ALL"
-mirror_in_bob "F"
)";

}  // namespace

std::string configuration(int technology_nm, const energy::SramPoint& point) {
  using fmt::arg;
  return fmt::format(kMemory, arg("bytes", point.capacity_bytes), arg("block", point.width_bits / 8),
                     arg("width", point.width_bits), arg("banks", point.banks), arg("ports", point.ports),
                     arg("microns", technology_nm / 1000.0)) +
         kRest + kInterface;
}

}  // namespace orrery::formats::cacti
