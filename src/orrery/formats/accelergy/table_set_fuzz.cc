// Any bytes give a table and a library, or diagnostics; what was read answers queries.
#include <cstddef>
#include <cstdint>

#include "orrery/describe/energy/estimation_table.h"
#include "orrery/formats/accelergy/catalogue_tables.h"
#include "orrery/formats/accelergy/table_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.csv";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  base::Diagnostics found;
  const energy::Attributes attributes{{"technology", std::string("32nm")}, {"width", base::Count{8}}};
  const energy::Query query{"fuzz", attributes, "read", {}};
  energy::TableSet set{"fuzz", "32nm", 100, "fuzz.table.yaml", {}};
  set.tables.push_back(formats::accelergy::read_table(file, "fuzz", found));
  energy::EstimationTables({set}, {}).estimate(query);
  energy::Library(formats::accelergy::read_library(file, found), {}).estimate(query);
  return 0;
}
