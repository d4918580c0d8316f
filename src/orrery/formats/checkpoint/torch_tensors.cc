// A tensor is a call: `torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, ...)`, where the storage is a
// persistent id, `("storage", torch.FloatStorage, key, location, elements)`. Offsets and strides count elements.
//
// Source: torch/_utils.py and torch/serialization.py of PyTorch 2. Cost: linear in the pickle; a copy of each tensor
// that is stored transposed or with gaps.
#include "orrery/formats/checkpoint/torch_tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::checkpoint {
namespace {

struct TorchType {
  std::string_view storage, dtype;
  Element element;
};

constexpr std::array kTypes{
    TorchType{"DoubleStorage", "float64", Element::kF64},
    TorchType{"FloatStorage", "float32", Element::kF32},
    TorchType{"HalfStorage", "float16", Element::kF16},
    TorchType{"BFloat16Storage", "bfloat16", Element::kBf16},
    TorchType{"LongStorage", "int64", Element::kI64},
    TorchType{"IntStorage", "int32", Element::kI32},
    TorchType{"ShortStorage", "int16", Element::kI16},
    TorchType{"CharStorage", "int8", Element::kI8},
    TorchType{"ByteStorage", "uint8", Element::kU8},
    TorchType{"BoolStorage", "bool", Element::kBool},
    TorchType{"", "float8_e4m3fn", Element::kF8E4m3},
    TorchType{"", "float8_e5m2", Element::kF8E5m2},
    TorchType{"", "uint16", Element::kU16},
    TorchType{"", "uint32", Element::kU32},
    TorchType{"", "uint64", Element::kU64},
};

std::optional<Element> element_of(std::string_view TorchType::*column, std::string_view name) {
  for (const TorchType& type : kTypes)
    if (!name.empty() && type.*column == name) return type.element;
  return std::nullopt;
}

// Thrown while one tensor is read; the others go on.
struct Bad {
  std::string why;
};

class Reader {
 public:
  explicit Reader(const Pickle& pickle) : pickle_(pickle) {}

  const PickleValue& item(const PickleValue& list, std::size_t i, PickleValue::Kind kind, const char* what) const {
    if (i >= list.items.size() || pickle_.at(list.items[i]).kind != kind) throw Bad{fmt::format("{} is missing", what)};
    return pickle_.at(list.items[i]);
  }

  StorageRef storage(const PickleValue& persistent) const {
    const PickleValue& id = pickle_.at(persistent.items[0]);
    if (id.kind != PickleValue::Kind::kTuple ||
        item(id, 0, PickleValue::Kind::kText, "the word `storage`").text != "storage")
      throw Bad{"it does not refer to a storage"};
    const PickleValue& type = item(id, 1, PickleValue::Kind::kGlobal, "the storage's type");
    StorageRef ref;
    ref.key = item(id, 2, PickleValue::Kind::kText, "the storage's key").text;
    ref.count = item(id, 4, PickleValue::Kind::kInteger, "the storage's length").integer;
    ref.element = element_of(&TorchType::storage, type.name);
    if (!ref.element && type.name != "UntypedStorage")
      throw Bad{fmt::format("the storage type `{}` is not known", type.name)};
    const auto size = static_cast<std::int64_t>(ref.element ? size_of(*ref.element) : 1);
    std::int64_t bytes = 0;
    if (ref.count < 0 || __builtin_mul_overflow(ref.count, size, &bytes))
      throw Bad{fmt::format("its storage has {} elements", ref.count)};
    ref.bytes = static_cast<std::size_t>(bytes);
    return ref;
  }

  std::vector<std::int64_t> sizes(const PickleValue& call, std::size_t i, const char* what) const {
    const PickleValue& listed = item(call, i, PickleValue::Kind::kTuple, what);
    if (listed.items.size() > kMostTensorRank)
      throw Bad{fmt::format("it has {} dimensions; at most {} are read", listed.items.size(), kMostTensorRank)};
    std::vector<std::int64_t> out;
    for (std::size_t d = 0; d < listed.items.size(); ++d) {
      out.push_back(item(listed, d, PickleValue::Kind::kInteger, what).integer);
      if (out.back() < 0) throw Bad{fmt::format("{} are negative", what)};
    }
    return out;
  }

