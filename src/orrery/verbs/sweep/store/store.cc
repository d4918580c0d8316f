#include "orrery/verbs/sweep/store/store.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/verbs/sweep/store/database.h"

namespace orrery::store {
namespace {

constexpr std::int64_t kApplication = 0x4f525259;  // "ORRY", where `file` looks

constexpr const char* kTables = R"(
CREATE TABLE versions(id INTEGER PRIMARY KEY, program TEXT NOT NULL, build TEXT NOT NULL, UNIQUE(program, build));
CREATE TABLE studies(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, title TEXT NOT NULL, verb TEXT NOT NULL,
  document TEXT NOT NULL, asked TEXT NOT NULL, points INTEGER NOT NULL, version INTEGER NOT NULL REFERENCES versions,
  begun TEXT NOT NULL, changed TEXT NOT NULL);
CREATE TABLE inputs(id INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE(name, hash));
CREATE TABLE study_inputs(study INTEGER NOT NULL REFERENCES studies, input INTEGER NOT NULL REFERENCES inputs,
  PRIMARY KEY(study, input)) WITHOUT ROWID;
CREATE TABLE results(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, version INTEGER NOT NULL REFERENCES versions,
  name TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, lower_bound REAL, gap REAL,
  energy_pj REAL, cycles REAL, utilization REAL, edp_j_cycles REAL, edp_seed REAL, area_um2 REAL, seconds REAL,
  dollars REAL, power_w REAL, parts TEXT NOT NULL, inputs TEXT NOT NULL, seal TEXT NOT NULL);
CREATE TABLE points(study INTEGER NOT NULL REFERENCES studies, point INTEGER NOT NULL,
  version INTEGER NOT NULL REFERENCES versions, status TEXT NOT NULL, reason TEXT NOT NULL, lower_bound REAL, gap REAL,
  energy_pj REAL, cycles REAL, utilization REAL, edp_j_cycles REAL, edp_seed REAL, area_um2 REAL, seconds REAL,
  dollars REAL, power_w REAL, parts TEXT NOT NULL, seal TEXT NOT NULL,
  PRIMARY KEY(study, point)) WITHOUT ROWID;
)";

// With {outcome} its columns.
std::string sql_of(const char* format) {
  return fmt::format(fmt::runtime(format), fmt::arg("outcome", std::string(kOutcomeColumns) + ", parts"));
}

std::vector<std::string> split(const std::string& columns) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < columns.size();) {
    const std::size_t end = std::min(columns.find(", ", at), columns.size());
    out.push_back(columns.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

void bind_outcome(Statement& statement, int at, const Outcome& outcome) {
  statement.bind(at, name(outcome.status)).bind(at + 1, outcome.reason);
  statement.bind(at + 2, outcome.lower_bound).bind(at + 3, outcome.gap);
  for (int i = 0; i < kFigures; ++i) statement.bind(at + 4 + i, outcome.figures.values[static_cast<std::size_t>(i)]);
  statement.bind(at + 4 + kFigures, outcome.parts);
}

Outcome outcome_at(const Statement& statement, int at, const std::string& path) {
  Outcome out;
  const std::string status = statement.text(at);
  int found = 0;
  while (found < kStatuses && name(static_cast<Status>(found)) != status) ++found;
  if (found == kStatuses)
    base::fail("O2053", fmt::format("the store `{}` has a point with the status `{}`", path, status), {},
               "was it changed by another program? Start a new store, or take a copy that is whole");
  out.status = static_cast<Status>(found);
  out.reason = statement.text(at + 1);
  out.lower_bound = statement.number(at + 2);
  out.gap = statement.number(at + 3);
  for (int i = 0; i < kFigures; ++i) out.figures.values[static_cast<std::size_t>(i)] = statement.number(at + 4 + i);
  out.parts = statement.text(at + 4 + kFigures);
  return out;
}

StudyRow study_at(const Statement& row) {
  StudyRow out;
  out.id = row.integer(0);
  out.key = row.text(1);
  out.title = row.text(2);
  out.verb = row.text(3);
  out.document = row.text(4);
  out.asked = row.text(5);
  out.points = static_cast<std::uint64_t>(row.integer(6));
  return out;
}

constexpr const char* kStudy = "SELECT id, key, title, verb, document, asked, points FROM studies";

// Whether every part, "number instances name" a line, is one of the results.
bool has_parts(const std::string& parts, const std::unordered_set<std::int64_t>& results) {
  for (std::size_t at = 0; at < parts.size();) {
    const std::size_t end = parts.find('\n', at);
    if (end == std::string::npos) return false;
    std::int64_t id = 0, instances = 0;
    const char* const last = parts.data() + end;
    const auto number = std::from_chars(parts.data() + at, last, id);
    if (number.ec != std::errc() || number.ptr == last || *number.ptr != ' ') return false;
    const auto times = std::from_chars(number.ptr + 1, last, instances);
    if (times.ec != std::errc() || times.ptr == last || *times.ptr != ' ') return false;
    if (id != 0 && !results.contains(id)) return false;  // 0: a part that was not stored
    at = end + 1;
  }
  return true;
}

}  // namespace

std::string result_columns() {
  return fmt::format("key, version, name, inputs, {}, parts", kOutcomeColumns);
}

std::string point_columns() {
  return fmt::format("study, point, version, {}, parts", kOutcomeColumns);
}

std::string sealed_into(const std::string& table, const std::string& columns) {
  std::string values;
  for (std::size_t i = 0; i < split(columns).size(); ++i) values += fmt::format("{}?{}", i > 0 ? ", " : "", i + 1);
  return fmt::format("INTO {0}({1}, seal) VALUES({2}, seal({2}))", table, columns, values);
}

struct Store::Statements {
  explicit Statements(Database& database)
      : result_by_key(database,
                      sql_of("SELECT id, key, name, inputs, {outcome} FROM results WHERE key = ? AND version = ?")),
        result_by_id(database, sql_of("SELECT id, key, name, inputs, {outcome} FROM results WHERE id = ?")),
        id_by_key(database, "SELECT id FROM results WHERE key = ? AND version = ?"),
        point(database, sql_of("SELECT point, {outcome} FROM points WHERE study = ? AND point = ?")) {}
  Statement result_by_key, result_by_id, id_by_key, point;
  std::unique_ptr<Statement> put_result, put_point;
};

namespace {

struct Damaged {
  std::vector<std::int64_t> results;
  std::vector<std::pair<std::int64_t, std::int64_t>> points;  // of studies
  std::vector<std::string> names;
};

Damaged damaged_rows(Database& database) {
  Damaged out;
  std::unordered_set<std::int64_t> whole;
  Statement result(database, fmt::format("SELECT id, name, seal = seal({}) FROM results", result_columns()));
  while (result.step()) {
    if (result.integer(2) == 1) {
      whole.insert(result.integer(0));
      continue;
    }
    out.results.push_back(result.integer(0));
    out.names.push_back(fmt::format("result {} (`{}`)", result.integer(0), result.text(1)));
  }
  Statement point(database, fmt::format("SELECT study, point, parts, seal = seal({}) FROM points", point_columns()));
  while (point.step()) {
    if (point.integer(3) == 1 && has_parts(point.text(2), whole)) continue;
    out.points.emplace_back(point.integer(0), point.integer(1));
    out.names.push_back(fmt::format("point {} of study {}", point.integer(1), point.integer(0)));
  }
  return out;
}

}  // namespace

Store::Store(const std::string& path, Mode mode, const Version& version)
    : database_(
          std::make_unique<Database>(path, mode == Mode::kWrite ? Database::Mode::kWrite : Database::Mode::kRead)) {
  Database& database = *database_;
  std::int64_t application = 0, design = 0, tables = 0;
  {
    Statement row(database,
                  "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM "
                  "pragma_user_version), (SELECT count(*) FROM sqlite_master)");
    if (row.step()) application = row.integer(0), design = row.integer(1), tables = row.integer(2);
  }
  // A process may end between making the file and its tables: a store that holds nothing yet.
  const bool empty = application == 0 && tables == 0;
  if (application != kApplication && !empty)
    base::fail("O2053", fmt::format("`{}` is a database, but no store of Orrery", path), {},
               "name the store of an earlier `orrery sweep`, or a file that does not exist yet");
  if (design != kDesign && !empty) {
    base::Diagnostics found;
    found
        .error("O2052",
               fmt::format("the store `{}` was written by {} Orrery", path, design > kDesign ? "a newer" : "an older"))
        .note(fmt::format("its tables are of design {}; this Orrery ({}) knows {}", design, version.program, kDesign))
        .hint("take that Orrery, or start a new store with `--store FILE`: what another one stored is computed again");
    throw base::InputError(found.all());
  }
  if (mode == Mode::kWrite) {
    if (const std::string found = integrity(); found != "ok")
      base::fail("O2053", fmt::format("the store `{}` is damaged: {}", path, found), {},
                 "take a copy that is whole, or start a new store with `--store FILE`");
    database.write_ahead();
    Transaction whole(database);
    if (empty) {
      database.run(kTables);
      database.run(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
      database.run(fmt::format("PRAGMA user_version = {}", kDesign).c_str());
    }
    Statement(database, "INSERT OR IGNORE INTO versions(program, build) VALUES(?, ?)")
        .with(version.program, version.build)
        .run();
    whole.commit();
  }
  if (empty && mode == Mode::kRead) return;
  {
    Statement row(database, "SELECT id FROM versions WHERE program = ? AND build = ?");
    row.with(version.program, version.build);
    if (row.step()) version_ = row.integer(0);
  }
  statements_ = std::make_unique<Statements>(database);
  if (mode != Mode::kWrite) return;
  std::string update;
  for (const std::string& column : split(result_columns() + ", seal"))
    if (column != "key") update += fmt::format("{}{} = excluded.{}", update.empty() ? "" : ", ", column, column);
  statements_->put_result =
      std::make_unique<Statement>(database, fmt::format("INSERT {} ON CONFLICT(key) DO UPDATE SET {} RETURNING id",
                                                        sealed_into("results", result_columns()), update));
  statements_->put_point = std::make_unique<Statement>(
      database, fmt::format("INSERT OR REPLACE {}", sealed_into("points", point_columns())));
  throw_away_damaged();
}

Store::~Store() = default;

StudyRow Store::study(const StudyRow& wanted, const std::vector<base::Input>& inputs) {
  Transaction whole(*database_);
  Statement(
      *database_,
      "INSERT INTO studies(key, title, verb, document, asked, points, version, begun, changed) VALUES(?, ?, ?, ?, ?, "
      "?, ?, datetime('now'), datetime('now')) ON CONFLICT(key) DO UPDATE SET title = excluded.title, asked = "
      "excluded.asked, version = excluded.version, changed = excluded.changed, document = excluded.document")
      .with(wanted.key, wanted.title, wanted.verb, wanted.document, wanted.asked,
            static_cast<std::int64_t>(wanted.points), version_)
      .run();
  const StudyRow out = *find_study(wanted.key);
  Statement(*database_, "DELETE FROM study_inputs WHERE study = ?").bind(1, out.id).run();
  for (const base::Input& input : inputs) {
    Statement(*database_, "INSERT OR IGNORE INTO inputs(name, hash) VALUES(?, ?)").with(input.name, input.hash).run();
    Statement(*database_, "INSERT OR IGNORE INTO study_inputs SELECT ?, id FROM inputs WHERE name = ? AND hash = ?")
        .with(out.id, input.name, input.hash)
        .run();
  }
  whole.commit();
  return out;
}

std::optional<StudyRow> Store::find_study(const std::string& key) {
  Statement row(*database_, fmt::format("{} WHERE key = ?", kStudy));
  row.bind(1, key);
  if (!row.step()) return {};
  return study_at(row);
}

std::vector<Summary> Store::studies() {
  std::vector<Summary> out;
  if (!statements_) return out;
  Statement row(*database_, fmt::format("{} ORDER BY id", kStudy));
  while (row.step()) out.push_back({study_at(row), {}, {}, {}, {}, 0, {}});
  for (Summary& each : out) {
    Statement when(*database_,
                   "SELECT v.program, v.build, s.begun, s.changed FROM studies s JOIN versions v ON v.id = "
                   "s.version WHERE s.id = ?");
    when.bind(1, each.study.id);
    if (when.step())
      each.version = when.text(0), each.build = when.text(1), each.begun = when.text(2), each.changed = when.text(3);
    Statement count(*database_, "SELECT status, count(*) FROM points WHERE study = ? GROUP BY status");
    count.bind(1, each.study.id);
    while (count.step())
      for (int i = 0; i < kStatuses; ++i)
        if (name(static_cast<Status>(i)) == count.text(0)) {
          each.by_status[i] = static_cast<std::uint64_t>(count.integer(1));
          each.stored += each.by_status[i];
        }
  }
  return out;
}

std::vector<base::Input> Store::inputs(std::int64_t study) {
  std::vector<base::Input> out;
  Statement row(*database_,
                "SELECT name, hash FROM inputs JOIN study_inputs ON input = id WHERE study = ? ORDER BY name");
  row.bind(1, study);
  while (row.step()) out.push_back({row.text(0), row.text(1)});
  return out;
}

void Store::each_point(std::int64_t study, bool same_build, const std::function<void(const PointRow&)>& take) {
  Statement row(*database_,
                sql_of(same_build ? "SELECT point, {outcome} FROM points WHERE study = ? AND version = ? ORDER BY point"
                                  : "SELECT point, {outcome} FROM points WHERE study = ? ORDER BY point"));
  row.bind(1, study);
  if (same_build) row.bind(2, version_);
  while (row.step()) take({static_cast<std::uint64_t>(row.integer(0)), outcome_at(row, 1, path())});
}

std::optional<PointRow> Store::point(std::int64_t study, std::uint64_t point) {
  Statement& row = statements_->point;
  row.with(study, static_cast<std::int64_t>(point));
  if (!row.step()) return {};
  PointRow out{static_cast<std::uint64_t>(row.integer(0)), outcome_at(row, 1, path())};
  row.run();
  return out;
}

void Store::forget_pruned(std::int64_t study) {
  Statement(*database_, "DELETE FROM points WHERE study = ? AND status = 'pruned'").bind(1, study).run();
}

namespace {

std::optional<Result> result_of(Statement& row, const std::string& path) {
  if (!row.step()) return {};
  Result out{row.blob(1), row.text(2), outcome_at(row, 4, path), row.text(3), row.integer(0)};
  row.run();
  return out;
}

}  // namespace

std::optional<Result> Store::result(const std::string& key) {
  statements_->result_by_key.bind_blob(1, key).bind(2, version_);
  return result_of(statements_->result_by_key, path());
}

std::optional<Result> Store::result(std::int64_t id) {
  statements_->result_by_id.bind(1, id);
  return result_of(statements_->result_by_id, path());
}

std::int64_t Store::result_id(const std::string& key) {
  Statement& row = statements_->id_by_key;
  row.bind_blob(1, key).bind(2, version_);
  if (!row.step()) return 0;
  const std::int64_t id = row.integer(0);
  row.run();
  return id;
}

void Store::write(std::int64_t study, std::vector<Result>& results, std::vector<std::int64_t>& ids,
                  const std::function<std::vector<PointRow>(const std::vector<std::int64_t>& ids)>& points) {
  Transaction whole(*database_);
  ids.clear();
  for (const Result& result : results) {
    Statement& put = *statements_->put_result;
    put.bind_blob(1, result.key).bind(2, version_).bind(3, result.name).bind(4, result.inputs);
    bind_outcome(put, 5, result.outcome);
    put.step();
    ids.push_back(put.integer(0));
    put.run();
  }
  for (const PointRow& point : points(ids)) {
    Statement& put = *statements_->put_point;
    put.bind(1, study).bind(2, static_cast<std::int64_t>(point.point)).bind(3, version_);
    bind_outcome(put, 4, point.outcome);
    put.run();
  }
  whole.commit();
}

bool Store::each_result(std::size_t most, const std::function<void(const Result&)>& take) {
  Statement count(*database_, "SELECT count(*) FROM results");
  if (!count.step() || static_cast<std::uint64_t>(count.integer(0)) > most) return false;
  Statement row(*database_, sql_of("SELECT id, key, name, inputs, {outcome} FROM results WHERE version = ?"));
  row.bind(1, version_);
  bool all = true;
  while (row.step()) {
    const Result result{row.blob(1), row.text(2), outcome_at(row, 4, path()), row.text(3), row.integer(0)};
    all = all && result.inputs.empty();
    if (result.inputs.empty()) take(result);
  }
  return all;
}

bool Store::has_results() {
  Statement row(*database_, "SELECT 1 FROM results LIMIT 1");
  return row.step();
}

std::string Store::integrity() {
  Statement row(*database_, "PRAGMA integrity_check");
  return row.step() ? row.text(0) : "no answer";
}

std::string Store::check() {
  const std::string found = integrity();
  if (found != "ok" || !statements_) return found;
  const Damaged damaged = damaged_rows(*database_);
  if (damaged.names.empty()) return found;
  return fmt::format("{} rows are not as they were written, the first {}", damaged.names.size(), damaged.names[0]);
}

void Store::throw_away_damaged() {
  Damaged damaged = damaged_rows(*database_);
  if (damaged.names.empty()) return;
  Transaction whole(*database_);
  Statement result(*database_, "DELETE FROM results WHERE id = ?");
  for (const std::int64_t id : damaged.results) result.bind(1, id).run();
  Statement point(*database_, "DELETE FROM points WHERE study = ? AND point = ?");
  for (const auto& [study, number] : damaged.points) point.with(study, number).run();
  whole.commit();
  thrown_away_ = std::move(damaged.names);
}

const std::string& Store::path() const {
  return database_->path();
}

}  // namespace orrery::store
