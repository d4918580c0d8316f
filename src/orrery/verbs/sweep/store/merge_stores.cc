#include "orrery/verbs/sweep/store/merge_stores.h"

#include <cmath>
#include <filesystem>
#include <unordered_map>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/verbs/sweep/store/database.h"

namespace orrery::store {
namespace {

using Ids = std::unordered_map<std::int64_t, std::int64_t>;

constexpr int kText = kOutcomeTexts;
constexpr int kStatus = 3;  // of a point, its column; an outcome's columns begin there

// "id instances name" a line, with the ids of the target.
std::string renumbered(const std::string& parts, const Ids& results) {
  std::string out;
  for (std::size_t at = 0; at < parts.size();) {
    const std::size_t blank = parts.find(' ', at), end = parts.find('\n', at);
    if (blank == std::string::npos || end == std::string::npos) break;
    const auto id = results.find(std::stoll(parts.substr(at, blank - at)));
    out += fmt::format("{}{}\n", id == results.end() ? 0 : id->second, parts.substr(blank, end - blank));
    at = end + 1;
  }
  return out;
}

// Status, reason and figures; the parts behind them are the caller's.
void copy_outcome(const Statement& from, int column, Statement& to, int at) {
  for (int i = 0; i < kText; ++i) to.bind(at + i, std::string_view(from.text(column + i)));
  for (int i = kText; i < kOutcomeAll; ++i) to.bind(at + i, from.number(column + i));
}

class Merge {
 public:
  Merge(Database& target, Database& source) : target_(target), source_(source) {}

  Merged all() {
    ids("SELECT id, program, build FROM versions",
        "INSERT INTO versions(program, build) VALUES(?, ?) ON CONFLICT(program, build) DO UPDATE SET program = program "
        "RETURNING id",
        versions_);
    ids("SELECT id, name, hash FROM inputs",
        "INSERT INTO inputs(name, hash) VALUES(?, ?) ON CONFLICT(name, hash) DO UPDATE SET name = name RETURNING id",
        inputs_);
    results();
    studies();
    points();
    return merged_;
  }

 private:
  void ids(const char* select, const char* insert, Ids& out) {
    Statement row(source_, select), put(target_, insert);
    while (row.step()) {
      put.with(row.text(1), row.text(2));
      put.step();
      out[row.integer(0)] = put.integer(0);
      put.run();
    }
  }

  void results() {
    Statement row(source_, fmt::format("SELECT id, {} FROM results", result_columns()));
    Statement known(target_, "SELECT id FROM results WHERE key = ?");
    Statement put(target_, fmt::format("INSERT {} RETURNING id", sealed_into("results", result_columns())));
    while (row.step()) {
      const std::string key = row.blob(1);
      known.bind_blob(1, key);
      if (known.step()) {
        results_[row.integer(0)] = known.integer(0);
        known.run();
        continue;
      }
      put.bind_blob(1, key).bind(2, versions_[row.integer(2)]);
      put.bind(3, std::string_view(row.text(3))).bind(4, std::string_view(row.text(4)));
      copy_outcome(row, 5, put, 5);
      put.bind(5 + kOutcomeAll, std::string_view(row.text(5 + kOutcomeAll)));
      put.step();
      results_[row.integer(0)] = put.integer(0);
      put.run();
      ++merged_.results;
    }
  }

  void studies() {
    Statement row(source_,
                  "SELECT id, key, title, verb, document, asked, points, version, begun, changed FROM studies");
    Statement known(target_, "SELECT id, asked FROM studies WHERE key = ?");
    Statement put(target_,
                  "INSERT INTO studies(key, title, verb, document, asked, points, version, begun, changed) "
                  "VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id");
    while (row.step()) {
      const std::string key = row.text(1);
      known.bind(1, std::string_view(key));
      if (known.step()) {
        if (known.text(1) != row.text(5)) refuse_asked(row.text(2), known.text(1), row.text(5));
        studies_[row.integer(0)] = known.integer(0);
        known.run();
      } else {
        for (int i = 1; i <= 5; ++i) put.bind(i, std::string_view(row.text(i)));
        put.bind(6, row.integer(6)).bind(7, versions_[row.integer(7)]);
        put.bind(8, std::string_view(row.text(8))).bind(9, std::string_view(row.text(9)));
        put.step();
        studies_[row.integer(0)] = put.integer(0);
        put.run();
        ++merged_.studies;
      }
    }
    Statement input(source_, "SELECT study, input FROM study_inputs");
    Statement put_input(target_, "INSERT OR IGNORE INTO study_inputs VALUES(?, ?)");
    while (input.step()) put_input.with(studies_[input.integer(0)], inputs_[input.integer(1)]).run();
  }

