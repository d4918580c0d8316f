// Text is read in pieces that end with a line, some of them at a time; threads take a piece each, and what they make of
// it is written in order. Cells are set through the fields of one plan that a thread keeps, so a row costs no
// allocation but its output's. Cost: a microsecond to evaluate and as much to read and write.
#include "orrery/scenario/plan_rows.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/base/file_pieces.h"
#include "orrery/base/parallel.h"
#include "orrery/cluster/evaluate.h"
#include "orrery/cluster/fields.h"
#include "orrery/cluster/knobs.h"
#include "orrery/cluster/names.h"
#include "orrery/formats/json/document.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/scenario/host_room.h"
#include "orrery/scenario/row_setting.h"
#include "orrery/scenario/rows_that_lack.h"

namespace orrery::scenario {
namespace {

using base::Count;

constexpr std::size_t kPiece = std::size_t{1} << 20;  // bytes of text that a thread takes at once
constexpr std::size_t kMostLine = std::size_t{1} << 16;
constexpr std::size_t kMostTold = 20;  // bad rows that are told one by one

constexpr std::string_view kFigures[] = {"iteration_s", "memory_bytes", "fits", "mfu", "tokens_per_s"};

std::vector<std::string> field_paths() {
  cluster::Plan plan;
  std::vector<std::string> paths;
  for (const base::Field& field : cluster::fields(plan)) paths.push_back(field.path);
  return paths;
}

bool is_knob(std::string_view column) {
  return column == "gpus" || std::any_of(cluster::kKnobs.begin(), cluster::kKnobs.end(),
                                         [&](cluster::Knob knob) { return column == name(knob); });
}

bool written_by_us(std::string_view column) {
  return column == "row" || column == "error" ||
         std::find(std::begin(kFigures), std::end(kFigures), column) != std::end(kFigures);
}

// A line and where it stands.
struct Line {
  std::uint64_t number = 0;
  std::string_view text;
};

struct Problem {
  std::uint64_t line = 0;
  base::Diagnostic what;
};

// The line in a file of its own, at its number: the rest of the file is not kept.
base::Location place_in(const std::string& name, const Line& line, int column = 1, int length = 1) {
  constexpr std::uint64_t kMostLines = 1'000'000;
  const bool padded = line.number <= kMostLines;
  auto file = std::make_shared<base::SourceFile>();
  file->name = padded ? name : fmt::format("{} line {}", name, line.number);
  if (padded) file->text.assign(static_cast<std::size_t>(line.number) - 1, '\n');
  file->text += line.text;
  return {std::move(file), padded ? static_cast<int>(line.number) : 1, column, std::max(1, length)};
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The cells of a line; quotes around one are taken off.
void split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (std::size_t at = 0;;) {
    std::size_t end = line.find(',', at);
    if (at < line.size() && line[at] == '"') {
      const std::size_t closing = line.find('"', at + 1);
      if (closing != std::string_view::npos) {
        cells.push_back(line.substr(at + 1, closing - at - 1));
        end = line.find(',', closing);
        if (end == std::string_view::npos) return;
        at = end + 1;
        continue;
      }
    }
    cells.push_back(trimmed(line.substr(at, end == std::string_view::npos ? end : end - at)));
    if (end == std::string_view::npos) return;
    at = end + 1;
  }
}

// Reads and evaluates rows; one for each thread's piece.
class Rows {
 public:
  Rows(const RowSetting& setting, const std::string& name, const std::vector<std::string>& columns, bool json_out)
      : setting_(setting), name_(name), json_out_(json_out), fields_(cluster::fields(plan_)) {
    for (const std::string& column : columns) {
      columns_.push_back(base::find_field(fields_, column));
      if (columns_.back() != nullptr && !is_knob(column)) besides_.push_back(columns_.back());
    }
  }

