// The file is the smallest that HDF5 1.8 and later read: a superblock of version 2, a root group whose object header
// holds its links, and for each array an object header and its values, one after another. Every header ends with a
// checksum. So no library is needed to write it.
//
//   superblock 48 bytes | root header | (dataset header | values) * 3
//
// Source: The HDF Group, "HDF5 File Format Specification", version 3.0: II.A superblock, IV.A.1.b object headers of
// version 2, IV.A.2 messages; R. Jenkins, lookup3.c (2006, public domain). Cost: linear in the bytes.
#include "orrery/formats/dfmodel/latency_hdf5.h"

#include <bit>
#include <iterator>
#include <vector>

namespace orrery::formats::dfmodel {
namespace {

constexpr std::uint64_t kNowhere = ~std::uint64_t{0};

// Little-endian.
template <typename Whole>
void put(std::string& out, Whole value) {
  for (std::size_t i = 0; i < sizeof(Whole); ++i)
    out += static_cast<char>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff);
}

void put_byte(std::string& out, int value) {
  out += static_cast<char>(value);
}

void message(std::string& out, int type, const std::string& body) {
  put_byte(out, type);
  put(out, static_cast<std::uint16_t>(body.size()));
  put_byte(out, 0);
  out += body;
}

std::string header(const std::string& messages) {
  std::string out = "OHDR";
  put_byte(out, 2);  // version
  put_byte(out, 2);  // the size of the messages takes four bytes
  put(out, static_cast<std::uint32_t>(messages.size()));
  out += messages;
  put(out, lookup3(out));
  return out;
}

std::string link(const std::string& name, std::uint64_t address) {
  std::string out;
  put_byte(out, 1);  // version
  put_byte(out, 0);  // a hard link, whose name's length takes one byte
  put_byte(out, static_cast<int>(name.size()));
  out += name;
  put(out, address);
  return out;
}

std::string root(const std::vector<std::string>& links) {
  std::string messages, info, group;
  put(info, std::uint16_t{0});  // version, flags
  put(info, kNowhere);          // no heap of links and no index: they are here
  put(info, kNowhere);
  put(group, std::uint16_t{0});
  message(messages, 0x02, info);
  message(messages, 0x0a, group);
  for (const std::string& one : links) message(messages, 0x06, one);
  return header(messages);
}

// An array of `count` doubles at `address`.
std::string dataset(std::uint64_t count, std::uint64_t address) {
  std::string space, type, fill, layout, messages;
  for (const int byte : {2, 1, 0, 1}) put_byte(space, byte);  // version, one dimension, of a fixed size, simple
  put(space, count);
  for (const int byte : {0x11, 0x20, 0x3f, 0x00}) put_byte(type, byte);  // a float, little-endian, sign in bit 63
  put(type, std::uint32_t{8});
  put(type, std::uint16_t{0});
  put(type, std::uint16_t{64});
  for (const int byte : {52, 11, 0, 52}) put_byte(type, byte);  // exponent and mantissa: place, size
  put(type, std::uint32_t{1023});
  for (const int byte : {3, 0x0a}) put_byte(fill, byte);  // none
  for (const int byte : {3, 1}) put_byte(layout, byte);   // version, contiguous
  put(layout, count > 0 ? address : kNowhere);
  put(layout, count * 8);
  message(messages, 0x01, space);
  message(messages, 0x03, type);
  message(messages, 0x05, fill);
  message(messages, 0x08, layout);
  return header(messages);
}

std::uint32_t word(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i)
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

std::uint32_t lookup3(std::string_view bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a, c = a;
  const auto add = [&](std::size_t at) {
    a += word(bytes, at);
    b += word(bytes, at + 4);
    c += word(bytes, at + 8);
  };
  const auto mix = [](std::uint32_t& x, std::uint32_t& y, std::uint32_t& z, int by) {
    x -= z;
    x ^= std::rotl(z, by);
    z += y;
  };
  const auto finish = [](std::uint32_t& x, const std::uint32_t& y, int by) {
    x ^= y;
    x -= std::rotl(y, by);
  };
  if (bytes.empty()) return c;
  std::size_t at = 0;
  for (; bytes.size() - at > 12; at += 12) {
    add(at);
    mix(a, b, c, 4);
    mix(b, c, a, 6);
    mix(c, a, b, 8);
    mix(a, b, c, 16);
    mix(b, c, a, 19);
    mix(c, a, b, 4);
  }
  add(at);
  finish(c, b, 14);
  finish(a, c, 11);
  finish(b, a, 25);
  finish(c, b, 16);
  finish(a, c, 4);
  finish(b, a, 14);
  finish(c, b, 24);
  return c;
}

std::string latency_hdf5(const dataflow::PartitionCost& partition) {
  constexpr const char* kNames[] = {"Memory_Latency", "Compute_Latency", "Network_Latency"};
  constexpr double dataflow::ConfigurationCost::*kFigures[] = {&dataflow::ConfigurationCost::memory_ns,
                                                               &dataflow::ConfigurationCost::compute_ns,
                                                               &dataflow::ConfigurationCost::network_ns};
  const std::uint64_t count = partition.configurations.size();
  constexpr std::uint64_t kSuperblock = 48;
  // Sizes do not depend on addresses.
  std::vector<std::string> links;
  for (const char* name : kNames) links.push_back(link(name, 0));
  const std::uint64_t data = kSuperblock + root(links).size();
  const std::uint64_t head = dataset(count, 0).size();
  std::string body;
  links.clear();
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::uint64_t address = data + body.size();
    links.push_back(link(kNames[i], address));
    body += dataset(count, address + head);
    for (const dataflow::ConfigurationCost& cost : partition.configurations)
      put(body, std::bit_cast<std::uint64_t>(cost.*kFigures[i]));
  }
  std::string out = "\x89HDF\r\n\x1a\n";
  for (const int byte : {2, 8, 8, 0}) put_byte(out, byte);  // version, sizes of offsets and lengths, flags
  put(out, std::uint64_t{0});
  put(out, kNowhere);  // no extension
  put(out, data + body.size());
  put(out, kSuperblock);
  put(out, lookup3(out));
  return out + root(links) + body;
}

}  // namespace orrery::formats::dfmodel
