#include "orrery/formats/csv/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/diagnostics/refused_test_util.h"

namespace orrery::formats::csv {
namespace {

using base::source;

std::vector<std::vector<std::string>> cells(const std::string& text, Comments comments = Comments::kNone) {
  base::Diagnostics found;
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : parse(source(text), comments, found).rows) {
    rows.emplace_back();
    for (const Cell& cell : row.cells) rows.back().push_back(cell.text);
  }
  EXPECT_TRUE(found.all().empty());
  return rows;
}

using Rows = std::vector<std::vector<std::string>>;

TEST(Csv, SplitsAtCommasAndKeepsBlanks) {
  EXPECT_EQ(cells("a, b ,\n1,2,3"), (Rows{{"a", " b ", ""}, {"1", "2", "3"}}));
}

TEST(Csv, EndsLinesAtLfCrlfAndCr) {
  EXPECT_EQ(cells("a\r\nb\nc\rd\r\n"), (Rows{{"a"}, {"b"}, {"c"}, {"d"}}));
}

TEST(Csv, SkipsEmptyLinesAndTheByteOrderMark) {
  EXPECT_EQ(cells("\xEF\xBB\xBF"
                  "a,b\n\n\r\n1,2\n"),
            (Rows{{"a", "b"}, {"1", "2"}}));
}

TEST(Csv, QuotedCellsHoldCommasLineEndsAndQuotes) {
  EXPECT_EQ(cells("\"a,b\",\"c\nd\",\"e\"\"f\"\n"), (Rows{{"a,b", "c\nd", "e\"f"}}));
}

TEST(Csv, HashBeginsACommentOnlyWhereAskedFor) {
  EXPECT_EQ(cells("# x\na,#b\n", Comments::kHash), (Rows{{"a", "#b"}}));
  EXPECT_EQ(cells("# x\na,#b\n"), (Rows{{"# x"}, {"a", "#b"}}));
}

TEST(Csv, PlacesCountCharactersAndLines) {
  base::Diagnostics found;
  const Document document = parse(source("é,x\n\"a\nb\",yy\nz"), Comments::kNone, found);
  ASSERT_EQ(document.rows.size(), 3u);
  EXPECT_EQ(document.rows[0].cells[1].column, 3);
  EXPECT_EQ(document.rows[1].line, 2);
  EXPECT_EQ(document.rows[1].cells[1].line, 3);
  EXPECT_EQ(document.rows[1].cells[1].column, 4);
  EXPECT_EQ(document.rows[1].cells[1].length, 2);
  EXPECT_EQ(document.rows[2].line, 4);
  EXPECT_EQ(document.place(document.rows[2].cells[0]).line, 4);
}

TEST(Csv, AQuoteThatNeverClosesIsToldWhereItOpens) {
  base::Diagnostics found;
  parse(source("a,b\n1,\"2\n3"), Comments::kNone, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_EQ(found.all()[0].code, "O1230");
  EXPECT_EQ(found.all()[0].primary.where.line, 2);
  EXPECT_EQ(found.all()[0].primary.where.column, 3);
}

TEST(Csv, TextAfterAClosingQuoteIsAnErrorAndTheRestIsRead) {
  base::Diagnostics found;
  const Document document = parse(source("\"a\"b,c\nd"), Comments::kNone, found);
  ASSERT_EQ(found.all().size(), 1u);
  EXPECT_EQ(found.all()[0].code, "O1231");
  EXPECT_EQ(found.all()[0].primary.where.column, 4);
  EXPECT_EQ(document.rows.size(), 2u);
}

RC_GTEST_PROP(Csv, QuotedTextOfAnyKindReadsBackAsItWas, (std::vector<std::string> row)) {
  RC_PRE(!row.empty());
  std::string text;
  for (std::string& cell : row) {
    std::string quoted;
    for (char& c : cell) {
      if (c == '\r') c = '\n';
      quoted += c;
      if (c == '"') quoted += c;
    }
    text += (text.empty() ? "\"" : ",\"") + quoted + "\"";
  }
  RC_ASSERT(cells(text + "\n") == Rows{row});
}

}  // namespace
}  // namespace orrery::formats::csv