  // `of_json`: the line is an object.
  void take(const Line& line, bool of_json) {
    plan_ = setting_.plan;
    set_.clear();
    found_ = {};
    read(line, of_json);
    if (plan_.zero == 3 && setting_.plan.zero != 3 && setting_.of_zero_3) {
      // As `train --zero 3` does: other software, then what the row says.
      plan_ = setting_.plan;
      formats::orrery::take_stack(*setting_.of_zero_3, plan_);
      set_.clear();
      found_ = {};
      read(line, of_json);
    }
    if (!found_.has_errors()) settle(line);
    if (!found_.has_errors() && !cluster::possible(setting_.model, setting_.system, plan_))
      cluster::check(setting_.model, setting_.system, plan_, found_);
    check_hosts(setting_.model, setting_.system, plan_, found_);
    ++rows;
    if (found_.has_errors()) {
      refuse(line);
      return;
    }
    if (const cluster::Abilities missing = cluster::needed(setting_.model, plan_, plan_.stack.lacks); missing != 0)
      lacking.add(plan_.stack.name, missing, line.number);
    const cluster::Iteration iteration = cluster::evaluate(setting_.model, setting_.system, plan_, setting_.operators);
    if (json_out_)
      append_json(line.number, iteration);
    else
      append_csv_row(line.number, plan_, iteration, out, besides());
  }

  std::string out;
  std::vector<Problem> problems;
  std::uint64_t rows = 0, bad = 0;
  RowsThatLack lacking;

 private:
  bool sets(const char* path) const {
    return setting_.set.count(path) > 0 ||
           std::any_of(set_.begin(), set_.end(), [&](const base::Field* field) { return field->path == path; });
  }

  // Cells of columns that are no choices of a search.
  std::string besides() const {
    std::string cells;
    for (const base::Field* field : besides_)
      std::visit([&](const auto& value) { fmt::format_to(std::back_inserter(cells), ",{}", value); }, field->get());
    return cells;
  }

  void read(const Line& line, bool of_json) {
    if (of_json)
      read_json(line);
    else
      read_cells(line);
  }

  void read_cells(const Line& line) {
    split(line.text, cells_);
    if (cells_.size() != columns_.size()) {
      found_
          .error("O1946",
                 fmt::format("the row has {} cell{}, the header {}", cells_.size(), cells_.size() == 1 ? "" : "s",
                             columns_.size()),
                 place(line))
          .hint(cells_.size() > columns_.size() ? "a cell that holds a comma stands in quotes"
                                                : "a cell may be empty, but its comma must be there");
      return;
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (columns_[i] == nullptr || cells_[i].empty()) continue;
      text_.assign(cells_[i]);
      if (columns_[i]->set(text_)) {
        set_.push_back(columns_[i]);
        continue;
      }
      const auto column = static_cast<int>(cells_[i].data() - line.text.data()) + 1;
      refuse_value(*columns_[i], place(line, column, static_cast<int>(text_.size())));
    }
  }

  void refuse_value(const base::Field& field, base::Location where) {
    found_.error("O1946", fmt::format("`{}` cannot be `{}`", field.path, text_), std::move(where))
        .label("it is " + field.values);
  }

  // A file as long as all lines before this one is made for problems that will be told, never for a line that is well.
  void read_json(const Line& line) {
    const cluster::Plan before = plan_;
    read_object(line, place_in(name_, {1, line.text}).file);
    if (!found_.has_errors() || problems.size() >= kMostTold) return;
    plan_ = before;
    set_.clear();
    found_ = {};
    read_object(line, place(line).file);
  }

  base::Location place(const Line& line, int column = 1, int length = 1) const {
    return place_in(name_, {problems.size() < kMostTold ? line.number : 1, line.text}, column, length);
  }

  void read_object(const Line& line, const std::shared_ptr<const base::SourceFile>& file) {
    formats::json::Node document;
    try {
      document = formats::json::parse(file, "O1946");
    } catch (const base::InputError& error) {
      for (const base::Diagnostic& each : error.diagnostics) found_.error(each.code, each.message, each.primary.where);
      return;
    }
    if (!document.is_object()) {
      found_.error("O1946", "the line is no object of a plan's fields", place(line));
      return;
    }
    for (const formats::json::Member& member : document.members) read_member(member.key, member);
  }

