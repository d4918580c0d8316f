#include "orrery/formats/cacti/cacti_table.h"

#include <gtest/gtest.h>
#include <source_dir.h>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/formats/yaml/node.h"

namespace orrery::formats::cacti {
namespace {

const std::string kSramTableHeader =
    "tech_nm,banks,rw_ports,width_bits,capacity_bytes,read_pj,write_pj,leak_mw,area_mm2,access_ns,cycle_ns,"
    "nspd,ndwl,ndbl,mux\n";

std::shared_ptr<const base::SourceFile> file(std::string text) {
  return base::source(std::move(text), "sram.csv");
}

base::Diagnostics errors_of(const std::string& text) {
  base::Diagnostics found;
  read_sram_table(file(text), 32, found);
  return found;
}

TEST(SramTable, RowsOfOneTechnologyAreReadAndCommentsSkipped) {
  base::Diagnostics found;
  const auto table = read_sram_table(file("# from CACTI\n" + kSramTableHeader +
                                          "22,1,1,32,512,1,1,1,1,1,1,2,2,2,4\r\n"
                                          "32,4,1,128,524288,57.039,54.0501,0.0228391,0.901693,2.33395,1.5,8,2,4,16\r\n"
                                          "32,1,2,32,512,0.6,0.7,0.1,0.2,0.3,,,,,\n"),
                                     32, found);
  ASSERT_TRUE(found.all().empty());
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].point, (energy::SramPoint{524288, 128, 4, 1}));
  EXPECT_EQ(table.rows[0].figures[energy::kRead], 57.039);
  EXPECT_EQ(table.rows[0].figures[energy::kAccess], 2.33395);
  EXPECT_EQ(table.rows[0].organisation, (energy::SramOrganisation{8, 2, 4, 16}));
  EXPECT_EQ(table.rows[1].organisation, energy::SramOrganisation{});
}

TEST(SramTable, AMissingColumnIsNamed) {
  const auto found = errors_of("tech_nm,banks,rw_ports,width_bits,capacity_bytes,read_pj\n").all();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, "O1250");
  EXPECT_NE(found[0].message.find("`write_pj`"), std::string::npos);
  EXPECT_EQ(errors_of("").all().at(0).code, "O1250");
}

TEST(SramTable, ABadCellIsAnErrorWithItsLineAndColumn) {
  for (const char* bad :
       {"32,1,1,32,512,x,1,1,1,1,1,2,2,2,4", "32,1,1,32,512,1,-1,1,1,1,1,2,2,2,4",
        "32,1,1,32,512,1,1,1,1,nan,1,2,2,2,4", "32,1,1,32,512,1,1,1,1,1,1,2,2,2", "32,0,1,32,512,1,1,1,1,1,1,2,2,2,4",
        "32,1,1,32,512,1,1,1,1,1,1,0,2,2,4", "thirty,1,1,32,512,1,1,1,1,1,1,2,2,2,4"}) {
    const auto found = errors_of(kSramTableHeader + bad + "\n").all();
    ASSERT_EQ(found.size(), 1u) << bad;
    EXPECT_EQ(found[0].code, "O1251");
    EXPECT_EQ(found[0].primary.where.line, 2);
  }
}

TEST(SramTable, TheCatalogueHoldsFiveTechnologies) {
  const auto surfaces = sram_surfaces(yaml::read_file(ORRERY_SOURCE_DIR "/catalog/tables/sram_cacti7.csv"));
  for (const int technology : {22, 32, 45, 65, 90}) {
    const auto surface = surfaces(technology);
    ASSERT_TRUE(surface);
    EXPECT_EQ(surface, surfaces(technology));
    EXPECT_GT(surface->table().rows.size(), 1400u);
    EXPECT_EQ(surface->range(1, 1)->least_bytes, 256);
    EXPECT_FALSE(surface->range(3, 1));
  }
  EXPECT_FALSE(surfaces(28));
}

}  // namespace
}  // namespace orrery::formats::cacti
