#include "orrery/cli/arguments.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "orrery/base/diagnostic.h"
#include "orrery/cli/version.h"

namespace orrery::cli {
namespace {

using Words = std::vector<std::string>;

template <typename Options>
Options parsed(const Words& words) {
  return std::get<Options>(parse_arguments(words, false));
}

// The code and the hint that a bad command line gets.
std::pair<std::string, std::string> refusal(const Words& words) {
  try {
    parse_arguments(words, false);
  } catch (const base::InputError& error) {
    const base::Diagnostic& diagnostic = error.diagnostics.at(0);
    return {diagnostic.code, diagnostic.hints.empty() ? "" : diagnostic.hints[0]};
  }
  return {"accepted", ""};
}

TEST(Arguments, FilesAndOptionsMixInAnyOrder) {
  for (const Words& words :
       {Words{"map", "a.yaml", "--json", "b.yaml", "--threads", "2"},
        Words{"map", "--threads=2", "--json", "a.yaml", "b.yaml"}, Words{"map", "--json", "-j2", "a.yaml", "b.yaml"}}) {
    const auto map = parsed<MapOptions>(words);
    EXPECT_EQ(map.files, (Words{"a.yaml", "b.yaml"}));
    EXPECT_TRUE(map.json);
    EXPECT_EQ(map.threads, 2);
  }
}

TEST(Arguments, RepeatableOptionsTakeOneValueEachAndLeaveFilesAlone) {
  const auto map = parsed<MapOptions>({"map", "--chip", "c.yaml", "--chip", "d.yaml", "--set", "a=1", "--set", "b=c=2",
                                       "--compat", "timeloop", "p.yaml"});
  EXPECT_EQ(map.chips, (Words{"c.yaml", "d.yaml"}));
  EXPECT_EQ(map.files, Words{"p.yaml"});
  EXPECT_EQ(map.compat, "timeloop");
  EXPECT_TRUE(map.model_options.charge_pass_through);
  ASSERT_EQ(map.overrides.size(), 2u);
  EXPECT_EQ(map.overrides[1], (std::pair<std::string, std::string>{"b", "c=2"}));
}

TEST(Arguments, NoColorCountsWhereItIsPresentAndNotEmpty) {
  const auto coloured = [](bool terminal) {
    return std::get<CheckOptions>(parse_arguments({"check", "a.yaml"}, terminal)).colour;
  };
  const char* kept = std::getenv("NO_COLOR");
  const std::string before = kept ? kept : "";
  unsetenv("NO_COLOR");
  EXPECT_TRUE(coloured(true));
  EXPECT_FALSE(coloured(false));
  setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(coloured(true)) << "an empty NO_COLOR says nothing (no-color.org)";
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(coloured(true));
  if (kept)
    setenv("NO_COLOR", before.c_str(), 1);
  else
    unsetenv("NO_COLOR");
}

TEST(Arguments, SeveralOriginalsStandInOneValueOrInSeveral) {
  for (const Words& words : {Words{"map", "--compat", "timeloop,accelergy-0.4", "a.yaml"},
                             Words{"map", "--compat", "accelergy-0.4", "--compat", "timeloop", "a.yaml"}}) {
    const auto map = parsed<MapOptions>(words);
    EXPECT_EQ(map.compat, "timeloop");
    EXPECT_TRUE(map.estimators.accelergy);
    EXPECT_EQ(map.files, Words{"a.yaml"});
  }
}

TEST(Arguments, ObjectivesKeepTheirOrder) {
  const auto map = parsed<MapOptions>({"map", "--objective", "delay,energy", "a.yaml"});
  EXPECT_EQ(map.objective, (std::vector<nest::Metric>{nest::Metric::kDelay, nest::Metric::kEnergy}));
  EXPECT_EQ(map.files, Words{"a.yaml"});
}

TEST(Arguments, ModelsAreSizedBySequenceAndBatch) {
  const auto map = parsed<MapOptions>({"map", "--chip", "x", "--model", "y", "--seq", "128", "--batch", "3"});
  EXPECT_EQ(map.sequence, 128);
  EXPECT_EQ(map.batch, 3);
}

TEST(Arguments, MatrixProductsAreThreeSizesEach) {
  const auto map = parsed<MapOptions>({"map", "--gemm", "8,1024,8192", "--gemm=1,2,3", "a.yaml"});
  ASSERT_EQ(map.gemms.size(), 2u);
  EXPECT_EQ(map.gemms[0].m, 8);
  EXPECT_EQ(map.gemms[0].k, 1024);
  EXPECT_EQ(map.gemms[0].n, 8192);
  EXPECT_EQ(map.files, Words{"a.yaml"});
  for (const char* text : {"", "8", "8,8", "8,8,8,8", "8,8,", ",8,8", "8,,8", "8,0,8", "8,-8,8", "8x8x8", "8, 8,8",
                           "8,8,99999999999999999999", "8,8,8.5"})
    EXPECT_EQ(refusal({"map", std::string("--gemm=") + text}).first, *text ? "O1117" : "O1102") << text;
}

TEST(Arguments, OneTradeOffIsListed) {
  EXPECT_FALSE(parsed<MapOptions>({"map", "a.yaml"}).pareto);
  EXPECT_TRUE(parsed<MapOptions>({"map", "--pareto", "energy,delay", "a.yaml"}).pareto);
  EXPECT_TRUE(parsed<MapOptions>({"map", "--pareto=delay,energy"}).pareto);
  EXPECT_EQ(refusal({"map", "--pareto", "energy,area"}).first, "O1102");
}

TEST(Arguments, CatalogShowsAnEntryOrLists) {
  EXPECT_EQ(parsed<CatalogOptions>({"catalog"}).name, "");
  EXPECT_EQ(parsed<CatalogOptions>({"catalog", "list"}).name, "");
  EXPECT_EQ(parsed<CatalogOptions>({"catalog", "show", "gemmini"}).name, "gemmini");
  EXPECT_TRUE(parsed<CatalogOptions>({"catalog", "show", "gemmini", "--json"}).json);
}

TEST(Arguments, EveryVerbHasHelpWithAnExample) {
  for (const char* verb : {"map", "eval", "check", "explain", "schema", "doctor", "catalog"}) {
    const auto help = parsed<PrintOptions>({verb, "--help"});
    EXPECT_NE(help.text.find(std::string("Example:\n  orrery ") + verb), std::string::npos) << help.text;
  }
  EXPECT_NE(parsed<PrintOptions>({}).text.find("usage: orrery VERB"), std::string::npos);
}

TEST(Arguments, UnknownVerbsAndOptionsGetASuggestion) {
  EXPECT_EQ(refusal({"mpa"}), (std::pair<std::string, std::string>{"O1100", "did you mean `map`?"}));
  EXPECT_EQ(refusal({"map", "--objectve", "edp"}),
            (std::pair<std::string, std::string>{"O1101", "did you mean `--objective`?"}));
  EXPECT_EQ(refusal({"eval", "--strct=1"}), (std::pair<std::string, std::string>{"O1101", "did you mean `--strict`?"}));
  EXPECT_EQ(refusal({"map", "--compat", "timeoop"}),
            (std::pair<std::string, std::string>{"O1102", "did you mean `timeloop`?"}));
  EXPECT_EQ(refusal({"eval", "--compat", "factor-flow"}),
            (std::pair<std::string, std::string>{"O1102", "did you mean `factorflow`?"}));
  EXPECT_EQ(refusal({"map", "--objective", "enrgy"}),
            (std::pair<std::string, std::string>{"O1102", "did you mean `energy`?"}));
}

TEST(Arguments, OneOriginalIsReproducedAtATime) {
  for (const char* verb : {"map", "eval"}) {
    EXPECT_EQ(refusal({verb, "--compat", "timeloop", "--compat", "factorflow"}),
              (std::pair<std::string, std::string>{"O1102", "run once with each"}));
  }
  const auto eval = parsed<EvalOptions>({"eval", "--compat", "factorflow", "--compat", "factorflow"});
  EXPECT_EQ(eval.compat, "factorflow");
  EXPECT_TRUE(eval.model_options.count_drain_reads);
}

TEST(Arguments, AccelergyIsReproducedBesideAModel) {
  for (const Words& words : {Words{"map", "--compat", "accelergy-0.4", "--compat", "timeloop", "a.yaml"},
                             Words{"map", "--compat", "timeloop", "a.yaml", "--compat", "accelergy-0.4"}}) {
    const auto map = parsed<MapOptions>(words);
    EXPECT_EQ(map.compat, "timeloop");
    EXPECT_TRUE(map.estimators.accelergy);
    EXPECT_FALSE(map.estimators.options().shares_count);
  }
  const auto energy = parsed<EnergyOptions>({"energy", "a.yaml", "--compat", "accelergy-0.4"});
  EXPECT_TRUE(energy.compat.empty());
  EXPECT_TRUE(energy.estimators.accelergy);
  EXPECT_FALSE(parsed<EnergyOptions>({"energy", "a.yaml"}).estimators.accelergy);
}

TEST(Arguments, TablesAreCollectedInTheirOrderByEveryVerbThatEstimates) {
  const Words options = {"--tables", "mine", "--cacti", "bin/cacti", "--tables", "theirs", "a.yaml"};
  const auto check = [](const auto& parsed_options) {
    EXPECT_EQ(parsed_options.estimators.tables, (Words{"mine", "theirs"}));
    EXPECT_EQ(parsed_options.estimators.cacti, "bin/cacti");
    EXPECT_EQ(parsed_options.files, Words{"a.yaml"});
  };
  const auto with = [&](const char* verb) {
    Words words = {verb};
    words.insert(words.end(), options.begin(), options.end());
    return words;
  };
  check(parsed<MapOptions>(with("map")));
  check(parsed<EvalOptions>(with("eval")));
  check(parsed<CheckOptions>(with("check")));
  check(parsed<EnergyOptions>(with("energy")));
}

TEST(Arguments, SwitchesTakeNoValue) {
  for (const char* given : {"--json=yes", "--json=no", "--json=1", "--quiet=false", "--no-color=true"})
    EXPECT_EQ(refusal({"map", given}).first, "O1101") << given;
}

TEST(Arguments, RefusesWhatNoOptionCanTake) {
  for (const Words& words :
       {Words{"map", "--threads", "0"}, Words{"map", "--threads", "two"}, Words{"map", "--seq", "-1"},
        Words{"map", "--batch", "99999999999999999999"}, Words{"map", "--time-limit", "-3"},
        Words{"map", "--set", "novalue"}, Words{"map", "--set", "=3"}})
    EXPECT_EQ(refusal(words).first, "O1102") << words[1] << " " << words[2];
  for (const Words& words : {Words{"map", "--layer"}, Words{"check"}, Words{"explain", "a", "b"}, Words{"--what"},
                             Words{"catalog", "show"}, Words{"catalog", "shwo"}})
    EXPECT_EQ(refusal(words).first, "O1101") << words[0];
}

TEST(Arguments, AnEmptyValueIsNoOptionLeftOut) {
  for (const char* option : {"--trace", "-o", "--schedule", "--recompute", "--tokens", "--efficiency", "--operators",
                             "--equations", "--tables", "--model", "--set", "--threads"})
    EXPECT_EQ(refusal({"train", option, ""}).first, "O1102") << option;
  for (const char* option : {"--chip", "--layer", "--pareto", "--why", "--objective", "--time-limit"})
    EXPECT_EQ(refusal({"map", option, ""}).first, "O1102") << option;
  EXPECT_EQ(refusal({"train", "--trace=", "--json"}).first, "O1102") << "--json is no file";
}

TEST(Arguments, NumbersAreDecimal) {
  for (const char* number : {"300e9", "300B", "0.3T", "300000M"})
    EXPECT_EQ(parsed<TrainOptions>({"train", "--tokens", number}).request.tokens, 300e9) << number;
  for (const char* number : {"0x10", "0x1p9", "inf", "nan", "1e999", "300BB", "B", "0", "-5", " 5"})
    EXPECT_EQ(refusal({"train", "--tokens", number}).first, "O1102") << number;
  EXPECT_EQ(refusal({"map", "--time-limit", "0x10"}).first, "O1102");
  EXPECT_EQ(refusal({"place", "setup.txt", "--gap", "0x0"}).first, "O1102");
}

TEST(Arguments, TrainTakesTheCommonThreads) {
  EXPECT_EQ(parsed<TrainOptions>({"train", "-j", "3"}).threads, 3);
  EXPECT_EQ(parsed<TrainOptions>({"train", "--threads", "2"}).threads, 2);
}

TEST(Arguments, RefusalsStayShort) {
  for (const Words& words : {Words{"map", "--seq", "0"}, Words{"map", "--time-limit", "0"},
                             Words{"map", "--time-limit", "inf"}, Words{"map", "--threads", "-1"}}) {
    try {
      parse_arguments(words, false);
      FAIL() << words[1];
    } catch (const base::InputError& error) {
      EXPECT_EQ(error.diagnostics.at(0).code, "O1102") << words[1];
      EXPECT_LT(error.diagnostics.at(0).message.size(), 100u) << error.diagnostics.at(0).message;
    }
  }
}

TEST(Arguments, HelpSaysThatTheSeedIsIgnored) {
  const std::string help = parsed<PrintOptions>({"map", "--help"}).text;
  EXPECT_NE(help.find("--seed N"), std::string::npos);
  EXPECT_NE(help.find("Ignored"), std::string::npos);
}

TEST(Arguments, VersionIsTheProjects) {
  std::ifstream file(ORRERY_SOURCE_DIR "/CMakeLists.txt");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(std::string("VERSION ") + kVersion + " "), std::string::npos);
  EXPECT_EQ(parsed<PrintOptions>({"--version"}).text, std::string("orrery ") + kVersion + "\n");
}

}  // namespace
}  // namespace orrery::cli
