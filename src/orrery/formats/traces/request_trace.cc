#include "orrery/formats/traces/request_trace.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "orrery/base/numbers/whole_number.h"
#include "orrery/base/text/text.h"
#include "orrery/formats/csv/csv.h"
#include "orrery/formats/json/json_document.h"

namespace orrery::formats::traces {
namespace {

constexpr std::int32_t kMostTokens = 1 << 30;
constexpr std::size_t kMostErrors = 20;
constexpr std::int32_t kMooncakeTokens = 512, kBailianTokens = 16;  // of each of `hash_ids`
constexpr double kMostContent = 0x1p40;

// How one kind of trace names what is needed.
struct Dialect {
  std::string_view time, prompt, output;
  double nanoseconds = 1e9;  // of a unit of time; 0: dates. No name of a time: there is none
  std::int32_t content_tokens = kMooncakeTokens;
  std::string_view mark = output;  // what tells it from others that are named alike
};
constexpr std::array<Dialect, 4> kTables = {{{"TIMESTAMP", "ContextTokens", "GeneratedTokens", 0},
                                             {"Timestamp", "Request tokens", "Response tokens"},
                                             {"arrived_at", "num_prefill_tokens", "num_decode_tokens"},
                                             {"", "num_prefill_tokens", "num_decode_tokens"}}};
constexpr std::array<Dialect, 7> kLines = {
    {{"timestamp", "input_length", "output_length", 1e9, kBailianTokens, "chat_id"},
     {"timestamp", "input_length", "output_length", 1e6},
     {"arrival_time", "input_toks", "output_toks"},
     {"arrival_time_ns", "input_toks", "output_toks", 1},
     {"", "input_length", "output_length"},
     {"", "input_toks", "output_toks"},
     {"", "prompt_len", "output_len"}}};

[[noreturn]] void refuse_kind(const std::shared_ptr<const base::SourceFile>& file) {
  base::fail("O2079", "this is no trace of requests that is known", {file, 1, 1, 1},
             "traces are tables of Azure, BurstGPT and Vidur, and JSON of Mooncake, Bailian, LLMServingSim and "
             "counted ShareGPT");
}

// "2023-11-16 18:17:03.9799600" in nanoseconds.
std::optional<double> date(const std::string& text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  int read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d%*1[ T]%2d:%2d:%10lf%n", &year, &month, &day, &hour, &minute, &second,
                  &read) != 6)
    return std::nullopt;
  const std::size_t rest = text.find_first_not_of("0123456789", static_cast<std::size_t>(read));
  const std::string zone = text.substr(std::min(rest, text.size()));
  if (!zone.empty() && zone != "Z" && zone != "+00:00") return std::nullopt;
  const std::chrono::year_month_day on{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                       std::chrono::day(static_cast<unsigned>(day))};
  if (!on.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 61))
    return std::nullopt;
  const double days = static_cast<double>(std::chrono::sys_days(on).time_since_epoch().count());
  return ((days * 24 + hour) * 60 + minute) * 60e9 + second * 1e9;
}

class Reader {
 public:
  Reader(const std::shared_ptr<const base::SourceFile>& file, base::Diagnostics& warnings)
      : file_(file), warnings_(warnings) {}

  std::vector<serving::Request> run() {
    const std::size_t begin = file_->text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (begin == std::string::npos) refuse_kind(file_);
    if (file_->text[begin] == '{' || file_->text[begin] == '[')
      lines();
    else
      table();
    found_.throw_if_errors();
    if (out_.empty()) base::fail("O2079", "the trace has no requests", {file_, 1, 1, 1});
    if (failures_ > 0)
      warnings_.warning("O2079",
                        fmt::format("{} request{} without a prompt or an answer left out", failures_,
                                    base::plural(failures_, " is", "s are")),
                        {file_, 0, 0, 1});
    return std::move(out_);
  }

 private:
  bool enough() const { return found_.all().size() >= kMostErrors; }

