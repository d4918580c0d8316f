// Any bytes, rendered as a template, give a text whose places lie in the template, or an InputError.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "orrery/formats/timeloop/templates/render.h"

namespace {

using namespace orrery::formats::timeloop;

class NoFiles : public jinja::Surroundings {
 public:
  jinja::TemplateValue call(std::string_view, const jinja::TemplateArguments&, const orrery::base::Location&,
                            const jinja::Variables&) override {
    return {};
  }
  std::vector<std::string> functions() const override { return {}; }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  auto file = std::make_shared<base::SourceFile>();
  file->name = "fuzz.jinja";
  file->text.assign(reinterpret_cast<const char*>(data), size);
  NoFiles around;
  jinja::Budget budget;
  budget.allow(file->text.size());
  try {
    const jinja::Template parsed = jinja::parse_template(file);
    const jinja::PlacedText text = jinja::render(parsed, {{"n", jinja::TemplateValue::number(3)}}, around, budget);
    for (int column = 1; column < 100; column += 7) {
      const base::Location where = text.origin(1 + column / 3, column);
      if (where.known() && (where.file != file || where.line < 1 || where.column < 1)) std::abort();
    }
  } catch (const base::InputError&) {
  }
  return 0;
}
