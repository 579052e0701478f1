internal import Bytes

/// A codec for a column of integers. The output is laid out for a byte-wise Huffman coder, whose result is
/// then only a few per cent larger than the noise in the data.
///
/// Each number is replaced by its difference from a prediction. The high bits of the difference are a byte;
/// its low bits are stored separately without compression, because they are pure noise. The predictor and the
/// number of low bits are chosen for each run of 128 numbers. Sensor noise is nearly white, so the difference
/// from the previous sample has half a bit more noise than the difference from a mean. For this reason some
/// predictors are means.
package enum ColumnCodec {
  /// A predictor of the next number in a column.
  private enum Predictor: UInt8, CaseIterable {
    /// The previous number, which suits steps and counters.
    case last
    /// The line through the two previous numbers, which suits clocks without jitter.
    case line
    /// Exponential means over about 4 numbers (`quick`) and 16 numbers (`slow`), which suit noise around a
    /// changing value.
    case quick
    case slow
    /// A mean over about 8 numbers with a slope over about 128, which suits clocks with jitter and slow
    /// turns.
    case track
  }

  /// The state of all predictors. Overflow wraps identically in encoder and decoder.
  private struct History {
    var last: Int64 = 0
    var before: Int64 = 0
    /// The exponential mean of `Predictor.quick`, in units of 1/256.
    var quick: Int64 = 0
    var slow: Int64 = 0
    var level: Int64 = 0
    var slope: Int64 = 0
    var isEmpty = true

    func predicted(by predictor: Predictor) -> Int64 {
      switch predictor {
      case .last: last
      case .line: last &+ (last &- before)
      case .quick: (quick &+ 128) >> 8
      case .slow: (slow &+ 128) >> 8
      case .track: (level &+ slope &+ 128) >> 8
      }
    }

    mutating func append(_ number: Int64) {
      let fine = number << 8
      if isEmpty { (last, quick, slow, level, isEmpty) = (number, fine, fine, fine, false) }
      (before, last) = (last, number)
      quick = quick &+ (fine &- quick) >> 2
      slow = slow &+ (fine &- slow) >> 4
      let expected = level &+ slope
      let error = fine &- expected
      level = expected &+ error >> 3
      slope = slope &+ error >> 7
    }
  }

  private static let run = 128
  /// The byte that marks a number stored in full, in eight bytes. The large numbers of a crash after a smooth
  /// road therefore do not enlarge the other numbers of a run.
  private static let escape: UInt8 = 255
  /// The number of bits that the mean difference of a run uses in the byte. A difference eight times as large
  /// still fits.
  private static let meanBits = 4
  private static let mostLowBits = 31

  package static func append(_ numbers: [Int64], to bytes: inout [UInt8]) {
    var (history, start) = (History(), 0)
    var (highs, extras, lows): ([UInt8], [UInt8], BitWriter) = ([], [], BitWriter())
    highs.reserveCapacity(numbers.count)
    while start < numbers.count {
      let end = min(start + run, numbers.count)
      let (predictor, low) = plan(numbers[start..<end], history)
      bytes.append(predictor.rawValue | UInt8(low) << 3)
      for index in start..<end {
        let value = zigzag(numbers[index] &- history.predicted(by: predictor))
        history.append(numbers[index])
        if value >> UInt64(low) < UInt64(escape) {
          highs.append(UInt8(value >> UInt64(low)))
          lows.append(value, low)
        } else {
          highs.append(escape)
          extras.append(little: value)
        }
      }
      start = end
    }
    bytes += highs + extras + lows.bytes
  }

  /// Reads a column.
  ///
  /// - Parameter place: the offset of the column's first byte. It is set to the offset after the column.
  /// - Returns: `count` numbers; nil if the bytes are too short or invalid.
  package static func read(_ count: Int, from bytes: [UInt8], at place: inout Int) -> [Int64]? {
    let runs = (count + run - 1) / run
    guard bytes.count - place >= runs + count else { return nil }
    let highs = place + runs
    let extras = highs + count
    let escapes = bytes[highs..<extras].reduce(0) { $1 == escape ? $0 + 1 : $0 }
    guard bytes.count - extras >= 8 * escapes else { return nil }
    var lowBits = 0
    for index in 0..<count where bytes[highs + index] != escape {
      lowBits += Int(bytes[place + index / run] >> 3)
    }
    let lows = extras + 8 * escapes
    guard bytes.count - lows >= (lowBits + 7) / 8 else { return nil }
    var reader = BitReader(Array(bytes[lows..<lows + (lowBits + 7) / 8]))
    var (history, extra) = (History(), extras)
    var numbers: [Int64] = []
    numbers.reserveCapacity(count)
    for index in 0..<count {
      let head = bytes[place + index / run]
      guard let predictor = Predictor(rawValue: head & 7) else { return nil }
      var value: UInt64
      if bytes[highs + index] == escape {
        value = UInt64(little: bytes, at: extra)
        extra += 8
      } else {
        guard let low = reader.next(Int(head >> 3)) else { return nil }
        value = UInt64(bytes[highs + index]) << UInt64(head >> 3) | low
      }
      let number = history.predicted(by: predictor) &+ unzigzag(value)
      numbers.append(number)
      history.append(number)
    }
    place = lows + (lowBits + 7) / 8
    return numbers
  }

  /// Chooses the predictor with the smallest differences, and the number of low bits for it.
  private static func plan(_ numbers: ArraySlice<Int64>, _ start: History) -> (Predictor, Int) {
    var (best, least) = (Predictor.last, Double.infinity)
    for predictor in Predictor.allCases {
      var (history, sum) = (start, 0.0)
      for number in numbers {
        sum += Double(zigzag(number &- history.predicted(by: predictor)))
        history.append(number)
      }
      if sum < least { (best, least) = (predictor, sum) }
    }
    let mean = least / Double(max(1, numbers.count))
    let bits = mean < 1 ? 0 : Int(mean.exponent)
    return (best, min(mostLowBits, max(0, bits - meanBits)))
  }

  private static func zigzag(_ number: Int64) -> UInt64 {
    UInt64(bitPattern: (number << 1) ^ (number >> 63))
  }

  private static func unzigzag(_ value: UInt64) -> Int64 {
    Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }
}
