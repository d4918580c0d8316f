// The header is an object with an entry for each tensor: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
// offsets from the header's end; `__metadata__` has texts. The tensors must fill the rest of the file without gap and
// overlap, so that nothing is hidden in it.
//
// Source: the format's own page in huggingface/safetensors. Cost: linear in the header; tensors are not read.
#include "orrery/formats/checkpoint/safetensors.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::checkpoint {
namespace {

using json::Node;

constexpr const char* kMetadata = "__metadata__";

class Header {
 public:
  Header(std::string_view data, const base::Location& whole, base::Diagnostics& found)
      : data_(data), whole_(whole), found_(found) {}

  void once(const Node& object) {
    for (const json::Repeated& twice : json::repeated(object))
      found_.error("O1602", fmt::format("`{}` stands twice in the header", twice.last->key), twice.last->key_where);
  }

  void metadata(const Node& node, Metadata& to) {
    if (!node.is_object()) return bad(node, "`__metadata__` must be an object of texts");
    once(node);
    for (const json::Member& entry : node.members) {
      if (entry.value.is_text())
        to[entry.key] = entry.value.text;
      else
        bad(entry.value, fmt::format("`__metadata__` holds texts, and `{}` is {}", entry.key, describe(entry.value)));
    }
  }

  void tensor(const json::Member& entry) {
    if (!entry.value.is_object()) return bad(entry.value, fmt::format("tensor `{}` must be an object", entry.key));
    once(entry.value);
    for (const json::Member& member : entry.value.members)
      if (member.key != "dtype" && member.key != "shape" && member.key != "data_offsets")
        found_.error("O1602",
                     fmt::format("tensor `{}` has a member `{}` that the format does not know", entry.key, member.key),
                     member.key_where);
    const Node* const type = member(entry, "dtype");
    const Node* const shape = member(entry, "shape");
    const Node* const offsets = member(entry, "data_offsets");
    if (type == nullptr || shape == nullptr || offsets == nullptr) return;
    Tensor tensor;
    tensor.name = entry.key;
    const std::optional<Element> element = element_named(type->text);
    if (!type->is_text() || !element) {
      found_
          .error("O1602",
                 fmt::format("tensor `{}` has the type {}, which is none of {}", entry.key, describe(*type),
                             base::joined(element_names(), ", ")),
                 type->where)
          .hint(base::did_you_mean(base::closest(type->text, element_names())));
      return;
    }
    tensor.element = *element;
    std::vector<std::int64_t> range;
    if (!counts(entry.key, *shape, kMostTensorRank, tensor.shape) || !counts(entry.key, *offsets, 2, range)) return;
    if (range.size() != 2 || range[0] > range[1])
      return bad(*offsets, fmt::format("tensor `{}` must have two offsets, the first no larger", entry.key));
    const std::int64_t held = range[1] - range[0];
    const std::optional<std::int64_t> count = elements(tensor.shape);
    std::int64_t needed = 0;
    if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(size_of(*element)), &needed))
      return bad(*shape, fmt::format("tensor `{}` has more than 2^63 bytes", entry.key));
    if (needed != held) {
      found_
          .error("O1602",
                 fmt::format("tensor `{}` should have {} bytes, and its offsets hold {}", entry.key, needed, held),
                 offsets->where)
          .note(fmt::format("{} of {} bytes each are {}", text_of(tensor.shape), size_of(*element), needed));
      return;
    }
    if (static_cast<std::uint64_t>(range[1]) > data_.size())
      return bad(*offsets, fmt::format("tensor `{}` ends at byte {}, and the file has {} after its header", entry.key,
                                       range[1], data_.size()));
    tensor.bytes = data_.substr(static_cast<std::size_t>(range[0]), static_cast<std::size_t>(held));
    placed_.push_back({range[0], range[1], offsets->where, std::move(tensor)});
  }

  // The tensors in order; reports gaps and overlaps.
  std::vector<Tensor> tensors() {
    std::stable_sort(placed_.begin(), placed_.end(), [](const Placed& a, const Placed& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::int64_t end = 0;
    std::vector<Tensor> out;
    const bool whole = !found_.has_errors();  // what was refused would be taken for a gap
    for (Placed& one : placed_) {
      if (whole && one.begin != end)
        found_
            .error("O1602",
                   one.begin < end ? fmt::format("tensor `{}` overlaps `{}`", one.tensor.name, out.back().name)
                                   : fmt::format("nothing is said about the {} bytes before tensor `{}`",
                                                 one.begin - end, one.tensor.name),
                   one.where)
            .note(fmt::format("it begins at byte {}, and what is before it ends at {}", one.begin, end));
      end = std::max(end, one.end);
      out.push_back(std::move(one.tensor));
    }
    if (whole && !found_.has_errors() && static_cast<std::uint64_t>(end) != data_.size())
      found_.error("O1602",
                   fmt::format("nothing is said about the last {} bytes of the file",
                               data_.size() - static_cast<std::uint64_t>(end)),
                   whole_);
    return out;
  }

 private:
  struct Placed {
    std::int64_t begin, end;
    base::Location where;
    Tensor tensor;
  };

  void bad(const Node& node, std::string why) { found_.error("O1602", std::move(why), node.where); }

  const Node* member(const json::Member& entry, const char* name) {
    const json::Member* const found = entry.value.find(name);
    if (found != nullptr) return &found->value;
    bad(entry.value, fmt::format("tensor `{}` has no `{}`", entry.key, name));
    return nullptr;
  }

  // A list of counts. As numbers they are doubles: what is beyond 2^53 is refused, which no file reaches.
  bool counts(const std::string& name, const Node& node, std::size_t most, std::vector<std::int64_t>& to) {
    if (node.kind != Node::Kind::kList || node.items.size() > most) {
      bad(node, fmt::format("tensor `{}`: a list of at most {} counts must stand here", name, most));
      return false;
    }
    for (const Node& item : node.items) {
      const auto value = item.is_number() ? base::whole_number(item.number) : std::nullopt;
      if (!value || *value < 0 || item.number > 0x1p53 || static_cast<double>(*value) != item.number ||
          item.text.find_first_not_of("0123456789") != std::string::npos) {
        bad(item, fmt::format("tensor `{}`: {} is not a count from 0 to 2^53", name, describe(item)));
        return false;
      }
      to.push_back(*value);
    }
    return true;
  }

  std::string_view data_;
  const base::Location& whole_;
  base::Diagnostics& found_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<Tensor> read_safetensors(const Source& file, Metadata& metadata) {
  const std::string_view bytes = file.bytes;
  const auto refuse = [&](const std::string& why) {
    base::fail("O1601", "this is not a safetensors file: " + why, file.whole, "copy or download it again");
  };
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) refuse(fmt::format("it has {} bytes, and its first 8 are a length", bytes.size()));
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMostHeaderBytes)
    refuse(fmt::format("its header would have {} bytes, and at most {} are allowed", length, kMostHeaderBytes));
  if (length > bytes.size() - sizeof(length))
    refuse(fmt::format("its header should have {} bytes, and {} follow", length, bytes.size() - sizeof(length)));
  const auto text = std::make_shared<const base::SourceFile>(
      base::SourceFile{file.whole.file->name, std::string(bytes.substr(sizeof(length), length))});
  if (text->text.empty() || text->text[0] != '{') refuse("its header does not begin with `{`");
  const Node root = json::parse(text, "O1601");

  base::Diagnostics found;
  Header header(bytes.substr(sizeof(length) + length), file.whole, found);
  header.once(root);
  for (const json::Member& entry : root.members) {
    if (entry.key == kMetadata)
      header.metadata(entry.value, metadata);
    else
      header.tensor(entry);
  }
  std::vector<Tensor> tensors = header.tensors();
  found.throw_if_errors();
  for (Tensor& tensor : tensors) tensor.keeper = file.keeper;
  return tensors;
}

}  // namespace orrery::formats::checkpoint
