#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <source_dir.h>

#include "orrery/verbs/sparse/latency/report.h"

namespace orrery::verbs {
namespace {

const std::string kPublished = ORRERY_SOURCE_DIR "/../shared/goldens/sparse/";

// The lines that both originals print, in their order.
std::string published_lines(const SparseLatencyAnswer& answer) {
  std::istringstream in(sparse_latency_text(answer));
  std::string out, line;
  while (std::getline(in, line))
    if (line.starts_with("Average") || line.starts_with("Load") || line.starts_with("Sanger")) out += line + "\n";
  return out;
}

TEST(SparseLatencyText, PrintsTheOriginalsDigits) {
  if (!std::filesystem::exists(kPublished)) GTEST_SKIP() << "the reference figures are not at hand";
  std::string ours;
  for (const base::Count seq_len : {128, 384, 512})
    ours +=
        published_lines(verbs::sparse_latency({.log = kPublished + "load_balance_synthetic.csv", .seq_len = seq_len}));
  std::ifstream file(kPublished + "bench_sanger_stdout.txt");
  std::string theirs, line;
  while (std::getline(file, line))
    if (!line.starts_with("== ")) theirs += line + "\n";
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace orrery::verbs
