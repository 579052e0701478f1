internal import JSON
package import Sensors
internal import Spatial

/// Samples of the agent's sensors as lines for its clients.
///
/// A scan is an array of eleven numbers: time since boot in ns, specific force in m/s² (x, y, z), rotation rate in
/// rad/s, magnetic field in µT, temperature in °C. Missing sensors have null. A pressure is an array of time and Pa.
package enum SampleLines {
  /// Maximum number of samples in a line, which bounds its length to 16 kB.
  private static let limit = 100

  /// Returns the lines of a block; empty for events of other sensors.
  package static func encode(_ event: SensorEvent) -> [[UInt8]] {
    switch event {
    case .inertial(let block): lines("SCANS", block, write)
    case .barometer(let block):
      lines("PRESSURES", block) { sample, json in
        json.value(sample.timestamp.nanoseconds)
        json.value(sample.pressure, decimals: 3)
      }
    case .position, .vehicle, .radio, .status: []
    }
  }

  private static func lines<Sample>(
    _ name: String, _ block: [Sample], _ write: (Sample, inout JSONWriter) -> Void
  ) -> [[UInt8]] {
    stride(from: 0, to: block.count, by: limit).map { start in
      var bytes = JSONWriter.object { json in
        json.field("class", name)
        json.key("samples")
        json.openArray()
        for sample in block[start..<min(start + limit, block.count)] {
          json.openArray()
          write(sample, &json)
          json.closeArray()
        }
        json.closeArray()
      }
      bytes.append(contentsOf: "\r\n".utf8)
      return bytes
    }
  }

  private static func write(_ scan: InertialScan, to json: inout JSONWriter) {
    json.value(scan.timestamp.nanoseconds)
    for (vector, decimals) in [(scan.specificForce, 6), (scan.rotationRate, 7), (scan.magneticField, 4)] {
      for axis in 0..<3 { json.value(vector?[axis] ?? .nan, decimals: decimals) }
    }
    json.value(scan.temperature ?? .nan, decimals: 2)
  }

  /// Returns the samples of a line; nil if one is invalid.
  static func decode(name: String, _ json: JSONValue) -> SensorEvent? {
    guard let samples = json["samples"]?.array else { return nil }
    switch name {
    case "SCANS":
      let scans = samples.compactMap(scan)
      return scans.count == samples.count ? .inertial(scans) : nil
    case "PRESSURES":
      let pressures = samples.compactMap { sample -> PressureData? in
        guard let fields = sample.array, fields.count == 2, let time = fields[0].integer,
          let pressure = fields[1].double
        else { return nil }
        return PressureData(timestamp: Timestamp(nanoseconds: time), pressure: pressure)
      }
      return pressures.count == samples.count ? .barometer(pressures) : nil
    default: return nil
    }
  }

  private static func scan(_ json: JSONValue) -> InertialScan? {
    guard let fields = json.array, fields.count == 11, let time = fields[0].integer else { return nil }
    func vector(_ start: Int) -> Vector3? {
      guard let x = fields[start].double, let y = fields[start + 1].double, let z = fields[start + 2].double
      else { return nil }
      return Vector3(x, y, z)
    }
    let scan = InertialScan(
      timestamp: Timestamp(nanoseconds: time), specificForce: vector(1), rotationRate: vector(4),
      magneticField: vector(7), temperature: fields[10].double)
    return scan.isEmpty ? nil : scan
  }
}
