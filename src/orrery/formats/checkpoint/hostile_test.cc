// What a file claims costs no memory: every byte that readers take is counted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/checkpoint/checkpoint_test_util.h"
#include "orrery/formats/checkpoint/safetensors.h"
#include "orrery/formats/checkpoint/torch_file.h"

namespace {

std::atomic<std::size_t> live{0}, most{0};

}  // namespace

void* operator new(std::size_t size) {
  void* const made = std::malloc(std::max<std::size_t>(size, 1));
  if (made == nullptr) throw std::bad_alloc();
  const std::size_t now = live += malloc_usable_size(made);
  if (now > most) most = now;
  return made;
}
void operator delete(void* given) noexcept {
  live -= malloc_usable_size(given);
  std::free(given);
}
void operator delete(void* given, std::size_t) noexcept {
  operator delete(given);
}

namespace orrery::formats::checkpoint {
namespace {

// Bytes that `action` holds at most beyond what is held already.
template <class Action>
std::size_t held_by(const Action& action) {
  const std::size_t before = live;
  most = before;
  base::codes_of(action);
  return most - before;
}

std::size_t held_reading(const std::string& bytes) {
  return held_by([&] {
    base::Diagnostics warnings;
    Metadata metadata;
    if (bytes[0] == 'P')
      torch_archive(in_memory(bytes), warnings);
    else if (bytes[0] == '\x80' && bytes[8] != '{')
      torch_legacy(in_memory(bytes), warnings);
    else
      read_safetensors(in_memory(bytes), metadata);
  });
}

constexpr std::size_t kLittle = 64 << 10;

TEST(Hostile, ClaimsOfSizeCostNothing) {
  EXPECT_LT(held_reading(little_endian<std::uint64_t>(99'000'000) + "{}"), kLittle);
  EXPECT_LT(held_reading(little_endian<std::uint64_t>(1 << 30) + "{}"), kLittle);
  EXPECT_LT(held_reading(safetensors(
                R"({"a":{"dtype":"F32","shape":[2147483648,1048575],"data_offsets":[0,9007194959773696]}})", "abcd")),
            kLittle);
  EXPECT_LT(held_reading(torch_zip(PickleWriter().raw("X\xff\xff\xff\xff").end(), {})), kLittle);
  EXPECT_LT(held_reading(torch_zip(PickleWriter().raw("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f").end(), {})), kLittle);
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  for (const SavedTensor& saved :
       {SavedTensor{"w", "0", 1, 0, {kHuge}, {0}}, SavedTensor{"w", "0", kHuge, 0, {kHuge}, {2}},
        SavedTensor{"w", "0", 1, 0, {kHuge, kHuge}, {0, 0}}}) {
    EXPECT_LT(held_reading(torch_zip(state_dict({saved}), {{"0", "abcd"}})), kLittle);
    EXPECT_LT(held_reading(torch_before_1_6(state_dict({saved}), {{"0", "abcd"}}, 4)), kLittle);
  }
}

TEST(Hostile, TensorsInPlaceCostNoCopies) {
  const std::string data(1 << 20, 'x');
  EXPECT_LT(held_reading(safetensors(R"({"a":{"dtype":"U8","shape":[1048576],"data_offsets":[0,1048576]}})", data)),
            kLittle);
  const SavedTensor whole{"w", "0", 1 << 18, 0, {1 << 9, 1 << 9}, {1 << 9, 1}};
  EXPECT_LT(held_reading(torch_zip(state_dict({whole}), {{"0", data}})), kLittle);
  EXPECT_LT(held_reading(torch_before_1_6(state_dict({whole}), {{"0", data}}, 4)), kLittle);
}

TEST(Hostile, CopiesOfTransposedTensorsAreNoMoreThanTheFile) {
  const std::string data(1 << 20, 'x');
  std::vector<SavedTensor> tensors;
  for (int i = 0; i < 100; ++i)  // each another view, so that none is the copy of another
    tensors.push_back({"w" + std::to_string(i), "0", 1 << 18, i, {1 << 9, (1 << 9) - 1}, {1, 1 << 9}});
  const std::string bytes = torch_zip(state_dict(tensors), {{"0", data}});
  EXPECT_LT(held_reading(bytes), bytes.size() + (1 << 20));
  base::Diagnostics warnings;
  const auto found = base::refused([&] { torch_archive(in_memory(bytes), warnings); });
  ASSERT_FALSE(found.empty());
  EXPECT_NE(found[0].message.find("what is stored transposed has more bytes than the file"), std::string::npos);
}

// The costliest operations of a pickle, and values of a header, by the bytes that they take.
TEST(Hostile, ManySmallValuesCostAMultipleOfTheirBytes) {
  for (const char* const operation : {"]", "}", "(", "N", "\x85", "2", "\x94", "K\1", "C\1a", ")Q", "]\x94"}) {
    std::string pickle = "\x80\4N";
    while (pickle.size() < 100'000) pickle += operation;
    EXPECT_LT(held_reading(torch_zip(pickle + ".", {})), 300 * pickle.size() + kLittle) << operation;
  }
  for (const char* const value : {"0,", "[],", "{},", "\"\","}) {
    std::string header = "{\"a\":[";
    while (header.size() < 100'000) header += value;
    EXPECT_LT(held_reading(safetensors(header + "0]}", "")), 300 * header.size() + kLittle) << value;
  }
}

}  // namespace
}  // namespace orrery::formats::checkpoint
