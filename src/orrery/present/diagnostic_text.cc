#include "orrery/present/diagnostic_text.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/printable.h"
#include "orrery/base/text/text.h"
#include "orrery/present/alike.h"

namespace orrery::verbs {
namespace {

using base::Diagnostic;
using base::Label;
using base::Severity;

constexpr int kTabWidth = 4;
constexpr std::size_t kLongestLine = 240;  // a minified file must not flood the terminal

struct Paint {
  bool on;
  std::string operator()(const char* code, std::string_view text) const {
    return on ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
};

constexpr const char* kRed = "1;31";
constexpr const char* kYellow = "1;33";
constexpr const char* kCyan = "1;36";
constexpr const char* kBlue = "1;34";
constexpr const char* kBold = "1";

const char* severity_colour(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return kRed;
    case Severity::kWarning:
      return kYellow;
    case Severity::kNote:
      return kCyan;
  }
  return kRed;
}

using File = std::shared_ptr<const base::SourceFile>;

// Where each line begins. Found once as long as the file lives, since it may have a diagnostic a line.
const std::vector<std::size_t>& line_begins(const File& file) {
  thread_local std::map<std::weak_ptr<const base::SourceFile>, std::vector<std::size_t>, std::owner_less<>> known;
  if (const auto at = known.find(file); at != known.end()) return at->second;
  std::erase_if(known, [](const auto& one) { return one.first.expired(); });
  std::vector<std::size_t>& begins = known[file];
  begins.push_back(0);
  for (std::size_t end = 0; (end = file->text.find('\n', end)) != std::string::npos;) begins.push_back(++end);
  return begins;
}

std::string_view line_of(const File& file, int line) {
  const std::vector<std::size_t>& begins = line_begins(file);
  const std::size_t index = static_cast<std::size_t>(std::max(line, 1)) - 1;
  if (index >= begins.size()) return {};
  std::string_view rest = std::string_view(file->text).substr(begins[index]);
  rest = rest.substr(0, rest.find('\n'));
  if (!rest.empty() && rest.back() == '\r') rest.remove_suffix(1);
  return rest;
}

using base::is_printable;
using base::starts_character;

// A message on one line: it may quote what a file says.
std::string printable(std::string_view text) {
  return base::printable(text, true);
}

// The line as shown, and for each of its bytes the cell that its character stands in (one entry more than bytes).
// Locations count bytes, terminals cells.
struct ShownLine {
  std::string text;
  std::vector<int> cells;
};

ShownLine show(std::string_view line) {
  ShownLine shown;
  int cell = 0;
  for (std::size_t at = 0; at < line.size() && shown.text.size() < kLongestLine;) {
    std::size_t end = at + 1;
    while (end < line.size() && !starts_character(line[end])) ++end;
    shown.cells.insert(shown.cells.end(), end - at, cell);
    if (line[at] == '\t') {
      shown.text.append(kTabWidth, ' ');
      cell += kTabWidth;
    } else {
      const std::string_view character = line.substr(at, end - at);
      if (is_printable(character))
        shown.text += character;
      else
        shown.text += '?';
      ++cell;
    }
    at = end;
  }
  shown.cells.push_back(cell);
  return shown;
}

constexpr std::string_view kCut = "... ";

// Of a line that is too long to be shown, the bytes that are left out so that the place is seen, and some before it.
std::size_t cut_before(std::string_view line, const base::Location& where) {
  constexpr std::size_t kBefore = 80;
  const auto at = static_cast<std::size_t>(std::max(0, where.column - 1));
  const auto end = at + static_cast<std::size_t>(std::max(1, where.length));
  if (end <= kLongestLine || line.size() <= kLongestLine || at >= line.size()) return 0;
  std::size_t cut = at > kBefore ? at - kBefore : 0;
  while (cut > 0 && !starts_character(line[cut])) --cut;
  return cut;
}

// The column that an editor shows for a byte of a line: characters, from 1.
int character_column(std::string_view line, int column) {
  const std::string_view before = line.substr(0, static_cast<std::size_t>(std::max(0, column - 1)));
  const auto characters = std::count_if(before.begin(), before.end(), starts_character);
  return static_cast<int>(characters) + std::max(0, column - 1 - static_cast<int>(before.size())) + 1;
}

// `arrow` is "-->" for the first place of a message and ":::" for one in another file.
void add_place(std::string& out, const Label& label, std::size_t gutter, std::string_view arrow, char mark,
               const char* mark_colour, const Paint& paint) {
  const base::Location& where = label.where;
  const std::string bar = paint(kBlue, "|");
  out += std::string(gutter, ' ') + paint(kBlue, arrow) + " " + printable(where.file->name);
  const std::string_view line = line_of(where.file, where.line);
  if (where.line > 0) out += fmt::format(":{}:{}", where.line, shown_column(where));
  out += '\n';
  if (where.line <= 0) {
    if (!label.text.empty()) out += fmt::format("{} {} {}\n", std::string(gutter, ' '), bar, printable(label.text));
    return;
  }

  const std::size_t cut = cut_before(line, where);
  const std::string_view left = cut > 0 ? kCut : "";
  const ShownLine shown = show(line.substr(cut));
  const int bytes = static_cast<int>(shown.cells.size()) - 1;
  const int first = std::clamp(where.column - 1 - static_cast<int>(cut), 0, bytes);
  const int last = std::clamp(first + std::clamp(where.length, 1, bytes + 1), first, bytes);
  const int width = std::max(1, shown.cells[last] - shown.cells[first]);

  out += fmt::format("{} {}\n", std::string(gutter, ' '), bar);
  out += fmt::format("{} {} {}{}\n", paint(kBlue, fmt::format("{:>{}}", where.line, gutter)), bar, left, shown.text);
  out += fmt::format(
      "{} {} {}{}\n", std::string(gutter, ' '), bar, std::string(left.size() + shown.cells[first], ' '),
      paint(mark_colour, std::string(width, mark) + (label.text.empty() ? "" : " " + printable(label.text))));
}

}  // namespace

std::string printable_text(std::string_view text) {
  return base::printable(text, false);
}

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

int shown_column(const base::Location& where) {
  if (!where.known() || where.line <= 0) return 0;
  return character_column(line_of(where.file, where.line), where.column);
}

std::string diagnostic_text(const Diagnostic& diagnostic, const DiagnosticStyle& style) {
  const Paint paint{style.colour};
  const char* colour = severity_colour(diagnostic.severity);

  std::string head = severity_name(diagnostic.severity);
  if (!diagnostic.code.empty()) head += "[" + diagnostic.code + "]";
  std::string out = paint(colour, head) + paint(kBold, ": " + printable(diagnostic.message)) + "\n";

  int deepest = diagnostic.primary.where.line;
  for (const Label& label : diagnostic.secondary) deepest = std::max(deepest, label.where.line);
  const std::size_t gutter = std::max<std::size_t>(2, std::to_string(std::max(deepest, 0)).size());
  const std::string bar = paint(kBlue, "|");

  bool placed = false;
  if (diagnostic.primary.where.known()) {
    add_place(out, diagnostic.primary, gutter, "-->", '^', colour, paint);
    placed = true;
  }
  for (const Label& label : diagnostic.secondary) {
    if (!label.where.known()) continue;
    if (placed) out += fmt::format("{} {}\n", std::string(gutter, ' '), bar);
    add_place(out, label, gutter, placed ? ":::" : "-->", '-', kBlue, paint);
    placed = true;
  }
  if (placed) out += fmt::format("{} {}\n", std::string(gutter, ' '), bar);

  const auto remark = [&](std::string_view kind, std::string_view text) {
    out +=
        fmt::format("{} {} {}: {}\n", std::string(gutter, ' '), paint(kBlue, "="), paint(kBold, kind), printable(text));
  };
  if (!diagnostic.primary.where.known() && !diagnostic.primary.text.empty()) remark("note", diagnostic.primary.text);
  for (const std::string& note : diagnostic.notes) remark("note", note);
  for (const std::string& hint : diagnostic.hints) remark("help", hint);
  if (!diagnostic.code.empty()) remark("note", fmt::format("run `orrery explain {}`", diagnostic.code));
  return out;
}

std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, const DiagnosticStyle& style) {
  std::string warnings, errors;
  std::size_t shown = 0, left = 0;
  for (const Diagnostic& diagnostic : fold_alike(diagnostics)) {
    if (diagnostic.severity != Severity::kError) {
      if (!style.hide_warnings) warnings += diagnostic_text(diagnostic, style) + "\n";
    } else if (shown < style.most) {
      ++shown;
      errors += diagnostic_text(diagnostic, style) + "\n";
    } else {
      ++left;
    }
  }
  if (left > 0) errors += fmt::format("and {} more error{}\n", left, base::plural(left));
  return warnings + errors;
}

}  // namespace orrery::verbs
