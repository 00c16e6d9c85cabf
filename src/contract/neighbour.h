// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "contract/contract.h"
#include "contract/reader.h"
#include "contract/shape.h"

namespace assay {

// workload.X.near as it is written.
Status ReadNear(const Reader& reader, Workload& workload);

// A contract whose folder lies beside `ours`, without its own neighbours: they are nobody's here, and might lead back.
// `here` makes an error of this place in the file.
Result<std::shared_ptr<const Contract>> ContractBeside(const Contract& ours, const std::string& name,
                                                       const std::function<Error(std::string_view)>& here);

enum class NeighbourSide { kProducer, kConsumer };

// Decides which tensor passes between `ours` at this shape and the neighbour, and what sizes the neighbour has then.
// Axes that are not given take the value of ours of the same name, others follow from the tensor.  The error is a
// text without place: no pair of tensors that fits, or several, an axis that stays free, sizes that are not legal.
Status Wire(const Contract& ours, const Shape& shape, NeighbourSide side, Neighbour& neighbour);

}  // namespace assay
