#include "orrery/engines/cluster/model/names.h"

namespace orrery::cluster {

const std::vector<std::pair<std::string, PipelineChoice>>& schedules() {
  static const std::vector<std::pair<std::string, PipelineChoice>> names = {
      {"gpipe", PipelineChoice::kGpipe},
      {"1f1b", PipelineChoice::kOneFOneB},
      {"interleaved", PipelineChoice::kInterleaved},
      {"zero-bubble", PipelineChoice::kZeroBubble},
      {"dualpipe", PipelineChoice::kDualPipe}};
  return names;
}

PipelineChoice schedule_of(const Plan& plan) {
  if (plan.schedule == Schedule::kGpipe) return PipelineChoice::kGpipe;
  if (plan.schedule == Schedule::kZeroBubble) return PipelineChoice::kZeroBubble;
  if (plan.schedule == Schedule::kDualPipe) return PipelineChoice::kDualPipe;
  return plan.interleave > 1 ? PipelineChoice::kInterleaved : PipelineChoice::kOneFOneB;
}

Schedule schedule_of(PipelineChoice choice) {
  if (choice == PipelineChoice::kGpipe) return Schedule::kGpipe;
  if (choice == PipelineChoice::kDualPipe) return Schedule::kDualPipe;
  return choice == PipelineChoice::kZeroBubble ? Schedule::kZeroBubble : Schedule::kOneFOneB;
}

const std::vector<std::pair<std::string, Order>>& orders() {
  static const std::vector<std::pair<std::string, Order>> names = {
      {"tp-cp-dp-pp", Order::kCpDpPp}, {"tp-cp-pp-dp", Order::kCpPpDp}, {"tp-dp-cp-pp", Order::kDpCpPp},
      {"tp-dp-pp-cp", Order::kDpPpCp}, {"tp-pp-cp-dp", Order::kPpCpDp}, {"tp-pp-dp-cp", Order::kPpDpCp}};
  return names;
}

const std::vector<std::pair<std::string, Recompute>>& recomputations() {
  static const std::vector<std::pair<std::string, Recompute>> names = {
      {"none", Recompute::kNone}, {"selective", Recompute::kSelective}, {"full", Recompute::kFull}};
  return names;
}

const std::vector<std::pair<std::string, machine::Precision>>& precisions() {
  static const std::vector<std::pair<std::string, machine::Precision>> names = {
      {"fp32", machine::Precision::kFp32},   {"tf32", machine::Precision::kTf32},
      {"bf16", machine::Precision::kBf16},   {"fp8", machine::Precision::kFp8},
      {"mxfp8", machine::Precision::kMxfp8}, {"nvfp4", machine::Precision::kNvfp4}};
  return names;
}

const std::vector<std::pair<std::string, Attention>>& attentions() {
  static const std::vector<std::pair<std::string, Attention>> names = {{"materialised", Attention::kMaterialised},
                                                                       {"flash", Attention::kFlash}};
  return names;
}

const std::vector<std::pair<std::string, StackName>>& stacks() {
  static const std::vector<std::pair<std::string, StackName>> names = {{"megatron-2021", StackName::kMegatron2021},
                                                                       {"megatron-core", StackName::kMegatronCore},
                                                                       {"pytorch-fsdp", StackName::kPytorchFsdp},
                                                                       {"xla", StackName::kXla}};
  return names;
}

const std::vector<std::pair<std::string, machine::AttentionKernel>>& attention_kernels() {
  using machine::AttentionKernel;
  static const std::vector<std::pair<std::string, AttentionKernel>> names = {{"flash1", AttentionKernel::kFlash1},
                                                                             {"flash2", AttentionKernel::kFlash2},
                                                                             {"flash3", AttentionKernel::kFlash3},
                                                                             {"cudnn", AttentionKernel::kCudnn},
                                                                             {"splash", AttentionKernel::kSplash}};
  return names;
}

}  // namespace orrery::cluster
