// Rows of plans, read and evaluated one after the other: the work of a thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/text/field.h"
#include "orrery/formats/json/json_document.h"
#include "orrery/verbs/train/plans/plan_row_lines.h"
#include "orrery/verbs/train/plans/row_setting.h"
#include "orrery/verbs/train/plans/unsupported_rows.h"

namespace orrery::verbs {

inline constexpr std::size_t kMostTold = 20;  // bad rows that are told one by one

class PlanRows {
 public:
  // `columns`: of CSV, in their order.
  PlanRows(const RowSetting& setting, const std::string& name, const std::vector<std::string>& columns, bool json_out);
  PlanRows(const PlanRows&) = delete;  // fields are bound to the plan
  PlanRows& operator=(const PlanRows&) = delete;

  // `of_json`: the line is an object.
  void take(const Line& line, bool of_json);
  // Forgets what was taken.
  void begin_piece();

  std::string out;
  std::vector<base::Diagnostic> problems;  // the first ones
  std::uint64_t rows = 0, bad = 0;
  UnsupportedRows lacking;

 private:
  // A field by which rows can differ, and what is known of it before a row is read.
  struct Own {
    const base::Field* field = nullptr;
    bool given = false;  // by the setting
  };

  bool sets(const Own& own) const;
  bool take_value(const base::Field* field);
  const base::Field* keyed(std::size_t place, std::string_view key);
  void begin(const cluster::Stack* stack);
  void read(const Line& line, bool of_json);
  void read_cells(const Line& line);
  bool read_plain_object(std::string_view text);
  void read_json(const Line& line);
  void read_object(const Line& line, const std::shared_ptr<const base::SourceFile>& file);
  void read_member(const std::string& path, const formats::json::Member& member);
  static void write_whole(std::string& number);
  void refuse_value(const base::Field& field, base::Location where);
  void settle();
  void refuse(const Line& line);
  void append_json(std::uint64_t number, const cluster::Iteration& iteration);
  base::Location place(const Line& line, int column = 1, int length = 1) const;

  const RowSetting& setting_;
  const std::string& name_;
  bool json_out_;
  cluster::Plan plan_;
  base::Fields fields_;  // of plan_
  std::vector<const base::Field*> columns_, besides_;
  std::vector<char> choices_;  // whether a search chooses it, by field
  Own gpus_, dp_, interleave_;
  const base::Field* schedule_;
  std::vector<std::pair<std::string, const base::Field*>> keys_;  // of the line before: most lines have the same
  std::vector<const base::Field*> set_;
  std::vector<std::string_view> cells_;
  std::string text_;
  base::Diagnostics found_;
  bool other_stack_ = false;        // of a row that shards weights
  bool named_interleaved_ = false;  // a schedule that has two chunks at least
  bool usual_ = true;               // nothing but choices is set
  // Of rows that set nothing but choices, by their software: what is written of all else. Empty: not written yet.
  std::array<std::string, 2> usual_members_;
};

}  // namespace orrery::verbs
