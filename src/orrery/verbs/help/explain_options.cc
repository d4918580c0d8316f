#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/text/edit_distance.h"
#include "orrery/base/text/text.h"
#include "orrery/cli/command_line.h"
#include "orrery/inputs/catalogue/catalogue.h"
#include "orrery/verbs/help/verbs_json.h"

namespace orrery::verbs {
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

// "# O0502: a constraint's target does not exist" -> "a constraint's target does not exist".
std::string title_of(const std::string& page) {
  const std::string line = page.substr(0, page.find('\n'));
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? line : line.substr(colon + 2);
}

}  // namespace

int run_explain(const Arguments& arguments, Console& console) {
  std::string code;
  CommandLine line("explain", "What a diagnostic code means; without CODE, all of them", "orrery explain O0710");
  line.word("CODE", code, "Code of a diagnostic, such as O0710");
  if (!line.read(arguments, console)) return kDone;
  const fs::path pages = fs::path(verbs::catalogue_directory()) / "errors";
  const std::vector<std::string> codes = known_codes(pages);
  if (code.empty()) {
    std::vector<ErrorPage> list;
    for (const std::string& each : codes) {
      const std::string title = title_of(read_page(pages / (each + ".md")));
      if (console.json)
        list.push_back({each, title, ""});
      else
        print(console, fmt::format("{}: {}\n", each, title));
    }
    if (console.json) console.out << codes_document().json(list, 0, console.command);
    return kDone;
  }
  const std::string wanted = base::upper(code);
  if (std::find(codes.begin(), codes.end(), wanted) == codes.end())
    base::fail("O1108", fmt::format("there is no diagnostic code `{}`", code), {},
               base::did_you_mean(wanted, codes, "`orrery explain` lists them"));
  const std::string page = read_page(pages / (wanted + ".md"));
  if (console.json)
    console.out << page_document().json({wanted, title_of(page), page}, 0, console.command);
  else
    print(console, page);
  return kDone;
}

}  // namespace orrery::verbs
