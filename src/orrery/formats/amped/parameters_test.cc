#include "orrery/formats/amped/amped_parameters.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <source_dir.h>

#include "orrery/base/text/damaged_test_util.h"
#include "orrery/formats/amped/amped_test_util.h"
#include "orrery/formats/amped/result_names.h"
#include "orrery/formats/amped/unit_value.h"

namespace orrery::formats::amped {
namespace {

std::vector<base::Diagnostic> refused(const std::string& config, const std::string& tables = kTables,
                                      const Overrides& overrides = {}) {
  return base::refused([&] { resolved(config, tables, overrides); });
}

base::Diagnostic first(const std::string& what, const std::string& by, const std::string& tables = kTables) {
  return refused(replaced(kConfig, what, by), tables).at(0);
}

TEST(AmpedConfig, ValuesTablesAndCalculationsMeet) {
  const Resolved found = resolved(kConfig);
  const equations::Quantities& q = found.quantities;
  EXPECT_EQ(q.layers, 12);
  EXPECT_EQ(q.attention_heads, 12) << "by its lookup_name";
  EXPECT_EQ(q.head_width, 64) << "calculated from two looked-up ones";
  EXPECT_EQ(q.tokens_to_train, 3e11);
  EXPECT_EQ(q.accelerator_bandwidth, 2.4e12);
  EXPECT_EQ(q.accelerator_latency, 3e-6);
  EXPECT_EQ(q.frequency, 1.41e9);
  EXPECT_EQ(q.microbatch, 512.0 / 8 / 8);
  EXPECT_EQ(q.cards, 8) << "as many as accelerators unless given";
  EXPECT_TRUE(std::isnan(q.tile)) << "nobody asked, and nobody can know";
  EXPECT_EQ(found.transformer, "small");
  EXPECT_EQ(found.accelerator, "A100");
}

TEST(AmpedConfig, AUsersValueGoesBeforeTheFormulaAndReachesWhatReadsIt) {
  const Resolved found = resolved(
      replaced(kConfig, R"("data_parallel_degree": {"calculated": true})", R"("data_parallel_degree": {"value": 4})"));
  EXPECT_EQ(found.quantities.dp, 4);
  EXPECT_EQ(found.quantities.minibatch, 128);
  EXPECT_EQ(found.quantities.accelerators_required, 4 * 4 * 2);
}

TEST(AmpedConfig, MissingLookupTableRowAndPropertyAreToldApart) {
  EXPECT_EQ(first("\"lookup_config\": {\"lookup_table_name\": \"accelerator_specifications\", \"lookup_table_row\": "
                  "\"A100\"},",
                  "")
                .code,
            "O1326");
  EXPECT_EQ(first("x", "x", "").code, "O1330");
  const base::Diagnostic table = first("accelerator_specifications", "accelerator_specification");
  EXPECT_EQ(table.code, "O1327");
  EXPECT_EQ(table.primary.where.line, 46);
  EXPECT_EQ(table.hints.at(0), "did you mean `accelerator_specifications`?");
  const base::Diagnostic row = first("\"A100\"", "\"A10\"");
  EXPECT_EQ(row.code, "O1328");
  EXPECT_EQ(row.hints.at(0), "did you mean `A100`?");
  const base::Diagnostic property = first("\"A100\"", "\"V100\"");
  EXPECT_EQ(property.code, "O1329");
  EXPECT_NE(property.message.find("number_of_cores"), std::string::npos);
}

TEST(AmpedConfig, EachMistakeHasItsCodeAndPlace) {
  const std::vector<std::array<std::string, 3>> mistakes = {
      {"{\"value\": 64}", "{\"value\": 64,}", "O1320"},
      {"{\"value\": 64}", "64", "O1323"},
      {"{\"value\": 64}", "{\"value\": \"64 GX\"}", "O1333"},
      {"{\"value\": 64}", "{\"value\": -64}", "O1333"},
      {"{\"value\": 64}", "{\"value\": 64.5}", "O1333"},
      {"{\"value\": 64}", "{\"value\": true}", "O1333"},
      {"{\"value\": 64}", "{\"value\": 1e300}", "O1333"},
      {"{\"value\": 64}", "{\"value\": null}", "O1332"},
      {"{\"value\": 64}", "{}", "O1332"},
      {"{\"value\": 1024}", "{\"calculated\": true}", "O1331"},
      {"{\"calculated\": true}", "{\"calculated\": \"yes\"}", "O1323"},
      {"\"batch_size\": {\"value\": 512},", "", "O1335"},
      {"\"intra_node_tensor_parallel_degree\": {\"value\": 4}", "\"intra_node_tensor_parallel_degree\": {\"value\": 8}",
       "O1338"},
  };
  for (const auto& [what, by, code] : mistakes) {
    const base::Diagnostic error = first(what, by);
    EXPECT_EQ(error.code, code) << by;
    EXPECT_TRUE(error.primary.where.known()) << by;
  }
  EXPECT_EQ(refused(kConfig, "[]").at(0).code, "O1321");
  EXPECT_EQ(refused(kConfig, kTables, {{"batch_sise", "4"}}).at(0).code, "O1325");
}

TEST(AmpedConfig, ACircleOfCalculationsNamesItsMembers) {
  std::string config = replaced(kConfig, R"("batch_size": {"value": 512})", R"("batch_size": {"calculated": true})");
  config =
      replaced(config, R"("microbatch_size": {)", R"("minibatch_size": {"calculated": true}, "microbatch_size": {)");
  const std::vector<base::Diagnostic> errors = refused(config);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].code, "O1334");
  EXPECT_NE(errors[0].message.find("`batch_size`"), std::string::npos) << errors[0].message;
  EXPECT_NE(errors[0].message.find("`minibatch_size`"), std::string::npos);
  EXPECT_EQ(errors[0].secondary.size(), 1u);

