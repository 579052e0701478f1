public import JSON
public import Motion
public import Positioning
public import Spatial

/// Payload of `status`: whether the agent is there, and what it knows of itself.
public struct StatusMessage: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable {
    case online
    case asleep
    case offline
  }

  /// What civil time is taken from.
  public enum Clock: String, Hashable, Sendable, CaseIterable {
    /// The satellites' time, as the receiver tells it.
    case receiver
    /// The machine's clock, which something keeps right, or somebody set since the start.
    case system
    /// The machine's clock as it was found: times may be wrong.
    case unsynchronized
  }

  /// One sensor source as it is now.
  public struct Source: Hashable, Sendable {
    public var name: String
    /// `active`, `idle`, `unavailable` or `finished`.
    public var state: String
    /// Hz by kind, where known.
    public var rates: [String: Double]
    /// Why it is unavailable.
    public var reason: String?

    public init(name: String, state: String, rates: [String: Double] = [:], reason: String? = nil) {
      self.name = name
      self.state = state
      self.rates = rates
      self.reason = reason
    }
  }

  /// How the device is tilted in the vehicle, as the command `level` has measured it.
  public struct Level: Hashable, Sendable {
    /// Degrees between the device's face and the vehicle's roof, 0 ... 180.
    public var tilt: Double
    /// Gravity in the level vehicle, device frame, length one.
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
  /// When this was written. A will is written at the start of the session, so its time is that.
  public var time: UTCTime
  /// When the session with the broker that sent it began: the will of an old one is told from a new one's by it.
  public var sessionStart: UTCTime
  /// Whether the broker sent it on the agent's behalf, because the connection ended without a word.
  public var isWill: Bool
  /// Of a vehicle that is asleep: when it means to be heard again; nil when only an event wakes it.
  public var nextContact: UTCTime?
  /// What its times are taken from; nil when it is not told.
  public var clock: Clock?
  /// Seconds by which civil time was last set since the agent started, forward or back: messages before, whose times were
  /// taken from a clock, are wrong by so much. Nil when it was not set.
  public var clockStep: Double?
  public var version: String?
  /// Seconds since the agent started.
  public var uptime: Double?
  public var device: DeviceHealth?
  /// Why accepted messages are kept in memory only; nil while they are safe on the disk.
  public var storeProblem: String?
  /// What the broker refuses, and why; nil while it takes all that it is sent.
  public var deliveryProblem: String?
  public var sources: [Source]
  /// Counts since the agent started, by name, as in `fixes`, `dropped.live`.
  public var counters: [String: Int]
  /// What the parts of the device used; nil where nobody counts.
  public var energy: EnergyReport?
  /// Whether the vehicle takes configuration, regions and commands over MQTT; nil when it is not told.
  public var isManagedRemotely: Bool?
  /// Whether locations may be had, as in `authorized`; nil when it is not told.
  public var authorization: String?
  /// Each location service by name: `available`, or why it is not.
  public var services: [String: String] = [:]
  /// The reference frames in which attitudes can be told, the best first.
  public var frames: [String] = []
  /// What is told less well than was asked for, by service, with the reason and what would help.
  public var degradations: [String: String] = [:]
  /// How the device lies; nil when that is not known.
  public var orientation: DeviceOrientation?
  /// What attitudes and accelerations are levelled by; nil when they are the device's own.
  public var level: Level?
  /// What the magnetometer measures, and whether it needs a calibration; nil without one.
  public var compass: CompassReport?
  /// How far navigation has come; nil where there is nothing to navigate by.
  public var navigation: NavigationReport?
  /// How far the vehicle has come; nil where nothing counts it.
  public var odometer: OdometerReading?
  /// By what share of the vehicle's own way more is measured than its own odometer says, as in 0.06; nil where both agree within
  /// 4 %, and where it tells none.
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

  /// The reasons with each text once, under `attitude` or else the first name; the other names refer to that.
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

  /// The reasons with each reference replaced by the text.
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

  public init(json: JSONValue) throws(JSONError) {
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
