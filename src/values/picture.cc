// SPDX-License-Identifier: Apache-2.0
#include "values/picture.h"

#include <cstddef>

#include "base/error.h"
#include "values/jpeg.h"

#ifdef ANEMONE_HAS_PNG
#include <png.h>
#endif

namespace anemone::values {

Result<Picture> parse_picture(std::string_view bytes, std::string_view subject,
                              Transparency transparency) {
  return is_jpeg(bytes) ? parse_jpeg(bytes, subject) : parse_png(bytes, subject, transparency);
}

#ifdef ANEMONE_HAS_PNG

namespace {

// Its destructor frees what libpng keeps of a file.
struct Image : png_image {
  Image() : png_image{} { version = PNG_IMAGE_VERSION; }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image() { png_image_free(this); }
};

// Blends a sample with a white background.
std::uint8_t over_white(std::uint8_t sample, std::uint8_t alpha) {
  constexpr int kMost = 255;
  return static_cast<std::uint8_t>((sample * alpha + kMost * (kMost - alpha) + kMost / 2) / kMost);
}

}  // namespace

Result<Picture> parse_png(std::string_view bytes, std::string_view subject,
                          Transparency transparency) {
  Image image;
  constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
  const auto damaged = [&] {
    if (bytes.starts_with(kSignature))
      return corrupt("[{}] expected a whole PNG file, got a damaged one: {}", subject,
                     static_cast<const char*>(image.message));
    return corrupt("[{}] expected a PNG or JPEG file, got a file of another kind", subject);
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0) return damaged();
  // Samples of 16 bits are scaled to 8. Without this flag, those of a file that does not tell its
  // gamma would count as linear, and would become lighter.
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  Picture out;
  out.height = image.height;
  out.width = image.width;
  if (out.width == 0 || out.height > kMostPixels / out.width)
    return unsupported("[{}] expected at most {} pixels, got {} x {}", subject, kMostPixels,
                       out.width, out.height);
  out.channels = (image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
  image.format = out.channels == 3 ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) == 0) return damaged();
  const auto channels = static_cast<std::size_t>(out.channels);
  out.samples.reserve(pixels.size() / (channels + 1) * channels);
  for (std::size_t at = 0; at < pixels.size(); at += channels + 1) {
    const std::uint8_t alpha = pixels[at + channels];
    // The file does not say which color shows through a transparent pixel.
    if (alpha != 255 && transparency == Transparency::kRefused)
      return unsupported(
          "[{}] expected an opaque picture, got a transparent pixel (FILE.png:fit blends it with "
          "white, and also crops and scales the picture)",
          subject);
    for (std::size_t i = 0; i < channels; ++i)
      out.samples.push_back(over_white(pixels[at + i], alpha));
  }
  return out;
}

Result<std::string> png_bytes(const Picture& picture) {
  if (picture.height < 1 || picture.width < 1 || picture.height > kMostPixels / picture.width)
    return invalid_argument("expected a picture of 1 to {} pixels, got {} x {}", kMostPixels,
                            picture.width, picture.height);
  Image image;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(size, '\0');
  if (png_image_write_to_memory(&image, out.data(), &size, 0, picture.samples.data(), 0, nullptr) ==
      0)
    return internal_error("libpng: {}", static_cast<const char*>(image.message));
  out.resize(size);
  return out;
}

#else

Result<Picture> parse_png(std::string_view, std::string_view subject, Transparency) {
  return unsupported("[{}] this anemone was built without libpng, which reads pictures", subject);
}

Result<std::string> png_bytes(const Picture&) {
  return unsupported("this anemone was built without libpng, which writes pictures");
}

#endif

}  // namespace anemone::values