  void read_member(const std::string& path, const formats::json::Member& member) {
    if (member.value.is_object()) {
      for (const formats::json::Member& inner : member.value.members) read_member(path + "." + inner.key, inner);
      return;
    }
    if (written_by_us(path) || path == "microbatches") return;
    const base::Field* field = base::find_field(fields_, path);
    if (field == nullptr) {
      found_.error("O1946", fmt::format("a plan has no field `{}`", path), member.key_where)
          .hint(base::did_you_mean(path, field_paths()));
      return;
    }
    if (std::find(set_.begin(), set_.end(), field) != set_.end()) {
      found_.error("O1946", fmt::format("`{}` stands twice", path), member.key_where)
          .hint("one value counts: give one");
      return;
    }
    using Kind = formats::json::Node::Kind;
    const bool truth = member.value.kind == Kind::kTruth;
    text_ = truth ? (member.value.truth ? "true" : "false") : member.value.text;
    if (field->set(text_))
      set_.push_back(field);
    else
      refuse_value(*field, member.value.where);
  }

  // What follows from the rest.
  void settle(const Line& line) {
    if (!sets("interleave") && asked_interleaved(line)) plan_.interleave = 2;
    const double fixed = 1.0 * plan_.tp * plan_.pp * plan_.cp;
    if (!sets("gpus")) {
      const double all = fixed * plan_.dp;
      if (all <= cluster::kMostInPlan) plan_.gpus = static_cast<Count>(all);
    } else if (!sets("dp") && fixed <= static_cast<double>(plan_.gpus)) {
      plan_.dp = plan_.gpus / static_cast<Count>(fixed);
    }
  }

  bool asked_interleaved(const Line& line) const {
    return line.text.find("interleaved") != std::string_view::npos && plan_.schedule == cluster::Schedule::kOneFOneB;
  }

  void refuse(const Line& line) {
    ++bad;
    const base::Diagnostic& first = found_.all().front();
    if (json_out_) {
      fmt::format_to(std::back_inserter(out), "{{\"row\": {}, \"error\": {}}}\n", line.number,
                     quoted(first.code + ": " + first.message));
    } else {
      fmt::format_to(std::back_inserter(out), "{}{},\"{}: {}\"\n", line.number,
                     std::string(1 + cluster::kKnobs.size() + besides_.size() + std::size(kFigures), ','), first.code,
                     doubled(first.message));
    }
    for (base::Diagnostic each : found_.all()) {
      if (problems.size() >= kMostTold) return;
      if (!each.primary.where.known()) each.primary.where = place_in(name_, line);
      problems.push_back({line.number, std::move(each)});
    }
  }

  static std::string doubled(std::string text) {
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) text.insert(at, 1, '"');
    return text;
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + "\"";
  }

  void append_json(std::uint64_t number, const cluster::Iteration& i) {
    auto at = std::back_inserter(out);
    fmt::format_to(at, "{{\"row\": {}", number);
    for (const base::Field& field : fields_) {
      const base::FieldValue value = field.get();
      if (const auto* whole = std::get_if<Count>(&value)) fmt::format_to(at, ", \"{}\": {}", field.path, *whole);
      if (const auto* real = std::get_if<double>(&value)) fmt::format_to(at, ", \"{}\": {}", field.path, *real);
      if (const auto* truth = std::get_if<bool>(&value)) fmt::format_to(at, ", \"{}\": {}", field.path, *truth);
      if (const auto* name = std::get_if<std::string>(&value))
        fmt::format_to(at, ", \"{}\": \"{}\"", field.path, *name);
    }
    fmt::format_to(at,
                   ", \"iteration_s\": {}, \"memory_bytes\": {}, \"fits\": {}, \"mfu\": {}, \"tokens_per_s\": {}}}\n",
                   i.iteration_s, i.memory.total(), i.fits, i.done.mfu, i.tokens_per_s);
  }

