// Protobuf's wire format through its CodedInputStream. The fields are taken apart here and not by generated messages:
// weights are passed over and never held, a field with a wrong wire type is an error and no "unknown field", and
// nesting is as deep as the reader's own calls.
#include "orrery/formats/onnx/onnx_wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/text_file.h"

namespace orrery::formats::onnx {
namespace {

namespace io = google::protobuf::io;

enum Type { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

const char* type_name(std::uint32_t type) {
  switch (type) {
    case kVarint:
      return "a number";
    case kFixed64:
      return "eight bytes";
    case kLength:
      return "a text or message";
    case kFixed32:
      return "four bytes";
    default:
      return "no type that occurs in ONNX";
  }
}

// Pieces as protobuf takes them. What `next` throws is kept: it must not pass through protobuf's frames.
class Pieces : public io::ZeroCopyInputStream {
 public:
  explicit Pieces(Wire::Next next) : next_(std::move(next)) {}

  bool Next(const void** data, int* size) override {
    if (back_ == 0) {
      try {
        piece_ = next_();
      } catch (...) {
        failure_ = std::current_exception();
        piece_ = {};
      }
      if (piece_.empty()) return false;
      back_ = piece_.size();
    }
    *data = piece_.data() + (piece_.size() - back_);
    *size = static_cast<int>(back_);
    read_ += static_cast<std::int64_t>(back_);
    back_ = 0;
    return true;
  }
  void BackUp(int count) override {
    back_ = static_cast<std::size_t>(count);
    read_ -= count;
  }
  bool Skip(int count) override {
    const void* data = nullptr;
    int size = 0;
    while (count > 0) {
      if (!Next(&data, &size)) return false;
      if (size > count) BackUp(size - count);
      count -= std::min(size, count);
    }
    return true;
  }
  int64_t ByteCount() const override { return read_; }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  Wire::Next next_;
  std::string_view piece_;
  std::size_t back_ = 0;
  std::int64_t read_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

struct Wire::Stream {
  explicit Stream(Next next) : pieces(std::move(next)), in(&pieces) {
    in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  }
  Pieces pieces;
  io::CodedInputStream in;
};

Wire::Wire(Next next, std::shared_ptr<const base::SourceFile> file)
    : stream_(std::make_unique<Stream>(std::move(next))), file_(std::move(file)) {}

Wire::~Wire() = default;

std::int64_t Wire::position() const {
  return stream_->in.CurrentPosition();
}

void Wire::broken(const std::string& why, std::int64_t at) const {
  base::Diagnostics found;
  found.error("O0930", fmt::format("`{}` cannot be read as an ONNX model: {}", file_->name, why), {file_, 0, 0, 1})
      .note(fmt::format("byte {} of the file{}", at, *message_ ? fmt::format(", in a {}", message_) : ""))
      .hint("is this the right file? if it was damaged or cut off, fetch or export it again");
  throw base::InputError(found.all());
}

void Wire::beyond(const std::string& why) const {
  base::Diagnostics found;
  found.error("O0931", fmt::format("`{}` is beyond what is read: {}", file_->name, why), {file_, 0, 0, 1})
      .note(fmt::format("byte {} of the file", begin_));
  throw base::InputError(found.all());
}

void Wire::cut_off() const {
  if (stream_->pieces.failure()) std::rethrow_exception(stream_->pieces.failure());
  if (position() >= std::numeric_limits<int>::max() - 16)
    beyond("it has more than 2 GiB, the most that a protobuf message may have");
  broken("it is cut off or damaged", position());
}

void Wire::count_kept() {
  taken_ = true;
  if (++kept_ > kMostFields) beyond(fmt::format("it has more than {} fields beside weights", kMostFields));
}

void Wire::demand(int type, const char* what) {
  count_kept();
  const std::uint32_t got = tag_ & 7;
  if (got != static_cast<std::uint32_t>(type))
    broken(fmt::format("its field {} (`{}`) must be {}, but is {}", tag_ >> 3, what,
                       type_name(static_cast<std::uint32_t>(type)), type_name(got)),
           begin_);
}

std::uint32_t Wire::length() {
  std::uint32_t length = 0;
  if (!stream_->in.ReadVarint32(&length)) cut_off();
  const int left = stream_->in.BytesUntilLimit();
  if (left >= 0 && length > static_cast<std::uint32_t>(left))
    broken(fmt::format("a field claims {} bytes, where {} are left of what it is in", length, left), begin_);
  if (length > static_cast<std::uint32_t>(std::numeric_limits<int>::max()))
    broken(fmt::format("a field claims {} bytes", length), begin_);
  return length;
}

void Wire::skip_bytes(std::uint32_t count) {
  if (!stream_->in.Skip(static_cast<int>(count))) cut_off();
}

void Wire::skip() {
  switch (tag_ & 7) {
    case kVarint: {
      std::uint64_t ignored = 0;
      if (!stream_->in.ReadVarint64(&ignored)) cut_off();
      return;
    }
    case kFixed64:
      return skip_bytes(8);
    case kLength:
      return skip_bytes(length());
    case kFixed32:
      return skip_bytes(4);
    default:
      broken(fmt::format("its field {} has wire type {}, which does not occur in ONNX", tag_ >> 3, tag_ & 7), begin_);
  }
}

void Wire::fields(const char* message, const std::function<void(int)>& field) {
  const char* outer = std::exchange(message_, message);
  while (true) {
    begin_ = position();
    tag_ = stream_->in.ReadTag();
    if (tag_ == 0) {
      if (stream_->pieces.failure() || !stream_->in.ConsumedEntireMessage()) cut_off();
      if (stream_->in.BytesUntilLimit() > 0) cut_off();
      break;
    }
    if (tag_ >> 3 == 0) broken("a field has the number 0", begin_);
    taken_ = false;
    field(static_cast<int>(tag_ >> 3));
    if (!taken_) skip();
  }
  message_ = outer;
}

std::int64_t Wire::integer(const char* what) {
  demand(kVarint, what);
  std::uint64_t value = 0;
  if (!stream_->in.ReadVarint64(&value)) cut_off();
  return static_cast<std::int64_t>(value);
}

float Wire::real(const char* what) {
  demand(kFixed32, what);
  std::uint32_t value = 0;
  if (!stream_->in.ReadLittleEndian32(&value)) cut_off();
  return std::bit_cast<float>(value);
}

std::string Wire::text(const char* what) {
  demand(kLength, what);
  const std::uint32_t size = length();
  if (size > kMostText) beyond(fmt::format("a name (`{}`) has {} bytes, more than {}", what, size, kMostText));
  kept_ += static_cast<std::int64_t>(size) * kMostFields / kMostKept;
  std::string text;
  if (!stream_->in.ReadString(&text, static_cast<int>(size))) cut_off();
  if (base::first_bad_byte(text)) broken(fmt::format("a name (`{}`) holds bytes that are not text", what), begin_);
  return text;
}

bool Wire::bytes(std::string& to, std::size_t most) {
  demand(kLength, "raw_data");
  const std::uint32_t size = length();
  if (size > most) {
    skip_bytes(size);
    return false;
  }
  if (!stream_->in.ReadString(&to, static_cast<int>(size))) cut_off();
  return true;
}

void Wire::integers(std::vector<std::int64_t>& to, const char* what, std::size_t most) {
  const auto add = [&](std::uint64_t value) {
    if (to.size() <= most) to.push_back(static_cast<std::int64_t>(value));
  };
  if ((tag_ & 7) != kLength) return add(static_cast<std::uint64_t>(integer(what)));
  count_kept();
  const io::CodedInputStream::Limit limit = stream_->in.PushLimit(static_cast<int>(length()));
  while (stream_->in.BytesUntilLimit() > 0) {
    std::uint64_t value = 0;
    if (!stream_->in.ReadVarint64(&value)) cut_off();
    add(value);
  }
  stream_->in.PopLimit(limit);
}

void Wire::reals(std::vector<float>& to, const char* what, std::size_t most) {
  const auto add = [&](float value) {
    if (to.size() <= most) to.push_back(value);
  };
  if ((tag_ & 7) != kLength) return add(real(what));
  count_kept();
  const std::uint32_t size = length();
  if (size / 4 > most) {
    to.resize(most + 1);
    return skip_bytes(size);
  }
  for (std::uint32_t at = 0; at + 4 <= size; at += 4) {
    std::uint32_t value = 0;
    if (!stream_->in.ReadLittleEndian32(&value)) cut_off();
    add(std::bit_cast<float>(value));
  }
  if (size % 4 != 0)
    broken(fmt::format("`{}` has {} bytes, which are not a whole number of values", what, size), begin_);
}

void Wire::message(const char* name, const std::function<void(int)>& field) {
  demand(kLength, name);
  kept_ += 3;
  const io::CodedInputStream::Limit limit = stream_->in.PushLimit(static_cast<int>(length()));
  const std::int64_t begin = begin_;
  fields(name, field);
  stream_->in.PopLimit(limit);
  begin_ = begin;
  taken_ = true;
}

}  // namespace orrery::formats::onnx
