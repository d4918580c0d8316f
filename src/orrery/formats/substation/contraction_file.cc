#include "orrery/formats/substation/contraction_file.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/substation/decimal_time.h"

namespace orrery::formats::substation {
namespace {

using tuning::Measured;

// Columns of files, in the order in which Substation writes them; after the layouts they make the call.
constexpr std::array kColumns{"A",        "B",        "C",        "optype", "trans_a", "trans_b",
                              "M",        "N",        "K",        "lda",    "ldb",     "ldc",
                              "stride_a", "stride_b", "stride_c", "batch",  "Time",    "Implementation"};
constexpr std::size_t kFirstOfCall = 3, kCall = 13;
enum Column : std::size_t {
  kOptype = 3,
  kTransA = 4,
  kTransB = 5,
  kM = 6,
  kN = 7,
  kK = 8,
  kBatch = 15,
  kTime = 16,
  kImplementation = 17
};

// A whole number, which pandas writes with a point where a column had gaps. 0 for a gap.
bool whole(std::string_view text, base::Count& value) {
  value = 0;
  if (text.empty()) return true;
  const std::optional<double> number = base::parse_number<double>(text);
  const auto count = number ? base::whole_number(*number) : std::nullopt;
  if (!count || static_cast<double>(*count) != *number || *count < 0) return false;
  value = *count;
  return true;
}

class Reader {
 public:
  Reader(Source& source, const Expected& expected, SizesSeen& sizes, Measured& table, base::Diagnostics& found)
      : source_(source), expected_(expected), sizes_(sizes), table_(table), found_(found), known_(3) {
    for (const Expected::Layout& one : expected.layouts)
      for (const char c : one.dims)
        if (letters_.find(c) == std::string::npos) letters_ += c;
  }

  bool header(const std::vector<std::size_t>& needed) {
    if (!source_.next(line_)) return false;  // said by who reads the folder
    ++table_.lines;
    if (const std::string wrong = too_long(line_); !wrong.empty()) {
      error("O1711", wrong, line_.substr(0, 1));
      return false;
    }
    base::split(line_, ',', cells_);
    at_.assign(kColumns.size(), kAbsent);
    bool good = true;
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto known = std::find(kColumns.begin(), kColumns.end(), cells_[i]);
      if (known == kColumns.end()) {
        std::vector<std::string> names(kColumns.begin(), kColumns.end());
        if (auto* told =
                error("O1711", fmt::format("a file of a contraction has no column `{}`", shown(cells_[i])), cells_[i]))
          told->hint(
              base::did_you_mean(std::string(cells_[i]), names, fmt::format("it has {}", base::joined(names, ", "))));
        good = false;
      } else if (std::size_t& place = at_[static_cast<std::size_t>(known - kColumns.begin())]; place != kAbsent) {
        error("O1711", fmt::format("column `{}` stands twice", shown(cells_[i])), cells_[i]);
        good = false;
      } else {
        place = i;
      }
    }
    std::vector<std::string> missing;
    for (const std::size_t column : needed)
      if (at_[column] == kAbsent) missing.emplace_back(kColumns[column]);
    if (!missing.empty()) {
      if (auto* told = error("O1711", fmt::format("the header lacks {}", base::joined(missing, ", ")), line_))
        told->note(fmt::format("this is read as a contraction's file, whose first line names its columns: {}",
                               base::joined(kColumns, ",")));
      good = false;
    }
    width_ = cells_.size();
    return good;
  }

  // The next row with as many cells as the header; `short_rows`: cells at the end may be left out.
  bool row(bool short_rows) {
    while (source_.next(line_)) {
      ++table_.lines;
      if (const std::string wrong = too_long(line_); !wrong.empty()) {
        error("O1711", wrong, line_.substr(0, 1));
        continue;
      }
      base::split(line_, ',', cells_);
      if (cells_.size() == width_ || (short_rows && cells_.size() < width_)) {
        cells_.resize(width_);
        return true;
      }
      error("O1711", fmt::format("the row has {} cells, the header {}", cells_.size(), width_), line_);
    }
    return false;
  }

