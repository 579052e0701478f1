package import JSON
package import Spatial

/// Sensor samples in answers to `history` and `samples`: exact to the decimals of the payload, with ten bytes
/// for a sample of three axes.
///
/// Each kind of sensor has a series with its own times. `times` are microseconds since `start` as second
/// differences, so that a regular rate requires one character per sample. `values` are integers in units of
/// the last decimal, as differences. Times and values use the text encoding of `track`.
package struct SamplePiece: Hashable, Sendable {
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// Specific force in m/s², device frame: (0, 0, +9.81) for a flat device at rest.
    case accelerometer
    /// Rotation rate in rad/s, device frame.
    case gyroscope
    /// Magnetic field in µT, device frame.
    case magnetometer
    /// Air pressure in Pa.
    case barometer

    /// Column names as in CSV sensor recordings.
    package var columns: [String] {
      switch self {
      case .accelerometer: ["ax", "ay", "az"]
      case .gyroscope: ["gx", "gy", "gz"]
      case .magnetometer: ["mx", "my", "mz"]
      case .barometer: ["pressure"]
      }
    }

    /// Number of decimals of the values.
    package var decimals: Int {
      switch self {
      case .accelerometer: 4
      case .gyroscope: 5
      case .magnetometer: 2
      case .barometer: 1
      }
    }
  }

  /// Samples of one kind in order of time.
  package struct Series: Hashable, Sendable {
    package let kind: Kind
    /// Microseconds since the start of the piece.
    package fileprivate(set) var times: [Int64] = []
    /// Values of each column in units of the last decimal.
    package fileprivate(set) var values: [[Int64]]

    fileprivate init(_ kind: Kind) {
      self.kind = kind
      values = Array(repeating: [], count: kind.columns.count)
    }
  }

  /// Maximum number of samples of one kind that are read from a piece.
  package static let largestCount = 100_000

  /// Civil time of the start of the piece, in whole milliseconds.
  package let start: UTCTime
  package private(set) var series: [Series] = []

  /// - Parameter time: time of the first sample, or earlier.
  package init(startingAt time: UTCTime) {
    let (quotient, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    start = UTCTime(nanoseconds: (rest < 0 ? quotient - 1 : quotient) &* 1_000_000)
  }

  /// Number of samples of all kinds.
  package var count: Int { series.reduce(0) { $0 + $1.times.count } }

  /// Appends a sample. Samples with a wrong number of values, or with values that are not finite, are
  /// ignored.
  package mutating func append(_ kind: Kind, _ values: [Double], at time: UTCTime) {
    guard values.count == kind.columns.count, values.allSatisfy(\.isFinite) else { return }
    var place = series.firstIndex { $0.kind == kind }
    if place == nil {
      series.append(Series(kind))
      place = series.count - 1
    }
    guard let place else { return }
    series[place].times.append((time.nanoseconds &- start.nanoseconds) / 1000)
    let scale = TrackEncoder.scale(kind.decimals)
    for (column, value) in values.enumerated() {
      series[place].values[column].append(Int64((max(-1e12, min(1e12, value)) * scale).rounded()))
    }
  }
}

extension SamplePiece {
  package var json: JSONValue {
    .object([
      "start": .string(start.rfc3339),
      "series": .array(
        series.map { series in
          var times = DeltaEncoder()
          var last: Int64 = 0
          for time in series.times {
            times.append(time &- last)
            last = time
          }
          return .object([
            "kind": .string(series.kind.rawValue), "count": .integer(Int64(series.times.count)),
            "times": .string(String(decoding: times.text, as: UTF8.self)),
            "columns": .array(
              zip(series.kind.columns, series.values).map { name, values in
                var text = DeltaEncoder()
                for value in values { text.append(value) }
                return .object([
                  "name": .string(name), "decimals": .integer(Int64(series.kind.decimals)),
                  "values": .string(String(decoding: text.text, as: UTF8.self)),
                ])
              }),
          ])
        }),
    ])
  }

  /// Decodes a piece; series of unknown kinds are ignored.
  /// - Throws: `JSONError` naming the key that is missing, invalid or has another number of values than
  ///   `count`.
  package init(json: JSONValue) throws(JSONError) {
    self.init(startingAt: try json.requiredTime("start"))
    for element in json["series"]?.array ?? [] {
      guard let kind = element["kind"]?.string.flatMap(Kind.init) else { continue }
      var read = Series(kind)
      let count = Int(try element.required("count", in: 0...Double(Self.largestCount)))
      var time: Int64 = 0
      for step in try Self.numbers(element, "times", count: count) {
        time &+= step
        let (nanoseconds, isLong) = time.multipliedReportingOverflow(by: 1000)
        guard !isLong, !start.nanoseconds.addingReportingOverflow(nanoseconds).overflow else {
          throw JSONError("key \"times\": out of range")
        }
        read.times.append(time)
      }
      for (index, name) in kind.columns.enumerated() {
        guard let column = element["columns"]?.array?.first(where: { $0["name"]?.string == name }),
          column["decimals"]?.integer == Int64(kind.decimals)
        else { throw JSONError("key \"columns\": \"\(name)\" with \(kind.decimals) decimals is missing") }
        read.values[index] = try Self.numbers(column, "values", count: count)
      }
      series.append(read)
    }
  }

  private static func numbers(
    _ json: JSONValue, _ name: String, count: Int
  ) throws(JSONError) -> [Int64] {
    guard let text = json[name]?.string else { throw JSONError("key \"\(name)\": missing or not a string") }
    var decoder = DeltaDecoder(text)
    var numbers: [Int64] = []
    var last: Int64 = 0
    while !decoder.isAtEnd, numbers.count < count {
      guard let difference = decoder.difference() else {
        throw JSONError("key \"\(name)\": invalid encoding")
      }
      last &+= difference
      numbers.append(last)
    }
    guard decoder.isAtEnd, numbers.count == count else {
      throw JSONError("key \"\(name)\": does not contain \(count) values, although \"count\" is \(count)")
    }
    return numbers
  }
}
