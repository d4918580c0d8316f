// Text is read in pieces that end with a line, some of them at a time; threads take a piece each, and what they make of
// it is written in order. Reading and writing take a fiftieth of the time, so nothing is done beside them.
#include "orrery/verbs/train/plans/plan_rows.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "orrery/base/limits/parallel.h"
#include "orrery/base/text/edit_distance.h"
#include "orrery/engines/cluster/model/fields.h"
#include "orrery/verbs/train/plans/plan_row.h"
#include "orrery/verbs/train/plans/plan_row_format.h"

namespace orrery::verbs {
namespace {

std::vector<std::string> columns_of(const std::string& name, const Line& header) {
  std::vector<std::string_view> cells;
  split_cells(header.text, cells);
  cluster::Plan plan;
  std::vector<std::string> known;
  for (const base::Field& field : cluster::fields(plan)) known.push_back(field.path);
  base::Diagnostics found;
  std::vector<std::string> columns;
  for (const std::string_view cell : cells) {
    const std::string column(cell);
    const base::Location where =
        place_in(name, header, static_cast<int>(cell.data() - header.text.data()) + 1, static_cast<int>(cell.size()));
    if (std::find(columns.begin(), columns.end(), column) != columns.end() && !column.empty())
      found.error("O1947", fmt::format("the column `{}` stands twice", column), where);
    else if (!is_written(column) && std::find(known.begin(), known.end(), column) == known.end())
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
    if (!column.empty() && !is_choice(column) && !is_written(column)) besides.push_back(column);
  return besides;
}

}  // namespace

EvaluatedRows evaluate_rows(const RowSetting& setting, const PlanRowsInput& input,
                            const std::function<void(const std::string&)>& write) {
  EvaluatedRows result;
  const base::Budget budget(setting.limits);
  LinePieces pieces(input.name, input.path);
  std::vector<std::string> columns;
  bool started = false, headed = false, of_json = false;
  UnsupportedRows lacking;
  std::deque<PlanRows> rows;  // one for each piece of a round: their memory serves all rounds
  const std::size_t side_by_side = 4 * static_cast<std::size_t>(base::thread_count(setting.limits.threads));
  for (bool more = true; more && !result.ended_early;) {
    std::vector<LinePieces::Piece> taken;
    while (taken.size() < side_by_side && more) {
      LinePieces::Piece piece;
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
    while (rows.size() < taken.size()) rows.emplace_back(setting, input.name, columns, input.json);
    std::vector<char> cut(taken.size(), 0);
    base::parallel_for(taken.size(), setting.limits.threads, [&](std::size_t i) {
      base::Ticker clock(budget);
      lines_of(taken[i], [&](const Line& line) {
        if (line.number == header_line) return;
        if (clock.spent())
          cut[i] = 1;
        else
          rows[i].take(line, of_json);
      });
    });
    for (std::size_t i = 0; i < taken.size(); ++i) {
      PlanRows& each = rows[i];
      write(each.out);
      result.rows += each.rows;
      result.bad += each.bad;
      lacking.take(each.lacking);
      for (base::Diagnostic& problem : each.problems)
        if (result.problems.size() < kMostTold) result.problems.push_back(std::move(problem));
      each.begin_piece();
    }
    result.ended_early = std::find(cut.begin(), cut.end(), 1) != cut.end() || (more && budget.spent());
  }
  if (!started)
    base::fail("O1947", fmt::format("`{}` holds no plans", input.name), {},
               "the first line of a CSV names the fields of a plan: tp,pp,dp,micro_batch");
  base::Diagnostics told;
  if (result.rows == 0 && !result.ended_early)
    told.warning("O1947", fmt::format("`{}` holds no plan: a header and no row after it", input.name));
  lacking.tell(told);
  result.problems.insert(result.problems.end(), told.all().begin(), told.all().end());
  return result;
}

}  // namespace orrery::verbs
