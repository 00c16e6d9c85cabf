// SPDX-License-Identifier: Apache-2.0
#include "contract/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "contract/element.h"

namespace assay {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxFile = size_t{64} << 20;
constexpr size_t kMaxHeader = size_t{1} << 16;
constexpr size_t kMaxElements = size_t{8} << 20;
constexpr size_t kMaxDimensions = 8;

Error Refuse(std::string what) { return Error{ErrorCode::kInvalidInput, std::move(what)}; }

struct ElementType {
  std::string_view descr;
  size_t bytes;
  double (*load)(const std::byte*);
};

template <typename T>
double As(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return static_cast<double>(value);
}
double Half(const std::byte* at) {
  uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return DecodeElement(DType::kF16, bits);
}

constexpr std::array<ElementType, 9> kTypes{{
    {"<f2", 2, Half},
    {"<f4", 4, As<float>},
    {"<f8", 8, As<double>},
    {"|i1", 1, As<int8_t>},
    {"|u1", 1, As<uint8_t>},
    {"<i2", 2, As<int16_t>},
    {"<u2", 2, As<uint16_t>},
    {"<i4", 4, As<int32_t>},
    {"<u4", 4, As<uint32_t>},
}};

// The text behind 'key': in the header's dictionary; numpy writes it with one blank.
std::optional<std::string_view> ValueOf(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}'", key);
  const size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = Trim(header.substr(at + quoted.size()));
  if (!rest.starts_with(':')) return std::nullopt;
  return Trim(rest.substr(1));
}

Result<std::vector<size_t>> ShapeOf(std::string_view text) {
  const size_t close = text.find(')');
  if (!text.starts_with('(') || close == std::string_view::npos) return Refuse("the shape is no tuple; save it again");
  std::string_view inside = text.substr(1, close - 1);
  std::vector<size_t> shape;
  while (!Trim(inside).empty()) {
    const size_t comma = inside.find(',');
    const std::string_view part = Trim(inside.substr(0, comma));
    size_t extent = 0;
    const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (failed != std::errc() || end != part.data() + part.size())
      return Refuse(fmt::format("the shape's \"{}\" is no size; save it again", Printable(Cut(part, 40))));
    shape.push_back(extent);
    inside = comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  }
  if (shape.empty() || shape.size() > kMaxDimensions)
    return Refuse(fmt::format("has {} dimensions; save 1 to {}", shape.size(), kMaxDimensions));
  return shape;
}

Result<size_t> ElementsOf(const std::vector<size_t>& shape) {
  size_t elements = 1;
  for (const size_t extent : shape) {
    if (extent == 0) return Refuse("holds no elements; record some");
    if (extent > kMaxElements / elements)
      return Refuse(fmt::format("holds more than {} elements; record fewer", kMaxElements));
    elements *= extent;
  }
  return elements;
}

// Where the header lies: behind the magic, the version and its own length.
Result<std::string_view> HeaderOf(std::string_view bytes) {
  constexpr size_t kVersion = 6, kLength = 8;
  if (bytes.size() < 10 || !bytes.starts_with(kMagic)) return Refuse("is no npy file; write it with numpy.save");
  const auto byte = [&](size_t at) { return static_cast<size_t>(static_cast<unsigned char>(bytes[at])); };
  const size_t version = byte(kVersion);
  if (version != 1 && version != 2)
    return Refuse(fmt::format("is of npy format {}; save it in format 1.0 or 2.0", version));
  const size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) return Refuse("ends inside its header; save it again");
  size_t length = byte(kLength) | byte(kLength + 1) << 8;
  if (version == 2) length |= byte(kLength + 2) << 16 | byte(kLength + 3) << 24;
  if (length > kMaxHeader || length > bytes.size() - begin) return Refuse("ends inside its header; save it again");
  return bytes.substr(begin, length);
}

}  // namespace

Result<Recording> ParseNpy(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ASSAY_TRY(const std::string_view header, HeaderOf(text));
  const auto descr = ValueOf(header, "descr"), order = ValueOf(header, "fortran_order"),
             shape = ValueOf(header, "shape");
  if (!descr || !order || !shape) return Refuse("its header lacks descr, fortran_order or shape; save it again");
  if (!order->starts_with("False")) return Refuse("is in Fortran order; save numpy.ascontiguousarray of it");
  const auto type = std::ranges::find_if(
      kTypes, [&](const ElementType& row) { return descr->starts_with(fmt::format("'{}'", row.descr)); });
  if (type == kTypes.end()) {
    return Refuse(fmt::format("elements are {}; save float32 or another little-endian type of up to 32 bits or float64",
                              Printable(Cut(descr->substr(0, descr->find(',')), 40))));
  }
  ASSAY_TRY(const std::vector<size_t> extents, ShapeOf(*shape));
  ASSAY_TRY(const size_t elements, ElementsOf(extents));
  const size_t begin = static_cast<size_t>(header.data() - text.data()) + header.size();
  if (bytes.size() - begin != elements * type->bytes) {
    return Refuse(fmt::format("holds {} bytes behind its header where its shape needs {}; save it again",
                              bytes.size() - begin, elements * type->bytes));
  }
  Recording recorded;
  recorded.row_length = static_cast<int64_t>(extents.back());
  recorded.values.reserve(elements);
  for (size_t e = 0; e < elements; ++e) recorded.values.push_back(type->load(bytes.data() + begin + e * type->bytes));
  return recorded;
}

Result<Recording> ReadNpy(const std::filesystem::path& file) {
  ASSAY_TRY(const std::string bytes, ReadFile(file, kMaxFile));
  return ParseNpy(std::as_bytes(std::span(bytes)));
}

}  // namespace assay
