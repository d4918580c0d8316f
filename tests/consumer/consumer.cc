// A project outside of this one: it has nothing but what `cmake --install` put into a prefix.
#include <cstdio>

#include <orrery/orrery.h>

int main() {
  orrery::Reading installed;
  installed.catalogue = CATALOG;
  const orrery::Chip chip = orrery::Chip::named("gemmini", installed);
  const orrery::nest::Optimum best = orrery::map(chip, orrery::workload::matmul("product", 512, 64, 512));
  std::printf("orrery %s: %lld cycles, %s\n", orrery::version(), static_cast<long long>(best.evaluation.cycles),
              best.certificate.optimal ? "proven" : "not proven");
  return best.certificate.optimal ? 0 : 1;
}
