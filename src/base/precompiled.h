// SPDX-License-Identifier: Apache-2.0
#pragma once

// What most files include anyway, read once per build instead of once per file (a third of the build's time).  Files
// still include what they use: the dev and sanitizer presets build without this.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
