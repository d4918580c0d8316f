#include "orrery/verbs/map/fuse/json.h"

#include <utility>

namespace orrery::verbs {
namespace {

// A tree is nested, which records are not: its nodes are written by hand.
Json tree_json(const std::vector<TreeNode>& nodes) {
  Json::List list;
  for (const TreeNode& node : nodes) {
    Json::Object out;
    switch (node.kind) {
      case TreeNode::Kind::kHold:
        out.emplace_back("hold", node.name);
        out.emplace_back("at", node.where);
        out.emplace_back("bits", node.bits);
        out.emplace_back("shared", node.shared);
        if (!node.of.empty()) out.emplace_back("of", node.of);
        break;
      case TreeNode::Kind::kLoop:
      case TreeNode::Kind::kSpread:
        out.emplace_back("loop", node.name);
        out.emplace_back("count", node.count);
        out.emplace_back("tile", node.tile);
        if (node.kind == TreeNode::Kind::kSpread) out.emplace_back("over", node.where);
        if (node.kind == TreeNode::Kind::kLoop && !node.where.empty()) out.emplace_back("at", node.where);
        if (!node.variables.empty()) {
          Json::List names;
          for (const std::string& name : node.variables) names.push_back(Json(name));
          out.emplace_back("variables", std::move(names));
        }
        if (!node.axis.empty()) out.emplace_back("axis", node.axis);
        out.emplace_back("inside", node.inside.empty() ? Json(Json::List()) : tree_json(node.inside[0]));
        break;
      case TreeNode::Kind::kCompute:
        out.emplace_back("compute", node.name);
        out.emplace_back("on", node.where);
        break;
      case TreeNode::Kind::kSequence:
      case TreeNode::Kind::kBeside: {
        Json::List parts;
        for (const auto& part : node.inside) parts.push_back(tree_json(part));
        out.emplace_back(node.kind == TreeNode::Kind::kSequence ? "sequence" : "side_by_side", std::move(parts));
        if (node.kind == TreeNode::Kind::kBeside) out.emplace_back("at_once", node.count);
        break;
      }
    }
    list.push_back(std::move(out));
  }
  return list;
}

Record<BlockPoint> block_point() {
  return {
      {"energy", "Energy, in the unit of the files: J in AccelForge's, pJ of a model's block.", &BlockPoint::energy},
      {"latency", "Time, in the unit of the files: s in AccelForge's, cycles of a model's block.",
       &BlockPoint::latency},
      {"tree",
       "The loop tree: a list, outside in, of `hold` (a tensor `at` a storage, `bits` of its tile, `shared` between "
       "einsums, or kept by the one that it is `of`), `loop` (`count` rounds of `tile` each, `over` a fan-out or in "
       "time, its `variables` in the einsums that share it where "
       "they differ, what is `inside`; of a model's "
       "block also the storage that it is `at`, or the `axis` of the instances), `compute` (an einsum `on` a unit), "
       "`sequence` (lists that run one after the other), `side_by_side` (lists that work on rounds of their own, each "
       "a "
       "round behind the one before, so many `at_once`: list i takes turns with list i + `at_once`).",
       [](const BlockPoint& p) { return tree_json(p.tree); }, WithSchema{typed("array")}}};
}

Record<BlockResident> resident_record() {
  return {
      {"storage", "The storage of `--weights-stay`.", &BlockResident::storage},
      {"operators", "Whose weights stay; none, where none has room or nothing is gained.", &BlockResident::operators},
      {"bits", "Bits of these weights, in all blocks.", &BlockResident::bits},
      {"energy", "Energy of the best block whose weights are read in every run.", &BlockResident::energy},
      {"latency", "Its time.", &BlockResident::latency}};
}

Record<BlockAnswer> block_result() {
  using A = BlockAnswer;
  const auto native = [](const A& a) { return a.native && a.best.has_value(); };
  const Record<BlockEinsum> einsum = {{"name", "Name of the einsum.", &BlockEinsum::name},
                                      {"unit", "Unit that computes it.", &BlockEinsum::unit},
                                      {"bound_by", "Part that takes longest.", &BlockEinsum::bound_by},
                                      {"energy", "Energy, leakage included.", &BlockEinsum::energy},
                                      {"latency", "Time.", &BlockEinsum::latency}};
  const Record<BlockTraffic> storage = {
      {"name", "Name of the storage.", &BlockTraffic::storage},
      {"read_bits", "Bits read, of all instances.", &BlockTraffic::read_bits},
      {"written_bits", "Bits written, of all instances.", &BlockTraffic::written_bits},
      {"energy", "Energy of reads and writes.", &BlockTraffic::energy}};
  const Record<BlockTraffic> traffic = {
      {"tensor", "Name of the tensor.", &BlockTraffic::tensor},
      {"storage", "Name of the storage.", &BlockTraffic::storage},
      {"read_bits", "Bits read, of all instances.", &BlockTraffic::read_bits},
      {"written_bits", "Bits written, of all instances.", &BlockTraffic::written_bits},
      {"energy", "Energy of reads and writes.", &BlockTraffic::energy}};
  const Record<BlockUse> use = {
      {"storage", "Name of the storage.", &BlockUse::storage},
      {"bits", "Most bits that an instance holds at once.", &BlockUse::bits},
      {"capacity_bits", "Bits that an instance can hold; null: no limit.", &BlockUse::capacity_bits},
      {"first", "First einsum that is open at that moment.", &BlockUse::first},
      {"last", "Last einsum that is open at that moment.", &BlockUse::last}};
  const Record<std::pair<double, double>> of_best = {{"energy", "Its energy.", &std::pair<double, double>::first},
                                                     {"latency", "Its time.", &std::pair<double, double>::second}};
  const Record<BlockExchange> exchange = {
      {"tensor", "Name of the tensor.", &BlockExchange::tensor},
      {"storage", "Storage in which einsums hand it on.", &BlockExchange::storage},
      {"loops", "Rank variables of the loops above its tile, outside in.", &BlockExchange::loops},
      {"tile_bits", "Bits of the tile.", &BlockExchange::tile_bits},
      {"bits", "Bits of the whole tensor.", &BlockExchange::bits},
      {"outside", "Of a model's block: the best one that hands this tensor on in the outermost storage.",
       &BlockExchange::outside, of_best, when([](const BlockExchange& e) { return e.outside.has_value(); })}};
  const auto fused = [](const BlockRoofline& r) { return r.unfused_bytes.has_value(); };
  const Record<BlockRoofline> roofline = {
      {"storage", "The outermost storage.", &BlockRoofline::storage},
      {"bytes", "Bytes that its ports move.", &BlockRoofline::bytes},
      {"intensity", "Operations for each byte.", &BlockRoofline::intensity},
      {"unfused_bytes", "The same without fusion.", &BlockRoofline::unfused_bytes, when(fused)},
      {"unfused_intensity", "The same without fusion.", &BlockRoofline::unfused_intensity, when(fused)},
      {"ridge", "Operations for each byte below which the ports take longer than the units; null: never.",
       &BlockRoofline::ridge}};
  const Record<BlockWhy> why = {
      {"tensor", "The tensor of `--why`.", &BlockWhy::tensor},
      {"storage", "Where it is handed on.", &BlockWhy::storage},
      {"best", "The best block that does so; null where none is allowed.", &BlockWhy::best, of_best}};
  const Record<std::pair<double, double>> unfused = {
      {"energy", "Energy of the best without fusion.", &std::pair<double, double>::first},
      {"latency", "Time of the best without fusion.", &std::pair<double, double>::second}};
  return {
      {"objective", "What was made least.", &A::objective, OneOf{{"edp", "energy", "delay"}}},
      {"energy_pj", "Of a model's block: its energy in pJ; all blocks', where kinds of them differ.",
       [](const A& a) { return a.best ? a.best->energy : 0.0; }, when(native)},
      {"cycles", "Of a model's block: its time in cycles.", [](const A& a) { return a.best ? a.best->latency : 0.0; },
       when(native)},
      {"seconds", "Of a model's block: its time in seconds.", &A::seconds, when(native)},
      {"tree", "Of a model's block: the loop tree, as in `fused`.",
       [](const A& a) { return a.best ? tree_json(a.best->tree) : Json(Json::List()); }, WithSchema{typed("array")},
       when(native)},
      {"fused", "The best loop tree; null where there is none.", &A::best, block_point()},
      {"pareto", "With `--pareto`: trees that no other one beats in energy and in latency, by rising energy.",
       &A::front, block_point(), when([](const A& a) { return !a.front.empty(); })},
      {"unfused", "The best where einsums hand everything on in the outermost storage; null where it was not asked.",
       &A::unfused, unfused},
      {"einsums", "What each einsum takes in the best tree, in the order in which they run.", &A::einsums, einsum},
      {"storages", "What is moved through each storage, outer to inner.", &A::storages, storage},
      {"traffic", "The same by tensor.", &A::traffic, traffic},
      {"compute_energy", "Energy of all units without leakage.", &A::compute_energy},
      {"leakage_energy", "Leakage of all parts.", &A::leakage_energy},
      {"capacity", "How full each storage but the outermost gets.", &A::use, use},
      {"roofline", "Of a model's block: what it moves through the outermost storage's ports, and for how much work.",
       &A::roofline, roofline, when(native)},
      {"exchanges", "Where tensors are handed on from einsum to einsum.", &A::exchanges, exchange},
      {"why", "With `--why`: what becomes of the block with a tensor handed on elsewhere.", &A::why, why,
       when([](const A& a) { return a.why.has_value(); })},
      {"weights_stay", "With `--weights-stay`: weights that stay on the chip from run to run, read before.",
       &A::resident, resident_record(), when([](const A& a) { return a.resident.has_value(); })},
      {"searched", "Whether the tree was searched; false with `--tree`, of which nothing is proven.", &A::searched}};
}

Record<base::Certificate> block_certificate() {
  Record<base::Certificate> out = proof();
  return out.add({{"seconds", "Time of the search, in seconds.", &base::Certificate::seconds},
                  {"pruned", "Partial trees that were ruled out, by the argument that did it.", pruned}});
}

}  // namespace

Document<BlockAnswer> map_fuse_document() {
  using A = BlockAnswer;
  const Record<A> keys = {
      {"result", "The best loop tree of the block.", std::identity(), block_result()},
      {"certificate", "What is proven of the objective, in its unit.", &A::certificate, block_certificate()}};
  return {"map_fuse", keys};
}

}  // namespace orrery::verbs
