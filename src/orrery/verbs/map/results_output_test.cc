#include "orrery/verbs/map/results_output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "orrery/base/diagnostics/refused_test_util.h"
#include "orrery/base/text/files_test_util.h"
#include "orrery/verbs/map/example_layer_test_util.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;

struct Printed {
  int code = 0;
  std::string out, err;
};

Printed shown(const Results& results, const OutputFolder& output = {}, bool quiet = false) {
  std::ostringstream out, err;
  const Console console{out, err, false, false, quiet};
  Printed printed;
  printed.code = present(results, {}, output, console);
  printed.out = out.str();
  printed.err = err.str();
  return printed;
}

Results results_of(std::vector<MappedLayer> layers) {
  Results results;
  results.verb = "map";
  results.mapped.layers = std::move(layers);
  return results;
}

class ResultsFolder : public ::testing::Test {
 protected:
  ResultsFolder() { output_.directory = folder_.string(); }

  base::Folder home_;
  fs::path folder_ = home_.path() / "results";
  OutputFolder output_;
};

TEST(Results, ExitCodeTellsAnInterruptFromInfeasibleFromALimit) {
  MappedLayer good = verbs::example_layer(), late = good, stopped = good;
  late.optimum.certificate.optimal = false;
  stopped.optimum.certificate.optimal = false;
  stopped.optimum.interrupted = true;
  const MappedLayer impossible = verbs::infeasible_layer();
  EXPECT_EQ(shown(results_of({good, good})).code, 0);
  EXPECT_EQ(shown(results_of({good, late})).code, 3);
  EXPECT_EQ(shown(results_of({late, impossible, good})).code, 1);
  EXPECT_EQ(shown(results_of({impossible, stopped})).code, 130);
  good.searched = false;
  good.optimum.certificate.optimal = false;
  EXPECT_EQ(shown(results_of({good})).code, 0) << "a given mapping claims no optimum";
}

TEST(Results, LayersThatMapArePrintedBesideThoseThatDoNot) {
  const Printed printed = shown(results_of({verbs::example_layer(), verbs::infeasible_layer()}));
  EXPECT_NE(printed.out.find("small"), std::string::npos);
  EXPECT_NE(printed.err.find("error[O1001]: no mapping of `impossible`"), std::string::npos);
  EXPECT_EQ(printed.out.find("error"), std::string::npos) << "answers only on stdout";
}

TEST(Results, WarningsAreSilencedByQuietAndErrorsAreNot) {
  Results results = results_of({verbs::infeasible_layer()});
  results.mapped.warnings.warning("O0102", "twice");
  const Printed printed = shown(results, {}, true);
  EXPECT_EQ(printed.err.find("O0102"), std::string::npos);
  EXPECT_NE(printed.err.find("O1001"), std::string::npos);
}

TEST_F(ResultsFolder, OneLayerIsWrittenFlatAndSeveralInAFolderEach) {
  shown(results_of({verbs::example_layer()}), output_);
  for (const char* name : {"result.json", "map.yaml", "map.txt", "stats.txt"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  fs::remove_all(folder_);

  MappedLayer odd = verbs::example_layer();
  odd.name = "../odd name";
  shown(results_of({verbs::example_layer(), verbs::example_layer(), odd, verbs::infeasible_layer()}), output_);
  for (const char* name : {"result.json", "small/map.yaml", "small_2/stats.txt", "layer.._odd_name/map.txt"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  EXPECT_FALSE(fs::exists(folder_ / "impossible" / "map.yaml"));
}

TEST_F(ResultsFolder, EarlierResultsAreKeptUnlessForced) {
  EXPECT_NO_THROW(check_results_folder(output_));
  shown(results_of({verbs::example_layer()}), output_);
  EXPECT_THROW(check_results_folder(output_), base::InputError);
  output_.force = true;
  EXPECT_NO_THROW(check_results_folder(output_));
}

TEST_F(ResultsFolder, AFileInTheWayIsSaid) {
  std::ofstream(folder_) << "in the way";
  EXPECT_EQ(base::refused([&] { shown(results_of({verbs::example_layer()}), output_); }).at(0).code, "O1105");
}

}  // namespace
}  // namespace orrery::verbs
