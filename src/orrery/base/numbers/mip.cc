#include "orrery/base/numbers/mip.h"

#include <algorithm>
#include <memory>
#include <string>

#include <CbcEventHandler.hpp>
#include <CbcModel.hpp>
#include <CbcSolver.hpp>
#include <CoinMessageHandler.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>

#include "orrery/base/diagnostics/check.h"

namespace orrery::base {
namespace {

// Ends the search, between two nodes, once a stop was requested.
class Stopper : public CbcEventHandler {
 public:
  explicit Stopper(const std::atomic<bool>* told) : told_(told) {}
  CbcAction event(CbcEvent) override { return told_ != nullptr && told_->load() ? stop : noAction; }
  CbcEventHandler* clone() const override { return new Stopper(*this); }  // CBC deletes it

 private:
  const std::atomic<bool>* told_;
};

// Discards the solver's messages of any level.
class Silence : public CoinMessageHandler {
 public:
  Silence() { setLogLevel(0); }
  int print() override { return 0; }
  CoinMessageHandler* clone() const override { return new Silence(*this); }
};

int go_on(CbcModel*, int) {
  return 0;
}

}  // namespace

int Mip::add_column(double lower, double upper, double cost, bool whole) {
  lower_.push_back(lower);
  upper_.push_back(upper);
  cost_.push_back(cost);
  whole_.push_back(whole ? 1 : 0);
  return columns() - 1;
}

int Mip::add_row(std::span<const Term> terms, double lower, double upper) {
  std::vector<Term> sorted(terms.begin(), terms.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const Term& a, const Term& b) { return a.column < b.column; });
  for (const Term& term : sorted) {
    ORRERY_CHECK(term.column >= 0 && term.column < columns(), "a row of a programme names no column");
    const bool again = static_cast<int>(terms_.size()) > row_start_.back() && terms_.back().column == term.column;
    if (again) {
      terms_.back().factor += term.factor;
    } else {
      terms_.push_back(term);
    }
  }
  row_start_.push_back(static_cast<int>(terms_.size()));
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  return rows() - 1;
}

Mip::Solution Mip::minimise(const Limits& limits) const {
  Solution result;
  std::vector<int> index;
  std::vector<double> value;
  for (const Term& term : terms_) {
    index.push_back(term.column);
    value.push_back(term.factor);
  }
  const std::vector<CoinBigIndex> starts(row_start_.begin(), row_start_.end());
  const CoinPackedMatrix matrix(false, columns(), rows(), static_cast<CoinBigIndex>(index.size()), value.data(),
                                index.data(), starts.data(), nullptr);
  Silence silence;
  OsiClpSolverInterface solver;
  solver.passInMessageHandler(&silence);
  solver.getModelPtr()->passInMessageHandler(&silence);
  const double most = solver.getInfinity();
  const auto bounded = [&](std::vector<double> bounds) {
    for (double& bound : bounds) bound = std::clamp(bound, -most, most);
    return bounds;
  };
  solver.loadProblem(matrix, bounded(lower_).data(), bounded(upper_).data(), cost_.data(), bounded(row_lower_).data(),
                     bounded(row_upper_).data());
  for (int c = 0; c < columns(); ++c) {
    if (whole_[static_cast<std::size_t>(c)]) solver.setInteger(c);
  }

  CbcModel model(solver);
  CbcSolverUsefulData data;
  data.noPrinting_ = true;
  CbcMain0(model, data);
  model.passInMessageHandler(&silence);
  model.setLogLevel(0);
  Stopper stopper(limits.stop);
  model.passInEventHandler(&stopper);
  if (limits.cutoff < kInfinity) model.setCutoff(limits.cutoff);
  std::vector<std::string> words = {"orrery", "-log", "0", "-slog", "0"};
  if (limits.seconds > 0) {
    words.insert(words.end(), {"-timeMode", "elapsed", "-seconds", std::to_string(limits.seconds)});
  }
  if (limits.gap > 0) words.insert(words.end(), {"-ratioGap", std::to_string(limits.gap)});
  words.insert(words.end(), {"-solve", "-quit"});
  std::vector<const char*> arguments;
  arguments.reserve(words.size());
  for (const std::string& word : words) arguments.push_back(word.c_str());
  CbcMain1(static_cast<int>(arguments.size()), arguments.data(), model, go_on, data);

  if (const double* best = model.bestSolution()) {
    result.values.assign(best, best + columns());
    result.cost = 0;
    for (int c = 0; c < columns(); ++c) {
      result.cost += cost_[static_cast<std::size_t>(c)] * best[c];
    }
  }
  result.nodes = model.getNodeCount();
  if (model.isProvenInfeasible() || model.isInitialSolveProvenPrimalInfeasible()) {
    result.status = Status::kInfeasible;
    result.bound = std::min(limits.cutoff, kInfinity);
  } else if (model.isContinuousUnbounded() || model.isInitialSolveProvenDualInfeasible()) {
    result.status = Status::kUnbounded;
  } else if (model.isProvenOptimal() && !result.values.empty()) {
    result.status = Status::kOptimal;
    result.bound = limits.gap > 0 ? std::min(result.cost, model.getBestPossibleObjValue()) : result.cost;
  } else {
    result.bound = model.getBestPossibleObjValue();
    if (!(std::abs(result.bound) < 1e40)) result.bound = -kInfinity;
  }
  return result;
}

std::string mip_solver() {
  return "CBC " CBC_VERSION;
}

}  // namespace orrery::base