  // Cells of a line, blanks around them left out. Quotes are rare, and left to the general reader.
  std::vector<std::string> cells(std::string_view line) {
    std::vector<std::string> out;
    if (line.find('"') != std::string_view::npos) {
      const auto alone = std::make_shared<const base::SourceFile>(base::SourceFile{file_->name, std::string(line)});
      for (const csv::Row& row : csv::parse(alone, csv::Comments::kNone, found_).rows)
        for (const csv::Cell& cell : row.cells) out.emplace_back(base::trimmed(cell.text));
      return out;
    }
    for (const std::string_view cell : base::split(line, ',')) out.emplace_back(base::trimmed(cell));
    return out;
  }

  // Line by line: traces have millions of cells, of which three in a row are needed.
  void table() {
    std::string_view content = file_->text;
    if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
    const Dialect* dialect = nullptr;
    std::array<std::size_t, 3> at = {};
    int number = 0;
    for (const std::string_view line : base::split(content, '\n')) {
      ++number;
      if (base::trimmed(line).empty()) continue;
      if (enough()) return;
      const std::vector<std::string> row = cells(line);
      if (dialect == nullptr) {
        const auto column = [&](std::string_view name) {
          return static_cast<std::size_t>(std::find(row.begin(), row.end(), name) - row.begin());
        };
        for (const Dialect& d : kTables)
          if (dialect == nullptr && (d.time.empty() || column(d.time) < row.size()) &&
              std::max(column(d.prompt), column(d.output)) < row.size())
            dialect = &d;
        if (dialect == nullptr) refuse_kind(file_);
        at = {column(dialect->time), column(dialect->prompt), column(dialect->output)};
        continue;
      }
      std::array<std::optional<double>, 3> values;
      if (dialect->time.empty()) values[0] = 0;
      for (std::size_t v = dialect->time.empty() ? 1 : 0; v < 3; ++v) {
        if (at[v] >= row.size()) continue;
        values[v] = v == 0 && dialect->nanoseconds == 0 ? date(row[at[v]]) : base::parse_finite(row[at[v]]);
      }
      add(values, dialect->nanoseconds == 0 ? 1 : dialect->nanoseconds, {file_, number, 1, 1}, nullptr);
    }
  }

  // One list, whose items stand on the lines that they have; or a file that is one.
  void lines() {
    if (const std::size_t begin = file_->text.find_first_not_of(" \t\r\n\xEF\xBB\xBF"); file_->text[begin] == '[') {
      const auto all = std::make_shared<const base::SourceFile>(
          base::SourceFile{file_->name, std::string(begin, ' ') + file_->text.substr(begin)});
      return objects(json::parse(all, "O2079", "a list of JSON objects"));
    }
    std::string text = "[";
    bool any = false;
    std::string_view content = file_->text;
    if (content.starts_with("\xEF\xBB\xBF")) content.remove_prefix(3);
    for (const std::string_view line : base::split(content, '\n')) {
      if (base::trimmed(line).empty()) {
        text += "\n";
        continue;
      }
      if (any) text += ",";
      text.append(line).append("\n");
      any = true;
    }
    const auto joined = std::make_shared<const base::SourceFile>(base::SourceFile{file_->name, text + "]"});
    objects(json::parse(joined, "O2079", "a JSON object on each line"));
  }

