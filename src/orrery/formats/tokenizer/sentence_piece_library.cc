// The library is opened by name, not linked, for two reasons. It brings a protobuf of its own with the same names as
// the one that Orrery holds, and of another version: linked, each would call the other's functions. And it would add a
// millisecond to every start of the program. Its functions are asked for by the names that the compiler gives them; its
// header says how large its object is. What is encoded comes back as a message of protobuf's (SentencePieceText), the
// only answer with places that needs no type of the library's.
#include "orrery/formats/tokenizer/sentence_piece_library.h"

#include <fmt/format.h>

#ifdef ORRERY_SENTENCEPIECE
#include <dlfcn.h>
#include <sentencepiece_processor.h>
#endif

#include <cstdlib>
#include <new>
#include <optional>

#include "orrery/formats/tokenizer/sentencepiece_wire.h"

namespace orrery::formats::tokenizer {
namespace {

[[noreturn]] void no_library(const std::string& why, const base::Location& where) {
  base::fail("O1629", fmt::format("`{}` is a model of SentencePiece, and {}", where.file->name, why), where,
             "on Debian: apt-get install libsentencepiece-dev, and build Orrery again; where it was built with it: "
             "apt-get install libsentencepiece0");
}

bool is_hidden() {
  const char* const hidden = std::getenv("ORRERY_WITHOUT");
  return hidden != nullptr && std::string_view(hidden) == "sentencepiece";
}

}  // namespace

#ifdef ORRERY_SENTENCEPIECE

namespace {

// What it returns as a status: a pointer, null where all is well. As a class that is not copied it comes back as the
// library's own does.
struct Status {
  void* wrong = nullptr;
  Status() = default;
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  ~Status();
};

// A sanitizer's functions must be found before the library's.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

struct Functions {
  void (*make)(void*) = nullptr;
  void (*end)(void*) = nullptr;
  Status (*load)(void*, std::string_view) = nullptr;
  std::string (*encode)(const void*, std::string_view) = nullptr;
  std::string (*decode)(const void*, const std::vector<int>&) = nullptr;
  void (*end_status)(void*) = nullptr;
  const char* (*message)(const void*) = nullptr;
  std::string wrong;
};

Functions open_library() {
  Functions out;
  int how = RTLD_NOW | RTLD_LOCAL;
  if (!kSanitized) how |= RTLD_DEEPBIND;  // its own protobuf, also where the program has another as a shared library
  void* const library = dlopen("libsentencepiece.so.0", how);  // stays until the program ends
  if (library == nullptr) {
    const char* const why = dlerror();
    out.wrong = why == nullptr ? "it cannot be opened" : why;
    return out;
  }
  const auto find = [&](auto& function, const std::string& name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name.c_str()));
    if (function == nullptr) out.wrong = fmt::format("it has no {}", name);
  };
  const std::string processor = "22SentencePieceProcessor", text = "ESt17basic_string_viewIcSt11char_traitsIcEE";
  const auto member = [&](const std::string& rest) { return "13sentencepiece" + processor + rest; };
  find(out.make, "_ZN" + member("C1Ev"));
  find(out.end, "_ZN" + member("D1Ev"));
  find(out.load, "_ZN" + member("23LoadFromSerializedProto" + text));
  find(out.encode, "_ZNK" + member("23EncodeAsSerializedProtoB5cxx11" + text));
  find(out.decode, "_ZNK" + member("9DecodeIdsB5cxx11ERKSt6vectorIiSaIiEE"));
  find(out.end_status, "_ZN13sentencepiece4util6StatusD1Ev");
  find(out.message, "_ZNK13sentencepiece4util6Status13error_messageEv");
  return out;
}

const Functions& functions() {
  static const Functions all = open_library();
  return all;
}

Status::~Status() {
  functions().end_status(this);
}

// {piece 1, id 2, surface 3, begin 4, end 5}
SentencePieceLibrary::Piece piece_of(std::string_view message) {
  constexpr std::uint32_t kId = 2, kBegin = 4, kEnd = 5;
  SentencePieceLibrary::Piece piece;
  Wire wire(message);
  for (Wire::Field field; wire.next(field);) {
    if (field.number == kId) piece.id = static_cast<std::int32_t>(field.value);
    if (field.number == kBegin) piece.begin = static_cast<std::size_t>(field.value);
    if (field.number == kEnd) piece.end = static_cast<std::size_t>(field.value);
  }
  return piece;
}

}  // namespace

struct SentencePieceLibrary::Loaded {
  alignas(sentencepiece::SentencePieceProcessor) unsigned char processor[sizeof(sentencepiece::SentencePieceProcessor)];

  Loaded() { functions().make(processor); }
  ~Loaded() { functions().end(processor); }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

SentencePieceLibrary::SentencePieceLibrary(std::string_view model, const base::Location& where) {
  if (is_hidden()) no_library("this Orrery was built without the library that reads it", where);
  if (!functions().wrong.empty())
    no_library(fmt::format("the library that reads it cannot be loaded: {}", functions().wrong), where);
  std::optional<std::string> wrong;
  try {
    loaded_ = std::make_unique<Loaded>();
    const Status status = functions().load(loaded_->processor, model);
    if (status.wrong != nullptr) wrong = functions().message(&status);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (wrong) base::fail("O1630", fmt::format("SentencePiece refuses this model: {}", *wrong), where);
}

std::vector<SentencePieceLibrary::Piece> SentencePieceLibrary::encode(std::string_view text) const {
  constexpr std::uint32_t kListed = 2;
  const std::string answer = functions().encode(loaded_->processor, text);
  std::vector<Piece> out;
  Wire wire(answer);
  for (Wire::Field field; wire.next(field);)
    if (field.number == kListed) out.push_back(piece_of(field.bytes));
  return out;
}

std::string SentencePieceLibrary::decode(const std::vector<std::int32_t>& ids) const {
  return functions().decode(loaded_->processor, ids);
}

#else

struct SentencePieceLibrary::Loaded {};

SentencePieceLibrary::SentencePieceLibrary(std::string_view, const base::Location& where) {
  static_cast<void>(is_hidden());
  no_library("this Orrery was built without the library that reads it", where);
}
std::vector<SentencePieceLibrary::Piece> SentencePieceLibrary::encode(std::string_view) const {
  return {};
}
std::string SentencePieceLibrary::decode(const std::vector<std::int32_t>&) const {
  return {};
}

#endif

SentencePieceLibrary::~SentencePieceLibrary() = default;

}  // namespace orrery::formats::tokenizer
