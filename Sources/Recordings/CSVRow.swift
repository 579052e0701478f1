internal import Bytes
internal import Sensors
internal import Spatial

/// One row of a sensor table.
struct CSVRow {
  private var values: [CSVColumns.Quantity: Double] = [:]
  let timestamp: Timestamp

  /// - Throws: `RecordingError` that names the column: for a number of fields that is not the header's, for a
  ///   field that is no finite number, for an absent time, and for a triple of which only a part is there.
  init(
    line: ArraySlice<UInt8>, columns: CSVColumns, file: String, lineNumber: Int
  ) throws(RecordingError) {
    func failure(_ column: CSVColumns.Quantity?, _ problem: String, _ remedy: String) -> RecordingError {
      RecordingError(
        file: file, line: lineNumber, column: column?.rawValue, problem: problem, remedy: remedy)
    }
    let fields = CSVColumns.fields(of: line)
    guard fields.count == columns.quantities.count else {
      throw failure(
        nil, "the row has \(fields.count) fields, the header \(columns.quantities.count)",
        "leave the fields of absent values empty")
    }
    for (field, quantity) in zip(fields, columns.quantities) where !field.isEmpty {
      guard let value = DecimalText.number(field.span) else {
        throw failure(
          quantity, "\"\(excerpt(field))\" is not a finite number", "leave the field of an absent value empty"
        )
      }
      values[quantity] = value
    }
    guard let seconds = values[.t] else {
      throw failure(.t, "is empty", "every row needs its time in seconds")
    }
    // About 290 years; beyond, nanoseconds do not fit.
    guard abs(seconds) < 9e9 else {
      throw failure(.t, "\(seconds) s is out of range", "give seconds since the start of the recording")
    }
    timestamp = Timestamp(seconds: seconds)
    for triple in [[CSVColumns.Quantity.ax, .ay, .az], [.gx, .gy, .gz], [.mx, .my, .mz]] {
      let absent = triple.filter { values[$0] == nil }
      if let first = absent.first, absent.count < 3 {
        throw failure(
          first, "is empty while its fellows are not", "give all three components of a vector or none")
      }
    }
  }

  /// The scalar in a column; nil when the field was empty or there is no such column.
  subscript(_ quantity: CSVColumns.Quantity) -> Double? { values[quantity] }

  /// What the row says of the inertial sensors.
  func scan(at timestamp: Timestamp) -> InertialScan {
    InertialScan(
      timestamp: timestamp, specificForce: vector(.ax, .ay, .az), rotationRate: vector(.gx, .gy, .gz),
      magneticField: vector(.mx, .my, .mz), temperature: values[.temperature])
  }

  /// The vector in three columns; nil when the fields were empty.
  private func vector(_ x: CSVColumns.Quantity, _ y: CSVColumns.Quantity, _ z: CSVColumns.Quantity)
    -> Vector3?
  {
    guard let x = values[x], let y = values[y], let z = values[z] else { return nil }
    return Vector3(x, y, z)
  }
}
