package import JSON
public import Spatial
public import VehicleData

/// Payload of `status`: the agent's availability and internal state.
public struct StatusMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case online
    case asleep
    case offline
  }

  /// Source of civil time.
  public enum Clock: String, Hashable, Sendable, CaseIterable {
    /// Satellite time from the receiver.
    case receiver
    /// The machine's clock, which is synchronized or was set since the start.
    case system
    /// The machine's clock without synchronization: times may be wrong.
    case unsynchronized
  }

  /// Current state of a sensor source.
  public struct Source: Hashable, Sendable {
    public var name: String
    /// `active`, `idle`, `unavailable` or `finished`.
    public var state: String
    /// Sample rates in Hz by kind of sensor; empty if unknown.
    public var rates: [String: Double]
    /// The reason why the source is unavailable, or why an active one delivers less than its hardware could.
    public var reason: String?

    public init(name: String, state: String, rates: [String: Double] = [:], reason: String? = nil) {
      self.name = name
      self.state = state
      self.rates = rates
      self.reason = reason
    }
  }

  /// Tilt of the device in the vehicle, as measured at the command `level`.
  public struct Level: Hashable, Sendable {
    /// Angle in degrees between the device's face and the vehicle's roof, 0 ... 180.
    public var tilt: Double
    /// Direction of gravity in the device frame while the vehicle is level, as a vector of length one.
    public var gravity: Vector3

    public init(tilt: Double, gravity: Vector3) {
      (self.tilt, self.gravity) = (tilt, gravity)
    }

    init?(json: JSONValue?) {
      guard let tilt = json?["tilt"]?.double, let gravity = json?["gravity"]?.vector else { return nil }
      self.init(tilt: tilt, gravity: gravity)
    }

    package func write(to json: inout JSONWriter) {
      json.field("tilt", tilt, decimals: 2)
      json.field("gravity", gravity, decimals: 5)
    }
  }

  public var identity: MessageIdentity?
  public var state: State
  /// Time at which the message was written. A will is written at the start of the session and contains the
  /// time of that start.
  public var time: UTCTime
  /// Start of the broker session that sent this message. It distinguishes the will of an old session from the
  /// will of the current session.
  public var sessionStart: UTCTime
  /// True if the message is a will, which the broker published after a lost connection.
  public var isWill: Bool
  /// Next planned contact of a sleeping vehicle; nil if only an event ends its sleep.
  public var nextContact: UTCTime?
  /// Source of the times in messages; nil if not reported.
  public var clock: Clock?
  /// Last correction of civil time since the agent started, in s; negative if the clock was set back. Times
  /// of earlier messages are wrong by this amount if they come from that clock. Nil if the clock was not set.
  public var clockStep: Double?
  public var version: String?
  /// Seconds since the agent started.
  public var uptime: Double?
  public var device: DeviceHealth?
  /// The reason why accepted messages are stored in memory only; nil while they are stored on disk.
  public var storeProblem: String?
  /// Messages that the broker rejects, with the reason; nil if the broker accepts all messages.
  public var deliveryProblem: String?
  /// Optional functions that cannot use their files, with the reason; nil if all can.
  public var functionProblem: String?
  public var sources: [Source]
  /// Counts since the agent started, by name, for example `fixes` or `dropped.live`.
  public var counters: [String: Int]
  /// Energy used by the parts of the device; nil if not measured.
  public var energy: EnergyReport?
  /// True if the vehicle accepts configuration, regions and commands over MQTT; nil if not reported.
  public var isManagedRemotely: Bool?
  /// Permission to use locations, for example `authorized`; nil if not reported.
  public var authorization: String?
  /// State of each location service by name: `available`, or the reason for its unavailability.
  public var services: [String: String] = [:]
  /// Available reference frames of attitudes, in order of preference.
  public var frames: [String] = []
  /// Services with reduced quality by name, with reason and remedy.
  public var degradations: [String: String] = [:]
  /// Orientation of the device; nil if unknown.
  public var orientation: DeviceOrientation?
  /// Level used to correct attitudes and accelerations; nil if these refer to the device's own axes.
  public var level: Level?
  /// State of the magnetometer's calibration; nil without a magnetometer.
  public var compass: CompassReport?
  /// State of the navigation filter; nil without the required sensors.
  public var navigation: NavigationReport?
  /// Distance travelled; nil without an odometer.
  public var odometer: OdometerReading?
  /// Relative excess of the measured distance over the vehicle's own odometer, for example 0.06; nil if both
  /// agree within 4 %, or without an odometer in the vehicle.
  public var odometerDisagreement: Double?

  public init(state: State, time: UTCTime, sessionStart: UTCTime, isWill: Bool = false) {
    self.state = state
    self.time = time
    self.sessionStart = sessionStart
    self.isWill = isWill
    sources = []
    counters = [:]
  }

  public var payload: [UInt8] {
    JSONWriter.object { json in
      json.field("state", state.rawValue)
      json.field("time", time.rfc3339)
      json.field("sessionStart", sessionStart.rfc3339)
      if isWill { json.field("will", true) }
      json.field("nextContact", nextContact?.rfc3339)
      json.field("clock", clock?.rawValue)
      json.field("clockStep", clockStep, decimals: 3)
      json.field("version", version)
      json.field("uptime", uptime, decimals: 1)
      device?.write(to: &json)
      json.field("storeProblem", storeProblem)
      json.field("deliveryProblem", deliveryProblem)
      json.field("functionProblem", functionProblem)
      if !sources.isEmpty {
        json.key("sources")
        json.openArray()
        for source in sources { Self.write(source, to: &json) }
        json.closeArray()
      }
      json.field("remote", isManagedRemotely)
      json.field("authorization", authorization)
      Self.write(Self.withSharedReasons(services), named: "services", to: &json)
      if !frames.isEmpty { json.field("frames", texts: frames) }
      Self.write(Self.withSharedReasons(degradations), named: "degraded", to: &json)
      json.field("orientation", orientation?.rawValue)
      if let level { json.field("level") { level.write(to: &$0) } }
      if let compass { json.field("compass") { compass.write(to: &$0) } }
      if let navigation { json.field("navigation") { navigation.write(to: &$0) } }
      odometer?.write(to: &json)
      json.field("odometerDisagreement", odometerDisagreement, decimals: 3)
      if !counters.isEmpty {
        json.field("counters") { json in
          for (name, count) in counters.sorted(by: { $0.key < $1.key }) {
            json.key(name)
            json.value(count)
          }
        }
      }
      if let energy { json.field("energy") { energy.write(to: &$0) } }
      json.write(identity)
    }
  }

  private static let reference = "see "

  /// Returns the reasons with each text only once. It is stored under `attitude` if that service has the
  /// reason, otherwise under the first name. Other names with the same reason contain a reference to that
  /// name.
  private static func withSharedReasons(_ reasons: [String: String]) -> [String: String] {
    var owners: [String: String] = [:]
    var result = reasons
    let names = ["attitude"] + reasons.keys.sorted()
    for name in names {
      guard let reason = reasons[name], reason != "available",
        reason.utf8.count > reference.utf8.count + name.utf8.count
      else { continue }
      if let owner = owners[reason], owner != name {
        result[name] = reference + owner
      } else {
        owners[reason] = name
      }
    }
    return result
  }

  /// Returns the reasons with each reference replaced by the text to which it refers.
  private static func withOwnReasons(_ reasons: [String: String]) -> [String: String] {
    reasons.mapValues { reason in
      guard reason.hasPrefix(reference) else { return reason }
      return reasons[String(reason.dropFirst(reference.count))] ?? reason
    }
  }

  private static func write(_ texts: [String: String], named name: StaticString, to json: inout JSONWriter) {
    guard !texts.isEmpty else { return }
    json.field(name) { json in
      for (name, text) in texts.sorted(by: { $0.key < $1.key }) {
        json.key(name)
        json.value(text)
      }
    }
  }

  private static func write(_ source: Source, to json: inout JSONWriter) {
    json.openObject()
    json.field("name", source.name)
    json.field("state", source.state)
    if !source.rates.isEmpty {
      json.field("rates") { json in
        for (kind, rate) in source.rates.sorted(by: { $0.key < $1.key }) {
          json.key(kind)
          json.value(rate, decimals: 2)
        }
      }
    }
    json.field("reason", source.reason)
    json.closeObject()
  }

  package init(json: JSONValue) throws(JSONError) {
    guard let name = json["state"]?.string, let state = State(rawValue: name) else {
      throw JSONError("key \"state\": not one of online, asleep, offline")
    }
    self.state = state
    time = try json.requiredTime("time")
    sessionStart = (try? json.requiredTime("sessionStart")) ?? time
    isWill = json["will"]?.bool ?? false
    nextContact = json["nextContact"]?.string.flatMap { UTCTime(rfc3339: $0) }
    clock = json["clock"]?.string.flatMap(Clock.init)
    clockStep = json["clockStep"]?.double
    version = json["version"]?.string
    uptime = json["uptime"]?.double
    device = DeviceHealth(json: json)
    storeProblem = json["storeProblem"]?.string
    deliveryProblem = json["deliveryProblem"]?.string
    functionProblem = json["functionProblem"]?.string
    identity = json.identity
    sources = []
    for element in json["sources"]?.array ?? [] {
      guard let name = element["name"]?.string, let state = element["state"]?.string else { continue }
      var source = Source(name: name, state: state, reason: element["reason"]?.string)
      if case .object(let rates)? = element["rates"] { source.rates = rates.compactMapValues(\.double) }
      sources.append(source)
    }
    isManagedRemotely = json["remote"]?.bool
    authorization = json["authorization"]?.string
    if case .object(let states)? = json["services"] {
      services = Self.withOwnReasons(states.compactMapValues(\.string))
    }
    frames = json["frames"]?.array?.compactMap(\.string) ?? []
    if case .object(let reasons)? = json["degraded"] {
      degradations = Self.withOwnReasons(reasons.compactMapValues(\.string))
    }
    orientation = json["orientation"]?.string.flatMap(DeviceOrientation.init)
    level = Level(json: json["level"])
    compass = json["compass"].map { CompassReport(json: $0) }
    navigation = NavigationReport(json: json["navigation"])
    odometer = OdometerReading(json: json)
    odometerDisagreement = json["odometerDisagreement"]?.double
    counters = [:]
    if case .object(let counts)? = json["counters"] {
      counters = counts.compactMapValues { $0.integer.map { Int($0) } }
    }
    energy = EnergyReport(json: json["energy"])
  }
}

extension StatusMessage: TimedContent {
  static let contract = MessageContract(.status, lane: .state, isRetained: true)
}
