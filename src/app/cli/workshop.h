// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "contract/contract.h"
#include "language/cpp/builder.h"
#include "language/cpp/machine_code.h"
#include "ledger/ledger.h"
#include "measure/clock.h"
#include "record/attempt.h"
#include "verify/audit.h"
#include "verify/gate.h"

namespace assay {

struct WorkshopOptions {
  std::optional<int> threads;
  std::vector<std::string> workloads;
  double margin = 0;
  std::function<void(const std::string&)> remark;
  std::vector<std::string> without;  // checks that the gate leaves out, for `assay redteam` alone
};

// The concrete parts of one command, wired: a contract and the services that work on it.
struct Workshop {
  Contract contract;
  Seed secret;  // of gate and clock; fresh in every process, so that no candidate's author can know it
  int threads = 1;
  std::unique_ptr<SqliteLedger> ledger;
  std::unique_ptr<CppBuilder> own_builder;
  std::unique_ptr<KernelGate> own_gate;
  // The same two, which wait while somebody on this machine times (polite.h).
  std::unique_ptr<Builder> builder;
  std::unique_ptr<Gate> gate;
  CppInspector inspector;
  std::unique_ptr<SliceAuditor> auditor;
  std::unique_ptr<KernelTimer> timer;

  static Result<Workshop> Open(const std::string& contract, const WorkshopOptions& options);

  // From the ledger, or worked out now and kept there.
  Result<Admission> Admitted(const std::function<void()>& when_missing);
  // Worked out now, whatever the ledger knows, and kept there when it is one.
  Result<Admission> Admit();
};

// A candidate of a contract's template, baseline or peer by name, or of a file; `what` is the user's word.
struct NamedKernel {
  std::optional<Candidate> candidate;          // of a source with knobs
  const ReferenceKernel* reference = nullptr;  // else a baseline or peer
  std::string label;
  std::string object;  // else the bytes of a shared object
};
Result<NamedKernel> FindKernel(const Contract& contract, const std::string& what, const KnobValues& knobs,
                               const std::vector<std::string>& flags);
Result<BuildOutcome> BuildKernel(Workshop& workshop, const NamedKernel& subject);

// The workspace's ledger; reading commands do not make one where there is none.
Result<std::unique_ptr<SqliteLedger>> OpenLedger();

// The contract's templates, read.
Result<std::vector<Template>> ReadTemplates(const Contract& contract);

// What a figure depends on: our own version, the gate's, compilers, libraries.
Versions VersionsHere(const Contract& contract);
// Processor, kernel, memory, and the walls that stand around a candidate here.
Result<Machine> MachineHere();

class SystemClock : public Clock {
 public:
  std::chrono::nanoseconds Now() override;
  std::chrono::nanoseconds Waited() override;
};

}  // namespace assay