  const Resolved fine =
      resolved(replaced(config, R"("minibatch_size": {"calculated": true})", R"("minibatch_size": {"value": 32})"));
  EXPECT_EQ(fine.quantities.batch_size, 256) << "a value opens the circle";
}

TEST(AmpedConfig, WarningsNameUnknownRepeatedAndStrangeThings) {
  const auto warned = [](const std::string& what, const std::string& by) {
    base::Diagnostics found;
    const Config config = read_config(source(replaced(kConfig, what, by)), {}, found);
    const LookupTables tables = read_lookup_tables(source(kTables), found);
    resolve(config, tables, {}, found);
    return found.all().empty() ? base::Diagnostic{} : found.all().front();
  };
  EXPECT_EQ(warned("x", "x").code, "") << "nothing to warn of";
  EXPECT_EQ(warned("\"description\": \"inner", "\"describtion\": \"inner").code, "O1322");
  const base::Diagnostic unknown = warned("\"microbatch_size\"", "\"microbatch_sise\"");
  EXPECT_EQ(unknown.code, "O1325");
  EXPECT_EQ(unknown.hints.at(0), "did you mean `microbatch_size`?");
  EXPECT_EQ(warned("\"context\"", "\"context\": {\"value\": 5}, \"context\"").code, "O1324");
  const base::Diagnostic bytes = warned("200 Gb/s", "25 GB/s");
  EXPECT_EQ(bytes.code, "O1336");
  EXPECT_EQ(bytes.hints.at(0), "8 bits are a byte: write 200000000000");
  EXPECT_EQ(warned("\"frequency\"", "\"main_mem_bw_A100\": {\"calculated\": true}, \"frequency\"").code, "O1337");
}

TEST(AmpedConfig, OverridesReplaceValuesAndRows) {
  EXPECT_EQ(resolved(kConfig, kTables, {{"layers", "24"}}).quantities.layers, 24);
  EXPECT_EQ(resolved(kConfig, kTables, {{"system_architecture_parameters.parameters.inter_node_latency.value", "7 us"}})
                .quantities.node_latency,
            7e-6);
  const std::string row = "accelerator_architecture_parameters.lookup_config.lookup_table_row";
  EXPECT_EQ(refused(kConfig, kTables, {{row, "V100"}}).at(0).code, "O1329");
  EXPECT_EQ(resolved(kConfig, kTables, {{row, "V100"}, {"number_of_cores", "80"}}).quantities.frequency, 1.53e9);
}

TEST(AmpedConfig, TheOrderOfParametersChangesNothing) {
  const Resolved straight = resolved(kConfig);
  EXPECT_TRUE(rc::check([&] {
    // Lines of the first category's parameters.
    std::vector<std::string> lines;
    std::istringstream text(kConfig);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    const auto begin = lines.begin() + 4, end = lines.begin() + 21;
    for (auto line = begin; line != end; ++line)
      if (line->back() == ',') line->pop_back();
    for (auto line = begin; line != end; ++line) {
      const auto other = begin + *rc::gen::inRange<int>(0, static_cast<int>(end - begin));
      std::swap(*line, *other);
    }
    for (auto line = begin; line + 1 != end; ++line) *line += ',';
    std::string config;
    for (const std::string& line : lines) config += line + "\n";
    const Resolved shuffled = resolved(config);
    for (const equations::Quantity& quantity : equations::quantity_table()) {
      const double a = straight.quantities.*quantity.field, b = shuffled.quantities.*quantity.field;
      RC_ASSERT(a == b || (std::isnan(a) && std::isnan(b)));
    }
  }));
}

