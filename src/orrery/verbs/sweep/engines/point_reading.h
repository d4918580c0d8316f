// The questions of a point of `map`, without reading the documents for each point.
//
// A chip is a list of levels, and what is set of one storage's own attributes changes that level alone. So the points
// of a product of such fields are put together: each storage is read once for each combination of its own values, and a
// point's chip takes its storages from those readings. What changes more than one level (meshes of containers,
// variables, constraints, bounds) is read for each combination of its values.
//
// Whether a field changes one level alone is not assumed but looked at: its reading is compared with the base's, level
// by level, the map spaces too. Before the first answer, points spread over the study are read whole and compared with
// what was put together; one that differs, and every point is read whole. Cost: values times combinations of the fields
// that change much, instead of points.
//
// Where normalisations run on a chip of their own, `norm.` before a path sets it there alone. Without it a field of a
// level is set there, too, if that chip has the level with the same capacity and as many instances.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/text/override.h"
#include "orrery/verbs/map/asked_layers.h"
#include "orrery/verbs/sweep/engines/engine.h"
#include "orrery/verbs/sweep/points/arguments.h"
#include "orrery/verbs/sweep/points/hw_configs.h"

namespace orrery::sweep {

// The questions of a point. The lists are as the questions.
struct PointQuestions {
  std::shared_ptr<const verbs::AskedLayers> asked;
  std::vector<std::shared_ptr<const machine::Chip>> chips;  // in place of the reading's own
  std::vector<std::string> chip_keys;
  std::vector<std::string> keys;  // of the whole questions
};

// Thread-safe; estimators of several threads read the tables once each.
class ChipReadings {
 public:
  // `paths`: those that vary, and the values of each. Where one makes another chip of a chip with an ERT, that is left
  // aside if its figures can be estimated; of chips that vary, each by itself.
  ChipReadings(std::vector<std::string> arguments, ReadRequest read, const std::vector<std::string>& paths,
               Pins pins = Pins::kArray, const std::vector<std::vector<std::string>>& values = {});
  ~ChipReadings();

  // Throws InputError for what the documents refuse at the point.
  PointQuestions questions(const base::Overrides& point);
  // The questions of a box's best: each level with the most capacity and bandwidth and the least energy and area that
  // it has at any point of the box. A mapping that a point allows, this chip allows, and it costs no more there, so
  // what no answer here is below, no answer in the box is. Nothing where the points differ in more than that, or where
  // zeros count.
  std::optional<PointQuestions> best_of(const Choices& box);
  // Reads the points whole and compares; a difference ends all composing.
  void verify(const std::vector<base::Overrides>& points);
  // The point, read whole.
  PointQuestions read_whole(const base::Overrides& point);

  const verbs::MapRequest& base_request() const { return base_; }
  bool composes() const { return composes_; }
  bool leaves_tables(const base::Overrides& point) const;  // figures are estimated although there is an ERT
  // The chips of which they are, and those of which they cannot be, although the chip changes, with the reason. Named
  // where chips vary, else empty.
  std::vector<std::string> leaving_tables() const;
  std::vector<std::pair<std::string, std::string>> unestimated() const;

 private:
  struct Reading;
  using ReadingPtr = std::shared_ptr<const Reading>;
  ReadingPtr reading(const std::vector<std::string>& options, const base::Overrides& settings);
  verbs::MapRequest request_at(const std::vector<std::string>& options);
  verbs::AskedLayers ask(const std::vector<std::string>& options, const base::Overrides& settings);
  std::shared_ptr<const std::vector<verbs::ChipFile>> chips_of(const verbs::MapRequest& request);
  struct OfChip {
    bool estimate = false;          // an ERT is left aside
    std::string unestimated;        // why that cannot be
    std::vector<std::string> both;  // levels that the chip for normalisations has alike
    bool partner = false;
  };
  using Varied = std::vector<std::pair<std::string, std::vector<std::string>>>;  // settings and their values
  bool look_at(const std::vector<std::string>& options, const Varied& varied);
  bool changes_chip(const std::vector<std::string>& options, const verbs::AskedLayers& base, const Varied& varied);
  const OfChip& of_chip(const std::vector<std::string>& options) const;
  static bool is_of_both(const OfChip& chip, const std::string& path);
  // What of a point changes one level each, by its name, and what changes more.
  struct ByLevel {
    base::Overrides much;
    std::map<std::string, base::Overrides> of_level;
  };
  ByLevel by_level(const std::vector<std::string>& options, const base::Overrides& settings);
  PointQuestions compose(const SplitPoint& parts);
  // The same with levels that take any of several settings: at their best. Nothing where no chip stands for all.
  using OfLevels = std::map<std::string, std::vector<base::Overrides>>;
  std::optional<PointQuestions> put_together(const SplitPoint& parts, const base::Overrides& much,
                                             const OfLevels& levels);
  PointQuestions whole(const SplitPoint& parts);
  PointQuestions pinned(const std::optional<Pin>& pin, PointQuestions point);
  ReadingPtr read_anew(const std::vector<std::string>& options, const base::Overrides& settings);
  // The one level that is another one, by its name.
  std::string changed_level(const Reading& base, const Reading& changed) const;

  void take_words(verbs::MapRequest& request);
  Expanded expand_here(const base::Overrides& point);
  bool states(const std::string& path);

  std::vector<std::string> arguments_;
  ReadRequest read_;
  Pins pins_;
  bool as_scripts_ = false;        // configurations of Timeloop-Experiments
  std::vector<std::string> only_;  // layers that words among the files name
  verbs::MapRequest base_;
  std::mutex mutex_;
  std::map<std::string, ReadingPtr> known_;
  std::map<std::string, verbs::MapRequest> requests_;
  std::vector<std::unique_ptr<verbs::Estimators>> idle_;
  std::map<std::string, std::shared_ptr<const std::vector<verbs::ChipFile>>> chips_;  // by names, parsed once
  std::map<std::string, std::string> level_of_;  // by options and setting: the one that it changes
  struct Pinned {
    std::shared_ptr<const verbs::AskedLayers> before, after;
    std::vector<std::string> space_keys;  // of `after`, per question
  };
  std::map<std::string, Pinned> pinned_;
  std::map<std::string, OfChip> of_chip_;  // by what `--chip` of a point says; empty: it does not vary
  bool only_normalisations_ = false;       // the documents' chip is one for normalisations
  std::map<std::string, bool> states_;     // attributes that the documents give a value
  bool composes_ = true;
};

}  // namespace orrery::sweep
