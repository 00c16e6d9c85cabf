// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sandbox/ring.h"

// The parts of the small program that shares an address space with a candidate.  Nothing here
// decides anything: all that it reports is evidence, and the supervisor ends it when it likes.
namespace assay::runner {

struct Shared {
  const ring::Plan* plan = nullptr;
  ring::Report* report = nullptr;
};

// Evidence of a crash or a trapped call into the report, then the signal's own ending.
void CatchFaults(ring::Report* report);  // fault.cpp

// What the filter lets pass.  Loading: files may be opened and code mapped.
enum class FilterStage { kLoading, kSealed };
// The filter that stands; with kNotify its listener is with pid 1 and one filter serves both stages.
ring::FilterMode InstallFilter(ring::FilterMode most, FilterStage stage, bool trusted);  // filter.cpp

// Loads the artifact and looks the symbols up; false after writing stage and text.
bool LoadArtifact(const Shared& shared, void* (&symbols)[ring::kSymbols]);  // load.cpp

// One call by the System V rules; notes what the callee left changed.
void MakeCall(const ring::CallPlan& call, void* function, uint32_t index, ring::Report* report);  // call.cpp

// The control registers of the thread that asks, brought back to what the convention says.
ring::ThreadState TakeThreadState();  // call.cpp

}  // namespace assay::runner
