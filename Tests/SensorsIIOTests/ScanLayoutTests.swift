import SensorsIIO
import Testing

@Suite struct ScanLayoutTests {
  private static func element(_ index: Int, _ storage: Int, copies: Int = 1) throws -> (Int, ScanFormat) {
    let format = try #require(
      ScanFormat(isBigEndian: false, isSigned: true, bits: storage, storageBits: storage, repeatCount: copies)
    )
    return (index, format)
  }

  struct Case: Sendable {
    /// Scan index, bits of storage, repeats.
    var elements: [[Int]]
    var offsets: [Int]
    var stride: Int
  }

  @Test(arguments: [
    // Three 16-bit axes and a time stamp, padded to the alignment of the time stamp.
    Case(elements: [[0, 16, 1], [1, 16, 1], [2, 16, 1], [3, 64, 1]], offsets: [0, 2, 4, 8], stride: 16),
    Case(
      elements: [[0, 32, 1], [1, 32, 1], [2, 32, 1], [3, 64, 1]], offsets: [0, 4, 8, 16], stride: 24),
    // Three axes need no padding.
    Case(elements: [[0, 16, 1], [1, 16, 1], [2, 16, 1]], offsets: [0, 2, 4], stride: 6),
    // The order of the scan is that of the indices, not of the arguments.
    Case(elements: [[5, 64, 1], [2, 16, 1], [1, 8, 1]], offsets: [8, 2, 0], stride: 16),
    // A byte before a word. The scan is padded to the alignment of the largest element.
    Case(elements: [[0, 8, 1], [1, 32, 1], [2, 8, 1]], offsets: [0, 4, 8], stride: 12),
    // A repeated channel is aligned to its whole size.
    Case(elements: [[0, 16, 1], [1, 32, 4], [2, 64, 1]], offsets: [0, 16, 32], stride: 48),
    // Two channels with the same index share an offset.
    Case(elements: [[0, 16, 1], [0, 16, 1], [1, 16, 1]], offsets: [0, 0, 2], stride: 4),
    Case(elements: [], offsets: [], stride: 0),
  ])
  func placesChannelsAsTheKernelDoes(layoutCase: Case) throws {
    let layout = ScanLayout(
      elements: try layoutCase.elements.map { try Self.element($0[0], $0[1], copies: $0[2]) })
    #expect(layout.offsets == layoutCase.offsets)
    #expect(layout.stride == layoutCase.stride)
  }
}
