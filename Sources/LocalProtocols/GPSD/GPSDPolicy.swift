internal import JSON

/// A client's watch policy (gpsd's WATCH). An attribute that a request does not mention is unchanged, except
/// `enable`, which is then true.
struct GPSDPolicy: Hashable {
  private(set) var isEnabled = false
  /// True for JSON reports.
  private(set) var json = false
  /// True for NMEA sentences.
  private(set) var nmea = false
  /// 1 or 2 for the device's own data, which is NMEA here; 0 for none.
  private(set) var raw = 0
  // These have no effect on the reports of a position. They are only returned.
  private(set) var scaled = false
  private(set) var timing = false
  private(set) var split24 = false
  private(set) var pps = false
  /// The path of the only device to watch; nil for all.
  private(set) var device: String?

  /// An attribute with a value of another type.
  struct InvalidAttribute: Error, Hashable {
    let name: String
  }

  /// Applies a request's object. Unknown attributes are ignored.
  /// - Throws: `InvalidAttribute`; then nothing has changed.
  mutating func apply(_ members: [String: JSONValue]) throws(InvalidAttribute) {
    var changed = self
    changed.isEnabled = try Self.flag("enable", members) ?? true
    changed.json = try Self.flag("json", members) ?? json
    changed.nmea = try Self.flag("nmea", members) ?? nmea
    changed.scaled = try Self.flag("scaled", members) ?? scaled
    changed.timing = try Self.flag("timing", members) ?? timing
    changed.split24 = try Self.flag("split24", members) ?? split24
    changed.pps = try Self.flag("pps", members) ?? pps
    switch members["raw"] {
    case nil: break
    case .integer(let level)? where (0...2).contains(level): changed.raw = Int(level)
    default: throw InvalidAttribute(name: "raw")
    }
    switch members["device"] {
    case nil: break
    case .string(let path)?: changed.device = path.isEmpty ? nil : path
    default: throw InvalidAttribute(name: "device")
    }
    self = changed
  }

  private static func flag(_ name: String, _ members: [String: JSONValue]) throws(InvalidAttribute) -> Bool? {
    switch members[name] {
    case nil: return nil
    case .bool(let flag)?: return flag
    // Some clients send numbers.
    case .integer(let number)? where number == 0 || number == 1: return number == 1
    default: throw InvalidAttribute(name: name)
    }
  }

  func write(to json: inout JSONWriter) {
    json.field("class", "WATCH")
    json.field("enable", isEnabled)
    json.field("json", self.json)
    json.field("nmea", nmea)
    json.field("raw", raw)
    json.field("scaled", scaled)
    json.field("timing", timing)
    json.field("split24", split24)
    json.field("pps", pps)
    json.field("device", device)
  }
}
