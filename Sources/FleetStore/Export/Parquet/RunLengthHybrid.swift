/// Parquet's hybrid of run-length encoding and bit packing (Encodings.md, RLE = 3). It is used for definition
/// levels and dictionary indices.
enum RunLengthHybrid {
  /// The minimum number of equal values for run-length encoding; shorter runs are bit-packed.
  private static let shortest = 8

  /// Encodes values.
  ///
  /// - Parameters:
  ///   - values: each below 2 to the power of `width`.
  ///   - width: the number of bits per value, 1 to 32.
  static func encode(_ values: [UInt32], width: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    // Bit-packed values form groups of eight; only the last group can be padded.
    var packed: [UInt32] = []
    var index = 0
    while index < values.count {
      let run = packed.count % 8 == 0 ? length(ofRunAt: index, values) : 0
      if run >= shortest {
        append(packed: &packed, width, to: &bytes)
        bytes.append(variable: UInt64(run) << 1)
        for shift in stride(from: 0, to: width, by: 8) {
          bytes.append(UInt8(truncatingIfNeeded: values[index] >> UInt32(shift)))
        }
        index += run
      } else {
        packed.append(values[index])
        index += 1
      }
    }
    append(packed: &packed, width, to: &bytes)
    return bytes
  }

  private static func length(ofRunAt start: Int, _ values: [UInt32]) -> Int {
    var end = start + 1
    while end < values.count, values[end] == values[start] { end += 1 }
    return end - start
  }

  private static func append(packed: inout [UInt32], _ width: Int, to bytes: inout [UInt8]) {
    guard !packed.isEmpty else { return }
    while packed.count % 8 != 0 { packed.append(0) }
    bytes.append(variable: UInt64(packed.count / 8) << 1 | 1)
    var pending: UInt64 = 0
    var count = 0
    for value in packed {
      pending |= UInt64(value) << UInt64(count)
      count += width
      while count >= 8 {
        bytes.append(UInt8(truncatingIfNeeded: pending))
        pending >>= 8
        count -= 8
      }
    }
    packed.removeAll(keepingCapacity: true)
  }
}
