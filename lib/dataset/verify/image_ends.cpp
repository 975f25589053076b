#include "dataset/verify/image_ends.hpp"

namespace shardkit::dataset {

bool ImageEnds::begin(const formats::TarEntry& entry, const formats::SampleName& name) {
  if (!is_image_member(name.extension) || entry.size > kLargestImage) return false;
  entry_ = entry;
  extension_ = name.extension;
  bytes_.clear();
  fault_.reset();
  return true;
}

void ImageEnds::piece(Bytes bytes) {
  if (bytes.size() == entry_.size) {
    fault_ = look(bytes);
    return;
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  if (bytes_.size() == entry_.size) fault_ = look(bytes_);
}

void ImageEnds::end() {
  if (entry_.size == 0) fault_ = look({});
  ++images_;
  if (fault_) log_.add(fault_->code, entry_.data_offset, entry_.name, fault_->text);
}

std::optional<ImageFault> ImageEnds::look(Bytes image) {
  std::optional<ImageFault> fault = ends_fault(image, extension_);
  return needs_decoding(fault) ? image_fault(decoder_, image, extension_) : fault;
}

}  // namespace shardkit::dataset
