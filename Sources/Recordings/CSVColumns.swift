internal import Sensors

/// What the columns of a sensor table hold, by their place.
struct CSVColumns: Sendable {
  /// A quantity that a column can hold; the raw value is its name in the header.
  enum Quantity: String, CaseIterable, Sendable {
    case t, ax, ay, az, gx, gy, gz, mx, my, mz, pressure, temperature
  }

  private static let triples: [[Quantity]] = [[.ax, .ay, .az], [.gx, .gy, .gz], [.mx, .my, .mz]]

  /// The quantities in the order of the columns.
  let quantities: [Quantity]

  /// Reads the header: names in any order, each at most once, `t` among them, triples whole.
  init(header: ArraySlice<UInt8>, file: String, line: Int) throws(RecordingError) {
    var quantities: [Quantity] = []
    for field in CSVColumns.fields(of: header) {
      let name = String(decoding: field, as: UTF8.self)
      guard let quantity = Quantity(rawValue: name) else {
        throw RecordingError(
          file: file, line: line, column: excerpt(field), problem: "is not a column of a sensor recording",
          remedy: "the accepted columns are \(Quantity.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      guard !quantities.contains(quantity) else {
        throw RecordingError(
          file: file, line: line, column: name, problem: "appears twice in the header",
          remedy: "keep one of them")
      }
      quantities.append(quantity)
    }
    self.quantities = quantities
    guard quantities.contains(.t) else {
      throw RecordingError(
        file: file, line: line, column: "t", problem: "is missing in the header",
        remedy: "every row needs its time in seconds")
    }
    for triple in CSVColumns.triples where !quantities.filter(triple.contains).isEmpty {
      guard let absent = triple.first(where: { !quantities.contains($0) }) else { continue }
      let names = triple.map(\.rawValue).joined(separator: ", ")
      throw RecordingError(
        file: file, line: line, column: absent.rawValue, problem: "is missing in the header",
        remedy: "give all of \(names) or none")
    }
    guard quantities.count > 1 else {
      throw RecordingError(
        file: file, line: line, problem: "the header names no sensor",
        remedy: "the accepted columns are \(Quantity.allCases.map(\.rawValue).joined(separator: ", "))")
    }
  }

  /// The fields of a row, blanks around them taken off. Numbers need no quotes, so none are understood.
  static func fields(of line: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    line.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { field in
      var field = field
      while let last = field.last, last == 32 || last == 9 { field.removeLast() }
      while let first = field.first, first == 32 || first == 9 { field.removeFirst() }
      return field
    }
  }

  /// The kinds of sensor that the table speaks of.
  var kinds: Set<SensorKind> {
    var kinds: Set<SensorKind> = []
    for quantity in quantities {
      switch quantity {
      case .t: continue
      case .ax, .ay, .az: kinds.insert(.accelerometer)
      case .gx, .gy, .gz: kinds.insert(.gyroscope)
      case .mx, .my, .mz: kinds.insert(.magnetometer)
      case .pressure: kinds.insert(.barometer)
      case .temperature: kinds.insert(.thermometer)
      }
    }
    return kinds
  }
}
