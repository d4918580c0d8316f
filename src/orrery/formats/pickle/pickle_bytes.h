// A pickle's bytes: operations and what follows them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "orrery/base/diagnostics/diagnostic.h"

namespace orrery::formats::pickle {

// What a pickle is read for, and what to do where it does not serve; for messages.
struct Purpose {
  const char* what = "tensors";
  const char* instead_of_damaged = "save the checkpoint again, or load it in Python and save it as safetensors";
  const char* instead_of_refused = "save the model's state_dict() alone, or save it as safetensors";
};

class PickleBytes {
 public:
  // `whole` must stay.
  PickleBytes(std::string_view bytes, std::size_t begin, const base::Location& whole, const Purpose& purpose)
      : bytes_(bytes), at_(begin), whole_(whole), purpose_(purpose) {}

  // Throw InputError: O1603, O1604, at the operation that was taken last.
  [[noreturn]] void broken(const std::string& why) const;
  [[noreturn]] void refused(const std::string& what) const;

  std::size_t at() const { return at_; }

  // What follows, which is then behind. Where it is not there, or has another form, the pickle is broken.
  unsigned char operation();
  std::string_view take(std::uint64_t count);
  std::string_view line();
  std::string_view quoted();     // a line in quotation marks, without escapes
  std::string_view unescaped();  // a line without escapes
  double decimal_real();         // a line
  double binary_real();          // 8 bytes, big-endian
  template <class Whole>
  Whole number() {  // little-endian
    Whole value;
    std::memcpy(&value, take(sizeof(Whole)).data(), sizeof(Whole));
    return value;
  }
  std::int64_t decimal(std::string_view text) const;

 private:
  std::string_view bytes_;
  std::size_t at_, operation_ = 0;
  const base::Location& whole_;
  Purpose purpose_;
};

}  // namespace orrery::formats::pickle