TEST(AmpedUnits, UnitTextsEqualPlainNumbers) {
  const std::vector<std::pair<std::string, std::string>> prefixes = {
      {"", ""},     {"k", "e3"},  {"M", "e6"},  {"G", "e9"},   {"T", "e12"}, {"P", "e15"},
      {"m", "e-3"}, {"u", "e-6"}, {"n", "e-9"}, {"p", "e-12"}, {"K", "e3"},  {"\xC2\xB5", "e-6"}};
  EXPECT_TRUE(rc::check([&] {
    const std::string digits =
        std::to_string(*rc::gen::inRange(0, 1000000)) + "." + std::to_string(*rc::gen::inRange(0, 1000000));
    const auto& [prefix, power] = *rc::gen::elementOf(prefixes);
    const std::string unit = *rc::gen::elementOf(std::vector<std::string>{"B", "b/s", "Hz", "s", "bits", "MACs/cycle"});
    const std::string space = *rc::gen::elementOf(std::vector<std::string>{"", " ", "  "});
    const auto value = parse_unit_value(digits + space + prefix + unit);
    RC_ASSERT(value.has_value());
    RC_ASSERT(value->number == std::stod(digits + power));
  }));
}

TEST(AmpedUnits, ExamplesAndRefusals) {
  EXPECT_EQ(parse_unit_value("8 GB")->number, 8e9);
  EXPECT_EQ(parse_unit_value("2.4 Tb/s")->number, 2.4e12);
  EXPECT_EQ(parse_unit_value("5 MACs")->number, 5) << "the unit goes before the prefix";
  EXPECT_EQ(parse_unit_value("2 GiB")->number, 2147483648.0);
  EXPECT_EQ(parse_unit_value("1.5e3 G")->number, 1.5e12);
  EXPECT_EQ(parse_unit_value("2E")->number, 2e18);
  for (const char* bad : {"", "GB", "eight GB", "8 XB", "8 gb", "8 min", "1,000", "nan", "inf", "1e999", "8 GB/day",
                          "8 GB s", "0x10", "--3", "."})
    EXPECT_FALSE(parse_unit_value(bad).has_value()) << bad;
}

// The equations' goldens: an object of cases with `config`, `derived` and `outputs`.
TEST(AmpedGoldens, CompatReproducesEveryNumberTo1e12) {
  const std::string path = ORRERY_SOURCE_DIR "/../shared/goldens/cluster/amped_equation_goldens.json";
  std::ifstream stream(path);
  if (!stream) GTEST_SKIP() << "the reference figures are not at hand";
  std::stringstream text;
  text << stream.rdbuf();
  const json::Node root = json::parse(source(text.str()), "O1320");
  const equations::Model model = equations::Model::original();
  int compared = 0;
  for (const json::Node& one : root.find("cases")->value.items) {
    SCOPED_TRACE(one.find("case")->value.text);
    // The case's configuration alone, as a file.
    std::string config = "{";
    for (const json::Member& member : one.find("config")->value.members)
      config += (config.size() > 1 ? ", \"" : "\"") + member.key + "\": " + member.value.text;
    base::Diagnostics found;
    const Resolved read = resolve_flat(source(config + "}"), {}, model.defects, found);
    std::map<std::string, double> ours;
    for (const auto& [name, value] : derived(read.quantities)) ours[name] = value;
    for (const auto& [name, value] : outputs(equations::times_of(read.quantities, model))) ours[name] = value;
    for (const char* part : {"derived", "outputs"})
      for (const json::Member& golden : one.find(part)->value.members) {
        ASSERT_TRUE(ours.count(golden.key)) << golden.key;
        EXPECT_LE(std::abs(ours[golden.key] - golden.value.number), 1e-12 * std::abs(golden.value.number))
            << golden.key << ": " << ours[golden.key] << " against " << golden.value.number;
        ++compared;
      }
  }
  EXPECT_EQ(compared, 5 * (33 + 16));
}

TEST(AmpedFlat, ACaseIsReadByItsConfigAndUnknownNamesAreErrors) {
  const auto read = [](const std::string& text) {
    base::Diagnostics found;
    return resolve_flat(source(text), {}, {}, found);
  };
  const auto codes_of = [&](const std::string& text) { return base::codes_of([&] { read(text); }); };
  const std::vector<std::string> bare = codes_of("{\"layers\": 4}");
  EXPECT_EQ(bare, codes_of("{\"case\": \"a\", \"config\": {\"layers\": 4}}"));
  EXPECT_EQ(bare.at(0), "O1335");
  EXPECT_EQ(codes_of("{\"layers\": 4, \"tp_itra\": 2}").at(0), "O1325");
  EXPECT_EQ(codes_of("[1]"), (std::vector<std::string>{"O1320"}));
}

TEST(AmpedConfig, DamagedFilesAreRefusedOrReadButNeverCrash) {
  EXPECT_TRUE(rc::check([] {
    const std::string text = base::damaged(kConfig, "{}[]\",:0\\-n19");
    try {
      const Resolved found = resolved(text);
      RC_ASSERT(std::isfinite(equations::times_of(found.quantities, {}).total_s));
    } catch (const base::InputError& error) {
      RC_ASSERT(!error.diagnostics.empty());
    }
  }));
}

}  // namespace
}  // namespace orrery::formats::amped
