// The keys of one object of a config.json. A getter states a key's type and what its absence means, reports what is
// wrong with it, and notes that the key was read: what no getter asked for, nobody knows (huggingface_config.cc).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/count.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::huggingface {

// Larger sizes are refused (O0910): products of two then always fit 64 bits.
inline constexpr base::Count kLargestSize = 1'000'000'000;

class ConfigKeys {
 public:
  // Both must outlive this. `whole` is where a missing key is reported.
  ConfigKeys(const json::Node& object, base::Location whole, base::Diagnostics& found)
      : object_(object), whole_(std::move(whole)), found_(found) {}

  // The member, read; null where it is absent or null.
  const json::Node* value(std::string_view key);
  bool has(std::string_view key) const;  // there, null or not; not a read
  bool given(std::string_view key) { return value(key) != nullptr; }
  // That one of `keys` which is there; the first where none is. Finds two that disagree (O0928).
  std::string_view spelled(std::span<const std::string_view> keys);
  std::string_view spelled(std::initializer_list<std::string_view> keys) {
    return spelled(std::span(keys.begin(), keys.size()));
  }
  // The keys are known, and need no value of theirs.
  void know(std::initializer_list<std::string_view> keys) { know_all(std::span(keys.begin(), keys.size())); }
  void know_all(std::span<const std::string_view> keys);
  // What a key has where it is missing; 0: nothing is known.
  base::Count lent(std::string_view key) const;
  // The keys are of another type than the family that reads them (`--like`), so that its defaults say nothing of them:
  // those of experts and feed-forward networks are required, others are noted.
  void of_another_type() { another_type_ = true; }
  void lend_sizes(const std::vector<std::pair<std::string_view, long>>& sizes) { lent_ = &sizes; }
  // Of a type that shares its reader with others: what its class has in place of the reader's own defaults.
  void own_sizes(const std::vector<std::pair<std::string_view, long>>& sizes) { own_ = &sizes; }

  // Sizes are whole numbers of 1 or more; null is absent, unless `null` says what it means; of
  // experts it is refused where the class has some.
  base::Count required(std::string_view key);  // 0 where it is missing, which `report_missing` says
  base::Count size(std::string_view key, base::Count absent);
  base::Count size(std::string_view key, base::Count absent, base::Count null);
  std::optional<base::Count> optional_size(std::string_view key);
  base::Count count(std::string_view key, base::Count absent = 0);  // 0 or more
  bool flag(std::string_view key, bool absent);
  double number(std::string_view key, double absent);
  std::string text(std::string_view key, std::string_view absent = "");
  std::vector<std::string> texts(std::string_view key);
  std::vector<base::Count> counts(std::string_view key);

  // O0902, once for all keys that were required and are missing; else O0901, a note, for sizes that `family` lent.
  void report_missing(std::string_view family);
  bool misses_keys() const { return !missing_.empty(); }

  const std::set<std::string, std::less<>>& read() const { return read_; }
  const json::Node& object() const { return object_; }
  base::Location where(std::string_view key) const;      // of the value; else of the object
  base::Location key_where(std::string_view key) const;  // of the key
  base::Diagnostics& found() { return found_; }

 private:
  std::optional<base::Count> whole(std::string_view key, const json::Node& node, base::Count least);
  std::string_view another_name(std::string_view key) const;
  void refuse_null(std::string_view key, base::Count absent);
  void refuse_type(std::string_view key, std::string_view wanted, const json::Node& node);

  const json::Node& object_;
  base::Location whole_;
  base::Diagnostics& found_;
  std::set<std::string, std::less<>> read_;
  base::Count assumed(std::string_view key, base::Count absent);

  bool another_type_ = false;
  std::vector<std::string> missing_, assumed_;
  const std::vector<std::pair<std::string_view, long>>*lent_ = nullptr, *own_ = nullptr;
};

// Other names that families have for the same size: `hidden_size` of `n_embd`.
std::vector<std::string_view> other_names(std::string_view key);

// What a value is, for messages: "the fractional number 1.5", "a list".
std::string kind_of(const json::Node& node);

}  // namespace orrery::formats::huggingface