  std::string_view cell(std::size_t column) const {
    return at_[column] == kAbsent ? std::string_view() : cells_[at_[column]];
  }

  // The numbers of A, B and C; false where one is wrong, or the row is none that counts.
  bool layouts(std::array<std::uint16_t, 3>& numbers) {
    bool counts = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string_view text = cell(i);
      const auto match =
          std::find_if(known_[i].begin(), known_[i].end(), [&](const auto& k) { return k.first == text; });
      if (match != known_[i].end()) {
        numbers[i] = match->second;
      } else {
        const Expected::Layout& wanted = *expected_.layout(std::string(1, static_cast<char>('a' + i)));
        const std::string wrong = layout_mistake(text, wanted);
        if (!wrong.empty()) {
          error("O1712", wrong, text);
          return false;
        }
        numbers[i] = column(i).number(dimensions(text));
        known_[i].emplace_back(std::string(text), numbers[i]);
      }
      const std::string& layout = column(i).values[numbers[i]];
      counts = counts && !(expected_.stacked && layout.find('q') != std::string::npos && layout[0] != 'q');
    }
    if (!counts) ++table_.dropped;
    return counts;
  }

  // M N K batch must be what the layouts' dimensions make.
  bool product() {
    base::Count all = 1;
    for (const std::size_t column : {kM, kN, kK, kBatch}) {
      base::Count size = 0;
      if (!whole(cell(column), size) || __builtin_mul_overflow(all, size > 0 || column != kBatch ? size : 1, &all)) {
        error("O1711", fmt::format("`{}` is not a size {}", shown(cell(column)), kColumns[column]), cell(column));
        return false;
      }
    }
    if (all > 0 && products_.insert(all).second && products_.size() <= 8)
      sizes_.see_product(letters_, all, source_.place(line_, cell(kM)));
    return true;
  }

  void add(const std::array<std::uint16_t, 3>& layouts, std::uint16_t implementation, base::Count time) {
    for (const Expected::Layout& one : expected_.layouts)
      table_.layouts.push_back(layouts[static_cast<std::size_t>(one.column[0] - 'a')]);
    table_.chosen.push_back(implementation);
    table_.times.push_back(time);
  }
  std::uint16_t implementation(std::string_view name) { return table_.specials[0].number(name); }

  base::Diagnostic* error(const char* code, std::string message, std::string_view part) {
    if (!source_.tell()) return nullptr;
    return &found_.error(code, std::move(message), source_.place(line_, part));
  }
  // What a call is: its columns, gaps as pandas fills them.
  std::string call() const {
    std::string out;
    for (std::size_t column = kFirstOfCall; column < kFirstOfCall + kCall; ++column)
      out += canonical(column, cell(column)) + ",";
    return out;
  }
  static std::string canonical(std::size_t column, std::string_view text) {
    base::Count value = 0;
    if (column >= kM && whole(text, value)) return fmt::format("{}", column == kBatch && value == 0 ? 1 : value);
    return std::string(text);
  }

 private:
  static constexpr std::size_t kAbsent = ~std::size_t{0};
  tuning::Named& column(std::size_t i) {
    for (tuning::Named& one : table_.columns)
      if (one.name[0] == static_cast<char>('a' + i)) return one;
    return table_.columns[i];
  }

  Source& source_;
  const Expected& expected_;
  SizesSeen& sizes_;
  Measured& table_;
  base::Diagnostics& found_;
  std::string_view line_;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> at_;
  std::size_t width_ = 0;
  std::vector<std::vector<std::pair<std::string, std::uint16_t>>> known_;
  std::set<base::Count> products_;
  std::string letters_;
};

// Where a line of raw times has a column of the call: behind the title, and sizes before transpositions.
std::size_t in_ranks(std::size_t column) {
  if (column == kTransA || column == kTransB) return column + 1;
  if (column == kM || column == kN || column == kK) return column - 4;
  return column - 2;
}

// "tc3" of "gemmtc3": the program's name without what all have.
std::string_view implementation_of(std::string_view title) {
  const std::size_t slash = title.rfind('/');
  if (slash != std::string_view::npos) title.remove_prefix(slash + 1);
  if (title.starts_with("gemm")) title.remove_prefix(4);
  return title;
}

