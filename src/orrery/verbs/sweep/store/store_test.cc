#include "orrery/verbs/sweep/store/store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/sweep/store/database.h"
#include "orrery/verbs/sweep/store/merge_stores.h"

namespace orrery::store {
namespace {

namespace fs = std::filesystem;
using base::Folder;

const Version kBuild{"0.1.0", "a build"};

std::string code_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const base::InputError& error) {
    return error.diagnostics.front().code;
  }
  return "";
}

StudyRow row() {
  return {0, "0123456789abcdef0123456789abcdef", "a study", "map", "study: {}", "edp ", 100};
}

Outcome outcome(double energy, Status status = Status::kOptimal) {
  Outcome out;
  out.status = status;
  if (status == Status::kOptimal) out.figures[Figure::kEnergy] = energy;
  out.gap = 0;
  if (status == Status::kPruned) out.lower_bound = energy;
  return out;
}

// A result and a point of each number, in one transaction.
void put(Store& store, const StudyRow& study, const std::vector<std::uint64_t>& numbers, double offset = 0) {
  std::vector<Result> results;
  for (const std::uint64_t n : numbers)
    results.push_back({std::string("key-of-16-bytes") + static_cast<char>(n), "layer", outcome(offset + n), {}});
  std::vector<std::int64_t> ids;
  store.write(study.id, results, ids, [&](const std::vector<std::int64_t>& written) {
    std::vector<PointRow> rows;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      rows.push_back({numbers[i], outcome(offset + static_cast<double>(numbers[i]))});
      rows.back().outcome.parts = std::to_string(written[i]) + " 1 layer\n";
    }
    return rows;
  });
}

std::vector<std::pair<std::uint64_t, double>> points(Store& store, const StudyRow& study) {
  std::vector<std::pair<std::uint64_t, double>> out;
  store.each_point(study.id, false,
                   [&](const PointRow& row) { out.emplace_back(row.point, row.outcome.figures[Figure::kEnergy]); });
  return out;
}

TEST(Store, WhatIsWrittenComesBack) {
  const Folder folder;
  {
    Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
    const StudyRow study = store.study(row(), {{"arch.yaml", "hash"}});
    put(store, study, {3, 1, 2});
  }
  Store store(folder / "a.db", Store::Mode::kRead, kBuild);
  const auto study = store.find_study(row().key);
  ASSERT_TRUE(study);
  EXPECT_EQ(points(store, *study), (std::vector<std::pair<std::uint64_t, double>>{{1, 1}, {2, 2}, {3, 3}}));
  const auto result = store.result("key-of-16-bytes\x02");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome.figures[Figure::kEnergy], 2);
  EXPECT_TRUE(std::isnan(result->outcome.figures[Figure::kDollars]));
  EXPECT_EQ(store.inputs(study->id), (std::vector<base::Input>{{"arch.yaml", "hash"}}));
  EXPECT_EQ(store.check(), "ok");
  EXPECT_EQ(store.studies().front().by_status[0], 3);
}

TEST(Store, WritingAPointAgainDoublesNothing) {
  const Folder folder;
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  const StudyRow study = store.study(row(), {});
  for (int i = 0; i < 3; ++i) put(store, study, {1, 2});
  EXPECT_EQ(points(store, study).size(), 2);
}

TEST(Store, ABatchThatFailsHalfwayLeavesNothing) {
  const Folder folder;
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  const StudyRow study = store.study(row(), {});
  put(store, study, {1});
  std::vector<Result> results = {{"another-key-16-b", "layer", outcome(5), {}}};
  std::vector<std::int64_t> ids;
  EXPECT_THROW(store.write(study.id, results, ids,
                           [](const auto&) -> std::vector<PointRow> { throw std::runtime_error("halfway"); }),
               std::runtime_error);
  EXPECT_FALSE(store.result("another-key-16-b"));
  EXPECT_EQ(points(store, study).size(), 1);
}

TEST(Store, ResultsOfAnotherBuildAreNotTakenForItsOwn) {
  const Folder folder;
  {
    Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
    put(store, store.study(row(), {}), {1});
  }
  Store store(folder / "a.db", Store::Mode::kWrite, {"0.1.0", "another build"});
  EXPECT_FALSE(store.result("key-of-16-bytes\x01"));
  int seen = 0;
  store.each_point(store.find_study(row().key)->id, true, [&](const PointRow&) { ++seen; });
  EXPECT_EQ(seen, 0);
}

