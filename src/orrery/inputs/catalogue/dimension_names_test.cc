#include "orrery/inputs/catalogue/dimension_names.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "orrery/inputs/catalogue/catalogue.h"

namespace orrery::verbs {
namespace {

base::Location line(const std::shared_ptr<const base::SourceFile>& file, int number) {
  return {file, number, 1, 1};
}

TEST(DimensionNames, ManyUnknownNamesInACatalogueChipAreOneMessageWithTheWayOut) {
  const auto chip = std::make_shared<base::SourceFile>(base::SourceFile{catalogue_directory() + "/chips/x.yaml", ""});
  const auto own = std::make_shared<base::SourceFile>(base::SourceFile{"own.yaml", ""});
  base::Diagnostics found;
  found.error("O0505", "`E` is not a dimension of the problem `conv`", line(chip, 3));
  found.error("O0505", "`K` is not a dimension of the problem `conv`", line(own, 1));
  found.error("O0505", "`D` is not a dimension of the problem `conv`", line(chip, 4));
  found.error("O0505", "`E` is not a dimension of the problem `conv`", line(chip, 5));
  found.error("O0507", "odd", line(chip, 6));

  const std::vector<base::Diagnostic> folded = fold_dimension_names(found.all());
  ASSERT_EQ(folded.size(), 3u);
  EXPECT_EQ(folded[0].primary.where.line, 3);
  ASSERT_EQ(folded[0].hints.size(), 1u);
  EXPECT_NE(folded[0].hints[0].find("written for `E`, `D`: rename"), std::string::npos) << folded[0].hints[0];
  ASSERT_EQ(folded[0].notes.size(), 1u);
  EXPECT_EQ(folded[0].notes[0].rfind("2 more places", 0), 0u) << folded[0].notes[0];
  EXPECT_EQ(folded[1].primary.where.file, own);
  EXPECT_TRUE(folded[1].hints.empty());
  EXPECT_EQ(folded[2].code, "O0507");
}

}  // namespace
}  // namespace orrery::verbs