  const RowSetting& setting_;
  const std::string& name_;
  bool json_out_;
  cluster::Plan plan_;
  base::Fields fields_;  // of plan_
  std::vector<const base::Field*> columns_, besides_;
  std::vector<const base::Field*> set_;
  std::vector<std::string_view> cells_;
  std::string text_;
  base::Diagnostics found_;
};

// Whole lines of the input, about kPiece at a time.
class Pieces {
 public:
  explicit Pieces(const PlanRowsInput& input) : name_(input.name), file_(input.path) {}

  struct Piece {
    std::uint64_t first_line = 1;
    std::string text;
  };

  bool next(Piece& piece) {
    piece.first_line = line_;
    piece.text = std::move(rest_);
    rest_.clear();
    bool ended = false;
    while (piece.text.size() < kPiece && !ended) {
      if (read_.empty()) read_ = file_.next();  // as much as the file gives at once
      const std::size_t taken = std::min(read_.size(), kPiece);
      piece.text += read_.substr(0, taken);
      read_.remove_prefix(taken);
      ended = taken == 0;
    }
    if (!ended) {
      const std::size_t end = piece.text.rfind('\n');
      const std::size_t kept = end == std::string::npos ? 0 : end + 1;
      if (piece.text.size() - kept > kMostLine)
        base::fail("O1946", fmt::format("line {} of `{}` has more than {} characters", line_, name_, kMostLine), {},
                   "is it a file of plans, one a line?");
      rest_ = piece.text.substr(kept);
      piece.text.resize(kept);
    }
    line_ += static_cast<std::uint64_t>(std::count(piece.text.begin(), piece.text.end(), '\n'));
    return !piece.text.empty();
  }

