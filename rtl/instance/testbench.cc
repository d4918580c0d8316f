// Runs vectors.txt on the Verilated accelerator: lays out the memory, writes the registers, answers requests after the
// latency, and compares outputs, cycles and blocks. Needs nothing but Verilator. Usage: testbench vectors.txt
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <Vaccelerator.h>
#include <verilated.h>

namespace {

using Bytes = std::unordered_map<std::uint32_t, std::uint8_t>;

struct Vectors {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> writes;
  Bytes memory, expected;
  std::uint64_t latency = 0, cycles = 0, blocks = 0;
};

void put(Bytes& bytes, std::uint32_t address, const std::string& hex) {
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes[address++] = static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16));
}

Vectors read(const char* path) {
  std::ifstream file(path);
  Vectors all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, hex;
    std::uint32_t address = 0;
    words >> kind;
    if (kind == "write") {
      std::uint32_t value = 0;
      words >> std::hex >> address >> value;
      all.writes.emplace_back(address, value);
    } else if (kind == "memory" || kind == "expect") {
      words >> std::hex >> address >> hex;
      put(kind == "memory" ? all.memory : all.expected, address, hex);
    } else if (kind == "latency") {
      words >> all.latency;
    } else if (kind == "cycles") {
      words >> all.cycles;
    } else if (kind == "blocks") {
      words >> all.blocks;
    }
  }
  return all;
}

void clock(Vaccelerator& dut) {
  dut.clk = 0;
  dut.eval();
  dut.clk = 1;
  dut.eval();
}

void write(Vaccelerator& dut, std::uint32_t address, std::uint32_t value) {
  dut.write = 1;
  dut.address = static_cast<std::uint16_t>(address);
  dut.write_data = value;
  clock(dut);
  dut.write = 0;
}

std::uint64_t word(Vaccelerator& dut, std::uint32_t address) {
  dut.address = static_cast<std::uint16_t>(address);
  dut.eval();
  return dut.read_data;
}

// The memory's side, a cycle at a time: words of requests in their order, each request's after the latency.
struct Port {
  Bytes& memory;
  std::uint64_t latency, now = 0;
  struct Transfer {
    std::uint32_t address = 0, beats = 0;
    std::uint64_t from = 0;
  };
  std::deque<Transfer> reads;
  Transfer write;
  std::deque<std::uint64_t> acknowledged;

  void step(Vaccelerator& dut) {
    dut.in_valid = dut.out_ready = dut.out_done = 0;
    dut.request_ready = 1;
    dut.clk = 0;
    dut.eval();
    if (dut.request) {
      const Transfer asked{dut.request_address, dut.request_beats, now + latency};
      if (dut.request_write)
        write = asked;
      else
        reads.push_back(asked);
    }
    if (!reads.empty() && reads.front().from <= now) {
      dut.in_valid = 1;
      auto* const bytes = reinterpret_cast<std::uint8_t*>(&dut.in_data);
      for (int i = 0; i < STREAM; ++i) bytes[i] = memory[reads.front().address++];
      if (--reads.front().beats == 0) reads.pop_front();
    }
    if (write.beats > 0) {
      dut.out_ready = 1;
      dut.eval();
      if (dut.out_valid) {
        const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&dut.out_data);
        for (int i = 0; i < STREAM; ++i) memory[write.address++] = bytes[i];
        if (--write.beats == 0) acknowledged.push_back(now + latency);
      }
    }
    if (!acknowledged.empty() && acknowledged.front() <= now) {
      dut.out_done = 1;
      acknowledged.pop_front();
    }
    dut.eval();
    dut.clk = 1;
    dut.eval();
    ++now;
  }
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: testbench vectors.txt\n"), 2;
  Vectors vectors = read(arguments[1]);
  Vaccelerator dut;
  dut.rst = 1;
  clock(dut);
  dut.rst = 0;
  for (const auto& [address, value] : vectors.writes) write(dut, address, value);
  Port port{vectors.memory, vectors.latency};
  for (std::uint64_t cycle = 0; !dut.irq; ++cycle) {
    if (cycle > vectors.cycles + 1000)
      return std::printf("no interrupt after %llu cycles\n", static_cast<unsigned long long>(cycle)), 1;
    port.step(dut);
  }
  std::size_t wrong = 0;
  for (const auto& [address, byte] : vectors.expected) wrong += vectors.memory[address] != byte;
  const std::uint64_t cycles = word(dut, 0xc0), blocks = word(dut, 0xd0);
  std::printf("%zu of %zu output bytes differ; %llu cycles, %llu expected; %llu blocks, %llu expected\n", wrong,
              vectors.expected.size(), static_cast<unsigned long long>(cycles),
              static_cast<unsigned long long>(vectors.cycles), static_cast<unsigned long long>(blocks),
              static_cast<unsigned long long>(vectors.blocks));
  const bool good = wrong == 0 && cycles == vectors.cycles && blocks == vectors.blocks;
  std::printf("%s\n", good ? "PASSED" : "FAILED");
  return good ? 0 : 1;
}