TEST(Store, OneOfANewerDesignIsRefusedAndLeftAlone) {
  const Folder folder;
  { Store store(folder / "a.db", Store::Mode::kWrite, kBuild); }
  {
    Database database(folder / "a.db", Database::Mode::kWrite);
    database.run("PRAGMA user_version = 3");
  }
  EXPECT_EQ(code_of([&] { Store(folder / "a.db", Store::Mode::kWrite, kBuild); }), "O2052");
  EXPECT_EQ(code_of([&] { Store(folder / "a.db", Store::Mode::kRead, kBuild); }), "O2052");
}

TEST(Store, WhatIsNoStoreIsRefused) {
  const Folder folder;
  std::ofstream(folder / "text.db") << std::string(4096, 'x');
  EXPECT_EQ(code_of([&] { Store(folder / "text.db", Store::Mode::kWrite, kBuild); }), "O2053");
  EXPECT_EQ(code_of([&] { Store(folder / "none.db", Store::Mode::kRead, kBuild); }), "O2053");
  EXPECT_EQ(code_of([&] { Store(folder / ".", Store::Mode::kWrite, kBuild); }), "O2053");
  {
    Database other(folder / "other.db", Database::Mode::kWrite);
    other.run("CREATE TABLE addresses(name)");
  }
  EXPECT_EQ(code_of([&] { Store(folder / "other.db", Store::Mode::kWrite, kBuild); }), "O2053");
}

// What SQL does to a store of three points behind Orrery's back.
void damage(const std::string& path, const char* sql) {
  {
    Store store(path, Store::Mode::kWrite, kBuild);
    put(store, store.study(row(), {}), {1, 2, 3});
  }
  Database database(path, Database::Mode::kWrite);
  database.run(sql);
}

TEST(Store, ChangedRowsAreNamedAndThrownAway) {
  const Folder folder;
  const std::pair<const char*, std::size_t> kDamages[] = {
      {"UPDATE points SET seconds = 0.2 WHERE point = 2", 1},
      {"UPDATE points SET parts = '1 1 layer' WHERE point = 2", 1},  // the end of its line is gone
      {"UPDATE points SET seal = '' WHERE point = 2", 1},
      {"UPDATE results SET name = 'other' WHERE id = 2", 2},  // and the point that is made of it
      {"DELETE FROM results WHERE id = 2", 1}};
  int at = 0;
  for (const auto& [sql, gone] : kDamages) {
    const std::string path = folder / (std::to_string(++at) + ".db");
    damage(path, sql);
    EXPECT_NE(Store(path, Store::Mode::kRead, kBuild).check(), "ok") << sql;
    EXPECT_EQ(code_of([&] { merge(folder / "all.db", {path}, kBuild); }), "O2053") << sql;
    Store store(path, Store::Mode::kWrite, kBuild);
    ASSERT_EQ(store.thrown_away().size(), gone) << sql;
    EXPECT_EQ(store.thrown_away().back(), "point 2 of study 1");
    EXPECT_EQ(points(store, *store.find_study(row().key)).size(), 2) << sql;
    EXPECT_EQ(store.check(), "ok");
  }
}

TEST(Store, TablesThatAreNotWhatTheyWereAreRefused) {
  const Folder folder;
  int at = 0;
  for (const char* sql : {"DROP TABLE results", "ALTER TABLE points DROP COLUMN cycles",
                          "ALTER TABLE points RENAME TO p; CREATE VIEW points AS SELECT * FROM p"}) {
    const std::string path = folder / (std::to_string(++at) + ".db");
    damage(path, sql);
    EXPECT_EQ(code_of([&] { Store(path, Store::Mode::kWrite, kBuild); }), "O2053") << sql;
    EXPECT_EQ(code_of([&] { Store(path, Store::Mode::kRead, kBuild).check(); }), at < 3 ? "O2053" : "") << sql;
  }
}

TEST(Store, ASecondWriterIsRefusedAReaderIsNot) {
  const Folder folder;
  Store first(folder / "a.db", Store::Mode::kWrite, kBuild);
  put(first, first.study(row(), {}), {1});
  EXPECT_EQ(code_of([&] { Store(folder / "a.db", Store::Mode::kWrite, kBuild); }), "O2055");
  Store reader(folder / "a.db", Store::Mode::kRead, kBuild);
  EXPECT_EQ(points(reader, *reader.find_study(row().key)).size(), 1);
}

TEST(Store, AFullDiskLosesNothingThatWasStored) {
  const Folder folder;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  {
    Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
    const StudyRow study = store.study(row(), {});
    put(store, study, {1, 2, 3});
    rlimit small = before;
    small.rlim_cur = 150'000;
    setrlimit(RLIMIT_FSIZE, &small);
    std::string code;
    for (int i = 0; i < 200 && code.empty(); ++i)
      code = code_of([&] { put(store, study, {static_cast<std::uint64_t>(10 + i % 100)}, i); });
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(code, "O2054");
  }
  ::signal(SIGXFSZ, handler);
  Store store(folder / "a.db", Store::Mode::kWrite, kBuild);
  EXPECT_EQ(store.check(), "ok");
  const auto kept = points(store, *store.find_study(row().key));
  ASSERT_GE(kept.size(), 3);
  EXPECT_EQ(kept[0].first, 1);
  EXPECT_EQ(kept[2].second, 3);
}

