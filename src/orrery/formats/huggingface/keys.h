// The keys of config.json beside those that are read: known not to matter, or of cost and not modelled.
//
// Whoever meets a key that stands in neither table meets one that nobody has thought about: it is named in a warning.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace orrery::formats::huggingface {

// Keys that change neither time nor memory nor energy, and why.
struct HarmlessKeys {
  std::string_view why;
  std::vector<std::string_view> keys;
};
const std::vector<HarmlessKeys>& harmless_keys();

// Whether it changes no parameters of a vision tower, of which nothing else is counted.
bool is_harmless_in_tower(std::string_view key);

// Why `key` does not matter; empty where that is not known.
std::string_view why_harmless(std::string_view key);

// Values of a costly key with which it changes nothing. Null is always one.
enum class Inactive {
  kNull,      // null alone
  kFalse,     // false, or 0
  kEmpty,     // an empty list, object or text
  kOne,       // 1
  kHidden,    // the model's width
  kHeads,     // the attention heads
  kAbsolute,  // "absolute", "rotary" and their like: no position enters the scores
  kAttend,    // a list of kinds of attention
};

// A key that changes what a model costs, and that no equation here knows.
struct CostlyKey {
  std::string_view key;
  Inactive inactive;
  bool outside;             // it changes what is outside of the blocks only
  std::string_view effect;  // what it does to the model
};
std::span<const CostlyKey> costly_keys();

const CostlyKey* find_costly_key(std::string_view key);

}  // namespace orrery::formats::huggingface
