#include "orrery/formats/timeloop/documents/jinja.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/formats/timeloop/documents/documents.h"

namespace orrery::formats::timeloop {
namespace {

namespace fs = std::filesystem;

struct Expanded {
  std::vector<yaml::Node> documents;
  std::vector<std::shared_ptr<const base::SourceFile>> included;
  base::Diagnostics found;

  std::string codes() const {
    std::string all;
    for (const base::Diagnostic& one : found.all()) all += (all.empty() ? "" : " ") + one.code;
    return all;
  }
};

Expanded expand(const base::Folder& folder, const std::string& name, TemplateOptions options = {}) {
  Expanded result;
  result.documents =
      expand_template(yaml::read_file((folder.path() / name).string()), options, result.included, result.found);
  return result;
}

const yaml::Node* at(const Expanded& expanded, const std::string& key) {
  return expanded.documents.empty() ? nullptr : expanded.documents.front().find(key);
}

TEST(Jinja, IncludedTextBringsItsAnchors) {
  const base::Folder folder;
  folder.add("base.yaml", "base_ignore: &base\n  a: {x: 1, y: 2}\n  list: [1]\n  kept: [3]\n");
  folder.add(
      "layers/1.yaml",
      "{{include_text('../base.yaml')}}\nproblem:\n  <<<: *base\n  a: {y: 5}\n  list: [0]\n  kept: !nomerge [9]\n");
  const Expanded read = expand(folder, "layers/1.yaml", {{}, {folder.string()}});
  ASSERT_EQ(read.codes(), "");
  const yaml::Node* problem = at(read, "problem");
  ASSERT_NE(problem, nullptr);
  EXPECT_EQ(problem->find("a")->find("x")->scalar, "1");
  EXPECT_EQ(problem->find("a")->find("y")->scalar, "5");
  EXPECT_EQ(problem->find("list")->items.size(), 2u);
  EXPECT_EQ(problem->find("kept")->items.size(), 1u);
  EXPECT_EQ(problem->find("kept")->tag, "");
  EXPECT_EQ(fs::path(problem->find("a")->find("x")->where.file->name).filename(), "base.yaml");
  EXPECT_EQ(problem->find("a")->find("x")->where.line, 2);
  EXPECT_EQ(problem->find("a")->find("y")->where.line, 4);
}

TEST(Jinja, TheListsOfSeveralFilesBecomeOne) {
  const base::Folder folder;
  folder.add("parts/b.yaml", "c: {classes: [3]}\n").add("parts/a.yaml", "c: {classes: [1, 2]}\n");
  folder.add("top.yaml", "classes: {{include_all('parts/*.yaml', 'c.classes')}}\n");
  const Expanded read = expand(folder, "top.yaml");
  ASSERT_EQ(read.codes(), "");
  ASSERT_EQ(at(read, "classes")->items.size(), 3u);
  EXPECT_EQ(at(read, "classes")->items[2].scalar, "3");
  EXPECT_EQ(read.included.size(), 2u);
}

TEST(Jinja, ATopFileChoosesByWhatThereIs) {
  const base::Folder folder;
  folder.add("big/arch.yaml", "architecture: {name: big}\n").add("small/arch.yaml", "architecture: {name: small}\n");
  folder.add("small/problem.yaml", "problem: {n: own}\n").add("common/problem.yaml", "problem: {n: common}\n");
  folder.add("top.yaml.jinja2",
             "{{add_to_path(cwd())}}\n"
             "{% set own = cwd() ~ '/' ~ which ~ '/problem.yaml' %}\n"
             "{% if path_exists(own) %}{% set problem = problem|default(own) %}{% endif %}\n"
             "{% set problem = problem|default('common/problem.yaml') %}\n"
             "architecture: {{include(cwd() ~ '/' ~ which ~ '/arch.yaml', 'architecture')}}\n"
             "problem: {{include(problem, 'problem')}}\n"
             "given: {{flag|default(1)}}\n");
  for (const auto& [which, problem] : {std::pair{"big", "common"}, std::pair{"small", "own"}}) {
    const Expanded read = expand(folder, "top.yaml.jinja2", {{{"which", which}, {"flag", "7"}}, {}});
    ASSERT_EQ(read.codes(), "") << which;
    EXPECT_EQ(at(read, "architecture")->find("name")->scalar, which);
    EXPECT_EQ(at(read, "problem")->find("n")->scalar, problem);
    EXPECT_EQ(at(read, "given")->scalar, "7");
  }
  EXPECT_EQ(expand(folder, "top.yaml.jinja2").codes(), "O0113");
}

TEST(Jinja, FindPathFindsFilesAndFolders) {
  const base::Folder folder;
  folder.add("parts/classes/a.yaml", "c: 1\n");
  folder.add("top.yaml", "file: {{find_path('parts/classes/a.yaml')}}\nfolder: {{find_path('parts/classes')}}\n");
  const Expanded read = expand(folder, "top.yaml");
  ASSERT_EQ(read.codes(), "");
  EXPECT_TRUE(at(read, "file")->scalar.ends_with("/parts/classes/a.yaml"));
  EXPECT_TRUE(at(read, "folder")->scalar.ends_with("/parts/classes"));
}

TEST(Jinja, DefinedNamesAreNumbersAndTruthValuesWhereTheyLookSo) {
  const base::Folder folder;
  folder.add("t.yaml", "a: {% if flag %}yes{% else %}no{% endif %}\nb: {{ n + 1 }}\nc: {{ word }}\n");
  const Expanded read = expand(folder, "t.yaml", {{{"flag", "False"}, {"n", "2"}, {"word", "x1"}}, {}});
  ASSERT_EQ(read.codes(), "");
  EXPECT_EQ(at(read, "a")->scalar, "no");
  EXPECT_EQ(at(read, "b")->scalar, "3");
  EXPECT_EQ(at(read, "c")->scalar, "x1");
}

TEST(Jinja, NothingOutsideTheGivenFoldersIsRead) {
  const base::Folder folder;
  folder.add("secret.yaml", "k: 1\n").add("in/there.yaml", "k: 1\n").add("in/deep/d.yaml", "k: 1\n");
  fs::create_symlink(folder.path() / "secret.yaml", folder.path() / "in/link.yaml");
  const std::string secret = (folder.path() / "secret.yaml").string();
  for (const std::string& call :
       {std::string("include('../secret.yaml')"), std::string("include_text('../secret.yaml')"),
        std::string("include_all('../*.yaml')"), std::string("path_exists('../secret.yaml')"),
        std::string("find_path('../nothing.yaml')"), std::string("add_to_path('..')"), "include('" + secret + "')",
        std::string("include('deep/../../secret.yaml')"), std::string("include('link.yaml')"),
        std::string("include('/etc/hostname')"), std::string("include(cwd() ~ '/../secret.yaml')")}) {
    folder.write("in/t.yaml", "k: {{" + call + "}}\n");
    EXPECT_EQ(expand(folder, "in/t.yaml").codes(), "O2025") << call;
    if (call.find("/etc") == std::string::npos) {
      EXPECT_NE(expand(folder, "in/t.yaml", {{}, {folder.string()}}).codes(), "O2025") << call;
    }
  }
  folder.write("in/t.yaml", "k: {{include('there.yaml', 'k')}}{{include_all('deep/*.yaml', 'k')}}\n");
  EXPECT_EQ(expand(folder, "in/t.yaml").codes(), "O0113");  // two placeholders in one text
  folder.write("in/t.yaml", "k: {{include('there.yaml', 'k')}}\nl: {{include_all('deep/*.yaml', 'k')}}\n");
  EXPECT_EQ(expand(folder, "in/t.yaml").codes(), "");
}

TEST(Jinja, FilesThatIncludeEachOtherAreRefused) {
  const base::Folder folder;
  folder.add("a.yaml", "k: {{include('b.yaml', 'k')}}\n").add("b.yaml", "k: {{include('a.yaml', 'k')}}\n");
  const Expanded read = expand(folder, "a.yaml");
  ASSERT_EQ(read.codes(), "O0113");
  EXPECT_NE(read.found.all()[0].message.find("includes itself"), std::string::npos);
  folder.add("text.yaml", "{{include_text('text.yaml')}}\n");
  EXPECT_EQ(expand(folder, "text.yaml").codes(), "O0113");
}

TEST(Jinja, IncludesThatMultiplyEndSoon) {
  const base::Folder folder;
  const int last = 14;
  for (int i = 0; i < last; ++i) {
    const std::string next = "{{include_text('" + std::to_string(i + 1) + ".yaml')}}\n";
    folder.write(std::to_string(i) + ".yaml", next + next + next);
  }
  folder.write(std::to_string(last) + ".yaml", "a: 1\n");
  const std::clock_t begin = std::clock();
  EXPECT_EQ(expand(folder, "0.yaml").codes(), "O2026");
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 1.0);
}

// Of a processor; ten times that leaves room for builds that are not optimised, or look at every access.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr double kSoon = 0.1;
#else
constexpr double kSoon = 1.0;
#endif

TEST(Jinja, HostileTemplatesEndWithinATenthOfASecond) {
  const base::Folder folder;
  for (const std::string text : {
           "{% macro f() %}{{ f() }}{% endmacro %}a: {{ f() }}\n",
           "{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}a: {{ f() }}\n",
           "a: {% for i in range(1000000) %}1{% endfor %}\n",
           "{% for i in range(1000) %}{% for j in range(1000) %}{% endfor %}{% endfor %}a: 1\n",
           "a: {{ include('../../../../../../etc/passwd') }}\n",
           "a: {{ include_text('/etc/passwd') }}\n",
           "{{ add_to_path('../../') }}a: {{ include('*.yaml', 'b') }}\n",
           "a: {{ include('hostile.yaml', 'a') }}\n",
       }) {
    folder.write("hostile.yaml", text);
    const std::clock_t begin = std::clock();
    const auto read = expand(folder, "hostile.yaml");
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, kSoon) << text;
    EXPECT_TRUE(read.found.has_errors()) << text;
  }
}

