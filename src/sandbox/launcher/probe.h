// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace assay::jail {

// `assay-jail --probe`, run inside a jail: tries what the walls should refuse and prints a line
// "NAME 1" for each that held.
int Probe();

}  // namespace assay::jail
