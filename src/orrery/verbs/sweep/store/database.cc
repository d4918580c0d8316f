#include "orrery/verbs/sweep/store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/diagnostics/check.h"
#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"

namespace orrery::store {
namespace {

constexpr const char* kRoom =
    "what was stored before is kept: free some room, or point `--store` to another disk, and run the same command "
    "again";

[[noreturn]] void refuse_write(const std::string& path, const std::string& why, const char* hint) {
  base::fail("O2054", fmt::format("the store `{}` cannot be written: {}", path, why), {}, hint);
}

[[noreturn]] void refuse_second(const std::string& path) {
  base::Diagnostics found;
  found.error("O2055", fmt::format("another sweep works on the store `{}`", path))
      .note("one process writes a store at a time")
      .hint("wait for it, or give this one a store of its own with `--store FILE`; `orrery merge` joins them later");
  throw base::InputError(found.all());
}

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& said) {
  base::fail("O2053", fmt::format("`{}` is no store, or a damaged one: {}", path, said), {},
             "name the store of an earlier `orrery sweep`, a copy that is whole, or a file that does not exist yet");
}

// Kinds and bytes of the arguments, as they come back from a table: there, nought has no sign.
void seal(sqlite3_context* context, int count, sqlite3_value** arguments) {
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    sqlite3_value* const one = arguments[i];
    const int kind = sqlite3_value_type(one);
    std::string text;
    if (kind == SQLITE_FLOAT) {
      text = fmt::format("{:a}", sqlite3_value_double(one) + 0.0);
    } else if (kind != SQLITE_NULL) {
      const auto* at = static_cast<const char*>(sqlite3_value_blob(one));
      text.assign(at ? at : "", static_cast<std::size_t>(sqlite3_value_bytes(one)));
    }
    bytes += fmt::format("{} {} {} ", kind, text.size(), text);
  }
  const std::string hash = base::content_hash(bytes);
  sqlite3_result_text(context, hash.c_str(), 16, SQLITE_TRANSIENT);
}

}  // namespace

Database::Database(std::string path, Mode mode) : path_(std::move(path)) {
  const bool writes = mode == Mode::kWrite;
  std::error_code ignored;
  if (std::filesystem::is_directory(path_, ignored))
    base::fail("O2053", fmt::format("`{}` is a folder, not a store", path_), {}, "name a file in it");
  if (writes) {
    lock_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0)
      refuse_write(path_, std::strerror(errno), "choose a folder that you may write in, with `--store FILE`");
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(lock_);
      refuse_second(path_);
    }
    const std::string folder = std::filesystem::absolute(path_, ignored).parent_path().string();
    if (::access(folder.c_str(), W_OK | X_OK) != 0) {
      const std::string why = fmt::format("in its folder nothing can be made: {}", std::strerror(errno));
      ::close(lock_);
      refuse_write(path_, why, "choose a folder that you may write in, with `--store FILE`");
    }
  } else if (!std::filesystem::exists(path_, ignored)) {
    base::fail("O2053", fmt::format("there is no store `{}`", path_), {}, "name the one of an earlier `orrery sweep`");
  }
  // For reading, too: what a killed writer left half done has to be rolled back before anyone can read. Where the file
  // may only be read, SQLite opens it so.
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr);
  try {
    if (code != SQLITE_OK) fail(code);
    sqlite3_busy_timeout(handle_, 2000);
    sqlite3_create_function_v2(handle_, "seal", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, seal, nullptr, nullptr,
                               nullptr);
    if (!writes) run("PRAGMA query_only=1");
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() {
  close();
}

void Database::close() {
  sqlite3_close_v2(handle_);
  if (lock_ >= 0) ::close(lock_);
}

void Database::write_ahead() {
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=NORMAL");
}

void Database::run(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Database::last_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

void Database::fail(int code) const {
  const std::string said = handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const int extended = handle_ ? sqlite3_extended_errcode(handle_) : code;
  switch (code & 0xff) {
    case SQLITE_FULL:
      refuse_write(path_, "the disk is full", kRoom);
    case SQLITE_IOERR:
      if (extended == SQLITE_IOERR_WRITE || extended == SQLITE_IOERR_SHMSIZE || extended == SQLITE_IOERR_FSYNC)
        refuse_write(path_, fmt::format("{} ({})", said, std::strerror(sqlite3_system_errno(handle_))), kRoom);
      refuse_write(path_, said, "SQLite could not read or write it; is the disk well?");
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      refuse_write(path_, said, "may you write the file and its folder?");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      refuse_second(path_);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // tables that are others than they were made
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_SCHEMA:
      refuse_damaged(path_, said);
    default:
      throw base::InternalError(fmt::format("SQLite, {}: {} ({})", path_, said, extended));
  }
}

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  const int code = sqlite3_prepare_v3(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  if (code != SQLITE_OK) database.fail(code);
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement& Statement::bind(int at, std::int64_t value) {
  sqlite3_bind_int64(statement_, at, value);
  return *this;
}

Statement& Statement::bind(int at, double value) {
  sqlite3_bind_double(statement_, at, value);  // SQLite takes not-a-number as null
  return *this;
}

Statement& Statement::bind(int at, std::string_view text) {
  sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_blob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  sqlite3_reset(statement_);
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Statement::number(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}

std::string Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace orrery::store
