// check_documents FILES...: each JSON document of Orrery is what the schema named in it describes. Empty files and JSON
// of other kinds (a schema, a trace) are passed over; all else is told, and the exit code is then 1.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "orrery/present/schema_check_test_util.h"

int main(int count, char** arguments) {
  int complaints = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    if (text.empty()) continue;
    for (const std::string& complaint : orrery::verbs::complaints_about(text)) {
      fmt::print("{}: {}\n", arguments[i], complaint);
      ++complaints;
    }
  }
  return complaints > 0;
}
