// Cells are set through the fields of one plan that a thread keeps, and lines of JSON that hold plain values are read
// without a tree, so a row costs no allocation but its output's. What is not plain is read again by the full parser,
// which alone speaks of it. Cost: what evaluate() takes, and about as much to read, check and write.
#include "orrery/verbs/train/plans/plan_row.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/engines/cluster/model/evaluate.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/engines/cluster/model/names.h"
#include "orrery/engines/cluster/model/supported_features.h"
#include "orrery/formats/orrery/plan_fields.h"
#include "orrery/inputs/systems/host_room.h"
#include "orrery/verbs/train/plans/plan_row_format.h"

namespace orrery::verbs {
namespace {

using base::Count;

// Reads what an object of plain values consists of.
class Plain {
 public:
  explicit Plain(std::string_view text) : text_(text) {}

  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // A text without escapes.
  bool quoted(std::string_view& out) {
    if (!take('"')) return false;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20 && static_cast<unsigned char>(text_[at_]) < 0x80)
      ++at_;
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    out = text_.substr(begin, at_++ - begin);
    return true;
  }
  // That, or a whole or decimal number without sign and exponent, or a truth.
  bool value(std::string_view& out) {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') return quoted(out);
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.' || is_letter(text_[at_]))) ++at_;
    out = text_.substr(begin, at_ - begin);
    return out == "true" || out == "false" || is_number(out);
  }
  bool ended() {
    skip();
    return at_ == text_.size();
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  static bool is_number(std::string_view word) {
    const std::size_t point = std::min(word.find('.'), word.size());
    const std::string_view whole = word.substr(0, point);
    const std::string_view part = point < word.size() ? word.substr(point + 1) : std::string_view("0");
    const auto digits = [](std::string_view all) {
      return !all.empty() && all.size() < 16 && std::all_of(all.begin(), all.end(), is_digit);
    };
    return digits(whole) && digits(part) && (whole.size() == 1 || whole[0] != '0');
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

PlanRows::PlanRows(const RowSetting& setting, const std::string& name, const std::vector<std::string>& columns,
                   bool json_out)
    : setting_(setting), name_(name), json_out_(json_out), fields_(cluster::fields(plan_)) {
  for (const std::string& column : columns) {
    columns_.push_back(base::find_field(fields_, column));
    if (columns_.back() != nullptr && !is_choice(column)) besides_.push_back(columns_.back());
  }
  const auto own = [&](const char* path) { return Own{base::find_field(fields_, path), setting.set.count(path) > 0}; };
  gpus_ = own("gpus"), dp_ = own("dp"), interleave_ = own("interleave");
  schedule_ = base::find_field(fields_, "schedule");
  for (const base::Field& field : fields_) choices_.push_back(is_choice(field.path) ? 1 : 0);
}

void PlanRows::take(const Line& line, bool of_json) {
  begin(nullptr);
  read(line, of_json);
  if (plan_.zero == 3 && setting_.plan.zero != 3 && setting_.of_zero_3) {
    // As `train --zero 3` does: other software, then what the row says.
    begin(&*setting_.of_zero_3);
    read(line, of_json);
  }
  if (!found_.has_errors()) settle();
  if (!found_.has_errors() && !cluster::possible(setting_.model, setting_.system, plan_))
    cluster::check(setting_.model, setting_.system, plan_, found_);
  check_hosts(setting_.model, setting_.system, plan_, found_);
  ++rows;
  if (found_.has_errors()) {
    refuse(line);
    return;
  }
  if (const cluster::Features missing = cluster::needed(setting_.model, plan_, plan_.stack.lacks); missing != 0)
    lacking.add(plan_.stack.name, missing, line.number);
  const cluster::Iteration iteration = cluster::evaluate(setting_.model, setting_.system, plan_, setting_.operators);
  if (json_out_)
    append_json(line.number, iteration);
  else
    append_csv_row(line.number, plan_, iteration, out, besides_);
}

void PlanRows::begin_piece() {
  out.clear();
  problems.clear();
  rows = bad = 0;
  lacking = {};
}

bool PlanRows::sets(const Own& own) const {
  return own.given || std::find(set_.begin(), set_.end(), own.field) != set_.end();
}

// A new row, of that software where it is another one.
void PlanRows::begin(const cluster::Stack* stack) {
  plan_ = setting_.plan;
  other_stack_ = stack != nullptr;
  if (stack != nullptr) formats::orrery::take_stack(*stack, plan_);
  set_.clear();
  named_interleaved_ = false;
  usual_ = true;
  if (!found_.all().empty()) found_ = {};
}

// What text_ says. False: it is no value of the field.
bool PlanRows::take_value(const base::Field* field) {
  if (!field->set(text_)) return false;
  set_.push_back(field);
  if (field == schedule_) named_interleaved_ = text_ == "interleaved";
  usual_ = usual_ && choices_[static_cast<std::size_t>(field - fields_.data())] != 0;
  return true;
}

// The field of that name, which the line before may have had in the same place.
const base::Field* PlanRows::keyed(std::size_t place, std::string_view key) {
  if (place < keys_.size() && keys_[place].first == key) return keys_[place].second;
  keys_.resize(std::min(keys_.size(), place));
  const base::Field* field = base::find_field(fields_, key);
  if (place == keys_.size()) keys_.emplace_back(key, field);
  return field;
}

void PlanRows::read(const Line& line, bool of_json) {
  if (!of_json) return read_cells(line);
  if (!read_plain_object(line.text)) read_json(line);
}

void PlanRows::read_cells(const Line& line) {
  split_cells(line.text, cells_);
  if (cells_.size() != columns_.size()) {
    found_
        .error("O1946",
               fmt::format("the row has {} cell{}, the header {}", cells_.size(), base::plural(cells_.size()),
                           columns_.size()),
               place(line))
        .hint(cells_.size() > columns_.size() ? "a cell that holds a comma stands in quotes"
                                              : "a cell may be empty, but its comma must be there");
    return;
  }
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (columns_[i] == nullptr || cells_[i].empty()) continue;
    text_.assign(cells_[i]);
    if (take_value(columns_[i])) continue;
    const auto column = static_cast<int>(cells_[i].data() - line.text.data()) + 1;
    refuse_value(*columns_[i], place(line, column, static_cast<int>(text_.size())));
  }
}

// False: something is not plain, or not right.
bool PlanRows::read_plain_object(std::string_view text) {
  Plain object(text);
  std::string_view key, value;
  std::size_t place = 0;
  if (!object.take('{')) return false;
  do {
    if (!object.quoted(key) || !object.take(':') || !object.value(value)) return false;
    const base::Field* field = keyed(place++, key);
    if (field == nullptr && is_written(key)) continue;
    if (field == nullptr || std::find(set_.begin(), set_.end(), field) != set_.end()) return false;
    text_.assign(value);
    if (!take_value(field)) return false;
  } while (object.take(','));
  return object.take('}') && object.ended();
}

// A file as long as all lines before this one is made for problems that will be told, never for a line that is well.
void PlanRows::read_json(const Line& line) {
  const cluster::Stack* stack = other_stack_ ? &*setting_.of_zero_3 : nullptr;
  begin(stack);
  read_object(line, place_in(name_, {1, line.text}).file);
  if (!found_.has_errors() || problems.size() >= kMostTold) return;
  begin(stack);
  read_object(line, place(line).file);
}

base::Location PlanRows::place(const Line& line, int column, int length) const {
  return place_in(name_, {problems.size() < kMostTold ? line.number : 1, line.text}, column, length);
}

void PlanRows::read_object(const Line& line, const std::shared_ptr<const base::SourceFile>& file) {
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

void PlanRows::read_member(const std::string& path, const formats::json::Member& member) {
  if (member.value.is_object()) {
    for (const formats::json::Member& inner : member.value.members) read_member(path + "." + inner.key, inner);
    return;
  }
  if (is_written(path) || path == "microbatches") return;
  const base::Field* field = base::find_field(fields_, path);
  if (field == nullptr) {
    std::vector<std::string> known;
    for (const base::Field& each : fields_) known.push_back(each.path);
    found_.error("O1946", fmt::format("a plan has no field `{}`", path), member.key_where)
        .hint(base::did_you_mean(path, known));
    return;
  }
  if (std::find(set_.begin(), set_.end(), field) != set_.end()) {
    found_.error("O1946", fmt::format("`{}` stands twice", path), member.key_where).hint("one value counts: give one");
    return;
  }
  using Kind = formats::json::Node::Kind;
  const bool truth = member.value.kind == Kind::kTruth;
  text_ = member.value.is_null() ? "null" : truth ? (member.value.truth ? "true" : "false") : member.value.text;
  if (member.value.kind == Kind::kNumber) write_whole(text_);
  if (!take_value(field)) refuse_value(*field, member.value.where);
}

// JSON has one kind of number, so 8.0 and 8e0 are 8. What is no whole number, or none that a double holds exactly, is
// left as it is.
void PlanRows::write_whole(std::string& number) {
  if (number.find_first_of(".eE") == std::string::npos) return;
  const auto value = base::parse_number<double>(number, -1e15, 1e15);
  if (value && *value == std::trunc(*value)) number = fmt::format("{:.0f}", *value);
}

void PlanRows::refuse_value(const base::Field& field, base::Location where) {
  found_.error("O1946", fmt::format("`{}` cannot be `{}`", field.path, text_), std::move(where))
      .label("it is " + field.values);
}

// What follows from the rest.
void PlanRows::settle() {
  if (named_interleaved_ && !sets(interleave_)) plan_.interleave = 2;
  const double fixed = 1.0 * plan_.tp * plan_.pp * plan_.cp;
  if (!sets(gpus_)) {
    const double all = fixed * plan_.dp;
    if (all <= cluster::kMostInPlan) plan_.gpus = static_cast<Count>(all);
  } else if (!sets(dp_) && fixed <= static_cast<double>(plan_.gpus)) {
    plan_.dp = plan_.gpus / static_cast<Count>(fixed);
  }
}

void PlanRows::refuse(const Line& line) {
  ++bad;
  const base::Diagnostic& first = found_.all().front();
  const std::string error = first.code + ": " + first.message;
  if (json_out_)
    append_bad_json_row(line.number, error, out);
  else
    append_bad_csv_row(line.number, besides_.size(), error, out);
  for (base::Diagnostic each : found_.all()) {
    if (problems.size() >= kMostTold) return;
    if (!each.primary.where.known()) each.primary.where = place_in(name_, line);
    problems.push_back(std::move(each));
  }
}

void PlanRows::append_json(std::uint64_t number, const cluster::Iteration& iteration) {
  if (!usual_) return append_json_row(number, plan_, iteration, json_members(fields_), out);
  std::string& members = usual_members_[other_stack_ ? 1 : 0];
  if (members.empty()) members = json_members(fields_);
  append_json_row(number, plan_, iteration, members, out);
}

}  // namespace orrery::verbs
