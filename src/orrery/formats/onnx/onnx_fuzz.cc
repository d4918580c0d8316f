// Any bytes give operators or diagnostics: as they are, with every open dimension defined, and with convolutions
// unfolded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "orrery/formats/onnx/onnx_operators.h"
#include "orrery/formats/onnx/onnx_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace orrery;
  namespace onnx = formats::onnx;
  try {
    const onnx::Model model = onnx::parse({reinterpret_cast<const char*>(data), size}, "model.onnx");
    onnx::OperatorOptions options;
    for (const onnx::Declared& input : model.inputs) {
      if (!input.dimensions) continue;
      for (std::size_t i = 0; i < input.dimensions->size(); ++i) {
        const onnx::Dimension& dimension = (*input.dimensions)[i];
        if (dimension.size == onnx::kUnknown)
          options.defined.push_back(
              {dimension.symbol.empty() ? input.name + "[" + std::to_string(i) + "]" : dimension.symbol, "8"});
      }
    }
    for (const bool unfold : {false, true}) {
      options.unfold = unfold;
      const onnx::Operators operators = onnx::find_operators(model, options);
      if (operators.all.size() != model.nodes.size()) std::abort();
      for (const onnx::Layer& layer : operators.layers)
        if (layer.instances < 1 || layer.operators.empty() || layer.einsum.operations() < 1) std::abort();
    }
  } catch (const base::InputError& error) {
    for (const base::Diagnostic& said : error.diagnostics)
      if (said.code.empty() || said.message.empty()) std::abort();
  }
  return 0;
}
