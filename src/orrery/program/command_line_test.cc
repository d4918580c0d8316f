#include "orrery/cli/command_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <source_dir.h>
#include <nlohmann/json.hpp>

#include "orrery/cli/number_text.h"
#include "orrery/cli/program_version.h"
#include "orrery/cli/shared_options.h"
#include "orrery/program/command.h"
#include "orrery/program/verbs.h"

namespace orrery::verbs {
namespace {

using Words = std::vector<std::string>;

struct Printed {
  int code = 0;
  std::string out, err;
};

Printed printed(const Words& words) {
  std::ostringstream out, err;
  const int code = run(words, out, err, false);
  return {code, out.str(), err.str()};
}

// The code and the hint that a bad command line gets.
std::pair<std::string, std::string> refusal(Words words) {
  words.emplace_back("--json");
  const Printed answer = printed(words);
  const auto document = nlohmann::json::parse(answer.out, nullptr, false);
  if (document.is_discarded() || !document.contains("diagnostics")) return {"accepted", answer.out};
  const auto& first = document["diagnostics"][0];
  return {first["code"], first["hints"].empty() ? "" : first["hints"][0].get<std::string>()};
}

// A line with an option of each kind.
struct Example {
  Words files, chips, singly, delimited;
  Settings settings;
  std::optional<base::Count> count, integer;
  int threads = 0, digit = 0;
  double seconds = 0, share = 0;
  std::size_t memory = 0;
  std::optional<int> choice;
  bool toggle = false;
  std::string text;
  bool json = false, quiet = false, colour = false;
};

Example read(const Words& words, bool terminal = false) {
  Example into;
  CommandLine line("verb", "what it does", "orrery verb x");
  line.words("FILES", into.files, "files");
  line.texts("--chip", into.chips, "NAME", "chips");
  line.settings(into.settings, "settings");
  line.count("--seq", into.count, "from 1");
  line.count("--threads,-j", into.threads, "up to 4096", 4096);
  line.integer("--size", into.integer, "any");
  line.digit("--zero", into.digit, 3, "0 to 3", "is no stage");
  line.seconds("--time-limit", into.seconds, "seconds");
  line.share("--gap", into.share, "share");
  line.memory(into.memory);
  line.choice<int>("--choice", into.choice, {{"one", 1}, {"two", 2}}, "one or two");
  line.toggle("--strict", into.toggle, "switch");
  line.text("--why", into.text, "TEXT", "text");
  line.meant_each("--each", "N", "one a value", false, [&](const std::string& t) { into.singly.push_back(t); });
  line.meant_each("--list", "N,N", "several", true, [&](const std::string& t) { into.delimited.push_back(t); });
  std::ostringstream out, err;
  Console console{out, err, terminal, terminal, false, false};
  EXPECT_TRUE(line.read(words, console));
  into.json = console.json;
  into.quiet = console.quiet;
  into.colour = console.colour;
  return into;
}

std::string complaint(const Words& words) {
  try {
    read(words);
  } catch (const base::InputError& error) {
    EXPECT_LT(error.diagnostics.at(0).message.size(), 100u) << error.diagnostics.at(0).message;
    return error.diagnostics.at(0).code;
  }
  return "accepted";
}

TEST(NumberText, FrequenciesAndBandwidthsHaveUnitsOfAThousandEach) {
  EXPECT_DOUBLE_EQ(frequency("1GHz"), 1e9);
  EXPECT_DOUBLE_EQ(frequency("500 MHz"), 5e8);
  EXPECT_DOUBLE_EQ(frequency("0.8"), 8e8);
  EXPECT_DOUBLE_EQ(bandwidth("1.5TB/s"), 1.5e12);
  EXPECT_DOUBLE_EQ(bandwidth("128"), 128e9);
  EXPECT_TRUE(std::isinf(bandwidth("unlimited")));
  for (const char* none : {"", "0", "-1GHz", "nan", "inf", "1e999", "1Ghz", "1GHz2", "1GB/s", "GHz", "0x10"})
    EXPECT_EQ(frequency(none), 0) << none;
  for (const char* none : {"", "0GB/s", "-3", "nan", "inf", "1GB", "1 GHz", "Unlimited"})
    EXPECT_EQ(bandwidth(none), 0) << none;
}

TEST(CommandLine, FilesAndOptionsMixInAnyOrder) {
  for (const Words& words :
       {Words{"a.yaml", "--json", "b.yaml", "--threads", "2"}, Words{"--threads=2", "--json", "a.yaml", "b.yaml"},
        Words{"--json", "-j2", "a.yaml", "b.yaml"}}) {
    const Example got = read(words);
    EXPECT_EQ(got.files, (Words{"a.yaml", "b.yaml"}));
    EXPECT_TRUE(got.json);
    EXPECT_EQ(got.threads, 2);
  }
}

TEST(CommandLine, RepeatableOptionsTakeOneValueEachAndLeaveFilesAlone) {
  const Example got = read({"--chip", "c", "--chip", "d", "--set", "a=1", "--set", "b=c=2", "--each", "x,y", "p",
                            "--list", "timeloop,accelergy-0.4", "q", "--list", "more"});
  EXPECT_EQ(got.chips, (Words{"c", "d"}));
  EXPECT_EQ(got.files, (Words{"p", "q"}));
  EXPECT_EQ(got.singly, Words{"x,y"});
  EXPECT_EQ(got.delimited, (Words{"timeloop", "accelergy-0.4", "more"}));
  ASSERT_EQ(got.settings.size(), 2u);
  EXPECT_EQ(got.settings[1], (base::Override{"b", "c=2"}));
}

TEST(CommandLine, EveryKindOfValueIsReadAsWhatItIs) {
  const Example got = read({"--seq", "128", "--size", "-3", "--zero", "2", "--time-limit", "0.5", "--gap", "0.01",
                            "--memory", "512M", "--choice", "two", "--strict", "--why", "A.E=4"});
  EXPECT_EQ(got.count, 128);
  EXPECT_EQ(got.integer, -3);
  EXPECT_EQ(got.digit, 2);
  EXPECT_EQ(got.seconds, 0.5);
  EXPECT_EQ(got.share, 0.01);
  EXPECT_EQ(got.memory, std::size_t{512} << 20);
  EXPECT_EQ(got.choice, 2);
  EXPECT_TRUE(got.toggle);
  EXPECT_EQ(got.text, "A.E=4");
}

TEST(CommandLine, WhatNoOptionCanTakeIsRefusedShortly) {
  for (const Words& words : {Words{"--threads", "0"},      Words{"--threads", "two"},
                             Words{"--threads", "-1"},     Words{"--seq", "-1"},
                             Words{"--seq", "0"},          Words{"--seq", "99999999999999999999"},
                             Words{"--time-limit", "-3"},  Words{"--time-limit", "0"},
                             Words{"--time-limit", "inf"}, Words{"--time-limit", "0x10"},
                             Words{"--gap", "0x0"},        Words{"--gap", "1"},
                             Words{"--set", "novalue"},    Words{"--set", "=3"},
                             Words{"--zero", "4"},         Words{"--choice", "three"},
                             Words{"--size", "1.5"},       Words{"--memory", "3"},
                             Words{"--why", ""},           Words{"--why="}})
    EXPECT_EQ(complaint(words), "O1102") << words[0];
  for (const Words& words : {Words{"--why"}, Words{"--what"}, Words{"--strict=yes"}, Words{"--json=no"},
                             Words{"--quiet=false"}, Words{"--no-color=true"}})
    EXPECT_EQ(complaint(words), "O1101") << words[0];
}

TEST(NumberText, AmountsAreDecimalWithALetter) {
  for (const char* text : {"300e9", "300B", "0.3T", "300000M"}) EXPECT_EQ(amount_of_tokens(text), 300e9) << text;
  for (const char* text : {"0x10", "0x1p9", "inf", "nan", "1e999", "300BB", "B", "0", "-5", " 5"})
    EXPECT_EQ(amount_of_tokens(text), 0) << text;
  EXPECT_EQ(amount_of_memory("1.5 GB"), 1'500'000'000u);
  EXPECT_EQ(amount_of_memory("1GiB"), std::size_t{1} << 30);
  for (const char* text : {"1K", "G", "1e99G", "5Q", "-1G"}) EXPECT_EQ(amount_of_memory(text), 0u) << text;
}

TEST(CommandLine, NoColorCountsWhereItIsPresentAndNotEmpty) {
  const auto coloured = [](bool terminal) { return read({"a.yaml"}, terminal).colour; };
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

TEST(CommandLine, UnknownVerbsAndOptionsGetASuggestion) {
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

// What documents say was asked, of a line with --json, --html FILE, -o DIR, --force, -q and -j N.
Words asked(const Words& words) {
  OutputFolder folder;
  Words files, settings;
  int threads = 0;
  bool strict = false;
  CommandLine line("verb", "", "");
  line.words("FILES", files, "");
  line.texts("--set", settings, "PATH=VALUE", "");
  line.count("--threads,-j", threads, "", 4096);
  line.toggle("--strict,-s", strict, "");
  line.pictures();
  declare(line, folder, "");
  std::ostringstream out, err;
  Console console{out, err};
  console.command = words;
  EXPECT_TRUE(line.read(words, console));
  return console.command;
}

TEST(CommandLine, TheQuestionIsTheWordsWithoutWhereTheAnswerGoes) {
  const Words question = {"verb", "a.yaml", "--set", "x=1", "-j4"};
  EXPECT_EQ(asked(question), question);
  for (const Words& more : {Words{"--json"}, Words{"--html", "b.html"}, Words{"--html=b.html"}, Words{"-o", "out"},
                            Words{"-oout"}, Words{"--output=out", "--force", "--quiet"}, Words{"-qo", "out"},
                            Words{"--no-color", "--plot", "--json"}, Words{"--csv"}}) {
    Words words = question;
    words.insert(words.begin() + 1, more.begin(), more.end());
    EXPECT_EQ(asked(words), question) << more[0];
    words = question;
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(asked(words), question) << more[0];
  }
  EXPECT_EQ(asked({"verb", "-qsj", "4", "a"}), (Words{"verb", "-sj", "4", "a"})) << "letters of one word";
  EXPECT_EQ(asked({"verb", "-q", "--", "--json", "-o"}), (Words{"verb", "--", "--json", "-o"})) << "files behind `--`";
}

TEST(CommandLine, AnEmptyValueIsNoOptionLeftOut) {
  for (const char* option : {"--trace", "-o", "--schedule", "--recompute", "--tokens", "--efficiency", "--operators",
                             "--equations", "--tables", "--model", "--set", "--threads"})
    EXPECT_EQ(refusal({"train", option, ""}).first, "O1102") << option;
  for (const char* option : {"--chip", "--layer", "--pareto", "--why", "--objective", "--time-limit"})
    EXPECT_EQ(refusal({"map", option, ""}).first, "O1102") << option;
  EXPECT_EQ(refusal({"train", "--trace=", "--json"}).first, "O1102") << "--json is no file";
}

// What `--compat` and its like make of a chip's documents.
DocumentRequest documents(const Words& words) {
  DocumentRequest into;
  CommandLine line("map", "", "");
  line.words("FILES", into.files, "");
  declare_estimation(line, into);
  std::ostringstream out, err;
  Console console{out, err};
  EXPECT_TRUE(line.read(words, console));
  return into;
}

TEST(SharedOptions, AccelergyIsReproducedBesideAModel) {
  for (const Words& words : {Words{"--compat", "accelergy-0.4", "--compat", "timeloop", "a.yaml"},
                             Words{"--compat", "timeloop,accelergy-0.4", "a.yaml"}}) {
    const DocumentRequest got = documents(words);
    EXPECT_EQ(got.compat.names, Words{"timeloop"});
    EXPECT_TRUE(got.compat.defects.charge_pass_through);
    EXPECT_EQ(got.estimators.reproduced.names, Words{"accelergy-0.4"});
    EXPECT_TRUE(got.estimators.options().defects.drop_shares);
    EXPECT_EQ(got.files, Words{"a.yaml"});
  }
  EXPECT_TRUE(documents({"a.yaml"}).estimators.reproduced.names.empty());
  EXPECT_EQ(documents({"--compat", "factorflow", "--compat", "factorflow"}).compat.names, Words{"factorflow"});
}

TEST(SharedOptions, SingleDefectsAreNamedAsOriginalsAre) {
  const DocumentRequest got =
      documents({"--compat", "count_drain_reads,drop_shares", "--compat", "timeloop", "a.yaml"});
  EXPECT_EQ(got.compat.names, (Words{"count_drain_reads", "timeloop"}));
  EXPECT_EQ(got.estimators.reproduced.names, Words{"drop_shares"});
  EXPECT_TRUE(got.compat.defects.fractional_blocks) << "drain reads are counted in words";
  EXPECT_TRUE(got.compat.defects.throttle_in_doubles);
  EXPECT_FALSE(got.compat.defects.no_network_latency);
  EXPECT_FALSE(got.estimators.reproduced.defects.charge_fan_outs);
  EXPECT_EQ(refusal({"map", "--compat", "drop_shars"}).second, "did you mean `drop_shares`?");
}

TEST(SharedOptions, TablesAreCollectedInTheirOrder) {
  const DocumentRequest got = documents({"--tables", "mine", "--cacti", "bin/cacti", "--tables", "theirs", "a.yaml"});
  EXPECT_EQ(got.estimators.tables, (Words{"mine", "theirs"}));
  EXPECT_EQ(got.estimators.cacti, "bin/cacti");
  EXPECT_EQ(got.files, Words{"a.yaml"});
}

TEST(Verbs, OneOriginalIsReproducedAtATime) {
  for (const char* verb : {"map", "eval"})
    EXPECT_EQ(refusal({verb, "--compat", "timeloop", "--compat", "factorflow"}),
              (std::pair<std::string, std::string>{"O1102", "run once with each"}));
  EXPECT_EQ(refusal({"place", "setup.txt", "--compat", "gen1", "--compat", "gen2"}).second, "run once with each");
}

TEST(Verbs, EveryOneHasHelpWithAnExample) {
  for (const Verb& verb : verbs()) {
    const Printed help = printed({verb.name, "--help"});
    EXPECT_EQ(help.code, 0);
    EXPECT_NE(help.out.find(std::string("Example:\n  orrery ") + verb.name), std::string::npos) << help.out;
    const std::string name = verb.name;
    const bool of_verbs = name == "tune" || name == "sparse";  // whose own verbs have it
    EXPECT_NE(help.out.find("--seed N") == std::string::npos, !of_verbs);
  }
}

TEST(Verbs, HelpListsThemAllAndNoVerbShowsWhatToTryFirst) {
  const std::string all = printed({"--help"}).out;
  for (const Verb& verb : verbs()) EXPECT_NE(all.find(std::string("  ") + verb.name + " "), std::string::npos);
  const Printed first = printed({});
  EXPECT_EQ(first.code, 0);
  EXPECT_NE(first.out.find("orrery map --chip gemmini"), std::string::npos);
}

TEST(Verbs, MatrixProductsAreThreeSizesEach) {
  for (const char* text : {"8", "8,8", "8,8,8,8", "8,8,", ",8,8", "8,,8", "8,0,8", "8,-8,8", "8x8x8", "8, 8,8",
                           "8,8,99999999999999999999", "8,8,8.5"})
    EXPECT_EQ(refusal({"map", std::string("--gemm=") + text}).first, "O1117") << text;
}

TEST(Verbs, WordsThatMeanNothingAreRefused) {
  EXPECT_EQ(refusal({"map", "--pareto", "energy,area"}).first, "O1102");
  EXPECT_EQ(refusal({"train", "--tokens", "0x10"}).first, "O1102");
  EXPECT_EQ(refusal({"train", "--efficiency", "2"}).first, "O1102");
  for (const Words& words : {Words{"check"}, Words{"explain", "a", "b"}, Words{"--what"}, Words{"catalog", "show"}})
    EXPECT_EQ(refusal(words).first, "O1101") << words[0];
  EXPECT_EQ(refusal({"catalog", "shwo"}).first, "O1120") << "any word is looked for in names and titles";
}

TEST(Verbs, VersionIsTheProjects) {
  std::ifstream file(ORRERY_SOURCE_DIR "/CMakeLists.txt");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find(std::string("VERSION ") + kVersion + " "), std::string::npos);
  EXPECT_EQ(printed({"--version"}).out, std::string("orrery ") + kVersion + "\n");
}

}  // namespace
}  // namespace orrery::verbs
