package import JSON
internal import Navigation
package import Spatial
package import Telemetry

/// A validated command with its arguments.
package enum RemoteCommand: Hashable, Sendable {
  /// - Parameters:
  ///   - accuracy: required accuracy in m (68 %).
  ///   - timeout: maximum time in s to wait for a fix of this accuracy.
  case locate(accuracy: Double, timeout: Double)
  case status
  case reload
  /// - Parameters:
  ///   - from: start of the time range.
  ///   - to: end of the time range; nil for now.
  case track(from: UTCTime, to: UTCTime?)
  /// Resets all region states, and decides them by the last valid position.
  case resetRegions
  /// Deletes the remotely set regions; those of the configuration are monitored again.
  case forgetRegions
  /// Reports the state of regions, and since when it applies.
  /// - Parameter identifier: identifier of a region; nil for all regions.
  case regionState(identifier: String?)
  /// Makes the current attitude the reference to which attitudes are also published.
  /// - Parameter isCleared: true to remove the reference instead.
  case zero(isCleared: Bool)
  /// Measures and compensates the tilt of the device in the vehicle.
  /// - Parameter isCleared: true to remove the compensation instead.
  case level(isCleared: Bool)
  /// Returns a part of the accelerometer recording.
  /// - Parameters:
  ///   - from: start of the time range.
  ///   - to: end of the time range; nil for now.
  case history(from: UTCTime, to: UTCTime?)
  /// Sets the odometer to a reading of the vehicle's instrument panel.
  /// - Parameter reading: the reading in m.
  case setOdometer(reading: Double)
  /// Sets driver and purpose of a trip. An empty text clears a value, nil leaves it unchanged.
  case setTrip(driver: String?, purpose: String?)
  /// Collects raw samples from now on.
  /// - Parameters:
  ///   - seconds: duration in s.
  ///   - rate: sample rate in Hz.
  ///   - kinds: kinds of sensors; nil for all available ones.
  case samples(seconds: Double, rate: Double, kinds: Set<SamplePiece.Kind>?)
  /// Records the accelerometer from now on, for a duration in s.
  case record(seconds: Double)
  /// Replaces the position in a replay or simulation.
  case simulateLocation(LocationSimulation)
  /// Stores a trace of all sensors around a time, which must be within the last half minute.
  case trace(TraceRequest)

  package static let names = [
    "locate", "status", "reload", "track", "reset-regions", "forget-regions", "region-state", "zero",
    "level", "history", "samples", "set-odometer", "set-trip", "trace", "record", "simulate-location",
  ]
  /// Default time in s that `locate` waits. A receiver without orbit data finds a position in this time
  /// (`FixDelay.cold`).
  package static let locateTimeout = 60.0
  /// Default accuracy in m (68 %) that `locate` requires.
  package static let locateAccuracy = 50.0
  /// Maximum size of a request in bytes.
  package static let sizeLimit = 65_536

  /// - Throws: `JSONError` that describes the problem with the request.
  package init(name: String, arguments json: JSONValue) throws(JSONError) {
    switch name {
    case "locate":
      self = .locate(
        accuracy: try json.number("accuracy", in: 1...100_000) ?? Self.locateAccuracy,
        timeout: try json.number("timeout", in: 0...300) ?? Self.locateTimeout)
    case "status": self = .status
    case "reload": self = .reload
    case "track", "history":
      guard let from = try json.time("from") else { throw JSONError("key \"from\": missing") }
      let to = try json.time("to")
      if let to, to < from { throw JSONError("key \"to\": before \"from\"") }
      self = name == "track" ? .track(from: from, to: to) : .history(from: from, to: to)
    case "samples":
      self = .samples(
        seconds: try json.number("seconds", in: 0.1...86_400) ?? 10,
        rate: try json.number("rate", in: 0.1...100_000) ?? 50, kinds: try json.kinds("kinds"))
    case "trace":
      self = .trace(
        TraceRequest(
          time: try json.time("at"), before: try json.number("before", in: 0...60),
          after: try json.number("after", in: 0...60)))
    case "record":
      guard let seconds = try json.number("seconds", in: 0.1...604_800) else {
        throw JSONError("key \"seconds\": missing")
      }
      self = .record(seconds: seconds)
    case "simulate-location": self = .simulateLocation(try LocationSimulation(json))
    case "reset-regions": self = .resetRegions
    case "forget-regions": self = .forgetRegions
    case "region-state":
      guard let member = json["region"] else {
        self = .regionState(identifier: nil)
        break
      }
      guard let identifier = member.string, !identifier.isEmpty else {
        throw JSONError("key \"region\": not the identifier of a region")
      }
      self = .regionState(identifier: identifier)
    case "zero": self = .zero(isCleared: json["clear"]?.bool ?? false)
    case "level": self = .level(isCleared: json["clear"]?.bool ?? false)
    case "set-odometer":
      guard let reading = try json.number("odometer", in: 0...OdometerState.farthest) else {
        throw JSONError("key \"odometer\": missing")
      }
      self = .setOdometer(reading: reading)
    case "set-trip":
      let (driver, purpose) = (try json.label("driver"), try json.label("purpose"))
      guard driver != nil || purpose != nil else {
        throw JSONError("keys \"driver\" and \"purpose\": both missing")
      }
      self = .setTrip(driver: driver, purpose: purpose)
    default:
      throw JSONError(
        "unknown command \"\(name.prefix(40))\"; available: \(Self.names.joined(separator: ", "))")
    }
  }

  /// Returns the identifier that the sender gave to the request, at most 64 bytes of UTF-8; nil if the
  /// request has none.
  package static func identifier(_ arguments: JSONValue) throws(JSONError) -> String? {
    guard let member = arguments["id"] else { return nil }
    guard let text = member.string, text.utf8.count <= 64 else {
      throw JSONError("key \"id\": not a text of at most 64 bytes")
    }
    return text
  }

  /// Parses the arguments of a request: a JSON object, or none for an empty payload.
  package static func arguments(_ payload: [UInt8]) throws(JSONError) -> JSONValue {
    if payload.isEmpty { return .object([:]) }
    guard payload.count <= sizeLimit else { throw JSONError("more than \(sizeLimit) bytes") }
    let json = try JSONValue(parsing: payload)
    guard case .object = json else { throw JSONError("not a JSON object") }
    return json
  }
}

