// A protobuf message field by field, each checked for the type that it must have: every mistake has its byte.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::onnx {

class Wire {
 public:
  using Next = std::function<std::string_view()>;  // the bytes in pieces; empty at the end

  // `file` is what messages name.
  Wire(Next next, std::shared_ptr<const base::SourceFile> file);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Calls `field` with the number of each field up to the end of the message. It takes the field by one of the
  // functions below, or leaves it to be skipped. `message` is its name.
  void fields(const char* message, const std::function<void(int number)>& field);

  // The field at hand; `what` is its name. Throw InputError: O0930 where it is something else, O0931 beyond a bound.
  std::int64_t integer(const char* what);
  float real(const char* what);
  std::string text(const char* what);             // at most kMostText bytes
  bool bytes(std::string& to, std::size_t most);  // false: more than `most`, and skipped
  // Appends one or many, but no more than `most` in all: what is beyond is skipped, and `to` then has one more.
  void integers(std::vector<std::int64_t>& to, const char* what, std::size_t most);
  void reals(std::vector<float>& to, const char* what, std::size_t most);
  void message(const char* name, const std::function<void(int number)>& field);

  std::int64_t byte() const { return begin_; }  // where the field at hand begins

  [[noreturn]] void broken(const std::string& why, std::int64_t at) const;
  [[noreturn]] void beyond(const std::string& why) const;

 private:
  struct Stream;
  void demand(int type, const char* what);
  std::uint32_t length();
  void skip();
  void skip_bytes(std::uint32_t count);
  void count_kept();
  [[noreturn]] void cut_off() const;
  std::int64_t position() const;

  std::unique_ptr<Stream> stream_;
  std::shared_ptr<const base::SourceFile> file_;
  const char* message_ = "";
  std::uint32_t tag_ = 0;
  std::int64_t begin_ = 0;
  bool taken_ = false;
  std::int64_t kept_ = 0;
};

inline constexpr std::size_t kMostText = 4096;        // bytes of a name
inline constexpr std::int64_t kMostFields = 8 << 20;  // that are kept; a message counts as four
inline constexpr std::int64_t kMostKept = 256 << 20;  // bytes of texts

}  // namespace orrery::formats::onnx
