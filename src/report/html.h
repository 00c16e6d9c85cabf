// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "record/attempt.h"

namespace assay {

// A campaign as one self-contained page: no script from elsewhere, no fonts, no images by address.
// At its top: claim, machine, interval, strongest reference, command to replay.
std::string CampaignHtml(const Campaign& campaign);

// Text as HTML text: whatever a candidate, contract or compiler wrote stays text.
std::string EscapeHtml(const std::string& text);

}  // namespace assay
