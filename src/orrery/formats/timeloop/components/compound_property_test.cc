// The weights of random trees of classes, against counting every subcomponent and every call one by one.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "orrery/formats/timeloop/components/compound.h"
#include "orrery/formats/timeloop/expressions/document_test_util.h"

namespace orrery::formats::timeloop {
namespace {

struct Part {
  int count = 1;
  int used = 1;
  int energy_scale = 1;
  int action_scale = 1;
  int area_scale = 1;
  int inner = -1;  // class, or a primitive
};
using Classes = std::vector<std::vector<Part>>;

// Classes contain later ones only, so none contains itself.
Classes random_classes() {
  const int many = *rc::gen::inRange(1, 4);
  Classes classes(static_cast<std::size_t>(many));
  for (int c = 0; c < many; ++c) {
    const int parts = *rc::gen::inRange(1, 3);
    for (int p = 0; p < parts; ++p) {
      Part part;
      part.count = *rc::gen::inRange(1, 5);
      part.used = *rc::gen::inRange(0, part.count + 1);
      part.energy_scale = *rc::gen::inRange(0, 4);
      part.action_scale = *rc::gen::inRange(0, 4);
      part.area_scale = *rc::gen::inRange(0, 4);
      part.inner = *rc::gen::inRange(c + 1, many + 1);
      if (part.inner == many) part.inner = -1;
      classes[static_cast<std::size_t>(c)].push_back(part);
    }
  }
  return classes;
}

std::string text_of(const Classes& classes) {
  std::string text = "classes:\n";
  for (std::size_t c = 0; c < classes.size(); ++c) {
    text += fmt::format("- name: {}\n  attributes: {{one: 1}}\n  subcomponents:\n",
                        c == 0 ? std::string("part") : fmt::format("c{}", c));
    for (std::size_t p = 0; p < classes[c].size(); ++p) {
      const Part& part = classes[c][p];
      text += fmt::format("  - {{name: \"s{}[one..{}]\", class: {}, energy_scale: {}, area_scale: {}}}\n", p,
                          part.count, part.inner < 0 ? std::string("leaf") : fmt::format("c{}", part.inner),
                          part.energy_scale, part.area_scale);
    }
    text += "  actions:\n  - name: go\n    subcomponents:\n";
    for (std::size_t p = 0; p < classes[c].size(); ++p) {
      text += fmt::format("    - {{name: \"s{}[one..{}]\", actions: [{{name: go, energy_scale: {}}}]}}\n", p,
                          classes[c][p].used, classes[c][p].action_scale);
    }
  }
  return text;
}

using Sums = std::map<std::string, double>;

void count(const Classes& classes, std::size_t c, const std::string& path, double energy, bool acts, double area,
           Sums& energies, Sums& areas) {
  for (std::size_t p = 0; p < classes[c].size(); ++p) {
    const Part& part = classes[c][p];
    const std::string name = fmt::format("{}.s{}", path, p);
    for (int i = 0; i < part.count; ++i) {
      const bool called = acts && i < part.used;
      const double all = energy * part.energy_scale * part.action_scale;
      if (part.inner >= 0) {
        count(classes, static_cast<std::size_t>(part.inner), name, all, called, area * part.area_scale, energies,
              areas);
      } else {
        energies[name] += called ? all : 0;
        areas[name] += area * part.area_scale;
      }
    }
  }
}

TEST(CompoundProperty, WeightsAreWhatCountingOneByOneGives) {
  EXPECT_TRUE(rc::check([] {
    const Classes classes = random_classes();
    const yaml::Node document = testing::parse(text_of(classes));
    const yaml::Node* documents[] = {&document};
    base::Diagnostics found;
    ComponentClasses read(documents, found);
    energy::Component component;
    component.name = "Top";
    ComponentDemands demands;
    demands.class_name = "part";
    demands.energy_scale = 2;
    demands.area_scale = 3;
    take_apart(demands, read, {}, component, found);
    RC_ASSERT(testing::places(found).empty());

    Sums energies;
    Sums areas;
    count(classes, 0, "Top", 2, true, 3, energies, areas);
    Sums found_energies;
    Sums found_areas;
    RC_ASSERT(component.actions.size() == 1u);
    for (const energy::Primitive& primitive : component.primitives) {
      found_energies[primitive.path] += 0;
      found_areas[primitive.path] += primitive.area_weight;
    }
    for (const energy::Term& term : component.actions[0].terms)
      found_energies[component.primitives[term.primitive].path] += term.weight;
    RC_ASSERT(found_energies == energies);
    RC_ASSERT(found_areas == areas);
  }));
}

}  // namespace
}  // namespace orrery::formats::timeloop
