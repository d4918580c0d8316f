#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "orrery/present/chart/chart_plot.h"
#include "orrery/present/chart/chart_svg.h"
#include "orrery/present/chart/chart_vega.h"
#include "orrery/present/chart/loop_tree_html.h"
#include "orrery/present/chart/page.h"
#include "orrery/present/chart/result_tables.h"
#include "orrery/present/chart/study_points.h"

namespace orrery::verbs {
namespace {

Node document(const std::string& text) {
  return formats::json::parse(std::make_shared<const base::SourceFile>(base::SourceFile{"answer.json", text}), "O2081");
}

Chart cloud(std::size_t points) {
  Chart out;
  out.name = "cloud", out.title = "A cloud", out.kind = Chart::Kind::kPoints;
  out.x = {"x", true}, out.y = {"y", true};
  for (std::size_t i = 1; i <= points; ++i) {
    ChartMark mark;
    mark.x = static_cast<double>(i), mark.y = 1 / mark.x;
    mark.facts = {derived("place", shown_number(mark.x))};
    out.marks.push_back(mark);
  }
  return out;
}

TEST(Charts, TicksEncloseTheValuesAndAreRound) {
  const ChartScale scale = scale_of(3, 97, false);
  EXPECT_LE(scale.least, 3);
  EXPECT_GE(scale.most, 97);
  EXPECT_EQ(scale.ticks, (std::vector<double>{0, 20, 40, 60, 80, 100}));
  const ChartScale powers = scale_of(0.03, 5e5, true);
  EXPECT_DOUBLE_EQ(powers.least, 0.01);
  EXPECT_DOUBLE_EQ(powers.most, 1e6);
  EXPECT_EQ(powers.text(1e6), "1M");
  const ChartScale one = scale_of(7, 7, false);
  EXPECT_LT(one.least, one.most);
}

TEST(Charts, UnitsHaveOneToThreeDigits) {
  EXPECT_EQ(unit_of(4.5e12, "pJ").name, "J");
  EXPECT_EQ(unit_of(999, "pJ").name, "pJ");
  EXPECT_EQ(unit_of(0.002, "s").name, "ms");
  EXPECT_DOUBLE_EQ(unit_of(8e10, "B").factor, 1e-9);
  EXPECT_EQ(unit_of(12, "dollars").name, "dollars");
}

TEST(Charts, ManyPointsAreSampledAndTheNoteSaysSo) {
  Chart chart = cloud(10000);
  chart.marks[4321].label = "chosen";
  chart.marks.push_back({});  // at 0, on logarithmic axes
  prepare(chart);
  EXPECT_LE(chart.marks.size(), 3001U);
  EXPECT_GE(chart.marks.size(), 2000U);
  EXPECT_TRUE(std::any_of(chart.marks.begin(), chart.marks.end(), [](const ChartMark& m) { return m.x == 4322; }));
  EXPECT_NE(chart.note.find("1 of them at 0 or without end is left out"), std::string::npos) << chart.note;
  EXPECT_NE(chart.note.find("of 10000 are drawn"), std::string::npos) << chart.note;
}

// A name that begins beside another point is read as that point's.
TEST(Charts, NamesStandOnTheFreeSideOfTheirPointsOrNowhere) {
  const auto with = [](std::vector<std::pair<double, double>> points) {
    Chart chart;
    chart.kind = Chart::Kind::kPoints;
    for (const auto& [x, y] : points) chart.marks.emplace_back().x = x, chart.marks.back().y = y;
    chart.marks[0].label = "the first";
    prepare(chart);
    return chart.marks[0];
  };
  EXPECT_FALSE(with({{50, 50}, {0, 0}, {100, 100}}).label_before) << "nothing is in the way";
  EXPECT_TRUE(with({{50, 50}, {0, 0}, {100, 100}, {53, 53}}).label_before) << "a point behind it";
  EXPECT_TRUE(with({{100, 50}, {0, 0}, {50, 100}}).label_before) << "the end of the chart";
  EXPECT_TRUE(with({{50, 50}, {0, 0}, {100, 100}, {53, 53}, {47, 53}}).label_below) << "points on both sides above it";
  EXPECT_EQ(with({{50, 50}, {0, 0}, {100, 100}, {53, 53}, {47, 53}, {53, 47}, {47, 47}}).label, "")
      << "nothing is free";
}

TEST(Charts, NamesAreTextWhereverTheyStand) {
  Chart chart = cloud(3);
  const std::string evil = "</script><script>alert(1)</script>";
  chart.title = chart.x.title = chart.marks[0].label = evil;
  chart.marks[0].facts = {derived(evil, evil)};
  EXPECT_EQ(chart_svg(chart).find("<script"), std::string::npos);
  EXPECT_EQ(script_text(chart_vega(chart)).find('<'), std::string::npos);
  EXPECT_EQ(chart_table_html(chart).find("<script"), std::string::npos);
  const Node answer = document(
      "{\"schema\": \"orrery.map/1\", \"command\": \"orrery map '<u>'\", \"result\": {\"</script><b>\": \"<i>\"}}");
  const std::string page = page_html(evil, {{evil, "map", &answer, {chart}}}, "");
  EXPECT_NE(page.find("<code>orrery map &#39;&lt;u&gt;&#39;</code>"), std::string::npos);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
}

TEST(Charts, TablesShowFiguresRoundedBesideAllDigits) {
  const Node result =
      document("{\"rows\": [{\"name\": \"a\", \"x\": 17515211390.060886}, {\"name\": \"b\", \"x\": 3}]}");
  const std::string html = tables_html(result);
  EXPECT_NE(html.find("data-v=\"17515211390.060886\">17515211390<"), std::string::npos) << html;
  EXPECT_NE(html.find("<td class=\"n\">3</td>"), std::string::npos) << html;
}

TEST(Charts, LoopTreesAreNestedListsAndTheirNamesAreText) {
  const Node result = document(
      "{\"tree\": [{\"loop\": \"<b>\", \"count\": 2, \"tile\": 64, \"inside\": [{\"hold\": \"H\", \"at\": \"Buffer\", "
      "\"bits\": 32768.0, \"shared\": true}, {\"sequence\": [[{\"compute\": \"H\", \"on\": \"MAC\"}], [{\"compute\": "
      "\"Y\", \"on\": \"MAC\"}]]}]}]}");
  EXPECT_TRUE(is_loop_tree(*at(result, "tree")));
  const std::string html = tables_html(result);
  EXPECT_NE(html.find("<b>&lt;b&gt;</b>: 2 of 64"), std::string::npos) << html;
  EXPECT_NE(html.find("<b>Buffer</b> hands on <b>H</b>"), std::string::npos) << html;
  EXPECT_NE(html.find("<ol>"), std::string::npos) << html;
  EXPECT_EQ(html.find("..."), std::string::npos) << html;
}

TEST(Charts, PointsLeadToTheirLayers) {
  const Node result = document(
      "{\"points\": [{\"layers\": {\"a\": {\"x\": 1}, \"b\": {\"x\": 2}}}, {\"layers\": {\"a\": {\"x\": 3}, \"b\": "
      "{\"x\": 4}}}]}");
  const std::string html = tables_html(result, "p-");
  EXPECT_NE(html.find("id=\"p-0\""), std::string::npos) << html;
  EXPECT_EQ(html.find("id=\"p-1\""), html.rfind("id=\"p-1\"")) << html;
  Chart chart = cloud(2);
  chart.marks[0].facts = {derived("point", "1")};
  const std::string linked = chart_table_html(chart, [](const Fact& fact) { return "p-" + fact.shown; });
  EXPECT_NE(linked.find("<a href=\"#p-1\">1</a>"), std::string::npos) << linked;
}

TEST(Charts, EveryPointOfAStudyIsOnThePageWithItsLayersEqualOnesOnce) {
  const Node result = document(
      "{\"pareto\": [1], \"points\": [{\"config\": {\"seq\": 512}, \"energy_pj\": 3.123456789, \"reason\": null, "
      "\"layers\": {\"a\": {\"x\": 1}, \"</script>\": {\"x\": 2}}}, {\"config\": {\"seq\": 1024}, \"energy_pj\": 4, "
      "\"reason\": null, \"layers\": {\"a\": {\"x\": 1}}}]}");
  const std::string html = study_points_html(result, "a1-points");
  EXPECT_NE(html.find("\"names\": [\"config.seq\",\"energy_pj\"]"), std::string::npos) << html;
  EXPECT_NE(html.find("\"points\": [[\"512\",\"3.12346\"],[\"1024\",\"4\"]]"), std::string::npos) << html;
  EXPECT_NE(html.find("\"layers\": [[\"a\",\"1\"],[\"\\u003c/script>\",\"2\"]]"), std::string::npos) << html;
  EXPECT_NE(html.find("\"layers_of\": [[0,1],[0]]"), std::string::npos) << html;
  EXPECT_EQ(html.find("</script>"), html.rfind("</script>"));
}

TEST(Charts, OfVeryManyLayersSomePointsHaveTheirsAndTheFrontAlways) {
  std::string text = "{\"pareto\": [4999], \"points\": [";
  for (int i = 0; i < 5000; ++i) {
    text += i > 0 ? ", {\"layers\": {" : "{\"layers\": {";
    for (int k = 0; k < 9; ++k) text += fmt::format("{}\"l{}\": {{\"x\": {}}}", k > 0 ? ", " : "", k, 9 * i + k);
    text += "}}";
  }
  const std::string html = study_points_html(document(text + "]}"), "a1-points");
  EXPECT_NE(html.find("\"l0\",\"0\""), std::string::npos);
  EXPECT_EQ(html.find("\"l0\",\"9\""), std::string::npos) << "every third point, of 45,000 layers";
  EXPECT_NE(html.find("\"l0\",\"44991\""), std::string::npos) << "the front's";
  EXPECT_NE(html.find("\"with_layers\": 1668"), std::string::npos);
}

TEST(Charts, ParallelCoordinatesHaveALineAPoint) {
  Chart chart;
  chart.kind = Chart::Kind::kParallel;
  chart.series = {"on the front", "others"};
  chart.axes = {{"depth", "1", "8"}, {"<energy>", "2", "5"}};
  for (const double share : {0.0, 1.0}) {
    ChartMark mark;
    mark.series = chart.series[share > 0 ? 0 : 1];
    mark.shares = {share, 1 - share};
    chart.marks.push_back(mark);
  }
  const std::string svg = chart_svg(chart);
  EXPECT_NE(svg.find("&lt;energy&gt;"), std::string::npos) << svg;
  EXPECT_NE(svg.find("class=\"s0\""), std::string::npos) << svg;
  EXPECT_NE(text(chart_vega(chart)).find("\"shares\""), std::string::npos);
}

TEST(Charts, DifferencesNameWhatDiffersAndByHowMuch) {
  const Node one = document("{\"result\": {\"time\": 2.0, \"kind\": \"a\"}}"),
             two = document("{\"result\": {\"time\": 3.0, \"kind\": \"a\"}}");
  const std::string html = comparison_html({{"one", &one}, {"two", &two}});
  EXPECT_NE(html.find("<td>time</td>"), std::string::npos) << html;
  EXPECT_NE(html.find(">1.5</td>"), std::string::npos) << html;
  EXPECT_EQ(html.find("<td>kind</td>"), std::string::npos) << html;
  EXPECT_EQ(comparison_html({{"one", &one}, {"one", &one}}), "");
}

TEST(Charts, PlotsKeepTheirWidthAndUseColourOnlyWhereAsked) {
  const Chart chart = cloud(5);
  const std::string plain = chart_plot(chart, 60, false);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(chart_plot(chart, 60, true).find('\x1b'), std::string::npos);
  EXPECT_NE(plain.find("A  1"), std::string::npos) << plain;
  Chart bars = chart;
  bars.kind = Chart::Kind::kBars;
  EXPECT_EQ(chart_plot(bars, 60, false), "");
}

}  // namespace
}  // namespace orrery::verbs
