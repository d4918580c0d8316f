// Points of every verb but `map`: one answer each.
//
// The answer's name is that of the command; what its files were then is stored with it, and a file that has changed
// since makes it unknown.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/verbs/sweep/engines/engine.h"

namespace orrery::sweep {

class RequestEngine : public Engine {
 public:
  RequestEngine(std::string verb, std::vector<std::string> arguments, ReadRequest read, const EngineOptions& options);

  void probe(const base::Overrides& point) override;
  std::vector<base::Input> inputs() const override { return inputs_; }
  base::Diagnostics warnings() const override { return warnings_; }
  double effort(const base::Overrides& point) override;
  std::vector<store::Figures> bounds(const std::vector<Choices>& boxes) override;
  Batch evaluate(const std::vector<base::Overrides>& points, const Known& known) override;
  std::string command(const base::Overrides& point) const override;

  struct Answer {
    store::Outcome outcome;
    std::vector<base::Input> inputs;
    base::Diagnostics warnings;
  };

 protected:
  Request request_at(const base::Overrides& point);
  const EngineOptions& options() const { return options_; }
  // The answers of the points at these places.
  virtual void answer_all(const std::vector<base::Overrides>& points, const std::vector<std::size_t>& places,
                          std::vector<store::Result>& results);
  static std::string inputs_text(const std::vector<base::Input>& inputs);

 private:
  Answer answer(const base::Overrides& point);
  bool unchanged(const std::string& inputs);

  std::string verb_;
  std::vector<std::string> arguments_;
  ReadRequest read_;
  EngineOptions options_;
  std::mutex mutex_;
  std::map<std::string, Request> requests_;    // by options
  std::map<std::string, std::string> hashes_;  // of files, as they are now
  std::vector<base::Input> inputs_;
  base::Diagnostics warnings_;
};

}  // namespace orrery::sweep
