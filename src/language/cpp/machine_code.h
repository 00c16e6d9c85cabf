// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "record/seams.h"

namespace assay {

// SHA-256 of what a shared object executes: code and constants with every field that only says where
// things lie taken out.  Renaming a variable keeps it, another constant changes it.
Result<Digest> TwinOf(std::string_view shared_object);

// Facts from the code: vector width, fused multiply-add, calls, size.
class CppInspector : public Inspector {
 public:
  Inspection Inspect(const Artifact& artifact) override;
};

}  // namespace assay
