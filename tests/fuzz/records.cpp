// SPDX-License-Identifier: Apache-2.0
//
// Rows of a ledger that came from elsewhere: what parses is written and read again to the same text.
#include "record/json.h"
#include "target.h"

namespace assay {
namespace {

template <class Parse, class Write>
void RoundTrip(std::string_view text, Parse parse, Write write) {
  const auto read = parse(text);
  if (!read.ok()) {
    ASSAY_CHECK(!read.error().message.empty());
    return;
  }
  const std::string once = write(read.value());
  const auto again = parse(once);
  ASSAY_CHECK(again.ok() && write(again.value()) == once);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::Text(data, size);
  RoundTrip(text, ParseAttempt, AttemptJson);
  RoundTrip(text, ParseReference, ReferenceJson);
  RoundTrip(text, ParseRanking, RankingJson);
  RoundTrip(text, ParseDecisionReport, DecisionReportJson);
  RoundTrip(text, ParseAdmission, AdmissionJson);
  RoundTrip(text, ParseUnits, [](const std::vector<RawUnit>& units) { return UnitsJson(units); });
  RoundTrip(text, ParseCampaignHead, CampaignHeadJson);
  return 0;
}

}  // namespace assay
