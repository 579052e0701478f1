package import JSON
public import Spatial

/// Payload of `vehicle`: the newest value of each configured signal of the vehicle's CAN bus, by COVESA VSS
/// path and in the unit of that path.
public struct VehicleSignals: Hashable, Sendable {
  public enum Value: Hashable, Sendable {
    case number(Double)
    case flag(Bool)
    case text(String)
  }

  public struct Signal: Hashable, Sendable {
    /// VSS path, for example `Vehicle.Speed`.
    public var path: String
    public var value: Value
    /// Time of the signal.
    public var time: UTCTime

    public init(path: String, value: Value, time: UTCTime) {
      self.path = path
      self.value = value
      self.time = time
    }
  }

  public var identity: MessageIdentity?
  /// Time of the newest signal in the message.
  public var time: UTCTime
  /// Signals in order of their paths. Signals without a valid value are omitted.
  public var signals: [Signal]

  /// Maximum number of signals read from a message.
  private static let mostSignals = 1024

  public init(identity: MessageIdentity? = nil, time: UTCTime, signals: [Signal]) {
    self.identity = identity
    self.time = time
    self.signals = signals
  }

  /// Returns the value of the signal with a path; nil if there is no such signal.
  public subscript(path: String) -> Value? { signals.first { $0.path == path }?.value }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      write(to: &json)
      json.write(identity)
    }
  }

  package func write(to json: inout JSONWriter) {
    json.field("time", time.rfc3339)
    json.field("signals") { json in
      for signal in signals {
        json.key(signal.path)
        json.openObject()
        switch signal.value {
        case .number(let number): json.field("value", number, decimals: 3)
        case .flag(let flag): json.field("value", flag)
        case .text(let text): json.field("value", text)
        }
        json.field("time", signal.time.rfc3339)
        json.closeObject()
      }
    }
  }

  /// - Throws: `JSONError` naming the key that is missing or wrong.
  package init(json: JSONValue) throws(JSONError) {
    time = try json.requiredTime("time")
    guard case .object(let members)? = json["signals"] else {
      throw JSONError("key \"signals\": missing or not an object")
    }
    guard members.count <= Self.mostSignals else {
      throw JSONError("key \"signals\": more than \(Self.mostSignals)")
    }
    signals = []
    for (path, member) in members.sorted(by: { $0.key < $1.key }) {
      guard let value = Value(member["value"]) else {
        throw JSONError(
          "key \"signals\": \"\(path.prefix(80))\" requires a \"value\": a number, a text, true or false")
      }
      signals.append(Signal(path: path, value: value, time: try member.requiredTime("time")))
    }
    identity = json.identity
  }
}

extension VehicleSignals: TimedContent {
  static let contract = MessageContract(.vehicle, lane: .state, isRetained: true)
}

extension VehicleSignals.Value {
  fileprivate init?(_ json: JSONValue?) {
    switch json {
    case .bool(let flag)?: self = .flag(flag)
    case .string(let text)?: self = .text(text)
    case .integer?, .number?:
      guard let number = json?.double, number.isFinite else { return nil }
      self = .number(number)
    default: return nil
    }
  }
}
