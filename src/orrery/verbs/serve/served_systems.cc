#include "orrery/verbs/serve/served_systems.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "orrery/base/text/text.h"
#include "orrery/base/text/text_file.h"
#include "orrery/formats/orrery/measured_products.h"
#include "orrery/verbs/serve/served_weights.h"

namespace orrery::verbs {
namespace {

using base::Count;

std::vector<std::string> names_of(const ServeRequest& r) {
  if (r.prefill) {
    std::vector<std::string> out = {r.prefill_system.empty() ? r.system : r.prefill_system};
    const std::string& second = r.decode_system.empty() ? r.system : r.decode_system;
    if (second != out.front()) out.push_back(second);
    return out;
  }
  std::vector<std::string> out;
  const bool one = std::filesystem::exists(r.system);
  for (const std::string_view name : one ? std::vector<std::string_view>{r.system} : base::split(r.system, ','))
    out.emplace_back(name);
  return out;
}

}  // namespace

ServedSystems::ServedSystems(const ServeRequest& r, const std::string& catalogue, ServedAnswer& out)
    : names_(names_of(r)) {
  if ((names_.size() > 1 || r.prefill) && std::find(names_.begin(), names_.end(), kThisMachine) != names_.end())
    base::fail("O2070", fmt::format("`{}` is one accelerator, and not searched beside others", kThisMachine), {},
               "ask for it alone, without pools: engines have other limits on processors");
  for (const std::string& name : names_) {
    if (name == kThisMachine) {
      here_ = std::make_unique<ThisMachine>(r.limits.threads);
      readings_.push_back(with_chip(formats::orrery::read_system(catalogue, here_->document(), {}), r.chip));
      readings_.back().system.name = kThisMachine;
    } else {
      readings_.push_back(read_system(catalogue, name, {}, r.chip));
    }
    const SystemReading& reading = readings_.back();
    out.warnings.append(reading.warnings);
    out.inputs.insert(out.inputs.end(), reading.inputs.begin(), reading.inputs.end());
    out.systems.push_back(reading.system.name);
  }
  rooflines_.reserve(readings_.size());
  for (const SystemReading& reading : readings_) {
    operators_.push_back(&rooflines_.emplace_back(reading.system.accelerator));
    const machine::Accelerator& seen = reading.system.accelerator;
    apart_.push_back(operators_.back());
    if (r.fuse) check_fusion(reading.chip.get(), {}, out.warnings);
    if (reading.chip != nullptr) {
      nests_.push_back(reading.chip->operators(r.limits, seen.host_seconds_per_op, r.fuse));
      operators_.back() = &products_.emplace_back(*nests_.back(), r.fuse);
      apart_.back() = &products_.emplace_back(*nests_.back());
      if (r.fuse) out.inputs.insert(out.inputs.end(), reading.chip->inputs().begin(), reading.chip->inputs().end());
    } else if (reading.system.name == kThisMachine) {
      operators_of_here_ =
          std::make_unique<MachineOperators>(*here_, machine::Precision::kBf16, seen.host_seconds_per_op, r.limits);
      products_of_here_ = std::make_unique<MachineProducts>(*operators_of_here_);
      apart_.back() = operators_.back() = products_of_here_.get();
    }
  }
  if (r.measurements.empty()) return;
  const auto file = base::read_file(r.measurements);
  out.inputs.push_back(base::file_input(*file));
  for (auto* all : {&operators_, &apart_})
    for (const machine::OperatorModel*& operators : *all)
      operators = &measured_.emplace_back(formats::orrery::read_measured_products(file), *operators);
}

ServedFusion ServedSystems::fusion(const serving::ServedModel& model, const serving::PoolKinds& on,
                                   const ServedAnswer& out) const {
  const serving::Found& best = out.first();
  const auto apart = [&](serving::Kind kind) {
    for (std::size_t m = 0; m < operators_.size(); ++m)
      if (operators_[m] == kind.operators) kind.operators = apart_[m];
    return kind;
  };
  const serving::PoolKinds kinds{apart(on.prompts), apart(on.decoding)};
  ServedFusion fused;
  fused.apart = best.prompts
                    ? evaluate(model, kinds, {*best.prompts, best.deployment}, out.load)
                    : evaluate(model, *kinds.decoding.system, best.deployment, out.load, *kinds.decoding.operators);
  if (!fused.apart.stable) fused.apart = {};
  const ChipOperators& nests = *nests_[best.machine];  // with `--fuse` every system has a chip
  for (auto& [shape, one] : nests.attentions()) {
    machine::Operator head;
    head.product = {1, shape.queries, shape.keys, shape.width};
    head.value_width = shape.value_width;
    const double products = products_of_head(nests, head);
    fused.asked.push_back({shape, one, one.joined && one.seconds < products, products});
  }
  return fused;
}

void ServedSystems::warn_of_searches(ServedAnswer& out) const {
  for (const std::unique_ptr<ChipOperators>& nests : nests_) {
    const std::size_t said = out.warnings.all().size();
    warn_of_unproven(*nests, "the deployment", false, out.warnings);
    out.ended_early = out.ended_early || out.warnings.all().size() > said;
  }
}

void ServedSystems::check(const ServeRequest& r, const serving::ServedModel& model, base::Diagnostics& warnings) const {
  const auto bits = [](machine::Precision p) { return static_cast<int>(8 * machine::bytes_per_element(p)); };
  for (const SystemReading& reading : readings_) {
    if (reading.chip == nullptr) continue;
    warn_of_words(*reading.chip, bits(*r.precision), "weights have", "timed",
                  "take a `--precision` of the same width, or a chip whose `datawidth` is that", warnings);
    const auto& storages = reading.chip->chip().storages;
    if (r.cache_precision && !storages.empty() && bits(*r.cache_precision) != storages.back().word_bits)
      warnings
          .warning("O1394", fmt::format("keys and values of {} bits are read as the chip's words of {}",
                                        bits(*r.cache_precision), storages.back().word_bits))
          .hint("`--kv-dtype` changes here how many of them the memory holds, and no time");
  }
  if (!measures()) return;
  base::Diagnostics found;
  const auto computes = [](machine::Precision p) {
    return p == machine::Precision::kBf16 || p == machine::Precision::kFp32;
  };
  const auto refuse = [&](const std::string& what, const char* way) {
    found.error("O2070", fmt::format("`{}` computes in bf16 and fp32, but {}", kThisMachine, what)).hint(way);
  };
  if (!computes(*r.precision))
    refuse(fmt::format("products are in {}", machine::name(*r.precision)), "`--precision bf16`");
  const machine::Precision caches = r.cache_precision.value_or(machine::Precision::kBf16);
  if (!computes(caches)) refuse(fmt::format("keys and values are in {}", machine::name(caches)), "`--kv-dtype bf16`");
  serving::Deployment asked;
  asked.precision = *r.precision;
  if (widens(model, asked)) refuse("weights are narrower than products", "`--weights bf16`");
  if (r.engine == serving::Engine::kTensorRtLlm)
    found.error("O2070", fmt::format("trtllm does not run on processors such as `{}`", kThisMachine))
        .hint("`--engine vllm` or `--engine sglang`");
  found.throw_if_errors();
}

std::vector<serving::Machine> ServedSystems::machines(const ServeRequest& r) const {
  for (const auto& [name, most] : r.gpus_of) place(name);
  std::vector<serving::Machine> out;
  for (std::size_t m = 0; m < readings_.size(); ++m) {
    const cluster::System& system = readings_[m].system;
    Count most = r.gpus.value_or(system.max_gpus);
    if (!r.gpus_of.empty()) {
      const auto of =
          std::find_if(r.gpus_of.begin(), r.gpus_of.end(), [&](const auto& one) { return place(one.first) == m; });
      if (of == r.gpus_of.end())
        base::fail("O2070", fmt::format("`--gpus` says nothing of `{}`", names_[m]), {},
                   fmt::format("add `{}=8`, or leave it out of `--system`", names_[m]));
      most = of->second;
    }
    out.push_back({&system, operators_[m], system.name == kThisMachine ? 1 : most});
  }
  return out;
}

std::size_t ServedSystems::place(const std::string& name) const {
  if (name.empty()) return 0;
  for (std::size_t m = 0; m < names_.size(); ++m)
    if (name == names_[m] || name == readings_[m].system.name) return m;
  base::fail("O2070", fmt::format("`{}` is none of the systems that are asked for", name), {},
             fmt::format("name one of {}", base::joined(names_, ", ")));
}

}  // namespace orrery::verbs
