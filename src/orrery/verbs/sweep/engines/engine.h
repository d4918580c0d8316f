// What answers the points of a study: one engine a verb.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/diagnostics/diagnostic.h"
#include "orrery/base/numbers/content_hash.h"
#include "orrery/base/text/override.h"
#include "orrery/inputs/inputs.h"
#include "orrery/verbs/map/fuse/request.h"
#include "orrery/verbs/map/run.h"
#include "orrery/verbs/place/run.h"
#include "orrery/verbs/serve/run.h"
#include "orrery/verbs/sparse/simulate/run.h"
#include "orrery/verbs/sweep/points/study.h"
#include "orrery/verbs/sweep/store/store.h"
#include "orrery/verbs/train/run.h"
#include "orrery/verbs/tune/select/run.h"

namespace orrery::sweep {

// A verb's question, from its own options.
using Request =
    std::variant<verbs::MapRequest, verbs::BlockRequest, verbs::DocumentRequest, verbs::TrainRequest,
                 verbs::PlaceRequest, verbs::ServeRequest, verbs::SimulateRequest, verbs::TuneSelectRequest>;
// Reads a verb's arguments; throws InputError as the verb would.
using ReadRequest = std::function<Request(const std::string& verb, const std::vector<std::string>& arguments)>;

// A result that a point is made of: `instances` of it, under the name that it has there.
struct Part {
  std::string name;
  base::Count instances = 1;
  std::string key;
};

struct Answered {
  store::Outcome outcome;
  std::vector<Part> parts;
};

struct Batch {
  std::vector<Answered> points;
  std::vector<store::Result> fresh;  // results that were not known
};

// A box of points: of each group of fields, what it may set.
using Choices = std::vector<std::vector<base::Overrides>>;

// Results of earlier batches and runs, by key.
using Known = std::function<std::optional<store::Result>(const std::string& key)>;

class Engine {
 public:
  virtual ~Engine() = default;

  // Reads the question at a point; throws InputError for what it refuses.
  virtual void probe(const base::Overrides& point) = 0;
  // Files of the points probed, and what was said while the first one was read.
  virtual std::vector<base::Input> inputs() const = 0;
  virtual base::Diagnostics warnings() const = 0;

  // What answering a point costs, in no particular unit; looked at for few points (shares.h).
  virtual double effort(const base::Overrides&) { return 1; }

  // Compares shortcuts with the long way at these points, once before any answer.
  virtual void verify(const std::vector<base::Overrides>&) {}

  // What no answer for a point of a box is below (utilization: above), of each figure; absent: nothing is known;
  // infinite: no point of it has an answer.
  virtual std::vector<store::Figures> bounds(const std::vector<Choices>& boxes) = 0;
  // Each point's answer. Bad points are answers, too: Status::kError with the reason.
  virtual Batch evaluate(const std::vector<base::Overrides>& points, const Known& known) = 0;

  // The command that answers a point by itself; empty where no command says all that the study does.
  virtual std::string command(const base::Overrides& point) const = 0;
};

// Joins them, sorted, each once.
void add_inputs(const std::vector<base::Input>& more, std::vector<base::Input>& inputs);

struct EngineOptions {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;
  std::vector<std::string> paths = {};                // that vary
  std::vector<std::vector<std::string>> values = {};  // of each of them
  std::vector<store::Figure> wanted = {};             // whose bounds matter
  Pins pins = Pins::kArray;
};

// Throws InputError: O2059 for a verb without an engine, and what the verb refuses of its arguments.
std::unique_ptr<Engine> make_engine(const std::string& verb, const std::vector<std::string>& arguments,
                                    const ReadRequest& read, const EngineOptions& options);

// The verbs that have one.
const std::vector<std::string>& swept_verbs();

}  // namespace orrery::sweep
