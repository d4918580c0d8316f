#include "orrery/present/text_table.h"

#include <gtest/gtest.h>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/present/table_form.h"

namespace orrery::verbs {
namespace {

TEST(Table, AlignsTheFirstColumnLeftAndTheOthersRightByCharacters) {
  Table table;
  table.header = {"layer", "n"};
  table.rows = {{"ü", "1"}, {"b", "100"}};
  table.rules_before = {1};
  EXPECT_EQ(text(table), "layer    n\n----------\nü        1\n----------\nb      100\n");
}

TEST(Table, AsCsvHasNoBarsAndQuotesWhatNeedsIt) {
  Table table;
  table.header = {"layer", "share", ""};
  table.rows = {{"a, b", "1 %", "███▏"}, {"c\"", "2 %", "█"}};
  set_table_form(TableForm::kCsv);
  const std::string out = only_tables("a title\n\n" + text(table) + "prose\n" + text(table));
  set_table_form(TableForm::kText);
  const std::string cells = "layer,share\n\"a, b\",1 %\n\"c\"\"\",2 %\n";
  EXPECT_EQ(out, "# a title\n" + cells + "\n# prose\n" + cells);
}

TEST(Table, AsLatexEscapesWhatMeansSomethingThere) {
  Table table;
  table.header = {"util. (%)", "n"};
  table.rows = {{"a_b", "<2"}};
  set_table_form(TableForm::kLatex);
  const std::string out = only_tables(text(table));
  set_table_form(TableForm::kText);
  EXPECT_EQ(
      out,
      "\\begin{tabular}{lr}\n\\hline\nutil. (\\%) & n \\\\\n\\hline\na\\_b & $<$2 \\\\\n\\hline\n\\end{tabular}\n");
}

TEST(Table, AnAnswerWithoutOneIsRefused) {
  set_table_form(TableForm::kCsv);
  EXPECT_THROW(only_tables("prose\n"), base::InputError);
  set_table_form(TableForm::kText);
}

}  // namespace
}  // namespace orrery::verbs
