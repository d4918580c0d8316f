#include "orrery/formats/dfmodel/latency_hdf5.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <vector>

namespace orrery::formats::dfmodel {
namespace {

// A reader of the files that latency_hdf5() writes, after the same specification: every address is followed, every
// checksum compared.
class Hdf5 {
 public:
  explicit Hdf5(const std::string& bytes) : bytes_(bytes) {
    EXPECT_EQ(bytes_.substr(0, 8), "\x89HDF\r\n\x1a\n");
    EXPECT_EQ(whole(8, 4), 0x00080802U) << "version 2, offsets and lengths of eight bytes";
    EXPECT_EQ(whole(28, 8), bytes_.size()) << "end of file";
    EXPECT_EQ(whole(44, 4), lookup3(std::string_view(bytes_).substr(0, 44)));
    each_message(whole(36, 8), [&](int type, std::size_t at) {
      if (type != 0x06) return;
      const std::size_t length = whole(at + 2, 1);
      arrays[bytes_.substr(at + 3, length)] = array(whole(at + 3 + length, 8));
    });
  }

  std::map<std::string, std::vector<double>> arrays;

 private:
  std::uint64_t whole(std::size_t at, int size) const {
    std::uint64_t value = 0;
    for (int i = 0; i < size; ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_.at(at + static_cast<std::size_t>(i))))
               << (8 * i);
    return value;
  }

  template <typename Do>
  void each_message(std::size_t header, const Do& visit) {
    EXPECT_EQ(bytes_.substr(header, 6), "OHDR\x02\x02");
    const std::size_t end = header + 10 + whole(header + 6, 4);
    EXPECT_EQ(whole(end, 4), lookup3(std::string_view(bytes_).substr(header, end - header)));
    for (std::size_t at = header + 10; at < end; at += 4 + whole(at + 1, 2))
      visit(static_cast<int>(whole(at, 1)), at + 4);
  }

  std::vector<double> array(std::size_t header) {
    std::size_t count = 0, address = 0;
    each_message(header, [&](int type, std::size_t at) {
      if (type == 0x01) count = whole(at + 4, 8);
      if (type == 0x03) {
        EXPECT_EQ(whole(at, 8), 0x00000008003f2011U) << "a double";
      }
      if (type == 0x08) {
        address = whole(at + 2, 8);
        EXPECT_EQ(whole(at + 10, 8), count * 8);
      }
    });
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(std::bit_cast<double>(whole(address + 8 * i, 8)));
    return values;
  }

  std::string bytes_;
};

TEST(LatencyHdf5, ReadsBackToTheLatenciesOfTheConfigurations) {
  dataflow::PartitionCost cost;
  cost.configurations.resize(3);
  for (int c = 0; c < 3; ++c) {
    cost.configurations[static_cast<std::size_t>(c)].memory_ns = 1.5 * c;
    cost.configurations[static_cast<std::size_t>(c)].compute_ns = 100.25 + c;
    cost.configurations[static_cast<std::size_t>(c)].network_ns = 1e15 / (c + 1);
  }
  const Hdf5 read(latency_hdf5(cost));
  EXPECT_EQ(read.arrays, (std::map<std::string, std::vector<double>>{
                             {"Memory_Latency", {0, 1.5, 3}},
                             {"Compute_Latency", {100.25, 101.25, 102.25}},
                             {"Network_Latency", {1e15, 1e15 / 2, 1e15 / 3}},
                         }));
}

TEST(LatencyHdf5, NoConfigurationsAreEmptyArrays) {
  const Hdf5 read(latency_hdf5({}));
  ASSERT_EQ(read.arrays.size(), 3U);
  for (const auto& [name, values] : read.arrays) EXPECT_TRUE(values.empty()) << name;
}

TEST(LatencyHdf5, HeadersAreCheckedWithLookup3) {
  EXPECT_EQ(lookup3(""), 0xdeadbeefU);
  EXPECT_EQ(lookup3("Four score and seven years ago"), 0x17770551U) << "its author's example";
}

}  // namespace
}  // namespace orrery::formats::dfmodel
