internal import JSON
internal import Sensors
internal import Spatial
package import Traces

/// Converts a trace to an MCAP file, for Foxglove and other viewers. There is a channel for each kind of
/// sample and each vehicle signal. Messages are JSON with the units of the public API; positions are
/// Foxglove's `LocationFix`.
package enum TraceMCAP {
  /// Returns the file.
  ///
  /// - Parameter samples: in order of time.
  package static func bytes(_ head: TraceFile.Head, _ samples: [TraceSample]) -> [UInt8] {
    var (writer, schemas, channels): (MCAPWriter, [Kind: UInt16], [String: UInt16]) = (.init(), [:], [:])
    for sample in samples {
      let (kind, topic) = self.kind(of: sample)
      let schema = schemas[kind] ?? writer.addSchema(kind.name, kind.schema)
      schemas[kind] = schema
      guard let channel = channels[topic] ?? writer.addChannel(topic, schema: schema) else { continue }
      channels[topic] = channel
      let (sum, overflow) = sample.timestamp.nanoseconds.addingReportingOverflow(head.utcOffset)
      // MCAP has no times before 1970.
      let time = UInt64(max(0, overflow ? sample.timestamp.nanoseconds : sum))
      writer.append(message(of: sample, at: time), to: channel, at: time)
    }
    return writer.finished()
  }

  private enum Kind: String {
    case inertial, pressure, fix, vehicle, motion

    var name: String {
      switch self {
      case .inertial: "odograph.InertialScan"
      case .pressure: "odograph.Pressure"
      case .fix: "foxglove.LocationFix"
      case .vehicle: "odograph.VehicleReading"
      case .motion: "odograph.Motion"
      }
    }

    var schema: String {
      let vector = #"{"type":"array","items":{"type":"number"},"description":"#
      let properties =
        switch self {
        case .inertial:
          #""specificForce":\#(vector)"m/s², device"},"rotationRate":\#(vector)"rad/s, device"},"#
            + #""magneticField":\#(vector)"µT, device"},"temperature":{"type":"number","description":"°C"}"#
        case .pressure: #""pressure":{"type":"number","description":"Pa"}"#
        case .fix:
          #""timestamp":{"type":"object","title":"time","properties":{"sec":{"type":"integer"},"nsec":{"type":"integer"}}},"#
            + #""frame_id":{"type":"string"},"latitude":{"type":"number"},"longitude":{"type":"number"},"#
            + #""altitude":{"type":"number"},"speed":{"type":"number","description":"m/s"},"#
            + #""course":{"type":"number","description":"degrees clockwise from north"}"#
        case .vehicle: #""value":{"description":"in the unit of COVESA VSS"},"origin":{"type":"string"}"#
        case .motion:
          #""attitude":\#(vector)"w, x, y, z: vehicle to east, north, up"},"velocity":\#(vector)"m/s east, north, up"}"#
        }
      return #"{"type":"object","title":"\#(name)","properties":{\#(properties)}}"#
    }
  }

  private static func kind(of sample: TraceSample) -> (Kind, topic: String) {
    switch sample {
    case .inertial: (.inertial, "/inertial")
    case .pressure: (.pressure, "/pressure")
    case .fix: (.fix, "/position")
    case .vehicle(let reading):
      (.vehicle, "/" + String(reading.path.map { $0 == "." ? "/" : $0 }))
    case .motion: (.motion, "/motion")
    }
  }

  private static func message(of sample: TraceSample, at time: UInt64) -> [UInt8] {
    JSONWriter.object { json in
      switch sample {
      case .inertial(let scan):
        if let force = scan.specificForce { json.field("specificForce", numbers: force.numbers, decimals: 9) }
        if let rate = scan.rotationRate { json.field("rotationRate", numbers: rate.numbers, decimals: 9) }
        if let field = scan.magneticField { json.field("magneticField", numbers: field.numbers, decimals: 9) }
        json.field("temperature", scan.temperature, decimals: 3)
      case .pressure(let data): json.field("pressure", data.pressure, decimals: 3)
      case .fix(let fix):
        json.key("timestamp")
        json.openObject()
        json.field("sec", time / 1_000_000_000)
        json.field("nsec", time % 1_000_000_000)
        json.closeObject()
        json.field("frame_id", fix.receiver ?? "receiver")
        json.field("latitude", fix.coordinate?.latitude, decimals: 9)
        json.field("longitude", fix.coordinate?.longitude, decimals: 9)
        json.field("altitude", fix.altitudeEllipsoidal ?? fix.altitudeMeanSeaLevel, decimals: 4)
        json.field("speed", fix.speed, decimals: 4)
        json.field("course", fix.course, decimals: 4)
      case .vehicle(let reading):
        switch reading.value {
        case .number(let number): json.field("value", number, decimals: 9)
        case .flag(let flag): json.field("value", flag)
        case .text(let text): json.field("value", text)
        case nil: break
        }
        json.field("origin", reading.origin.rawValue)
      case .motion(let motion):
        let attitude = motion.attitude
        json.field(
          "attitude", numbers: [attitude.w, attitude.x, attitude.y, attitude.z], decimals: 9)
        if let velocity = motion.velocity { json.field("velocity", numbers: velocity.numbers, decimals: 9) }
      }
    }
  }
}

extension Vector3 {
  fileprivate var numbers: [Double] { [x, y, z] }
}
