// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "base/hash.h"
#include "contract/contract.h"
#include "language/cpp/builder.h"
#include "language/cpp/directives.h"
#include "language/testing/toy_contract.h"
#include "record/seams.h"
#include "support/trust_for_test.h"

namespace assay {

namespace testing {

// y = 2 x + bias, to be timed at 64 x 64.
inline Contract TimedToy() {
  Contract contract = ToyContract();
  const auto generator = [](GeneratorKind kind, const char* low, const char* high, const char* text) {
    Generator made;
    made.kind = kind;
    made.parameters = {Expression::Parse(low).value(), Expression::Parse(high).value()};
    made.text = text;
    return made;
  };
  contract.tensors[0].values = {generator(GeneratorKind::kNormal, "0", "1", "normal(0, 1)"),
                                generator(GeneratorKind::kUniform, "-8", "8", "uniform(-8, 8)")};
  contract.scalars[0].values = {generator(GeneratorKind::kUniform, "-1", "1", "uniform(-1, 1)")};
  Workload workload;
  workload.name = "small";
  workload.axes = {{"T", 64}, {"N", 64}};
  workload.threads = 1;
  contract.workloads = {workload};
  Cost cost;
  cost.operations = Expression::Parse("2 * T * N").value();
  contract.cost = cost;
  return contract;
}

// A right kernel that also counts to `loops`, so that there is something to time.
inline std::string CountingKernel(long loops, const std::string& body = "") {
  return ToyKernel(body + "\n  for (volatile long spent = 0; spent < " + std::to_string(loops) +
                   "; spent = spent + 1) {}");
}

// Builds each source once for the whole test program.
inline Artifact BuildToy(const Contract& contract, const std::filesystem::path& cache, const std::string& source,
                         const std::string& name) {
  CppBuilder builder(cache);
  const auto family = ParseTemplate(source, "toy.cpp", contract);
  ASSAY_CHECK(family.ok());
  auto built = builder.Build(contract, MakeCandidate(family.value(), {}, {"-O2"}).value(), BuildVariant::kPrimary);
  ASSAY_CHECK(built.ok());
  ASSAY_CHECK(std::holds_alternative<Artifact>(built.value()));
  Artifact artifact = std::get<Artifact>(std::move(built).value());
  artifact.name = name;
  return artifact;
}

// Compares every element, and remembers how often it saw which inputs.
class FullAudit : public Auditor {
 public:
  Result<std::optional<Rejected>> Audit(std::span<const TimedCall> calls) override {
    for (const TimedCall& call : calls) {
      ++audited;
      ++seen[Sha256(call.tensors[0])];
      const size_t count = call.tensors[0].size() / sizeof(float);
      for (size_t i = 0; i < count; ++i) {
        float x = 0, y = 0;
        std::memcpy(&x, call.tensors[0].data() + i * sizeof x, sizeof x);
        std::memcpy(&y, call.tensors[1].data() + i * sizeof y, sizeof y);
        const float expected = 2.0F * x + static_cast<float>(call.scalars[0]);
        // Fused or not: half a step either way.
        if (!(std::abs(y - expected) <= 1e-5F)) {
          return std::optional<Rejected>(Rejected{.stage = Stage::kMeasure,
                                                  .reason = Reason::kAuditMismatch,
                                                  .check = "audit",
                                                  .evidence = "element " + std::to_string(i),
                                                  .checks = {}});
        }
      }
    }
    return std::optional<Rejected>();
  }
  int audited = 0;
  std::map<Digest, int> seen;
};

}  // namespace testing
}  // namespace assay
