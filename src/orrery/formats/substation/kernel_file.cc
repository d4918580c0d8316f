#include "orrery/formats/substation/kernel_file.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/substation/decimal_time.h"

namespace orrery::formats::substation {
namespace {

using tuning::Measured;

constexpr std::string_view kLetters = "bjkhpiu";

enum class LinePart { kSize, kSpecial, kLayout, kTime };

// A value of up to seven bytes and its length as one number; no layout or dimension is longer.
constexpr std::size_t kMostPacked = 7;
std::uint64_t packed(std::string_view value) {
  std::uint64_t out = 0;
  std::memcpy(&out, value.data(), value.size());
  return out | std::uint64_t{value.size()} << 56;
}

// What stands at one place of a line.
struct Place {
  std::string name;    // as written
  std::string prefix;  // with the equals sign
  LinePart part = LinePart::kTime;
  std::size_t column = 0;  // of its kind
  std::size_t begin = 0;   // of its value in the line that was read last
  std::size_t length = 0;  // of that
  std::string size;        // the value seen last, as written
  // As written, and their numbers; a few dozens at most. By a hash where that is free; else they are gone through.
  std::vector<std::uint64_t> values;
  std::vector<std::uint16_t> numbers;
  std::vector<std::uint16_t> slots = std::vector<std::uint16_t>(kSlots);  // 1 + the value's place

  const std::uint16_t* number_of(std::uint64_t value) const {
    const std::uint16_t slot = slots[slot_of(value)];
    if (slot != 0 && values[slot - 1u] == value) return &numbers[slot - 1u];
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] == value) return &numbers[i];
    return nullptr;
  }
  void remember(std::uint64_t value, std::uint16_t number) {
    values.push_back(value);
    numbers.push_back(number);
    std::uint16_t& slot = slots[slot_of(value)];
    if (slot == 0) slot = static_cast<std::uint16_t>(values.size());
  }

 private:
  static constexpr std::size_t kSlots = 256;
  static std::size_t slot_of(std::uint64_t value) { return (value * 0x9e3779b97f4a7c15u) >> 56; }
};

// A line that was read, up to its time, as a form: what must be the same in the next, and where values stand. All
// lines of a file mostly have one form, since a layout has as many letters as its tensor has dimensions.
class Form {
 public:
  void clear() { length_ = 0; }
  void take(std::string_view line, std::size_t length, const std::vector<Place>& places) {
    length_ = length;
    const std::size_t words = (length + 7) / 8;
    text_.assign(words, 0);
    fixed_.assign(words, 0);
    std::memcpy(text_.data(), line.data(), length);
    std::memset(fixed_.data(), 0xff, length);
    for (const Place& place : places) {
      if (place.part == LinePart::kSize || place.part == LinePart::kTime) continue;
      if (place.length > kMostPacked) return clear();
      std::memset(reinterpret_cast<char*>(fixed_.data()) + place.begin, 0, place.length);
    }
    for (std::size_t w = 0; w < words; ++w) text_[w] &= fixed_[w];
  }
  // Whether this line is the same but for its values; its time then stands behind length() bytes.
  bool fits(std::string_view line) const {
    if (length_ == 0 || line.size() < 8 * text_.size()) return false;
    std::uint64_t differ = 0;
    for (std::size_t w = 0; w < text_.size(); ++w) {
      std::uint64_t word = 0;
      std::memcpy(&word, line.data() + 8 * w, 8);
      differ |= (word & fixed_[w]) ^ text_[w];
    }
    return differ == 0;
  }
  std::size_t length() const { return length_; }

 private:
  std::size_t length_ = 0;
  std::vector<std::uint64_t> text_, fixed_;
};

class KernelFileReader {
 public:
  KernelFileReader(Source& source, const Expected& expected, SizesSeen& sizes, Measured& table,
                   base::Diagnostics& found)
      : source_(source), expected_(expected), sizes_(sizes), table_(table), found_(found) {
    row_.resize(expected.layouts.size());
    choice_.resize(expected.specials.size());
  }

  void run() {
    while (source_.next(line_)) {
      ++table_.lines;
      at_ = 0;
      if (line_.ends_with(" ERROR")) {
        ++table_.failed;
        continue;
      }
      if (read_like_before() || read_line()) {
        table_.layouts.insert(table_.layouts.end(), row_.begin(), row_.end());
        table_.chosen.insert(table_.chosen.end(), choice_.begin(), choice_.end());
        table_.times.push_back(time_);
      }
    }
  }

 private:
  base::Diagnostic* error(const char* code, std::string message, std::string_view part) {
    good_ = false;
    if (!source_.tell()) return nullptr;
    return &found_.error(code, std::move(message), source_.place(line_, part));
  }

