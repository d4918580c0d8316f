// A SQLite database and its statements, with Orrery's words for what goes wrong. The only door to SQLite.
//
// Write-ahead logging: a transaction is in the file as a whole or not at all, whenever the process ends. A lock on the
// file, held while it is open for writing, keeps a second writer out at the start rather than in the middle.
//
// Its SQL has one function more: seal(...), a hash of its arguments, by which a row is known that other hands changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::store {

class Database;

// Parameters count from 1, columns from 0, as SQLite's do. Borrows its database.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int at, std::int64_t value);
  Statement& bind(int at, double value);  // not a number: null
  Statement& bind(int at, std::string_view text);
  Statement& bind_blob(int at, std::string_view bytes);
  // All parameters, from the first on.
  template <typename... Values>
  Statement& with(const Values&... values) {
    int at = 0;
    (bind(++at, values), ...);
    return *this;
  }

  bool step();  // false: no row, or no more; the statement is ready for the next use
  void run();   // without rows

  std::int64_t integer(int column) const;
  double number(int column) const;  // null: not a number
  std::string text(int column) const;
  std::string blob(int column) const;

 private:
  Database* database_;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  enum class Mode { kRead, kWrite };
  // Throws InputError: O2053 for what is no database, O2054 for files and folders that cannot be written, O2055 where
  // another process writes.
  Database(std::string path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void write_ahead();  // from here on; the file stays so
  void run(const char* sql);
  std::int64_t last_id() const;
  const std::string& path() const { return path_; }

  [[noreturn]] void fail(int code) const;
  sqlite3* handle() const { return handle_; }

 private:
  void close();
  std::string path_;
  sqlite3* handle_ = nullptr;
  int lock_ = -1;
};

// All statements while it lives are one transaction; without commit() they come to nothing.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace orrery::store
