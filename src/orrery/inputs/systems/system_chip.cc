#include "orrery/inputs/systems/system_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "orrery/inputs/inputs.h"

namespace orrery::verbs {
namespace {

// What the chip is asked about before anything is known of the run, so that its faults are found first.
constexpr base::Count kProbe = 128;

}  // namespace

SystemChip::SystemChip(const std::string& name, const base::Overrides& overrides, const EstimatorSetup& estimators)
    : name_(name), path_(name), estimators_(estimators) {
  how_.overrides = overrides;
  how_.estimate = estimators.options();
  how_.mapping_wanted = false;
  if (std::error_code ignored; std::filesystem::is_directory(name, ignored)) {
    reading_ = read(read_files({name}), {});
  } else {
    const std::vector<ChipFile> chips = load_chips({name});
    reading_ = read({chips.front().file}, parsed(chips));
    name_ = chips.front().entry.name;
    warnings_.append(chips.front().diagnostics);
  }
  base::Diagnostics found;
  chip_ = reading_->ask(workload::matmul("probe", kProbe, kProbe, kProbe), estimators_, found).chip;
  warnings_.append(found);
  base::Diagnostics faults;
  machine::accelerator_of(*chip_, {}, faults);
  faults.throw_if_errors();
}

std::unique_ptr<PricedChip> SystemChip::read(const std::vector<File>& files, const formats::timeloop::Parsed& known) {
  documents_.push_back(formats::timeloop::Documents::gather(files, how_, known));
  const std::vector<base::Input>& more = documents_.back().inputs();
  inputs_.insert(inputs_.end(), more.begin(), more.end());
  return std::make_unique<PricedChip>(documents_.back());
}

void SystemChip::read_normalisation() {
  if (std::error_code ignored; normalisation_ || std::filesystem::is_directory(path_, ignored)) return;
  const std::vector<ChipFile> chips = load_chips({path_}, true);
  if (chips.front().normalisation) normalisation_ = read({chips.front().normalisation->file}, parsed(chips));
}

machine::Accelerator SystemChip::seen_from_outside(const machine::Accelerator& otherwise) const {
  base::Diagnostics none;
  machine::Accelerator out = machine::accelerator_of(*chip_, otherwise, none);
  out.name = otherwise.name.empty() ? name_ : otherwise.name;
  return out;
}

cluster::System SystemChip::in(cluster::System system) const {
  system.accelerator.name = name_;
  system.accelerator = seen_from_outside(system.accelerator);
  system.watts_per_gpu = 0;  // of the accelerator that is gone
  std::erase_if(system.constants,
                [](const cluster::Constant& constant) { return constant.name.starts_with("accelerator."); });
  return system;
}

std::unique_ptr<ChipOperators> SystemChip::operators(const base::Limits& limits, double issue_seconds, bool fuse) {
  if (fuse) read_normalisation();
  const auto asks = [this](PricedChip& chip) {
    return [this, &chip](const workload::Einsum& einsum) {
      base::Diagnostics again;  // the probe said the same
      return chip.ask(einsum, estimators_, again);
    };
  };
  return std::make_unique<ChipOperators>(chip_, asks(*reading_), nest::ModelOptions{}, limits, issue_seconds,
                                         fuse ? asks(normalisation_ ? *normalisation_ : *reading_) : AskChip());
}

void warn_of_words(const SystemChip& chip, int stored_bits, const std::string& what, const std::string& counted,
                   const std::string& hint, base::Diagnostics& found) {
  if (chip.chip().storages.empty()) return;
  const int bits = chip.chip().storages.back().word_bits;
  if (bits == stored_bits) return;
  found.warning("O1394", fmt::format("the chip works on words of {} bits, and {} {}", bits, what, stored_bits))
      .note(
          fmt::format("products are {} on {}-bit words, all else by its bytes in {} bits", counted, bits, stored_bits))
      .hint(hint);
}

void check_fusion(const SystemChip* chip, const std::string& array, base::Diagnostics& warnings) {
  if (chip == nullptr)
    base::fail("O1396", "`--fuse` has no chip to fuse on: the accelerator is described by figures", {},
               "name one with `--chip NAME`; `orrery catalog` lists those that come along");
  if (!array.empty())
    base::fail("O1396", fmt::format("both `--fuse` and the array of `{}` say what runs attention forwards", array), {},
               "leave one of the two out");
  const std::vector<machine::Storage>& storages = chip->chip().storages;
  if (std::any_of(storages.begin(), storages.end() - 1, [](const machine::Storage& one) { return !one.pass_through; }))
    return;
  warnings
      .warning("O1396", fmt::format("nothing is fused on `{}`: there is no storage inside its memory", chip->name()))
      .hint("leave `--fuse` out, or take a chip with such a storage, as `tpu-v4i` has it");
}

double warn_of_unproven(const ChipOperators& nests, const std::string& what, bool interrupted,
                        base::Diagnostics& found) {
  const auto unproven = nests.unproven();
  double worst = 0;
  const auto asked = nests.attentions();
  if (const auto ended =
          std::count_if(asked.begin(), asked.end(), [](const auto& one) { return !one.second.searched; });
      ended > 0)
    found
        .warning("O1395",
                 fmt::format("{} of {} attentions were not searched to the end as one operator", ended, asked.size()))
        .hint("give the searches more time with `--time-limit`");
  for (const auto& [product, gap] : unproven) worst = std::max(worst, gap);
  if (unproven.empty()) return worst;
  base::Diagnostic& warning =
      interrupted
          ? found.warning("O1395", fmt::format("interrupted when {} of the {} products asked for so far were mapped "
                                               "onto the chip with proof",
                                               nests.searched() - unproven.size(), nests.searched()))
          : found.warning("O1395", fmt::format("{} of {} products have a mapping without a proof", unproven.size(),
                                               nests.searched()));
  constexpr double kNothing = 0.9999;  // a gap that says no more than that time is not negative
  warning.note(worst < kNothing
                   ? fmt::format("{} may be faster: a product may take up to {:.2f} % less", what, 100 * worst)
                   : fmt::format("{} may be faster: of some of them no bound is known yet", what));
  warning.hint(interrupted ? "start it again, and let it end"
                           : "give the searches more time with `--time-limit`, or more memory with `--memory`");
  return worst;
}

}  // namespace orrery::verbs