TEST(Store, AFolderThatMayNotBeWrittenIsRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Folder folder;
  fs::permissions(folder / ".", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(code_of([&] { Store(folder / "a.db", Store::Mode::kWrite, kBuild); }), "O2054");
  fs::permissions(folder / ".", fs::perms::owner_all);
}

TEST(Merge, TheOrderOfShardsDoesNotShow) {
  std::mt19937 dice(20240229);
  for (int round = 0; round < 20; ++round) {
    const Folder folder;
    std::vector<std::vector<std::uint64_t>> shards(3);
    for (std::uint64_t point = 0; point < 60; ++point) shards[dice() % 3].push_back(point);
    for (std::size_t s = 0; s < shards.size(); ++s) {
      Store store(folder / std::to_string(s), Store::Mode::kWrite, kBuild);
      put(store, store.study(row(), {{"arch.yaml", "hash"}}), shards[s]);
    }
    std::vector<std::string> sources = {folder / "0", folder / "1", folder / "2"};
    merge(folder / "there.db", sources, kBuild);
    std::reverse(sources.begin(), sources.end());
    merge(folder / "back.db", sources, kBuild);
    EXPECT_EQ(merge(folder / "back.db", sources, kBuild).points, 0) << "again, and nothing is new";
    Store there(folder / "there.db", Store::Mode::kRead, kBuild), back(folder / "back.db", Store::Mode::kRead, kBuild);
    const StudyRow one = *there.find_study(row().key), other = *back.find_study(row().key);
    EXPECT_EQ(points(there, one).size(), 60);
    EXPECT_EQ(points(there, one), points(back, other));
    for (std::uint64_t point = 0; point < 60; ++point) {  // its parts are its own
      const std::string parts = back.point(other.id, point)->outcome.parts;
      const auto result = back.result(std::stoll(parts));
      ASSERT_TRUE(result);
      EXPECT_EQ(result->outcome.figures[Figure::kEnergy], static_cast<double>(point));
    }
    EXPECT_EQ(back.check(), "ok");
  }
}

TEST(Merge, AnAnswerStaysBeforeAnExclusion) {
  const Folder folder;
  for (const char* name : {"a", "b"}) {
    Store store(folder / name, Store::Mode::kWrite, kBuild);
    const StudyRow study = store.study(row(), {});
    if (*name == 'a') {
      put(store, study, {7});
    } else {
      std::vector<Result> none;
      std::vector<std::int64_t> ids;
      store.write(study.id, none, ids, [](const auto&) {
        return std::vector<PointRow>{{7, outcome(1, Status::kPruned)}};
      });
    }
  }
  for (const auto& order : {std::vector<std::string>{"a", "b"}, {"b", "a"}}) {
    const std::string target = folder / ("to_" + order[0]);
    merge(target, {folder / order[0], folder / order[1]}, kBuild);
    Store store(target, Store::Mode::kRead, kBuild);
    EXPECT_EQ(store.point(store.find_study(row().key)->id, 7)->outcome.status, Status::kOptimal);
  }
}

TEST(Merge, TwoAnswersToOnePointAreRefused) {
  const Folder folder;
  for (const char* name : {"a", "b"}) {
    Store store(folder / name, Store::Mode::kWrite, kBuild);
    put(store, store.study(row(), {}), {1}, *name == 'a' ? 0 : 1);
  }
  EXPECT_EQ(code_of([&] { merge(folder / "c", {folder / "a", folder / "b"}, kBuild); }), "O2056");
  Store store(folder / "c", Store::Mode::kRead, kBuild);
  EXPECT_EQ(points(store, *store.find_study(row().key)).size(), 1) << "the first one is whole";
}

TEST(Merge, ShardsThatAskDifferentThingsAreRefused) {
  const Folder folder;
  for (const char* name : {"a", "b"}) {
    StudyRow asked = row();
    if (*name == 'b') asked.asked = "energy ";
    Store store(folder / name, Store::Mode::kWrite, kBuild);
    put(store, store.study(asked, {}), {1});
  }
  EXPECT_EQ(code_of([&] { merge(folder / "c", {folder / "a", folder / "b"}, kBuild); }), "O2056");
  EXPECT_EQ(code_of([&] { merge(folder / "a", {folder / "a"}, kBuild); }), "O2056");
}

}  // namespace
}  // namespace orrery::store
