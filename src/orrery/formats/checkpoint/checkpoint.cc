#include "orrery/formats/checkpoint/checkpoint.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/checkpoint/torch_file.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::checkpoint {
namespace {

namespace fs = std::filesystem;

// In the order of preference: safetensors needs no pickle.
constexpr std::array kNames{"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                            "pytorch_model.bin.index.json"};

void add_file(const std::string& path, Checkpoint& to, base::Diagnostics& warnings) {
  const Source file = map_file(path);
  const std::string_view bytes = file.bytes;
  base::Diagnostics found;
  std::vector<Tensor> tensors;
  if (bytes.substr(0, 4) == std::string_view("PK\3\4", 4))
    tensors = torch_archive(file, found);
  else if (bytes.size() > 8 && bytes[0] == '\x80' && bytes[8] != '{')  // no length before a header
    tensors = torch_legacy(file, found);
  else
    tensors = read_safetensors(file, to.metadata);
  warnings.append(found);
  to.files.push_back(path);
  std::move(tensors.begin(), tensors.end(), std::back_inserter(to.tensors));
}

// A shard's file is a name in the index's folder: an index must not lead elsewhere.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

void add_shards(const fs::path& index, Checkpoint& to, base::Diagnostics& warnings) {
  const json::Node root = json::parse(base::read_file(index.string()), "O1607");
  const json::Member* const entry = root.find("weight_map");
  if (entry == nullptr || !entry->value.is_object())
    base::fail("O1607", "the index has no `weight_map`, which says where each tensor is", root.where);
  const std::vector<json::Member>& map = entry->value.members;
  base::Diagnostics found;
  std::map<std::string, base::Location> shards;
  for (const json::Member& listed : map) {
    if (listed.value.is_text() && is_plain_name(listed.value.text))
      shards.emplace(listed.value.text, listed.value.where);
    else
      found.error(
          "O1607",
          fmt::format("`{}` is listed in {}, which is not a file beside the index", listed.key, describe(listed.value)),
          listed.value.where);
  }
  std::map<std::string, std::string> where;
  for (const auto& [name, place] : shards) {
    std::error_code ignored;
    if (!fs::exists(index.parent_path() / name, ignored)) {
      found.error("O1607", fmt::format("the shard `{}` is missing", name), place);
      continue;
    }
    const std::size_t before = to.tensors.size();
    add_file((index.parent_path() / name).string(), to, warnings);
    for (std::size_t i = before; i < to.tensors.size(); ++i)
      if (const auto [first, fresh] = where.emplace(to.tensors[i].name, name); !fresh)
        found.error("O1607", fmt::format("tensor `{}` is in `{}` and in `{}`", to.tensors[i].name, first->second, name),
                    place);
  }
  for (const json::Member& listed : map) {
    const auto shard = where.find(listed.key);
    if (!listed.value.is_text() || !shards.count(listed.value.text)) continue;
    if (shard == where.end() || shard->second != listed.value.text)
      if (std::find(to.files.begin(), to.files.end(), (index.parent_path() / listed.value.text).string()) !=
          to.files.end())
        found.error("O1607", fmt::format("tensor `{}` is not in `{}`", listed.key, listed.value.text),
                    listed.value.where);
  }
  found.throw_if_errors();
}

}  // namespace

const Tensor* Checkpoint::find(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& one) { return one.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Checkpoint read_checkpoint(const std::string& path, base::Diagnostics& warnings) {
  Checkpoint read;
  std::error_code ignored;
  fs::path chosen = path;
  if (fs::is_directory(chosen, ignored)) {
    std::vector<std::string> there;
    for (const char* const name : kNames)
      if (fs::exists(fs::path(path) / name, ignored)) there.emplace_back(name);
    if (there.empty())
      base::fail("O1600", fmt::format("the folder `{}` holds no checkpoint", path), whole_file(path),
                 fmt::format("one of {} must stand in it", base::joined(kNames, ", ")));
    if (there.size() > 1)
      warnings.warning("O1608",
                       fmt::format("`{}` is read, not {}", there[0], fmt::join(there.begin() + 1, there.end(), ", ")),
                       whole_file(path));
    chosen /= there[0];
  }
  constexpr std::string_view kIndex = ".index.json";
  const std::string name = chosen.filename().string();
  if (name.size() > kIndex.size() && name.substr(name.size() - kIndex.size()) == kIndex)
    add_shards(chosen, read, warnings);
  else
    add_file(chosen.string(), read, warnings);
  return read;
}

}  // namespace orrery::formats::checkpoint
