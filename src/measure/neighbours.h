// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "contract/contract.h"
#include "measure/chain.h"
#include "record/seams.h"

namespace assay {

// The fastest baseline or peer of the contract at this shape that can be built here, by a few calls of each.
Result<Artifact> FastestKernel(const Contract& contract, const Shape& shape, int threads, Builder& builder,
                               Auditor& auditor, const Seed& seed);

// Who plays an in-situ workload's producer and consumer; nobody in another workload.
Result<Surroundings> SurroundingsOf(const Workload& workload, int threads, Builder* builder, Auditor& auditor,
                                    const Seed& seed);

// The contract's sequences at this shape, each step played by its fastest kernel.
Result<std::vector<std::unique_ptr<KernelChain>>> SequencesOf(const Contract& contract, const Shape& shape, int threads,
                                                              Builder* builder, Auditor& auditor, const Seed& seed);

// "producer gemm (openblas), consumer softmax_rows (relaxed)".
std::string Describe(const Surroundings& around);

}  // namespace assay
