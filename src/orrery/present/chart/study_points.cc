// Layers that points share, as those whose chip differs in what a layer does not use, stand once: a point names them by
// their places. Names of figures stand once as well, and those that no point has are left out.
#include "orrery/present/chart/study_points.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "orrery/present/chart/chart_vega.h"
#include "orrery/present/graph_svg.h"

namespace orrery::verbs {
namespace {

// Rows of figures by name, "" for what one has not.
class Rows {
 public:
  void begin() { rows_.emplace_back(); }
  // Scalars by their paths below `prefix`.
  void add(const Node& object, const std::string& prefix, std::string_view but = "") {
    for (const formats::json::Member& member : object.members) {
      if (member.key == but || member.value.is_null()) continue;
      const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
      if (member.value.is_object())
        add(member.value, path);
      else if (member.value.kind != Node::Kind::kList)
        put(path, shown_text(member.value));
    }
  }
  void put(const std::string& name, std::string value) {
    const auto [at, is_new] = places_.emplace(name, names_.size());
    if (is_new) names_.emplace_back(name);
    std::vector<std::string>& row = rows_.back();
    if (row.size() <= at->second) row.resize(at->second + 1);
    row[at->second] = std::move(value);
  }
  // The place of the last row, which is dropped where another one is the same.
  std::size_t once() {
    const auto [at, is_new] = known_.emplace(rows_.back(), rows_.size() - 1);
    if (!is_new) rows_.pop_back();
    return at->second;
  }
  Json names() const { return Json::List(names_.begin(), names_.end()); }
  Json rows() const {
    Json::List out;
    for (const std::vector<std::string>& row : rows_) out.emplace_back(Json::List(row.begin(), row.end()));
    return out;
  }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::vector<std::string>> rows_;
  std::map<std::vector<std::string>, std::size_t> known_;
};

}  // namespace

std::string study_points_html(const Node& result, const std::string& id) {
  constexpr std::size_t kMostLayers = 20'000;  // some 60 bytes each
  const std::vector<Node>& points = items_at(result, "points");
  if (points.empty() || !points.front().is_object()) return "";
  std::vector<bool> chosen(points.size(), false);
  for (const Node& place : items_at(result, "pareto"))
    if (const auto at = static_cast<std::size_t>(place.number); place.is_number() && at < chosen.size())
      chosen[at] = true;
  std::size_t layers = 0;
  for (const Node& point : points)
    if (const Node* parts = at(point, "layers")) layers += parts->members.size();
  const std::size_t every = std::max<std::size_t>(1, (layers + kMostLayers - 1) / kMostLayers);

  Rows figures, parts;
  Json::List places;
  std::size_t with_layers = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    figures.begin(), figures.add(points[i], "", "layers");
    Json::List own;
    const Node* found = at(points[i], "layers");
    if (found != nullptr && (chosen[i] || i % every == 0)) {
      for (const formats::json::Member& layer : found->members) {
        parts.begin(), parts.put("layer", layer.key), parts.add(layer.value, "");
        own.emplace_back(parts.once());
      }
      ++with_layers;
    }
    places.emplace_back(std::move(own));
  }
  const Json data = Json::Object{{"names", figures.names()},
                                 {"points", figures.rows()},
                                 {"layer_names", parts.names()},
                                 {"layers", parts.rows()},
                                 {"layers_of", Json(std::move(places))},
                                 {"with_layers", with_layers}};
  return fmt::format("<script type=\"application/json\" class=\"points\" id=\"{}\">{}</script>\n", xml_text(id),
                     script_text(data));
}

}  // namespace orrery::verbs
