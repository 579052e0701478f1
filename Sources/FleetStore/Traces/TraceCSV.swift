internal import Sensors
internal import Spatial
internal import Traces

/// Converts a trace's inertial and barometer samples to a sensor recording in CSV, with a row for each sample
/// in the device frame. `odograph samples` writes the same format, and `odographd` can replay it.
enum TraceCSV {
  /// The number of decimals of values in m/s², rad/s and µT. The finest resolution of a sensor is 1.6e-5,
  /// more than a thousand times the resolution of nine decimals.
  private static let decimals = 9
  /// The number of decimals of pressures in Pa and temperatures in °C; sensors resolve 0.01 at best.
  private static let coarseDecimals = 4

  /// Returns the CSV text; nil if the trace has no inertial or barometer samples.
  /// - Parameter title: a description of the trace for the first line.
  static func text(_ trace: TraceReading, title: String) -> String? {
    let columns = Columns(trace.samples)
    guard !columns.names.isEmpty,
      let first = trace.samples.first(where: { columns.row($0) != nil })?.timestamp
    else { return nil }
    let origin = trace.time(of: first)?.rfc3339 ?? "\(first.seconds) s of the device"
    let moment = ExportText.decimal(trace.head.moment.seconds(since: first), 6)
    var text = "# \(title); the moment is t \(moment); t 0 at \(origin)\n"
    text += (["t"] + columns.names).joined(separator: ",") + "\n"
    for sample in trace.samples {
      guard let row = columns.row(sample) else { continue }
      text += ExportText.decimal(sample.timestamp.seconds(since: first), 6) + "," + row + "\n"
    }
    return text
  }

  /// The columns for which the trace has samples.
  private struct Columns {
    private var hasForce = false
    private var hasRate = false
    private var hasField = false
    private var hasPressure = false
    private var hasTemperature = false

    init(_ samples: [TraceSample]) {
      for sample in samples {
        switch sample {
        case .inertial(let scan):
          if scan.specificForce != nil { hasForce = true }
          if scan.rotationRate != nil { hasRate = true }
          if scan.magneticField != nil { hasField = true }
          if scan.temperature != nil { hasTemperature = true }
        case .pressure: hasPressure = true
        case .fix, .vehicle, .motion: break
        }
      }
    }

    var names: [String] {
      (hasForce ? ["ax", "ay", "az"] : []) + (hasRate ? ["gx", "gy", "gz"] : [])
        + (hasField ? ["mx", "my", "mz"] : []) + (hasPressure ? ["pressure"] : [])
        + (hasTemperature ? ["temperature"] : [])
    }

    /// Returns the fields of a row after the time; nil for a sample that has no columns in this format.
    func row(_ sample: TraceSample) -> String? {
      var (scan, pressure): (InertialScan?, Double?)
      switch sample {
      case .inertial(let value): scan = value
      case .pressure(let data): pressure = data.pressure
      case .fix, .vehicle, .motion: return nil
      }
      var fields: [String] = []
      for (isThere, vector) in [
        (hasForce, scan?.specificForce), (hasRate, scan?.rotationRate), (hasField, scan?.magneticField),
      ] where isThere {
        for axis in 0..<3 { fields.append(ExportText.decimal(vector?[axis], decimals)) }
      }
      if hasPressure { fields.append(ExportText.decimal(pressure, coarseDecimals)) }
      if hasTemperature { fields.append(ExportText.decimal(scan?.temperature, coarseDecimals)) }
      return fields.joined(separator: ",")
    }
  }
}
