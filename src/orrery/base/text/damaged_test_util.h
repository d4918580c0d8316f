// Texts that a hand or a disk has damaged, for properties of readers.
#pragma once

#include <string>

#include <rapidcheck.h>

namespace orrery::base {

// `text` with up to five random edits: a few bytes less, or one of `letters` more. Only inside rc::check.
inline std::string damaged(std::string text, const std::string& letters) {
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    const auto at = static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size())));
    if (*rc::gen::arbitrary<bool>())
      text.erase(at, 3);
    else
      text.insert(at, 1, *rc::gen::elementOf(letters));
  }
  return text;
}

}  // namespace orrery::base
