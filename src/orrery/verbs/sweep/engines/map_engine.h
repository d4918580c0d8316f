// Points of `map`: chips that vary under one workload, or workloads that vary on one chip.
//
// A point is the sum of its layers. Equal layers on equal chips under equal constraints are one question, wherever they
// occur: in the point, in the study, in the store. Questions of a batch that are new are searched in parallel.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/engines/layer_answer.h"
#include "orrery/verbs/sweep/engines/point_reading.h"

namespace orrery::sweep {

class MapEngine : public Engine {
 public:
  // Throws InputError O2059 for options that ask for more than the best mapping of each layer.
  MapEngine(std::vector<std::string> arguments, const ReadRequest& read, const EngineOptions& options);

  void probe(const base::Overrides& point) override;
  std::vector<base::Input> inputs() const override { return inputs_; }
  base::Diagnostics warnings() const override { return warnings_; }
  std::vector<store::Figures> bounds(const std::vector<Choices>& boxes) override;
  double effort(const base::Overrides& point) override;
  void verify(const std::vector<base::Overrides>& points) override;
  Batch evaluate(const std::vector<base::Overrides>& points, const Known& known) override;
  std::string command(const base::Overrides& point) const override;

 private:
  void refuse_idle_normalisations(const PointQuestions& read) const;
  bool wants(std::initializer_list<store::Figure> figures) const;
  store::Figures least(const verbs::LayerQuestion& question, const std::string& key,
                       std::map<std::string, double>& fresh);

  std::vector<std::string> arguments_;
  ChipReadings readings_;
  EngineOptions options_;
  LayerSearch search_;
  std::string how_;  // all that answers depend on beside the questions
  std::vector<base::Input> inputs_;
  base::Diagnostics warnings_;
  std::map<std::string, double> least_;  // by question and figure
};

}  // namespace orrery::sweep