  std::string_view token() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
    const std::size_t begin = at_;
    while (at_ < line_.size() && line_[at_] != ' ' && line_[at_] != '\t') ++at_;
    return line_.substr(begin, at_ - begin);
  }

  // Passes over " NAME = " where that comes next, with a value behind it.
  bool as_before(const std::string& prefix) {
    const std::size_t from = at_ + (at_ < line_.size() && line_[at_] == ' ' ? 1 : 0);
    const std::size_t to = from + prefix.size();
    if (to >= line_.size() || line_[to] == ' ' || line_[to] == '\t' || line_.compare(from, prefix.size(), prefix) != 0)
      return false;
    at_ = to;
    return true;
  }

  // A line of the form of the one before it, with values that were met. False: it is to be read word by word.
  bool read_like_before() {
    if (!form_.fits(line_) || !line_.ends_with(" s")) return false;
    for (const Place& place : places_) {
      if (place.part == LinePart::kSize || place.part == LinePart::kTime) continue;
      std::uint64_t value = 0;  // the time's text follows: eight bytes are there
      std::memcpy(&value, line_.data() + place.begin, 8);
      value = (value & ((std::uint64_t{1} << 8 * place.length) - 1)) | std::uint64_t{place.length} << 56;
      const std::uint16_t* const number = place.number_of(value);
      if (number == nullptr) return false;
      put(place, *number);
    }
    const DecimalTime time = decimal_time(line_.substr(form_.length(), line_.size() - form_.length() - 2), 15);
    time_ = time.femtoseconds;
    return time.wrong.empty();
  }

  bool read_line() {
    good_ = true;
    form_.clear();
    if (const std::string wrong = too_long(line_); !wrong.empty()) {
      error("O1711", wrong, line_.substr(0, 1));
      return false;
    }
    bool timed = false;
    std::size_t index = 0, behind_equals = 0;
    for (;; ++index) {
      // Mostly the names stand where those of the line before stood.
      if (index < places_.size() && places_[index].part != LinePart::kTime && as_before(places_[index].prefix)) {
        take(places_[index], token());
        if (!good_) return false;
        continue;
      }
      const std::string_view name = token();
      if (name.empty()) break;
      const std::string_view equals = token();
      const std::string_view value = token();
      if (equals != "=" || value.empty()) {
        if (auto* told =
                error("O1711", "a line of measurements is made of `NAME = value`", equals.empty() ? name : equals))
          told->label(fmt::format("`=` and a value should follow `{}`", shown(name)))
              .note("an example: `B = 8 J = 512 N = 1024 dv = B dw = J DATT = BJN DBO = N time = 1.9e-05 s`");
        return false;
      }
      if (index == places_.size() || places_[index].name != name) {
        if (!learn(index, name)) return false;
      }
      Place& place = places_[index];
      if (place.part == LinePart::kTime) {
        timed = true;
        behind_equals = static_cast<std::size_t>(value.data() - line_.data());
        read_time(value);
        break;
      }
      take(place, value);
      if (!good_) return false;
    }
    if (!timed && good_)
      error("O1711", "the line ends without `time = T s`", line_.substr(line_.empty() ? 0 : line_.size() - 1));
    if (good_ && index + 1 < places_.size()) {
      places_.resize(index + 1);
      checked_ = false;
    }
    if (!good_ || !complete()) return false;
    form_.take(line_, behind_equals, places_);
    return true;
  }

  // What `name` is, at this place from now on; places behind it are forgotten.
  bool learn(std::size_t index, std::string_view name) {
    places_.resize(index);
    checked_ = false;
    const std::string low = base::lower(name);
    Place place;
    place.name = name;
    place.prefix = place.name + " = ";
    const auto layout = std::find_if(expected_.layouts.begin(), expected_.layouts.end(),
                                     [&](const auto& e) { return e.column == low; });
    const auto special = std::find_if(expected_.specials.begin(), expected_.specials.end(),
                                      [&](const auto& e) { return e.column == low || e.short_name == low; });
    if (low == "time") {
      place.part = LinePart::kTime;
    } else if (low.size() == 1 && kLetters.find(dimensions(low)[0]) != std::string_view::npos) {
      place.part = LinePart::kSize;
    } else if (layout != expected_.layouts.end()) {
      place.part = LinePart::kLayout;
      place.column = static_cast<std::size_t>(layout - expected_.layouts.begin());
    } else if (special != expected_.specials.end()) {
      place.part = LinePart::kSpecial;
      place.column = static_cast<std::size_t>(special - expected_.specials.begin());
    } else {
      std::vector<std::string> known;
      for (const auto& e : expected_.specials) known.push_back(e.column);
      for (const auto& e : expected_.layouts) known.push_back(e.column);
      if (auto* told =
              error("O1711", fmt::format("kernel {} has no column `{}`", expected_.benchmark, shown(name)), name))
        told->hint(base::did_you_mean(low, known, fmt::format("it has sizes and {}, time", base::joined(known, ", "))));
      return false;
    }
    for (const Place& before : places_)
      if (base::lower(before.name) == low) {
        error("O1711", fmt::format("column `{}` stands twice", shown(name)), name);
        return false;
      }
    places_.push_back(std::move(place));
    return true;
  }

  void take(Place& place, std::string_view value) {
    place.begin = static_cast<std::size_t>(value.data() - line_.data());
    place.length = value.size();
    if (place.part == LinePart::kSize) return take_size(place, value);
    const bool short_enough = value.size() <= kMostPacked;
    if (short_enough)
      if (const std::uint16_t* const known = place.number_of(packed(value))) return put(place, *known);
    if (place.part == LinePart::kLayout) {
      const std::string wrong = layout_mistake(value, expected_.layouts[place.column]);
      if (!wrong.empty()) {
        error("O1712", wrong, value);
        return;
      }
    } else if (value.size() != 1 || kLetters.find(dimensions(value)[0]) == std::string_view::npos) {
      if (auto* told = error("O1712", fmt::format("`{}` is not a dimension for `{}`", shown(value), place.name), value))
        told->hint("a dimension is one letter: b, j, k, h, p, i (or n), u");
      return;
    }
    tuning::Named& column =
        place.part == LinePart::kLayout ? table_.columns[place.column] : table_.specials[place.column];
    const std::uint16_t number = column.number(dimensions(value));
    if (short_enough) place.remember(packed(value), number);
    put(place, number);
  }
  void put(const Place& place, std::uint16_t number) {
    (place.part == LinePart::kLayout ? row_ : choice_)[place.column] = number;
  }

  void take_size(Place& place, std::string_view value) {
    if (place.size == value) return;
    const base::Count size = base::parse_number<base::Count>(value).value_or(0);
    if (size < 1) {
      error("O1711", fmt::format("size {} is `{}`, which is not a whole number of 1 or more", place.name, shown(value)),
            value);
      return;
    }
    const std::size_t before = found_.all().size();
    if (source_.tell()) sizes_.see(dimensions(place.name)[0], size, source_.place(line_, value), found_);
    place.size = value;
    good_ = good_ && found_.all().size() == before;
    if (good_) source_.untell();
  }

  void read_time(std::string_view text) {
    const DecimalTime time = decimal_time(text, 15);
    const std::string_view unit = token(), rest = token();
    if (!time.wrong.empty()) {
      error("O1714", fmt::format("the time `{}` {}", shown(text), time.wrong), text);
    } else if (unit != "s" || !rest.empty()) {
      if (auto* told = error("O1711", "behind the time stands `s`, and nothing but `ERROR` may follow",
                             rest.empty() ? (unit.empty() ? text : unit) : rest))
        told->note("times of kernels are seconds");
    }
    time_ = time.femtoseconds;
  }

  // Whether every column has a place; asked again only where places changed.
  bool complete() {
    if (checked_) return true;
    std::vector<std::string> missing;
    const auto has = [&](LinePart part, std::size_t column) {
      return std::any_of(places_.begin(), places_.end(),
                         [&](const Place& p) { return p.part == part && p.column == column; });
    };
    for (std::size_t i = 0; i < expected_.layouts.size(); ++i)
      if (!has(LinePart::kLayout, i)) missing.push_back(expected_.layouts[i].column);
    for (std::size_t i = 0; i < expected_.specials.size(); ++i)
      if (!has(LinePart::kSpecial, i)) missing.push_back(expected_.specials[i].column);
    if (!missing.empty()) {
      error("O1711", fmt::format("the line lacks {}", base::joined(missing, ", ")), line_.substr(0, 1));
      return false;
    }
    return checked_ = true;
  }

  Source& source_;
  const Expected& expected_;
  SizesSeen& sizes_;
  Measured& table_;
  base::Diagnostics& found_;
  std::string_view line_;
  Form form_;
  std::size_t at_ = 0;
  std::vector<Place> places_;
  std::vector<std::uint16_t> row_, choice_;
  base::Count time_ = 0;
  bool good_ = true, checked_ = false;
};

}  // namespace

void read_kernel(Source& source, const Expected& expected, SizesSeen& sizes, Measured& table,
                 base::Diagnostics& found) {
  KernelFileReader(source, expected, sizes, table, found).run();
  source.close(found);
}

}  // namespace orrery::formats::substation
