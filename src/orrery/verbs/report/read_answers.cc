#include "orrery/verbs/report/read_answers.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/text/text_file.h"
#include "orrery/base/version.h"
#include "orrery/present/charts/answer_charts.h"
#include "orrery/verbs/help/json_schema.h"
#include "orrery/verbs/sweep/report.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGiveAnswers =
    "give what `orrery VERB --json` printed, a result.json of `-o`, or a study's store";

std::unique_ptr<Node> parsed(const std::shared_ptr<const base::SourceFile>& file) {
  return std::make_unique<Node>(formats::json::parse(file, "O2081", kGiveAnswers));
}

// The kind and version of a document must be known.
void check_answer(const Node& document, const std::string& path) {
  const std::string schema = text_at(document, "schema"), kind = kind_of(document);
  if (kind.empty())
    base::fail("O2081", fmt::format("`{}` is no answer of Orrery: it has no `schema` that says so", path), {},
               kGiveAnswers);
  if (kind == "error")
    base::fail("O2081", fmt::format("`{}` is a refusal, not an answer", path), {},
               "run its command again without what it complains of");
  const std::size_t slash = schema.find('/');
  int number = 0;
  if (slash != std::string::npos) std::from_chars(schema.data() + slash + 1, schema.data() + schema.size(), number);
  const std::vector<std::string>& known = schema_names();
  if (number == 1 && std::find(known.begin(), known.end(), kind) != known.end()) return;
  base::Diagnostics found;
  found.error("O2082", fmt::format("`{}` is a document `{}`, which this Orrery does not know", path, schema))
      .note(fmt::format("it was written by Orrery {}; this is Orrery {}", text_at(document, "version"), base::kVersion))
      .hint("use the Orrery that wrote it, or ask its question again with this one");
  throw base::InputError(found.all());
}

bool is_store(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char begin[16] = {};
  return file.read(begin, 15) && std::string(begin) == "SQLite format 3";
}

void read_one(const fs::path& path, bool demanded, std::vector<KeptAnswer>& out) {
  if (path.extension() == ".db" || is_store(path)) {
    std::vector<StoredStudy> studies = stored_studies(path.string());
    if (studies.empty() && demanded)
      base::fail("O2081", fmt::format("the store `{}` holds no study yet", path.string()), {},
                 "wait until its sweep has begun, or name another one");
    for (StoredStudy& study : studies) {
      const auto file = std::make_shared<const base::SourceFile>(base::SourceFile{path.string(), study.document});
      out.push_back({path.string() + ": " + study.title, parsed(file)});
    }
    return;
  }
  const auto file = base::read_file(path.string());
  if (!demanded) {  // other files may lie in a folder
    if (file->text.find("\"orrery.") == std::string::npos) return;
  }
  std::unique_ptr<Node> document = parsed(file);
  if (!demanded && (kind_of(*document).empty() || kind_of(*document) == "error")) return;
  check_answer(*document, path.string());
  out.push_back({path.string(), std::move(document)});
}

void read_folder(const fs::path& folder, std::vector<KeptAnswer>& out) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && fs::is_regular_file(entry.path() / "result.json", ignored))
      files.push_back(entry.path() / "result.json");
    else if (entry.path().extension() == ".json" || entry.path().extension() == ".db")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  const std::size_t before = out.size();
  for (const fs::path& file : files) read_one(file, false, out);
  if (out.size() == before)
    base::fail("O2081", fmt::format("no answer of Orrery lies in `{}`", folder.string()), {}, kGiveAnswers);
}

}  // namespace

std::vector<KeptAnswer> read_answers(const std::vector<std::string>& paths) {
  std::vector<KeptAnswer> out;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
      read_folder(path, out);
    else
      read_one(path, true, out);
  }
  return out;
}

}  // namespace orrery::verbs
