// Points of `place`: systems in families (place_family.h), whose least times bound and settle each other.
//
// A set of systems of one family is answered from its best system down: that is solved, and where its mapping takes as
// long on the worst of the set, all between them are settled. Else the set is halved along the field that costs most,
// until it is one system. What a batch finds is known to the next, so that answers do not depend on threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/verbs/sweep/engines/place_family.h"
#include "orrery/verbs/sweep/engines/request_engine.h"
#include "orrery/verbs/sweep/points/memo.h"

namespace orrery::sweep {

class PlaceEngine : public RequestEngine {
 public:
  PlaceEngine(std::vector<std::string> arguments, ReadRequest read, const EngineOptions& options);

  std::vector<store::Figures> bounds(const std::vector<Choices>& boxes) override;

  // How many systems were answered without a search of their own.
  std::size_t settled() const { return settled_; }

 protected:
  void answer_all(const std::vector<base::Overrides>& points, const std::vector<std::size_t>& places,
                  std::vector<store::Result>& results) override;

 private:
  using FamilyPtr = std::shared_ptr<PlaceFamily>;
  struct Member {
    std::string family;  // by what is fixed
    base::Overrides fixed;
    PlaceFamily::Values at;  // empty: a point that is placed by itself
  };
  bool rises_here(const std::string& path) const;
  Member member(const base::Overrides& point) const;
  // Of members, by their families' names; reads those that are not known.
  std::map<std::string, FamilyPtr> families(const std::vector<Member>& members);
  void learn(PlaceFamily& family, const PlaceFamily::Solved& solved);
  dataflow::PlaceLimits limits(const base::Overrides& point);

  std::size_t settled_ = 0, learned_ = 0;
  std::vector<std::string> open_;  // paths that vary within a family
  base::Overrides least_, most_;   // their values
  static constexpr std::size_t kFamilies = 512;
  Recent<FamilyPtr> families_{kFamilies};
};

}  // namespace orrery::sweep
