// The store of studies: one design of tables for every verb.
//
//   versions   programs that wrote here: their version and the hash of their bytes
//   studies    what was asked: a key (the hash of what fixes its points), the verb, the text, how many points
//   inputs     files and settings by the hashes of their contents; study_inputs: those of a study
//   results    answers by the hash of their question: a layer on a chip, a training run, a placement; shared by all
//   points
//              and studies that ask the same
//   points     a row for each point of a study: status, figures, the results it is made of
//
// Rows of points and results are written in batches, a transaction each, so that a process may end at any moment. Each
// has a seal, the hash of its columns: opened for writing, a store loses the rows whose seals are broken, and the
// points whose results are gone, so that they are computed again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/numbers/content_hash.h"
#include "orrery/verbs/sweep/store/outcome.h"

namespace orrery::store {

// The design of the tables; a store of another one is refused (O2052).
inline constexpr int kDesign = 2;
// Columns of `results` and `points` that their seals cover, in the order in which they are written.
std::string result_columns();
std::string point_columns();
// "INTO table(columns, seal) VALUES(...)", with a parameter for each of the columns.
std::string sealed_into(const std::string& table, const std::string& columns);

struct Version {
  std::string program;  // "0.1.0"
  std::string build;    // hash of the program's bytes: results of another build are computed again
};

struct StudyRow {
  std::int64_t id = 0;
  std::string key;    // 32 hexadecimal digits
  std::string title;  // as people know it
  std::string verb;
  std::string document;  // what was asked, to be read again
  std::string asked;     // objectives, budgets and filters of the last run: what was pruned holds for these only
  std::uint64_t points = 0;
};

// An answer to one question, which points share.
struct Result {
  std::string key;  // 16 bytes
  std::string name;
  Outcome outcome;
  std::string inputs;   // as of inputs_text(): they must be what they were; empty: the key says it all
  std::int64_t id = 0;  // its number, of one that was read
};

struct PointRow {
  std::uint64_t point = 0;
  Outcome outcome;
};

struct Summary {
  StudyRow study;
  std::string version, build, begun, changed;
  std::uint64_t stored = 0, by_status[kStatuses] = {};
};

class Database;

class Store {
 public:
  enum class Mode { kRead, kWrite };
  // Makes the file where there is none and `mode` writes. Throws InputError: O2052 to O2055.
  Store(const std::string& path, Mode mode, const Version& version);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The study with that key, made where there is none. What `asked` changes, changes the row.
  StudyRow study(const StudyRow& wanted, const std::vector<base::Input>& inputs);
  std::optional<StudyRow> find_study(const std::string& key);
  std::vector<Summary> studies();
  std::vector<base::Input> inputs(std::int64_t study);

  // Every stored point, rising; those of this build only where `same_build`.
  void each_point(std::int64_t study, bool same_build, const std::function<void(const PointRow&)>& take);
  std::optional<PointRow> point(std::int64_t study, std::uint64_t point);
  // Points that a bound excluded under another question.
  void forget_pruned(std::int64_t study);

  // Of this build; by its number, of any.
  std::optional<Result> result(const std::string& key);
  std::optional<Result> result(std::int64_t id);
  std::int64_t result_id(const std::string& key);  // 0: there is none

  // One transaction: all of it is stored, or nothing. Results first; `ids` of them are set.
  void write(std::int64_t study, std::vector<Result>& results, std::vector<std::int64_t>& ids,
             const std::function<std::vector<PointRow>(const std::vector<std::int64_t>& ids)>& points);

  bool has_results();
  // Results of this build whose keys say all, where there are at most so many; whether these are all that it has.
  bool each_result(std::size_t most, const std::function<void(const Result&)>& take);
  // False: the file is empty, its process having ended before it made them; only of stores that are read.
  bool has_tables() const { return statements_ != nullptr; }

  std::string check();  // "ok", or what is wrong: SQLite's integrity_check, then the seals
  // What was damaged, and thrown away when the store was opened for writing: "point 3 of study 1".
  const std::vector<std::string>& thrown_away() const { return thrown_away_; }
  const std::string& path() const;

 private:
  struct Statements;
  std::string integrity();
  void throw_away_damaged();
  std::unique_ptr<Database> database_;
  std::unique_ptr<Statements> statements_;
  std::int64_t version_ = 0;
  std::vector<std::string> thrown_away_;
};

}  // namespace orrery::store
