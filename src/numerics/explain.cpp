// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <string>

#include "numerics/oracle_client.h"

namespace assay {
namespace {

std::string Line(const OracleTerm& term, double total) {
  char line[160];
  const double share = total > 0.0 ? 100.0 * term.contribution / total : 0.0;
  std::snprintf(line, sizeof line, "%-28s %8llu  %12.5g  %10.3g  %10.3g  %10.3g  %5.1f %%\n", term.label.c_str(),
                static_cast<unsigned long long>(term.count), term.value, term.rounding, term.sensitivity,
                term.contribution, share);
  return line;
}

}  // namespace

std::string ExplainTolerance(const OracleQuery& query, const OracleAnswer& answer) {
  std::string text;
  for (const OracleOutput& output : answer.outputs) {
    if (output.tensor != query.explain_tensor || output.element != query.explain_element) continue;
    char line[160];
    std::snprintf(line, sizeof line, "%s[%lld] = %.9g, bound %.4g in %s, u = %.4g\n",
                  query.tensors[static_cast<size_t>(output.tensor)].name.c_str(),
                  static_cast<long long>(output.element), output.value, output.bound,
                  std::string(DTypeName(query.format)).c_str(), UnitRoundoff(query.format));
    text += line;
  }
  double total = 0.0;
  for (const OracleTerm& term : answer.terms) total += term.contribution;
  text += "operation                       times         value    rounding  d out/d op  contributes  share\n";
  for (const OracleTerm& term : answer.terms) text += Line(term, total);
  char line[80];
  std::snprintf(line, sizeof line, "sum of all contributions: %.4g\n", total);
  return text + line;
}

}  // namespace assay
