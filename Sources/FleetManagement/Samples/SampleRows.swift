package import Fleet
package import JSON
internal import Spatial
package import Telemetry

/// A request for raw samples of a vehicle.
package struct SampleRequest: Hashable, Sendable {
  /// The duration; the vehicle limits it.
  package var seconds: Double
  /// The rate of each sensor in Hz; the vehicle limits it.
  package var rate: Double
  /// The sensors; empty for all available ones.
  package var kinds: [SamplePiece.Kind]

  package init(seconds: Double, rate: Double, kinds: [SamplePiece.Kind] = []) {
    (self.seconds, self.rate, self.kinds) = (seconds, rate, kinds)
  }

  /// The arguments of the command `samples`.
  package var arguments: [String: JSONValue] {
    var members: [String: JSONValue] = ["seconds": .number(seconds), "rate": .number(rate)]
    if !kinds.isEmpty { members["kinds"] = .array(kinds.map { .string($0.rawValue) }) }
    return members
  }
}

/// Raw samples of a vehicle as rows of CSV, from the pieces of the vehicle's answer in their order.
package struct SampleRows {
  /// The seconds for which the newest rows wait for samples of other sensors.
  private static let holdBack = 2.0

  private let vehicle: VehicleKey
  /// The rows; nil before the first piece, which determines the columns.
  package private(set) var table: SampleTable?
  private var expected: Int64 = 0
  /// True after the last piece.
  package private(set) var isComplete = false

  package init(of vehicle: VehicleKey) { self.vehicle = vehicle }

  /// Adds a piece. Pieces that arrive again are ignored.
  /// - Throws: `FleetError` for an invalid piece, and if a piece is missing.
  package mutating func add(_ result: JSONValue) throws(FleetError) {
    let number = result["piece"]?.integer ?? 0
    guard number >= expected else { return }
    guard number == expected else {
      throw SamplePiece.malformed(vehicle, "piece \(expected) was lost; retry")
    }
    expected += 1
    let piece = try SamplePiece(result, of: vehicle)
    table = table ?? SampleTable(kinds: Self.kinds(result))
    table?.add(piece)
    isComplete = result["more"]?.bool != true
  }

  /// Removes and returns the rows; before the first row, also the lines of the file's head.
  /// - Parameter isLast: true to return also the newest rows, which otherwise wait for samples of other sensors.
  package mutating func rows(isLast: Bool) -> String {
    let isFirst = table?.rowCount == 0
    guard let rows = table?.rows(holdingBack: isLast ? 0 : Self.holdBack), !rows.isEmpty, let table,
      let origin = table.origin
    else { return "" }
    guard isFirst else { return rows }
    return SampleTable.head(
      "odograph samples \(vehicle)", at: UTCTime(nanoseconds: origin * 1000), header: table.header) + rows
  }

  /// Returns the sensors of the table's columns, which the first piece determines.
  private static func kinds(_ result: JSONValue) -> [SamplePiece.Kind] {
    let told = (result["kinds"]?.array ?? []).compactMap { $0.string.flatMap(SamplePiece.Kind.init) }
    return told.isEmpty ? SamplePiece.Kind.allCases : told
  }
}

extension SamplePiece {
  /// Parses the samples in the result of a command.
  init(_ result: JSONValue, of vehicle: VehicleKey) throws(FleetError) {
    do throws(JSONError) {
      try self.init(json: result["samples"] ?? .null)
    } catch { throw Self.malformed(vehicle, error.description) }
  }

  static func malformed(_ vehicle: VehicleKey, _ problem: String) -> FleetError {
    FleetError(operation: "read", object: "the answer of \(vehicle)", cause: problem, kind: .unavailable)
  }
}
