// SPDX-License-Identifier: Apache-2.0
#include "contract/load.h"

#include <fmt/format.h>

#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "app/cli/places.h"
#include "app/cli/workshop.h"
#include "base/text.h"
#include "record/json.h"
#include "report/summary.h"

namespace assay {
namespace {

// What a reader of the contract would want to see before running it.
std::string Overview(const Contract& contract, const std::vector<Template>& templates) {
  std::string out = fmt::format("{}: {}\n  entry: {} with {} arguments\n", contract.name, contract.summary,
                                contract.entry, contract.arguments.size());
  for (const Workload& workload : contract.workloads) {
    const Result<Shape> shape = WorkloadShape(contract, workload);
    if (shape.ok()) out += fmt::format("  workload {}: {}\n", workload.name, Describe(contract, shape.value()));
    for (const auto& [side, neighbour] :
         {std::pair("producer", &workload.producer), {"consumer", &workload.consumer}}) {
      if (!*neighbour) continue;
      const Neighbour& one = **neighbour;
      std::vector<std::string> sizes;
      for (const auto& [axis, size] : one.axes) sizes.push_back(fmt::format("{}={}", axis, size));
      out += fmt::format("    {} {} ({}), its {} is {}\n", side, one.name, Join(sizes, " "),
                         neighbour == &workload.producer ? one.output : one.input,
                         neighbour == &workload.producer ? one.input : one.output);
    }
  }
  for (const ReferenceKernel& reference : contract.references) {
    out += fmt::format("  {} {}: {} {}\n", reference.kind == ReferenceKind::kPeer ? "peer" : "baseline", reference.name,
                       reference.source.filename().string(), Join(reference.flags, " "));
  }
  for (const KernelSequence& sequence : contract.sequences) {
    std::vector<std::string> steps;
    for (const SequenceStep& step : sequence.steps) steps.push_back(step.text);
    out += fmt::format("  peer {}: {}\n", sequence.name, Join(steps, ", then "));
  }
  for (const Template& one : templates) {
    double points = 1;
    for (const Knob& knob : one.knobs) points *= static_cast<double>(knob.values.size());
    for (const FlagGroup& group : one.flags) points *= static_cast<double>(group.options.size());
    out += fmt::format("  template {}: {} knobs, {} flag groups, at most {:.3g} points\n", one.name, one.knobs.size(),
                       one.flags.size(), points);
  }
  return out + fmt::format("  {} mutants, {} honest kernels\n", contract.mutants.size(), contract.honest.size());
}

}  // namespace

Result<int> Command(const CheckArguments& arguments) {
  if (arguments.no_run) {
    ASSAY_TRY(const std::filesystem::path folder, LocateContract(arguments.contract));
    ASSAY_TRY(const Contract contract, LoadContract(folder));
    ASSAY_TRY(const std::vector<Template> templates, ReadTemplates(contract));
    Print(Overview(contract, templates));
    return kDone;
  }
  ASSAY_TRY_STATUS(CheckTargets({arguments.json}));
  ASSAY_TRY(Workshop shop, Workshop::Open(arguments.contract, {}));
  ASSAY_TRY(const std::vector<Template> templates, ReadTemplates(shop.contract));
  Print(Overview(shop.contract, templates) + "\n");
  ASSAY_TRY(const Admission admission, shop.Admit());
  ASSAY_TRY_STATUS(WriteJson(arguments.json, AdmissionJson(admission)));
  Print(AdmissionText(admission, shop.contract.name, OutputWidth()));
  return admission.admitted ? kDone : kRefused;
}

}  // namespace assay