/// The source of the positions, as selected by `simulate-location`.
package enum LocationSimulation: Hashable, Sendable {
  /// The original positions of the recording or simulation.
  case input
  /// No fix.
  case none
  case place(Coordinate)
  /// The positions of a track, with its file name.
  case track(String)

  /// Maximum length of a file name in bytes.
  private static let nameLimit = 255

  /// - Throws: `JSONError` unless exactly one source is given.
  fileprivate init(_ json: JSONValue) throws(JSONError) {
    let latitude = try json.number("latitude", in: -90...90)
    let longitude = try json.number("longitude", in: -180...180)
    guard (latitude == nil) == (longitude == nil) else {
      throw JSONError("keys \"latitude\" and \"longitude\": one is missing")
    }
    var choices: [LocationSimulation] = []
    if let latitude, let longitude {
      choices.append(.place(Coordinate(latitude: latitude, longitude: longitude)))
    }
    if let member = json["track"] {
      guard let name = member.string, (1...Self.nameLimit).contains(name.utf8.count), !name.hasPrefix("."),
        !name.contains("/"), name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
      else { throw JSONError("key \"track\": not the name of a file in the vehicle's folder of tracks") }
      choices.append(.track(name))
    }
    if json["none"]?.bool == true { choices.append(.none) }
    if json["clear"]?.bool == true { choices.append(.input) }
    guard choices.count == 1, let choice = choices.first else {
      throw JSONError("give \"latitude\" and \"longitude\", or \"track\", or \"none\", or \"clear\"")
    }
    self = choice
  }
}

extension JSONValue {
  fileprivate func number(_ name: String, in range: ClosedRange<Double>) throws(JSONError) -> Double? {
    guard let member = self[name] else { return nil }
    guard let number = member.double, range.contains(number) else {
      throw JSONError(
        "key \"\(name)\": not a number from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound))"
      )
    }
    return number
  }

  private static func plain(_ number: Double) -> String {
    number == number.rounded() ? "\(Int(number))" : "\(number)"
  }

  fileprivate func kinds(_ name: String) throws(JSONError) -> Set<SamplePiece.Kind>? {
    guard let member = self[name] else { return nil }
    let kinds = (member.array ?? []).map { $0.string.flatMap(SamplePiece.Kind.init) }
    guard !kinds.isEmpty, !kinds.contains(nil) else {
      let names = SamplePiece.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw JSONError("key \"\(name)\": not an array of \(names)")
    }
    return Set(kinds.compactMap { $0 })
  }

  fileprivate func time(_ name: String) throws(JSONError) -> UTCTime? {
    guard let member = self[name] else { return nil }
    guard let time = member.string.flatMap(UTCTime.init(rfc3339:)) else {
      throw JSONError("key \"\(name)\": not an RFC 3339 time, as in 2026-11-21T08:00:00Z")
    }
    return time
  }
}

extension JSONValue {
  /// Maximum length of a driver or purpose in bytes.
  private static let longestLabel = 200

  /// Returns a text; nil if the key is missing.
  fileprivate func label(_ key: String) throws(JSONError) -> String? {
    guard let member = self[key] else { return nil }
    guard let text = member.string, text.utf8.count <= Self.longestLabel,
      text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else {
      throw JSONError(
        "key \"\(key)\": not a text of at most \(Self.longestLabel) bytes without control characters")
    }
    return text
  }
}
