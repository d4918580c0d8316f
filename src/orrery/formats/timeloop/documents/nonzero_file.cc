// Two forms, told apart by the first line:
//
//   %%MatrixMarket matrix coordinate FIELD SYMMETRY     National Institute of Standards and Technology's exchange
//   % remarks                                           format (Boisvert, Pozo, Remington, NISTIR 5935, 1996):
//   rows columns entries                                places count from 1; of symmetric matrices the lower triangle
//   i j [value]                                         is given, the other follows; a value of 0 is no nonzero
//
//   i, j, k     # remark                                a line a place, from 0, commas or blanks in between
//
// A file is limited by base/text/text_file.h, so that some millions of places are the most. Cost: one pass, and a sort
// that finds places given twice.
#include "orrery/formats/timeloop/documents/nonzero_file.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/text/text.h"

namespace orrery::formats::timeloop {
namespace {

using base::Count;

constexpr std::string_view kMatrixMarket = "%%MatrixMarket";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == ',';
}

std::optional<std::vector<std::string_view>> words_of(std::string_view line, char remark) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && is_blank(line[at])) ++at;
    if (at == line.size() || line[at] == remark) break;
    const std::size_t begin = at;
    while (at < line.size() && !is_blank(line[at]) && line[at] != remark) ++at;
    words.push_back(line.substr(begin, at - begin));
  }
  if (words.empty()) return std::nullopt;
  return words;
}

template <typename Number>
std::optional<Number> number(std::string_view word) {
  return base::parse_number<Number>(word.substr(word.starts_with('+') ? 1 : 0));
}