// Of an even number the mean of the two in the middle, half a femtosecond upwards.
base::Count median(std::vector<base::Count>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  if (times.size() % 2 == 1) return *middle;
  const base::Count below = *std::max_element(times.begin(), middle);
  return below + (*middle - below + 1) / 2;
}

}  // namespace

void read_result(Source& source, const Expected& expected, SizesSeen& sizes, Measured& table,
                 base::Diagnostics& found) {
  Reader reader(source, expected, sizes, table, found);
  if (reader.header({0, 1, 2, kTime, kImplementation})) {
    std::array<std::uint16_t, 3> layouts{};
    while (reader.row(false)) {
      if (reader.cell(kImplementation).empty()) {
        reader.error("O1711", "the row names no implementation", reader.cell(kImplementation));
        continue;
      }
      const DecimalTime time = decimal_time(reader.cell(kTime), 12);
      if (!time.wrong.empty()) {
        reader.error("O1714", fmt::format("the time `{}` {}", shown(reader.cell(kTime)), time.wrong),
                     reader.cell(kTime));
        continue;
      }
      const bool sized = reader.product();
      if (reader.layouts(layouts) && sized)
        reader.add(layouts, reader.implementation(reader.cell(kImplementation)), time.femtoseconds);
    }
  }
  source.close(found);
}

void read_ranks(Source& layouts, std::vector<std::unique_ptr<Source>>& ranks, const Expected& expected,
                SizesSeen& sizes, Measured& table, base::Diagnostics& found) {
  Reader reader(layouts, expected, sizes, table, found);
  std::unordered_map<std::string, std::vector<std::array<std::uint16_t, 3>>> calls;
  if (reader.header({0, 1, 2, kOptype, kM, kN, kK})) {
    std::array<std::uint16_t, 3> triple{};
    while (reader.row(true))
      if (reader.product()) {
        auto& of_call = calls[reader.call()];  // also those whose layouts are no candidates: they were measured
        if (reader.layouts(triple)) of_call.push_back(triple);
      }
  }
  layouts.close(found);
  std::string_view line;
  std::vector<std::string_view> cells;
  std::vector<base::Count> times;
  for (const std::unique_ptr<Source>& rank : ranks) {
    while (rank->next(line)) {
      ++table.lines;
      const auto wrong = [&](const char* code, std::string message, std::string_view part) {
        if (rank->tell()) found.error(code, std::move(message), rank->place(line, part));
      };
      if (std::string long_line = too_long(line); !long_line.empty()) {
        wrong("O1711", std::move(long_line), line.substr(0, 1));
        continue;
      }
      base::split(line, ',', cells);
      while (!cells.empty() && cells.back().empty()) cells.pop_back();
      if (cells.size() <= kCall + 1) {
        wrong("O1711",
              fmt::format("a call has {} cells before its times, this line {} in all", kCall + 1, cells.size()), line);
        continue;
      }
      std::string call;
      for (std::size_t column = kFirstOfCall; column < kFirstOfCall + kCall; ++column)
        call += Reader::canonical(column, cells[in_ranks(column)]) + ",";
      const auto known = calls.find(call);
      if (known == calls.end()) {
        wrong("O1722", fmt::format("`{}` has no layout with this call", layouts.name()), cells[1]);
        continue;
      }
      times.clear();
      bool good = true;
      for (std::size_t i = kCall + 1; i < cells.size() && good; ++i) {
        const DecimalTime time = decimal_time(cells[i], 12);
        good = time.wrong.empty();
        if (!good) wrong("O1714", fmt::format("the time `{}` {}", shown(cells[i]), time.wrong), cells[i]);
        times.push_back(time.femtoseconds);
      }
      if (!good) continue;
      const base::Count time = median(times);
      const std::uint16_t implementation = reader.implementation(implementation_of(cells[0]));
      for (const auto& triple : known->second) reader.add(triple, implementation, time);
    }
    rank->close(found);
  }
}

}  // namespace orrery::formats::substation
