// Before version 1.6, torch.save wrote five pickles one after the other (a number to know the format by, its version,
// the byte order, the object, the keys of its storages), then each storage: its count of elements in 8 bytes, its
// elements.
//
// Source: torch/serialization.py, _legacy_save. Cost: linear in the pickles; the storages are not read.
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "orrery/formats/checkpoint/torch_file.h"
#include "orrery/formats/checkpoint/torch_tensors.h"

namespace orrery::formats::checkpoint {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr std::int64_t kVersion = 1001;

bool is_little_endian(const Pickle& facts) {
  const PickleValue& dict = facts.at(facts.top);
  for (std::size_t i = 0; dict.kind == Kind::kDict && i + 1 < dict.items.size(); i += 2)
    if (facts.at(dict.items[i]).text == "little_endian") return facts.at(dict.items[i + 1]).integer != 0;
  return true;
}

}  // namespace

std::vector<Tensor> torch_legacy(const Source& file, base::Diagnostics& found) {
  const std::string_view bytes = file.bytes;
  const auto refuse = [&](const std::string& why) {
    base::fail("O1605", "this is not a PyTorch checkpoint: " + why, file.whole, "save it as safetensors");
  };
  std::size_t at = 0;
  const auto next = [&] {
    Pickle pickle = read_pickle(bytes, at, is_torch_call, file.whole);
    at = pickle.end;
    return pickle;
  };
  const Pickle magic = next();
  if (magic.at(magic.top).kind != Kind::kLongInteger || magic.at(magic.top).text != kMagic)
    refuse("it is a pickle, but not one of torch.save");
  const Pickle version = next();
  if (version.at(version.top).integer != kVersion) refuse("its version is not 1001");
  if (!is_little_endian(next())) refuse("its numbers are big-endian");
  const Pickle object = next();
  const Pickle keys = next();
  if (keys.at(keys.top).kind != Kind::kList) refuse("the list of its storages is missing");

  std::map<std::string_view, StorageRef> known;
  for (const StorageRef& ref : storages_of(object, file.whole)) known.emplace(ref.key, ref);
  std::map<std::string_view, std::string_view> placed;
  for (const PickleRef item : keys.at(keys.top).items) {
    const std::string_view key = keys.at(item).text;
    const auto ref = known.find(key);
    if (ref == known.end()) refuse(fmt::format("nothing refers to its storage `{}`", key));
    std::int64_t count = 0;
    if (bytes.size() - at < sizeof(count)) refuse(fmt::format("it ends before its storage `{}`", key));
    std::memcpy(&count, bytes.data() + at, sizeof(count));
    at += sizeof(count);
    if (count != ref->second.count)
      refuse(fmt::format("storage `{}` has {} elements here and {} in the pickle", key, count, ref->second.count));
    if (ref->second.bytes > bytes.size() - at)
      refuse(fmt::format("storage `{}` has {} bytes, and {} are left", key, ref->second.bytes, bytes.size() - at));
    placed[key] = bytes.substr(at, ref->second.bytes);
    at += ref->second.bytes;
  }
  const auto bytes_of = [&](const StorageRef& ref) -> std::optional<std::string_view> {
    const auto where = placed.find(ref.key);
    return where == placed.end() ? std::nullopt : std::optional(where->second);
  };
  std::vector<Tensor> tensors = torch_tensors(object, bytes_of, file, found);
  found.throw_if_errors();
  return tensors;
}

}  // namespace orrery::formats::checkpoint
