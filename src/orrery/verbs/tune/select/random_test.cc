// Folders drawn at random in Substation's formats, with all that these allow: what is chosen from them is what trying
// everything finds. Rules of the files and ties between tensors are written down here once more, apart from the code.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/base/text/text.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::verbs {
namespace {

namespace fs = std::filesystem;
using base::Count;

int folders(int usual) {
  const char* wanted = std::getenv("ORRERY_PROBLEMS");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

// Tensors with one layout, and the stacks with their parts: q+L, L, and L with k for j.
constexpr const char* kTied[] = {"X SB2 DX DSB2",
                                 "WKQV DWKQV",
                                 "BK DBK",
                                 "BV DBV",
                                 "BQ DBQ",
                                 "WO DWO",
                                 "BO DBO",
                                 "S1 DS1",
                                 "B1 DB1",
                                 "LINW1 DLINW1",
                                 "LINB1 DLINB1",
                                 "LINW2 DLINW2",
                                 "LINB2 DLINB2",
                                 "S2 DS2",
                                 "B2 DB2",
                                 "WQQ WKKWQQWVV WKK WVV",
                                 "DQQ DKKQQVV DKK DVV"};

std::string as_in(std::string layout, const std::string& dims) {  // L of the queries in a part or the stack
  if (dims.find('k') != std::string::npos && dims.find('j') == std::string::npos)
    std::replace(layout.begin(), layout.end(), 'j', 'k');
  return dims[0] == 'q' ? "q" + layout : layout;
}

struct Column {
  std::string name;
  std::vector<std::string> layouts;  // that its rows may have
};
struct File {
  std::string name;
  bool contraction = false;
  std::vector<Column> columns;
  std::vector<std::string> specials;                  // as the file calls them
  std::map<std::vector<std::string>, Count> fastest;  // usable rows, ps
};

// The layer with few layouts, its files, and all choices.
class World {
 public:
  World(std::mt19937_64& draw, const tuning::Graph& graph, const fs::path& folder)
      : draw_(draw), graph_(graph), folder_(folder) {
    group_tensors();
    for (const tuning::Operator& op : graph.operators) take_columns(op);
    widen();
    for (auto& [name, file] : files_) write(file);
  }

  std::optional<Count> brute_force() {
    std::optional<Count> least;
    std::vector<std::size_t> at(domains_.size());
    for (;;) {
      Count sum = 0;
      bool allowed = true;
      for (const tuning::Operator& op : graph_.operators) {
        if (op.kind != tuning::Kind::kContraction && op.kind != tuning::Kind::kKernel) continue;
        const File& file = files_.at(op.benchmark());
        std::map<std::string, std::string> wanted;
        for (const auto* uses : {&op.inputs, &op.outputs})
          for (const tuning::Use& use : *uses) {
            const std::string layout = in_column(use, layout_of(use.variable, at));
            const auto [known, fresh] = wanted.emplace(base::lower(use.column), layout);
            allowed = allowed && (fresh || known->second == layout);
          }
        std::vector<std::string> row;
        for (const Column& column : file.columns) row.push_back(wanted.at(column.name));
        const auto found = file.fastest.find(row);
        allowed = allowed && found != file.fastest.end();
        if (!allowed) break;
        sum += found->second;
      }
      if (allowed && (!least || sum < *least)) least = sum;
      std::size_t g = 0;
      while (g < at.size() && ++at[g] == domains_[g].size()) at[g++] = 0;
      if (g == at.size()) return least;
    }
  }

 private:
  int below(int n) { return static_cast<int>(draw_() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return static_cast<double>(draw_() >> 11) * 0x1p-53 < p; }

  void group_tensors() {
    for (const char* const tied : kTied) {
      std::istringstream names(tied);
      for (std::string name; names >> name;) group_of_[name] = domains_.size();
      domains_.emplace_back();
    }
    for (const tuning::Variable& one : graph_.variables)
      if (!group_of_.contains(one.name)) {
        group_of_[one.name] = domains_.size();
        domains_.emplace_back();
      }
    std::vector<std::size_t> wide;
    for (const tuning::Variable& one : graph_.variables) {
      std::vector<std::string>& domain = domains_[group_of_[one.name]];
      if (!domain.empty()) continue;
      std::string dims = one.dims;
      if (dims[0] == 'q' && one.name != "WKQV" && one.name != "DWKQV") dims.erase(0, 1);
      if (group_of_[one.name] == group_of_["WQQ"] || group_of_[one.name] == group_of_["DQQ"])
        std::replace(dims.begin(), dims.end(), 'k', 'j');
      if (one.name == "WKQV") {
        domain = {"q" + shuffled(dims.substr(1))};
      } else {
        domain = {shuffled(dims)};
      }
      if (dims.size() > 1) wide.push_back(group_of_[one.name]);
    }
    // Mostly as Substation varies them: keys, queries and values together, and so their biases.
    tied_ = chance(0.8);
    sparse_ = chance(0.3);
    if (tied_) {
      domains_[group_of_["BV"]] = domains_[group_of_["BQ"]] = domains_[group_of_["BK"]];
      domains_[group_of_["VV"]] = domains_[group_of_["KK"]];
      std::string queries = domains_[group_of_["KK"]][0];
      std::replace(queries.begin(), queries.end(), 'k', 'j');
      domains_[group_of_["QQ"]] = {queries};
    }
    std::shuffle(wide.begin(), wide.end(), draw_);
    const int free = 2 + below(5);
    for (int i = 0; i < free; ++i) {
      std::vector<std::string>& domain = domains_[wide[static_cast<std::size_t>(i)]];
      const std::string first = domain[0];
      for (int more = below(4) == 0 ? 2 : 1, tries = 0; more > 0 && tries < 20; ++tries) {
        const std::string other = first[0] == 'q' ? "q" + shuffled(first.substr(1)) : shuffled(first);
        if (std::find(domain.begin(), domain.end(), other) != domain.end()) continue;
        domain.push_back(other);
        --more;
      }
    }
  }
  std::string shuffled(std::string dims) {
    std::shuffle(dims.begin(), dims.end(), draw_);
    return dims;
  }

  std::string layout_of(const std::string& tensor, const std::vector<std::size_t>& at) const {
    const std::size_t g = group_of_.at(tensor);
    return as_tensor(tensor, domains_[g][at[g]]);
  }
  std::string as_tensor(const std::string& tensor, const std::string& of_group) const {
    const bool stack = group_of_.at(tensor) == group_of_.at("WQQ") || group_of_.at(tensor) == group_of_.at("DQQ");
    return stack ? as_in(of_group, graph_.variable(tensor)->dims) : of_group;
  }
  // aib and baib write j where a key's tensor has k.
  std::string in_column(const tuning::Use& use, std::string layout) const {
    if (use.dims.find('k') == std::string::npos) std::replace(layout.begin(), layout.end(), 'k', 'j');
    return layout;
  }

  void take_columns(const tuning::Operator& op) {
    if (op.kind != tuning::Kind::kContraction && op.kind != tuning::Kind::kKernel) return;
    File& file = files_[op.benchmark()];
    file.name = op.benchmark();
    file.contraction = op.kind == tuning::Kind::kContraction;
    file.specials.clear();
    for (const tuning::Special& special : op.specials) file.specials.push_back(special.column);
    for (const auto* uses : {&op.inputs, &op.outputs})
      for (const tuning::Use& use : *uses) {
        auto column = std::find_if(file.columns.begin(), file.columns.end(),
                                   [&](const Column& one) { return one.name == base::lower(use.column); });
        if (column == file.columns.end()) column = file.columns.insert(column, {base::lower(use.column), {}});
        for (const std::string& one : domains_[group_of_[use.variable]]) {
          const std::string layout = in_column(use, as_tensor(use.variable, one));
          if (std::find(column->layouts.begin(), column->layouts.end(), layout) == column->layouts.end())
            column->layouts.push_back(layout);
        }
      }
  }

  // Two operators share the files of bdrln and blnrd: a tensor may also have what the other's was drawn.
  void widen() {
    for (std::size_t g = 0; g < domains_.size(); ++g) {
      if (g == group_of_["WQQ"] || g == group_of_["DQQ"]) continue;
      std::set<std::string> all;
      std::vector<const Column*> columns;
      std::vector<const tuning::Use*> uses;
      for (const tuning::Operator& op : graph_.operators)
        for (const auto* some : {&op.inputs, &op.outputs})
          for (const tuning::Use& use : *some) {
            if (use.column.empty() || group_of_[use.variable] != g) continue;
            const File& file = files_.at(op.benchmark());
            columns.push_back(&*std::find_if(file.columns.begin(), file.columns.end(),
                                             [&](const Column& one) { return one.name == base::lower(use.column); }));
            uses.push_back(&use);
            const bool keys = graph_.variable(use.variable)->dims.find('j') == std::string::npos;
            for (std::string layout : columns.back()->layouts) {
              if (keys) std::replace(layout.begin(), layout.end(), 'j', 'k');
              all.insert(layout);
            }
          }
      for (const std::string& layout : all) {
        bool everywhere = true;
        for (std::size_t u = 0; u < uses.size(); ++u) {
          const auto& has = columns[u]->layouts;
          everywhere = everywhere && std::find(has.begin(), has.end(), in_column(*uses[u], layout)) != has.end();
        }
        const std::vector<std::string>& known = domains_[g];
        if (everywhere && std::find(known.begin(), known.end(), layout) == known.end()) domains_[g].push_back(layout);
      }
    }
  }

  // Every combination, some missing, some failed, some often.
  void write(File& file) {
    std::vector<std::string> lines;
    std::vector<std::size_t> at(file.columns.size());
    const double kept = sparse_ ? 0.4 : chance(0.7) ? 1.0 : 0.5 + 0.1 * below(5);
    for (;;) {
      std::vector<std::string> row;
      for (std::size_t c = 0; c < at.size(); ++c) row.push_back(file.columns[c].layouts[at[c]]);
      // The first stays, since a file without any row is refused.
      const bool there = file.fastest.empty() || chance(kept);
      for (int again = there ? 1 + below(3) : 0; again > 0; --again) {
        const Count ps = 1 + below(1'000'000);
        lines.push_back(line(file, row, ps, false));
        if (chance(0.1)) lines.push_back(lines.back());
        const auto [known, fresh] = file.fastest.emplace(row, ps);
        if (!fresh) known->second = std::min(known->second, ps);
      }
      if (!file.contraction && chance(0.2)) lines.push_back(line(file, row, 1, true));
      // Fast, but with a stack that no split takes.
      if (file.name.find("fused") != std::string::npos && chance(0.2)) {
        std::vector<std::string> turned = row;
        for (std::string& one : turned)
          if (one[0] == 'q') std::rotate(one.begin(), one.begin() + 1, one.end());
        lines.push_back(line(file, turned, 1, false));
      }
      std::size_t c = 0;
      while (c < at.size() && ++at[c] == file.columns[c].layouts.size()) at[c++] = 0;
      if (c == at.size()) break;
    }
    std::shuffle(lines.begin(), lines.end(), draw_);
    if (file.contraction) {
      std::ofstream out(folder_ / (file.name + "-result.csv"));
      out << "A,B,C,optype,trans_a,trans_b,M,N,K,lda,ldb,ldc,stride_a,stride_b,stride_c,batch,Time,Implementation\n";
      for (const std::string& one : lines) out << one;
      return;
    }
    const int ranks = below(3);
    for (int rank = 0; rank < std::max(1, ranks); ++rank) {
      std::ofstream out(folder_ /
                        (ranks == 0 ? file.name + "-combined.csv" : fmt::format("{}-bm{}.csv", file.name, rank)));
      for (std::size_t i = static_cast<std::size_t>(rank); i < lines.size();
           i += static_cast<std::size_t>(std::max(1, ranks)))
        out << lines[i];
    }
  }

  std::string line(const File& file, const std::vector<std::string>& row, Count ps, bool failed) {
    const std::string end = chance(0.1) ? "\r\n" : "\n";
    if (file.contraction)
      return fmt::format("{},{},{},GEMM,N,T,,,,1,1,1,0.0,0.0,0.0,1.0,{}e-9,{}{}", row[0], row[1], row[2], ps,
                         chance(0.5) ? "tc3" : "32_default", end);
    std::string out = chance(0.5) ? "B = 8 J = 512 " : "";
    std::vector<std::string> triples;
    for (const std::string& special : file.specials) triples.push_back(fmt::format("{} = {}", special, "BJ"[below(2)]));
    for (std::size_t c = 0; c < row.size(); ++c) {
      std::string layout = base::upper(row[c]);
      std::replace(layout.begin(), layout.end(), 'I', 'N');
      triples.push_back(fmt::format("{} = {}", base::upper(file.columns[c].name), layout));
    }
    if (chance(0.2)) std::shuffle(triples.begin(), triples.end(), draw_);
    for (const std::string& triple : triples) out += triple + " ";
    return out + fmt::format("time = {}e-12 s{}{}", ps, failed ? " ERROR" : "", end);
  }

  std::mt19937_64& draw_;
  const tuning::Graph& graph_;
  fs::path folder_;
  std::map<std::string, std::size_t> group_of_;
  std::vector<std::vector<std::string>> domains_;  // of each group
  std::map<std::string, File> files_;
  bool tied_ = false, sparse_ = false;
};

TEST(TuneSelectOfRandomFolders, FindsWhatTryingEverythingFindsAndNoModeIsBelow) {
  const tuning::Graph graph = tuning::encoder_graph(tuning::Sizes::encoder(8, 512, 16, 1024, 4096));
  const fs::path folder = fs::temp_directory_path() / fmt::format("orrery_random_{}", std::random_device{}());
  int infeasible = 0, modes = 0, written = 0;
  for (int i = 0; i < folders(30); ++i) {
    std::mt19937_64 draw(static_cast<std::uint64_t>(i));
    fs::remove_all(folder);
    fs::create_directories(folder);
    World world(draw, graph, folder);
    const std::optional<Count> truth = world.brute_force();
    TuneSelectRequest request;
    request.folder = folder.string();
    if (i % 3 == 0) request.split_vars = {"X", "LN1"};
    const TunedSelection found = tune_select(request);
    ASSERT_TRUE(found.certificate.optimal) << i;
    ASSERT_EQ(found.selection.has_value(), truth.has_value()) << i;
    if (!truth) {
      ++infeasible;
      ASSERT_TRUE(found.minimum.infeasible);
      ASSERT_FALSE(found.conflict.factors.empty());
      continue;
    }
    ASSERT_EQ(found.selection->time, *truth * 1000) << i;  // fs
    for (const SelectMode& mode : found.modes)
      if (mode.outcome.selection) {
        ++modes;
        ASSERT_GE(mode.outcome.selection->time, found.selection->time) << i << " " << mode.name;
      }
    // What is written is the choice.
    base::Diagnostics lost;
    std::ofstream(folder / "layouts.json") << layout_file(found, *found.selection, lost);
    if (!lost.all().empty()) continue;  // keys, queries and values that differ
    ++written;
    request.evaluate = (folder / "layouts.json").string();
    const TunedSelection again = tune_select(request);
    ASSERT_TRUE(again.evaluated && again.evaluated->selection) << i;
    ASSERT_EQ(again.evaluated->selection->time, found.selection->time) << i;
  }
  fs::remove_all(folder);
  EXPECT_GT(infeasible, folders(30) / 50);
  EXPECT_GT(modes, folders(30) / 2);
  EXPECT_GT(written, folders(30) / 4);
}

}  // namespace
}  // namespace orrery::verbs