  const Pickle& pickle_;
};

// A tensor as it was saved, before its bytes are looked up.
struct Saved {
  StorageRef storage;
  Element element = Element::kF32;
  std::int64_t offset = 0;  // elements, as strides
  std::vector<std::int64_t> shape, strides;
};

Saved saved_tensor(const Reader& reader, const PickleValue& call) {
  const std::string_view function = reader.pickle_.at(call.items[0]).name;
  const PickleValue& arguments = reader.pickle_.at(call.items[1]);
  if (function == "_rebuild_parameter") {
    const PickleValue& inner = reader.item(arguments, 0, PickleValue::Kind::kCall, "the parameter's tensor");
    // Parameters of parameters would be nested without an end.
    if (reader.pickle_.at(inner.items[0]).name == function) throw Bad{"a parameter is made of a parameter"};
    return saved_tensor(reader, inner);
  }
  if (function.substr(0, 15) != "_rebuild_tensor") throw Bad{fmt::format("`{}` makes no tensor", function)};
  Saved saved;
  saved.storage = reader.storage(reader.item(arguments, 0, PickleValue::Kind::kPersistent, "the storage"));
  saved.offset = reader.item(arguments, 1, PickleValue::Kind::kInteger, "the offset").integer;
  saved.shape = reader.sizes(arguments, 2, "sizes");
  saved.strides = reader.sizes(arguments, 3, "strides");
  std::optional<Element> element = saved.storage.element;
  if (function == "_rebuild_tensor_v3")
    element = element_of(&TorchType::dtype,
                         reader.item(arguments, 6, PickleValue::Kind::kGlobal, "the type of its elements").name);
  if (!element) throw Bad{"the type of its elements is not known"};
  saved.element = *element;
  if (saved.strides.size() != saved.shape.size())
    throw Bad{fmt::format("it has {} sizes and {} strides", saved.shape.size(), saved.strides.size())};
  return saved;
}

bool is_row_major(const Saved& saved) {
  std::int64_t expected = 1;
  for (std::size_t d = saved.shape.size(); d-- > 0;) {
    if (saved.shape[d] != 1 && saved.strides[d] != expected) return false;
    expected *= saved.shape[d];  // of a tensor whose elements were counted
  }
  return true;
}

// The element after the last one that the tensor touches, in elements from the storage's start.
std::int64_t reach(const Saved& saved) {
  std::int64_t last = saved.offset;
  bool fits = saved.offset >= 0;
  for (std::size_t d = 0; fits && d < saved.shape.size(); ++d) {
    std::int64_t step = 0;
    fits = !__builtin_mul_overflow(saved.shape[d] - 1, saved.strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last);
  }
  if (!fits || __builtin_add_overflow(last, 1, &last)) throw Bad{"its offset and strides lead beyond 2^63"};
  return last;
}

std::shared_ptr<std::string> gathered(const Saved& saved, std::string_view bytes, std::int64_t count) {
  const std::size_t size = size_of(saved.element);
  auto out = std::make_shared<std::string>();
  out->reserve(static_cast<std::size_t>(count) * size);
  std::vector<std::int64_t> index(saved.shape.size(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = saved.offset;
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * saved.strides[d];
    out->append(bytes.substr(static_cast<std::size_t>(at) * size, size));
    for (std::size_t d = index.size(); d-- > 0;) {
      if (++index[d] < saved.shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

// Makes tensors of what was saved; copies what is no row-major block.
class Placer {
 public:
  explicit Placer(const Source& file) : file_(file), left_(file.bytes.size()) {}

  Tensor place(const Saved& saved, std::string_view bytes);

 private:
  using Part = std::tuple<const char*, Element, std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;

  const Source& file_;
  std::size_t left_;  // bytes that may still be copied: views of one storage must not grow beyond the file
  std::map<Part, std::shared_ptr<const std::string>> copies_;  // tied weights stay one
};

Tensor Placer::place(const Saved& saved, std::string_view bytes) {
  Tensor tensor{{}, saved.element, saved.shape, {}, file_.keeper};
  const auto size = static_cast<std::int64_t>(size_of(saved.element));
  const std::optional<std::int64_t> count = elements(saved.shape);
  const auto held = static_cast<std::int64_t>(bytes.size()) / size;
  // A tensor that repeats its elements (strides of 0) must not grow beyond what the file holds.
  if (!count || *count > held)
    throw Bad{fmt::format("its sizes {} are more than the {} elements of its storage", text_of(saved.shape), held)};
  if (*count == 0) return tensor;
  const std::int64_t end = reach(saved);
  if (end > held) throw Bad{fmt::format("it reaches element {} of a storage of {}", end, held)};
  if (is_row_major(saved)) {
    tensor.bytes = bytes.substr(static_cast<std::size_t>(saved.offset * size), static_cast<std::size_t>(*count * size));
  } else {
    auto& copy = copies_[{bytes.data(), saved.element, saved.offset, saved.shape, saved.strides}];
    if (copy == nullptr) {
      const auto size_of_copy = static_cast<std::size_t>(*count * size);
      if (size_of_copy > left_) throw Bad{"what is stored transposed has more bytes than the file"};
      left_ -= size_of_copy;
      copy = gathered(saved, bytes, *count);
    }
    tensor.bytes = *copy;
    tensor.keeper = copy;
  }
  return tensor;
}

bool is_tensor(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle.at(ref);
  if (value.kind != PickleValue::Kind::kCall) return false;
  const std::string_view function = pickle.at(value.items[0]).name;
  return function.substr(0, 9) == "_rebuild_";
}

bool has_tensors(const Pickle& pickle, const PickleValue& dict) {
  for (std::size_t i = 1; i < dict.items.size(); i += 2)
    if (is_tensor(pickle, dict.items[i])) return true;
  return false;
}

const PickleValue* state_dict(const Pickle& pickle) {
  const PickleValue& top = pickle.at(pickle.top);
  if (top.kind != PickleValue::Kind::kDict) return nullptr;
  if (has_tensors(pickle, top)) return &top;
  constexpr std::array<std::string_view, 4> kStates{"state_dict", "model_state_dict", "model", "module"};
  for (const std::string_view name : kStates)
    for (std::size_t i = 0; i + 1 < top.items.size(); i += 2) {
      const PickleValue& key = pickle.at(top.items[i]);
      const PickleValue& value = pickle.at(top.items[i + 1]);
      if (key.kind == PickleValue::Kind::kText && key.text == name && value.kind == PickleValue::Kind::kDict &&
          has_tensors(pickle, value))
        return &value;
    }
  return nullptr;
}

}  // namespace

bool is_torch_call(std::string_view module, std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kCalls{{{"collections", "OrderedDict"},
                                                                                 {"torch._utils", "_rebuild_tensor"},
                                                                                 {"torch._utils", "_rebuild_tensor_v2"},
                                                                                 {"torch._utils", "_rebuild_tensor_v3"},
                                                                                 {"torch._utils", "_rebuild_parameter"},
                                                                                 {"torch", "Size"},
                                                                                 {"torch", "device"}}};
  return std::find(kCalls.begin(), kCalls.end(), std::pair(module, name)) != kCalls.end();
}

std::vector<StorageRef> storages_of(const Pickle& pickle, const base::Location& whole) {
  const Reader reader(pickle);
  std::vector<StorageRef> found;
  std::set<std::string_view> seen;
  for (const PickleValue& value : pickle.values) {
    if (value.kind != PickleValue::Kind::kPersistent) continue;
    try {
      const StorageRef ref = reader.storage(value);
      if (seen.insert(ref.key).second) found.push_back(ref);
    } catch (const Bad& bad) {
      base::fail("O1606", "a storage of the checkpoint cannot be read: " + bad.why, whole);
    }
  }
  return found;
}

std::vector<Tensor> torch_tensors(const Pickle& pickle,
                                  const std::function<std::optional<std::string_view>(const StorageRef&)>& bytes_of,
                                  const Source& file, base::Diagnostics& found) {
  std::vector<Tensor> tensors;
  const PickleValue* const dict = state_dict(pickle);
  if (dict == nullptr) {
    found.error("O1606", "the checkpoint holds no dict of tensors", file.whole).hint("save the model's state_dict()");
    return tensors;
  }
  const Reader reader(pickle);
  Placer placer(file);
  std::set<std::string_view> names;
  std::vector<std::string> others;
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const PickleValue& key = pickle.at(dict->items[i]);
    const std::string name = key.kind == PickleValue::Kind::kText ? std::string(key.text) : "(no text)";
    if (key.kind != PickleValue::Kind::kText || !is_tensor(pickle, dict->items[i + 1])) {
      others.push_back(name);
      continue;
    }
    try {
      if (!names.insert(key.text).second) throw Bad{"there is another of this name"};
      const Saved saved = saved_tensor(reader, pickle.at(dict->items[i + 1]));
      const std::optional<std::string_view> bytes = bytes_of(saved.storage);
      if (!bytes) throw Bad{fmt::format("its storage `{}` is not in the file", saved.storage.key)};
      if (bytes->size() != saved.storage.bytes)
        throw Bad{fmt::format("its storage should have {} bytes, and has {}", saved.storage.bytes, bytes->size())};
      tensors.push_back(placer.place(saved, *bytes));
      tensors.back().name = name;
    } catch (const Bad& bad) {
      found.error("O1606", fmt::format("tensor `{}` cannot be read: {}", name, bad.why), file.whole);
    }
  }
  if (!others.empty()) {
    constexpr std::size_t kNamed = 8;
    const std::size_t more = others.size() > kNamed ? others.size() - kNamed : 0;
    others.resize(others.size() - more);
    found.warning("O1609",
                  fmt::format("entries that are not tensors are left out: {}{}", base::joined(others, ", "),
                              more > 0 ? fmt::format(" and {} more", more) : ""),
                  file.whole);
  }
  return tensors;
}

}  // namespace orrery::formats::checkpoint
