package import JSON
internal import Navigation
package import Spatial
package import Telemetry

/// A validated command with its arguments.
package enum RemoteCommand: Hashable, Sendable {
  /// - Parameters:
  ///   - accuracy: sufficient accuracy in m (68 %).
  ///   - timeout: time limit in s for such a fix.
  case locate(accuracy: Double, timeout: Double)
  case status
  case reload
  /// - Parameter to: end of the span; nil for now.
  case track(from: UTCTime, to: UTCTime?)
  /// Resets all region states and decides them again.
  case resetRegions
  /// Deletes the remote regions; the configuration's are monitored again.
  case forgetRegions
  /// Reports the state of a region, and since when.
  /// - Parameter identifier: identifier of the region; nil for all.
  case regionState(identifier: String?)
  /// Publishes attitudes relative to the current one, too; or clears that reference.
  case zero(isCleared: Bool)
  /// Measures the tilt of the device in the vehicle and compensates it; or clears the compensation.
  case level(isCleared: Bool)
  /// Returns a piece of the accelerometer recording of a time span.
  /// - Parameter to: end of the span; nil for now.
  case history(from: UTCTime, to: UTCTime?)
  /// Sets the odometer to the reading of the instrument panel.
  /// - Parameter reading: reading in m.
  case setOdometer(reading: Double)
  /// Sets driver and purpose of a trip; an empty text clears the value, nil leaves it unchanged.
  case setTrip(driver: String?, purpose: String?)
  /// Collects raw samples from now on; nil for all available kinds.
  case samples(seconds: Double, rate: Double, kinds: Set<SamplePiece.Kind>?)
  /// Records the accelerometer from now on.
  case record(seconds: Double)
  /// Replaces the position of recorded or simulated input.
  case simulateLocation(LocationSimulation)
  /// Stores a trace of all sensors around a time within the last half minute.
  case trace(TraceRequest)

  package static let names = [
    "locate", "status", "reload", "track", "reset-regions", "forget-regions", "region-state", "zero",
    "level", "history", "samples", "set-odometer", "set-trip", "trace", "record", "simulate-location",
  ]
  /// Seconds that `locate` waits by default: a receiver without orbits (`FixDelay.cold`) finds a position within them.
  package static let locateTimeout = 60.0
  /// Metres at 68 % that `locate` requests by default.
  package static let locateAccuracy = 50.0
  /// Bytes of a request.
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

  /// Returns the sender's identifier of the request, at most 64 bytes of UTF-8; nil if it has none.
  package static func identifier(_ arguments: JSONValue) throws(JSONError) -> String? {
    guard let member = arguments["id"] else { return nil }
    guard let text = member.string, text.utf8.count <= 64 else {
      throw JSONError("key \"id\": not a text of at most 64 bytes")
    }
    return text
  }

  /// Returns the arguments of a request: a JSON object, or an empty payload.
  package static func arguments(_ payload: [UInt8]) throws(JSONError) -> JSONValue {
    if payload.isEmpty { return .object([:]) }
    guard payload.count <= sizeLimit else { throw JSONError("more than \(sizeLimit) bytes") }
    let json = try JSONValue(parsing: payload)
    guard case .object = json else { throw JSONError("not a JSON object") }
    return json
  }
}

/// The position that `simulate-location` selects.
package enum LocationSimulation: Hashable, Sendable {
  /// The positions of the recording or the simulation.
  case input
  /// No fix.
  case none
  case place(Coordinate)
  /// The file name of a track.
  case track(String)

  /// Maximum length of a file name in bytes.
  private static let nameLimit = 255

  /// - Throws: `JSONError` unless exactly one of them is given.
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
  /// Maximum length of driver and purpose in bytes.
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