TEST(Jinja, YamlThatDoesNotParseIsShownWhereItWasWritten) {
  const base::Folder folder;
  folder.add("part.yaml", "a: 1\n  b: 2\n").add("t.yaml", "x: 1\n{{include_text('part.yaml')}}\n");
  const Expanded read = expand(folder, "t.yaml");
  ASSERT_EQ(read.codes(), "O0101");
  const base::Diagnostic& error = read.found.all()[0];
  EXPECT_EQ(fs::path(error.primary.where.file->name).filename(), "part.yaml");
  EXPECT_EQ(error.primary.where.line, 2);
  EXPECT_NE(error.notes.at(0).find("b: 2"), std::string::npos);
}

TEST(Jinja, AProblemBesideAChipGivesWayToALayer) {
  const auto chip = base::source(
      "architecture: {version: 0.4, nodes: []}\n"
      "problem: {version: 0.4, shape: cnn-layer, R: 1, S: 1, P: 1, Q: 1, C: 1, M: 1, N: 1}\n",
      "a.yaml");
  const auto layer = base::source("problem: {shape: cnn-layer, R: 1, S: 1, P: 1, Q: 1, C: 1, M: 2, N: 1}\n", "b.yaml");
  const auto documents = Documents::gather({chip, layer}, {});
  EXPECT_EQ(documents.find("problem")->find("M")->scalar, "2");
  ASSERT_EQ(documents.diagnostics().all().size(), 1u);
  EXPECT_EQ(documents.diagnostics().all()[0].code, "O2027");
}

}  // namespace
}  // namespace orrery::formats::timeloop
