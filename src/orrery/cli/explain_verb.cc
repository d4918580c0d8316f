#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/edit_distance.h"
#include "orrery/cli/verbs.h"
#include "orrery/scenario/catalogue.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

std::string read_page(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> known_codes(const fs::path& pages) {
  std::vector<std::string> codes;
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(pages, failure))
    if (entry.path().extension() == ".md") codes.push_back(entry.path().stem().string());
  std::sort(codes.begin(), codes.end());
  return codes;
}

}  // namespace

int run_explain(const ExplainOptions& options, const Console& console) {
  const fs::path pages = fs::path(scenario::catalogue_directory()) / "errors";
  const std::vector<std::string> codes = known_codes(pages);
  if (options.code.empty()) {
    for (const std::string& code : codes) {
      const std::string page = read_page(pages / (code + ".md"));
      const std::string title = page.substr(0, page.find('\n'));
      console.out << (title.rfind("# ", 0) == 0 ? title.substr(2) : title) << "\n";
    }
    return kDone;
  }
  std::string wanted = options.code;
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::find(codes.begin(), codes.end(), wanted) == codes.end()) {
    const std::string nearest = base::closest(wanted, codes);
    base::fail("O1108", fmt::format("there is no diagnostic code `{}`", options.code), {},
               nearest.empty() ? "`orrery explain` lists them"
                               : fmt::format("did you mean `{}`? `orrery explain` lists them", nearest));
  }
  console.out << read_page(pages / (wanted + ".md"));
  return kDone;
}

}  // namespace orrery::cli