class NonzeroFileReader {
 public:
  NonzeroFileReader(const std::shared_ptr<const base::SourceFile>& file, const std::string& tensor,
                    const std::vector<Count>& bounds, base::Diagnostics& found)
      : file_(file), tensor_(tensor), bounds_(bounds), found_(found), rest_(file->text) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }

  std::vector<Count> read() {
    const bool good = rest_.starts_with(kMatrixMarket) ? matrix() : list();
    if (!good || !all_differ()) return {};
    if (places_.empty()) fail(1, "has no place").hint("a tensor without any nonzero is not modelled");
    return std::move(places_);
  }

 private:
  base::Diagnostic& fail(int line, std::string_view what) {
    return found_.error("O0407", fmt::format("the file of the nonzeros of `{}` {}", tensor_, what),
                        {file_, line, 1, std::max<int>(1, static_cast<int>(line_.size()))});
  }

  // The next line; false at the end.
  bool next() {
    if (rest_.empty()) return false;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    return true;
  }

  bool put(const std::vector<Count>& place) {
    for (std::size_t r = 0; r < place.size(); ++r)
      if (place[r] < 0 || place[r] >= bounds_[r]) {
        fail(number_, "has a place outside of the tensor")
            .note(fmt::format("its ranks have {} words", base::joined(bounds_, " x ")));
        return false;
      }
    places_.insert(places_.end(), place.begin(), place.end());
    lines_.push_back(number_);
    return true;
  }

  bool list() {
    while (next()) {
      const auto words = words_of(line_, '#');
      if (!words) continue;
      std::vector<Count> place;
      for (const std::string_view word : *words)
        if (const auto value = number<Count>(word)) place.push_back(*value);
      if (place.size() != words->size() || place.size() != bounds_.size()) {
        fail(number_, "has a line that is not a place")
            .note(fmt::format("a line has one whole number, counted from 0, for each of the {} rank{} of `{}`",
                              bounds_.size(), base::plural(bounds_.size()), tensor_));
        return false;
      }
      if (!put(place)) return false;
    }
    return true;
  }

  bool matrix() {
    next();
    std::string header(line_);
    for (char& c : header)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto words = words_of(header, '\0').value_or(std::vector<std::string_view>{});
    const auto one_of = [&](std::size_t at, std::initializer_list<std::string_view> known) {
      return at < words.size() && std::find(known.begin(), known.end(), words[at]) != known.end();
    };
    if (words.size() != 5 || words[1] != "matrix" || words[2] != "coordinate" ||
        !one_of(3, {"real", "double", "integer", "complex", "pattern"}) ||
        !one_of(4, {"general", "symmetric", "skew-symmetric", "hermitian"})) {
      fail(1, "is not in Matrix Market's coordinates")
          .note(
              "its first line must be `%%MatrixMarket matrix coordinate FIELD SYMMETRY`: real, integer, complex or "
              "pattern; general, symmetric, skew-symmetric or hermitian");
      return false;
    }
    const std::size_t values = words[3] == "pattern" ? 0 : words[3] == "complex" ? 2 : 1;
    const bool mirrored = words[4] != "general";
    std::optional<std::vector<Count>> sizes;
    Count entries = 0;
    while (next()) {
      const auto parts = words_of(line_, '%');
      if (!parts) continue;
      if (!sizes) {
        sizes = counts(*parts);
        if (sizes->size() != 3 || parts->size() != 3) {
          fail(number_, "has no line of sizes").note("it is `rows columns entries`");
          return false;
        }
        if (bounds_.size() != 2 || (*sizes)[0] != bounds_[0] || (*sizes)[1] != bounds_[1]) {
          fail(number_, "has another shape")
              .note(fmt::format("the file has {} x {}, the tensor {}", (*sizes)[0], (*sizes)[1],
                                base::joined(bounds_, " x ")));
          return false;
        }
        continue;
      }
      const std::vector<Count> place =
          counts({parts->begin(), parts->begin() + std::min<std::ptrdiff_t>(2, std::ssize(*parts))});
      bool good = place.size() == 2 && parts->size() == 2 + values, zero = values > 0;
      for (std::size_t v = 2; good && v < parts->size(); ++v) {
        const auto value = number<double>((*parts)[v]);
        good = value.has_value();
        zero = zero && good && *value == 0;
      }
      if (!good) {
        fail(number_, "has a line that is not an entry")
            .note("an entry is its row and column, counted from 1, and its value");
        return false;
      }
      ++entries;
      if (zero) continue;
      const Count row = std::max<Count>(place[0], 0) - 1, column = std::max<Count>(place[1], 0) - 1;
      if (!put({row, column})) return false;
      if (mirrored && row != column && !put({column, row})) return false;
    }
    if (!sizes || entries != (*sizes)[2]) {
      fail(number_, "has another number of entries than it says")
          .note(fmt::format("{} of {}", entries, sizes ? (*sizes)[2] : 0));
      return false;
    }
    return true;
  }

  static std::vector<Count> counts(const std::vector<std::string_view>& words) {
    std::vector<Count> all;
    for (const std::string_view word : words)
      if (const auto value = number<Count>(word)) all.push_back(*value);
    return all;
  }

  bool all_differ() {
    const std::size_t ranks = bounds_.size();
    std::vector<std::size_t> order(lines_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto at = [&](std::size_t one) { return places_.begin() + static_cast<std::ptrdiff_t>(one * ranks); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const auto [x, y] = std::mismatch(at(a), at(a) + static_cast<std::ptrdiff_t>(ranks), at(b));
      return x != at(a) + static_cast<std::ptrdiff_t>(ranks) ? *x < *y : a < b;
    });
    for (std::size_t k = 1; k < order.size(); ++k)
      if (std::equal(at(order[k]), at(order[k]) + static_cast<std::ptrdiff_t>(ranks), at(order[k - 1]))) {
        line_ = {};
        fail(lines_[order[k]], "has a place twice").note(fmt::format("it is on line {}, too", lines_[order[k - 1]]));
        return false;
      }
    return true;
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  const std::string& tensor_;
  const std::vector<Count>& bounds_;
  base::Diagnostics& found_;
  std::string_view rest_, line_;
  int number_ = 0;
  std::vector<Count> places_;
  std::vector<int> lines_;  // of each place
};

}  // namespace

std::vector<Count> read_nonzeros(const std::shared_ptr<const base::SourceFile>& file, const std::string& tensor,
                                 const std::vector<Count>& bounds, base::Diagnostics& found) {
  return NonzeroFileReader(file, tensor, bounds, found).read();
}

}  // namespace orrery::formats::timeloop
