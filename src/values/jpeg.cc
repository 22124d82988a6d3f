// SPDX-License-Identifier: Apache-2.0
#include "values/jpeg.h"

#include "base/error.h"

#ifdef ANEMONE_HAS_JPEG
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // which jpeglib.h needs and does not include
#include <span>
#include <string>

// libjpeg's headers come last: they define names such as TRUE.
#include <jpeglib.h>
// Needs jpeglib.h before it.
#include <jerror.h>

#include "values/orientation.h"
#endif

namespace anemone::values {

bool is_jpeg(std::string_view bytes) {
  return bytes.starts_with("\xFF\xD8");
}

#ifdef ANEMONE_HAS_JPEG

namespace {

// What a progressive file may have: about a dozen are usual, and each goes over all pixels.
constexpr int kMostScans = 100;

// libjpeg reports an error by a function that must not return, so it jumps. Between attempt() and
// the function that jumps there are only libjpeg's frames and those of the steps below, which have
// nothing to destroy.
struct Decoder {
  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf start{};
  char message[JMSG_LENGTH_MAX] = "";
  const unsigned char* bytes = nullptr;
  unsigned long size = 0;
  std::uint8_t* out = nullptr;
  bool has_too_many_scans = false;

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&info); }
};

extern "C" {

[[noreturn]] void jump_to_start(j_common_ptr info) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  info->err->format_message(info, decoder->message);
  std::longjmp(decoder->start, 1);
}

// libjpeg fills what a damaged file lacks with gray and goes on with a warning.
void refuse_damage(j_common_ptr info, int level) {
  if (level >= 0) return;
  const int code = info->err->msg_code;
  const bool is_harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (!is_harmless) jump_to_start(info);
}

void limit_scans(j_common_ptr info) {
  auto* decoder = static_cast<Decoder*>(info->client_data);
  if (decoder->info.input_scan_number <= kMostScans) return;
  decoder->has_too_many_scans = true;
  jump_to_start(info);
}

}  // extern "C"

void read_header(Decoder& decoder) {
  decoder.info.err = jpeg_std_error(&decoder.errors);
  decoder.errors.error_exit = jump_to_start;
  decoder.errors.emit_message = refuse_damage;
  decoder.info.client_data = &decoder;  // which jpeg_create_decompress keeps
  jpeg_create_decompress(&decoder.info);
  decoder.progress.progress_monitor = limit_scans;
  decoder.info.progress = &decoder.progress;
  jpeg_mem_src(&decoder.info, decoder.bytes, decoder.size);
  jpeg_save_markers(&decoder.info, JPEG_APP0 + 1, 0xFFFF);  // Exif
  jpeg_read_header(&decoder.info, TRUE);
}

void read_samples(Decoder& decoder) {
  jpeg_start_decompress(&decoder.info);
  const std::size_t row_bytes = std::size_t{decoder.info.output_width} *
                                static_cast<std::size_t>(decoder.info.output_components);
  while (decoder.info.output_scanline < decoder.info.output_height) {
    JSAMPROW row = decoder.out + decoder.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder.info, &row, 1);
  }
  jpeg_finish_decompress(&decoder.info);
}

// False where the step ended with an error.
bool attempt(Decoder& decoder, void (*step)(Decoder&)) {
  if (setjmp(decoder.start) != 0) return false;
  step(decoder);
  return true;
}

int orientation_of(const jpeg_decompress_struct& info) {
  for (jpeg_saved_marker_ptr it = info.marker_list; it != nullptr; it = it->next) {
    const int orientation = exif_orientation({it->data, it->data_length});
    if (orientation != 1) return orientation;
  }
  return 1;
}

}  // namespace

Result<Picture> parse_jpeg(std::string_view bytes, std::string_view subject) {
  Decoder decoder;
  decoder.bytes = reinterpret_cast<const unsigned char*>(bytes.data());
  decoder.size = static_cast<unsigned long>(bytes.size());
  const auto damaged = [&] {
    return corrupt("[{}] expected a JPEG file, got a damaged one or another kind of file: {}",
                   subject, static_cast<const char*>(decoder.message));
  };
  if (!attempt(decoder, read_header)) return damaged();
  jpeg_decompress_struct& info = decoder.info;
  if (info.data_precision != 8)
    return unsupported("[{}] expected 8 bits a sample, got {}", subject, info.data_precision);
  Picture out;
  out.height = info.image_height;
  out.width = info.image_width;
  if (out.width == 0 || out.height > kMostPixels / out.width)
    return unsupported("[{}] expected at most {} pixels, got {} x {}", subject, kMostPixels,
                       out.width, out.height);
  const bool is_gray = info.jpeg_color_space == JCS_GRAYSCALE;
  if (!is_gray && info.jpeg_color_space != JCS_YCbCr && info.jpeg_color_space != JCS_RGB)
    return unsupported(
        "[{}] expected a JPEG file of gray or of red, green and blue, got {}: convert it first",
        subject,
        info.num_components == 4 ? std::string("CMYK")
                                 : fmt::format("{} components", info.num_components));
  info.out_color_space = is_gray ? JCS_GRAYSCALE : JCS_RGB;
  out.channels = is_gray ? 1 : 3;
  out.samples.resize(static_cast<std::size_t>(out.height * out.width * out.channels));
  decoder.out = out.samples.data();
  const int orientation = orientation_of(info);  // goes away when the last scan is read
  if (!attempt(decoder, read_samples)) {
    if (decoder.has_too_many_scans)
      return unsupported("[{}] expected at most {} scans, got more", subject, kMostScans);
    return damaged();
  }
  apply_orientation(orientation, out);
  return out;
}

#else

Result<Picture> parse_jpeg(std::string_view, std::string_view subject) {
  return unsupported("[{}] this anemone was built without libjpeg, which reads JPEG files",
                     subject);
}

#endif

}  // namespace anemone::values
