public import JSON
public import Spatial

/// Samples of sensors as the answers to `history` and `samples` carry them: exact to their decimals, ten bytes for a sample
/// of three axes.
///
/// Each kind is a series with times of its own. `times` are microseconds since `start`, as differences of differences, so
/// that an even rate takes one character a sample; `values` are whole numbers of the last decimal, as differences. The text of
/// both is that of a `track`'s.
public struct SamplePiece: Hashable, Sendable {
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// m/s², device frame: specific force, (0, 0, +9.81) for a device that lies flat at rest.
    case accelerometer
    /// rad/s, device frame.
    case gyroscope
    /// µT, device frame.
    case magnetometer
    /// Pa.
    case barometer

    /// The columns as a sensor recording in CSV names them.
    public var columns: [String] {
      switch self {
      case .accelerometer: ["ax", "ay", "az"]
      case .gyroscope: ["gx", "gy", "gz"]
      case .magnetometer: ["mx", "my", "mz"]
      case .barometer: ["pressure"]
      }
    }

    /// Decimals that are told.
    public var decimals: Int {
      switch self {
      case .accelerometer: 4
      case .gyroscope: 5
      case .magnetometer: 2
      case .barometer: 1
      }
    }
  }

  /// The samples of one kind, in order of time.
  public struct Series: Hashable, Sendable {
    public let kind: Kind
    /// Microseconds since the piece's start.
    public fileprivate(set) var times: [Int64] = []
    /// For each column the values, in units of the last decimal.
    public fileprivate(set) var values: [[Int64]]

    fileprivate init(_ kind: Kind) {
      self.kind = kind
      values = Array(repeating: [], count: kind.columns.count)
    }
  }

  /// More samples of a kind than this are not read from one piece.
  public static let largestCount = 100_000

  /// Civil time, to the millisecond.
  public let start: UTCTime
  public private(set) var series: [Series] = []

  /// - Parameter time: of the first sample, or before.
  public init(startingAt time: UTCTime) {
    let (quotient, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
    start = UTCTime(nanoseconds: (rest < 0 ? quotient - 1 : quotient) &* 1_000_000)
  }

  /// How many samples it holds, of all kinds.
  public var count: Int { series.reduce(0) { $0 + $1.times.count } }

  /// Takes a sample in. One that has not as many values as its kind has columns, or one that is not finite, is left out.
  public mutating func append(_ kind: Kind, _ values: [Double], at time: UTCTime) {
    guard values.count == kind.columns.count, values.allSatisfy(\.isFinite) else { return }
    var place = series.firstIndex { $0.kind == kind }
    if place == nil {
      series.append(Series(kind))
      place = series.count - 1
    }
    guard let place else { return }
    series[place].times.append((time.nanoseconds &- start.nanoseconds) / 1000)
    let scale = WayEncoder.scale(kind.decimals)
    for (column, value) in values.enumerated() {
      series[place].values[column].append(Int64((max(-1e12, min(1e12, value)) * scale).rounded()))
    }
  }
}

extension SamplePiece {
  public var json: JSONValue {
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

  /// Reads it back; series of kinds that this version does not know are left out.
  /// - Throws: `JSONError` naming the key that is missing, wrong or does not hold `count` values.
  public init(json: JSONValue) throws(JSONError) {
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
          throw JSONError("key \"times\": beyond what a time can be")
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
      guard let difference = decoder.difference() else { throw JSONError("key \"\(name)\": broken text") }
      last &+= difference
      numbers.append(last)
    }
    guard decoder.isAtEnd, numbers.count == count else {
      throw JSONError("key \"\(name)\": does not hold the \(count) values that \"count\" says")
    }
    return numbers
  }
}