  void objects(const json::Node& all) {
    if (all.items.empty()) return;
    const json::Node& first = all.items.front();
    if (first.find("conversations") != nullptr || first.find("messages") != nullptr)
      base::fail(
          "O2079", "these are conversations as texts: how many tokens they have is a matter of the model's tokenizer",
          {file_, 1, 1, 1},
          "count them: a table of `num_prefill_tokens,num_decode_tokens`, or lines with `prompt_len` and `output_len`");
    const auto dialect = std::find_if(kLines.begin(), kLines.end(), [&](const Dialect& d) {
      return (d.time.empty() || first.find(d.time)) && first.find(d.prompt) && first.find(d.output) &&
             first.find(d.mark);
    });
    if (dialect == kLines.end()) refuse_kind(file_);
    const std::array<std::string_view, 3> names = {dialect->time, dialect->prompt, dialect->output};
    for (const json::Node& item : all.items) {
      if (enough()) return;
      std::array<std::optional<double>, 3> values;
      if (dialect->time.empty()) {
        values[0] = 0;
        for (const Dialect& d : kLines)
          if (!d.time.empty() && item.find(d.time) != nullptr)
            return static_cast<void>(found_.error(
                "O2079", fmt::format("the request has a `{}`, the first one has none", d.time), item.where));
      }
      for (std::size_t v = dialect->time.empty() ? 1 : 0; v < 3; ++v)
        if (const json::Member* member = item.find(names[v]); member != nullptr && member->value.is_number())
          values[v] = member->value.number;
      base::Location where = item.where;
      where.file = file_;
      where.column = 1;
      add(values, dialect->nanoseconds, where, item.find("hash_ids") ? &item.find("hash_ids")->value : nullptr,
          dialect->content_tokens);
    }
  }

  void add(const std::array<std::optional<double>, 3>& values, double unit, const base::Location& where,
           const json::Node* contents, std::int32_t content_tokens = 0) {
    static constexpr std::array<const char*, 3> kWhat = {"time", "number of its prompt's tokens",
                                                         "number of its answer's tokens"};
    for (std::size_t v = 0; v < 3; ++v)
      if (!values[v]) {
        found_.error("O2079", fmt::format("the request has no {}", kWhat[v]), where);
        return;
      }
    const double time = *values[0] * unit, prompt = *values[1], output = *values[2];
    if (time < before_ || *values[0] < 0) {
      found_
          .error("O2079", *values[0] < 0 ? "the request's time is negative" : "the request comes before the last one",
                 where)
          .hint("sort the trace by its times, from 0 on");
      return;
    }
    before_ = time;
    if (prompt == 0 || output == 0) {
      ++failures_;
      return;
    }
    if (!first_) first_ = time;  // of those that are kept
    if (!(prompt >= 1 && prompt <= kMostTokens && output >= 1 && output <= kMostTokens) ||
        prompt != std::floor(prompt) || output != std::floor(output) || !(time - *first_ < 0x1p62)) {
      found_.error("O2079", fmt::format("{:g} and {:g} are no numbers of tokens from 1 on", prompt, output), where);
      return;
    }
    serving::Request request;
    request.arrival_ns = base::saturated(time - *first_ + 0.5);
    request.prompt = static_cast<std::int32_t>(prompt);
    request.output = static_cast<std::int32_t>(output);
    if (contents != nullptr && !contents->items.empty()) {
      request.content_tokens = content_tokens;
      const auto ids = static_cast<double>(contents->items.size()), blocks = prompt / content_tokens;
      if (ids != std::ceil(blocks) && ids != std::floor(blocks)) {  // some leave out a last one that is not full
        found_
            .error("O2079",
                   fmt::format("{} `hash_ids` of {} tokens each are not a prompt of {:g}", ids, content_tokens, prompt),
                   where)
            .hint("Mooncake's traces have one of each 512 tokens, Bailian's (`chat_id`) one of each 16");
        return;
      }
      for (const json::Node& id : contents->items) {
        if (!id.is_number() || !(id.number >= 0 && id.number < kMostContent)) {
          found_.error("O2079", "`hash_ids` are numbers from 0 to below 2^40", where);
          return;
        }
        request.contents.push_back(static_cast<std::uint64_t>(base::saturated(id.number)));
      }
    }
    out_.push_back(std::move(request));
  }

  const std::shared_ptr<const base::SourceFile>& file_;
  base::Diagnostics& warnings_;
  base::Diagnostics found_;
  std::vector<serving::Request> out_;
  std::optional<double> first_;
  double before_ = -std::numeric_limits<double>::infinity();
  base::Count failures_ = 0;
};

}  // namespace

std::vector<serving::Request> read_requests(const std::shared_ptr<const base::SourceFile>& file,
                                            base::Diagnostics& warnings) {
  return Reader(file, warnings).run();
}

}  // namespace orrery::formats::traces