 private:
  const std::string& name_;
  base::FilePieces file_;
  std::string_view read_;  // of the file's last piece, what is still to be taken
  std::string rest_;
  std::uint64_t line_ = 1;
};

// Calls `each` with every line that is neither empty nor a remark.
template <typename Each>
void lines_of(const Pieces::Piece& piece, const Each& each) {
  std::uint64_t number = piece.first_line;
  for (std::size_t at = 0; at < piece.text.size(); ++number) {
    std::size_t end = piece.text.find('\n', at);
    if (end == std::string::npos) end = piece.text.size();
    std::string_view text(piece.text.data() + at, end - at);
    if (number == 1 && text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    if (const std::string_view own = trimmed(text); !own.empty() && own.front() != '#') each(Line{number, own});
    at = end + 1;
  }
}

std::vector<std::string> columns_of(const std::string& name, const Line& header) {
  std::vector<std::string_view> cells;
  split(header.text, cells);
  const std::vector<std::string> known = field_paths();
  base::Diagnostics found;
  std::vector<std::string> columns;
  for (const std::string_view cell : cells) {
    const std::string column(cell);
    const base::Location where =
        place_in(name, header, static_cast<int>(cell.data() - header.text.data()) + 1, static_cast<int>(cell.size()));
    if (std::find(columns.begin(), columns.end(), column) != columns.end() && !column.empty())
      found.error("O1947", fmt::format("the column `{}` stands twice", column), where);
    else if (!written_by_us(column) && std::find(known.begin(), known.end(), column) == known.end())
      found.error("O1947", fmt::format("a plan has no field `{}`", column), where)
          .hint(base::did_you_mean(column, known, "the first line names the fields of a plan: tp,pp,dp,micro_batch"));
    columns.push_back(column);
  }
  found.throw_if_errors();
  return columns;
}

std::vector<std::string> besides_in(const std::vector<std::string>& columns) {
  std::vector<std::string> besides;
  for (const std::string& column : columns)
    if (!column.empty() && !is_knob(column) && !written_by_us(column)) besides.push_back(column);
  return besides;
}

}  // namespace

std::string csv_header(const std::vector<std::string>& besides) {
  std::string out = "row,gpus";
  for (const cluster::Knob knob : cluster::kKnobs) out += fmt::format(",{}", name(knob));
  for (const std::string& path : besides) out += "," + path;
  for (const std::string_view figure : kFigures) out += fmt::format(",{}", figure);
  return out + ",error\n";
}

void append_csv_row(std::uint64_t row, const cluster::Plan& plan, const cluster::Iteration& i, std::string& out,
                    const std::string& besides) {
  auto at = std::back_inserter(out);
  fmt::format_to(at, "{},{}", row, plan.gpus);
  for (const cluster::Knob knob : cluster::kKnobs) {
    if (knob == cluster::Knob::kSchedule)
      fmt::format_to(at, ",{}", cluster::name_of(cluster::schedule_of(plan), cluster::schedules()));
    else if (knob == cluster::Knob::kRecompute)
      fmt::format_to(at, ",{}", cluster::name_of(plan.recompute, cluster::recomputations()));
    else if (knob == cluster::Knob::kSequenceParallel)
      fmt::format_to(at, ",{}", plan.sequence_parallel);
    else if (knob == cluster::Knob::kOrder)
      fmt::format_to(at, ",{}", cluster::name_of(plan.order, cluster::orders()));
    else if (knob == cluster::Knob::kOffloadActivations)
      fmt::format_to(at, ",{}", plan.offload_activations);
    else if (knob == cluster::Knob::kOffloadOptimizer)
      fmt::format_to(at, ",{}", plan.offload_optimizer);
    else
      fmt::format_to(at, ",{}", get(plan, knob));
  }
  fmt::format_to(at, "{},{},{},{},{},{},\n", besides, i.iteration_s, i.memory.total(), i.fits, i.done.mfu,
                 i.tokens_per_s);
}

EvaluatedRows evaluate_rows(const RowSetting& setting, const PlanRowsInput& input,
                            const std::function<void(const std::string&)>& write) {
  EvaluatedRows result;
  const cost::Budget budget(setting.limits);
  Pieces pieces(input);
  std::vector<std::string> columns;
  bool started = false, headed = false, of_json = false;
  std::vector<Problem> problems;
  RowsThatLack lacking;
  const std::size_t side_by_side = 4 * static_cast<std::size_t>(base::thread_count(setting.limits.threads));
  for (bool more = true; more && !result.ended_early;) {
    std::vector<Pieces::Piece> taken;
    while (taken.size() < side_by_side && more) {
      Pieces::Piece piece;
      more = pieces.next(piece);
      if (more) taken.push_back(std::move(piece));
    }
    std::uint64_t header_line = 0;
    if (!started && !taken.empty())
      lines_of(taken.front(), [&](const Line& line) {
        if (started) return;
        started = true;
        of_json = line.text.front() == '{';
        if (of_json) return;
        header_line = line.number;
        columns = columns_of(input.name, line);
      });
    if (started && !headed && !input.json) write(csv_header(besides_in(columns)));
    headed = started;
    std::deque<Rows> rows;  // which stay where they are: their fields are bound to their plans
    for (std::size_t i = 0; i < taken.size(); ++i) rows.emplace_back(setting, input.name, columns, input.json);
    base::parallel_for(taken.size(), setting.limits.threads, [&](std::size_t i) {
      cost::Ticker clock(budget);
      lines_of(taken[i], [&](const Line& line) {
        if (line.number != header_line && !clock.spent()) rows[i].take(line, of_json);
      });
    });
    for (Rows& each : rows) {
      write(each.out);
      result.rows += each.rows;
      result.bad += each.bad;
      lacking.take(each.lacking);
      for (Problem& problem : each.problems)
        if (problems.size() < kMostTold) problems.push_back(std::move(problem));
    }
    result.ended_early = budget.spent();
  }
  if (!started)
    base::fail("O1947", fmt::format("`{}` holds no plans", input.name), {},
               "the first line of a CSV names the fields of a plan: tp,pp,dp,micro_batch");
  for (Problem& problem : problems) result.problems.push_back(std::move(problem.what));
  base::Diagnostics told;
  if (result.rows == 0 && !result.ended_early)
    told.warning("O1947", fmt::format("`{}` holds no plan: a header and no row after it", input.name));
  lacking.tell(told);
  result.problems.insert(result.problems.end(), told.all().begin(), told.all().end());
  return result;
}

}  // namespace orrery::scenario