  void points() {
    Statement row(source_, fmt::format("SELECT {} FROM points", point_columns()));
    Statement known(target_, fmt::format("SELECT {} FROM points WHERE study = ? AND point = ?", point_columns()));
    Statement put(target_, fmt::format("INSERT OR REPLACE {}", sealed_into("points", point_columns())));
    while (row.step()) {
      const std::int64_t study = studies_[row.integer(0)];
      known.with(study, row.integer(1));
      if (known.step()) {
        const bool ours = known.text(kStatus) != "pruned", theirs = row.text(kStatus) != "pruned";
        if (ours && theirs) demand_same(known, row);
        known.run();
        if (ours || !theirs) continue;
      }
      put.bind(1, study).bind(2, row.integer(1)).bind(3, versions_[row.integer(2)]);
      copy_outcome(row, kStatus, put, kStatus + 1);
      put.bind(kStatus + kOutcomeAll + 1, std::string_view(renumbered(row.text(kStatus + kOutcomeAll), results_)));
      put.run();
      ++merged_.points;
    }
  }

  [[noreturn]] void refuse_asked(const std::string& title, const std::string& one, const std::string& other) const {
    base::Diagnostics found;
    found.error("O2056", fmt::format("the stores ask different things of the study `{}`", title))
        .note(fmt::format("`{}`: {}", target_.path(), one))
        .note(fmt::format("`{}`: {}", source_.path(), other))
        .note("what a bound excluded, it excluded for its own objectives, budgets and filters")
        .hint("run every shard with the same objectives, budgets and filters, or with `--all`");
    throw base::InputError(found.all());
  }

  void demand_same(const Statement& ours, const Statement& theirs) const {
    for (int column = kStatus; column < kStatus + kOutcomeAll; ++column) {
      const double a = ours.number(column), b = theirs.number(column);
      const bool same = column < kStatus + kText ? ours.text(column) == theirs.text(column)
                                                 : a == b || (std::isnan(a) && std::isnan(b));
      if (same) continue;
      base::Diagnostics found;
      found
          .error("O2056", fmt::format("`{}` and `{}` answer point {} differently", target_.path(), source_.path(),
                                      theirs.integer(1)))
          .note(fmt::format("one has {}, the other {}", ours.text(column), theirs.text(column)))
          .hint(
              "were they written by different builds? Run one of them again; it computes anew what another build did");
      throw base::InputError(found.all());
    }
  }

  Database& target_;
  Database& source_;
  Ids versions_, inputs_, results_, studies_;
  Merged merged_;
};

}  // namespace

Merged merge(const std::string& target, const std::vector<std::string>& sources, const Version& version) {
  Merged out;
  std::vector<std::string> whole;
  std::error_code ignored;
  for (const std::string& source : sources) {
    if (std::filesystem::equivalent(source, target, ignored))
      base::fail("O2056", fmt::format("`{}` is merged into itself", source), {}, "name another file with `--store`");
    Store read(source, Store::Mode::kRead, version);
    if (const std::string found = read.check(); found != "ok")
      base::fail("O2053", fmt::format("the store `{}` is damaged: {}", source, found), {},
                 "run its sweep again: it computes damaged rows anew; or take a copy that is whole");
    if (read.has_tables()) whole.push_back(source);
  }
  { const Store made(target, Store::Mode::kWrite, version); }
  Database into(target, Database::Mode::kWrite);
  into.write_ahead();
  for (const std::string& source : whole) {
    Database from(source, Database::Mode::kRead);
    Transaction all(into);
    const Merged one = Merge(into, from).all();
    all.commit();
    out.studies += one.studies, out.results += one.results, out.points += one.points;
  }
  return out;
}

}  // namespace orrery::store
