/// Where the channels lie in one scan of a buffer.
///
/// The kernel puts the enabled channels in order of their scan index, each aligned to its own size, and pads
/// the scan to a multiple of the largest (`iio_compute_scan_bytes`). Channels with the same index share a place.
package struct ScanLayout: Hashable, Sendable {
  /// Bytes from the start of the scan, in the order in which the elements were given.
  package let offsets: [Int]
  /// Bytes from one scan to the next; zero when nothing is enabled.
  package let stride: Int

  package init(elements: [(index: Int, format: ScanFormat)]) {
    var offsets = [Int](repeating: 0, count: elements.count)
    var end = 0
    var largest = 1
    var previous: (index: Int, offset: Int)?
    for position in elements.indices.sorted(by: { elements[$0].index < elements[$1].index }) {
      let element = elements[position]
      if let previous, previous.index == element.index {
        offsets[position] = previous.offset
        continue
      }
      let size = element.format.byteCount
      let offset = (end + size - 1) / size * size
      offsets[position] = offset
      previous = (element.index, offset)
      largest = max(largest, size)
      end = offset + size
    }
    self.offsets = offsets
    stride = (end + largest - 1) / largest * largest
  }

  /// As libiio found it, for a scan that holds more channels than were asked for.
  package init(offsets: [Int], stride: Int) {
    (self.offsets, self.stride) = (offsets, stride)
  }
}
