package import JSON
internal import Navigation
package import Spatial
package import Telemetry

/// A command with its arguments, checked.
package enum RemoteCommand: Hashable, Sendable {
  /// - Parameters:
  ///   - accuracy: metres at 68 % that are good enough.
  ///   - timeout: seconds to wait for such a fix.
  case locate(accuracy: Double, timeout: Double)
  case status
  case reload
  /// - Parameter to: nil is now.
  case track(from: UTCTime, to: UTCTime?)
  /// Forgets which regions the vehicle is in, and decides anew.
  case resetRegions
  /// Deletes the regions that were set remotely; the configuration's are watched again.
  case forgetRegions
  /// Tells whether the vehicle is inside a region, and since when.
  /// - Parameter identifier: nil is all that are watched.
  case regionState(identifier: String?)
  /// Tells attitudes relative to now, too; or no longer.
  case zero(isCleared: Bool)
  /// Measures how the device is tilted in the vehicle, and takes it for level from now on; or takes it as it is again.
  case level(isCleared: Bool)
  /// What the accelerometer's recorder has of a time, a piece of it.
  /// - Parameter to: nil is now.
  case history(from: UTCTime, to: UTCTime?)
  /// Takes over what the instrument panel shows.
  /// - Parameter reading: metres.
  case setOdometer(reading: Double)
  /// Says who drives and what a trip is for; an empty text takes it back, nil leaves it as it is.
  case setTrip(driver: String?, purpose: String?)
  /// Raw samples from now on; nil kinds are those that are there.
  case samples(seconds: Double, rate: Double, kinds: Set<SamplePiece.Kind>?)
  /// Keeps every sensor around a moment of the last half minute.
  case trace(TraceRequest)

  package static let names = [
    "locate", "status", "reload", "track", "reset-regions", "forget-regions", "region-state", "zero",
    "level", "history", "samples", "set-odometer", "set-trip", "trace",
  ]
  /// Bytes of a request.
  package static let sizeLimit = 65_536

  /// - Throws: `JSONError` saying what is wrong with the request.
  package init(name: String, arguments json: JSONValue) throws(JSONError) {
    switch name {
    case "locate":
      self = .locate(
        accuracy: try json.number("accuracy", in: 1...100_000) ?? 50,
        timeout: try json.number("timeout", in: 0...300) ?? 30)
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
        "there is no command \"\(name.prefix(40))\"; there are \(Self.names.joined(separator: ", "))")
    }
  }

  /// What the sender calls its request, at most 64 bytes of UTF-8; nil when it has no name for it.
  package static func identifier(_ arguments: JSONValue) throws(JSONError) -> String? {
    guard let member = arguments["id"] else { return nil }
    guard let text = member.string, text.utf8.count <= 64 else {
      throw JSONError("key \"id\": not a text of at most 64 bytes")
    }
    return text
  }

  /// The arguments of a request: a JSON object, or nothing at all.
  package static func arguments(_ payload: [UInt8]) throws(JSONError) -> JSONValue {
    if payload.isEmpty { return .object([:]) }
    guard payload.count <= sizeLimit else { throw JSONError("more than \(sizeLimit) bytes") }
    let json = try JSONValue(parsing: payload)
    guard case .object = json else { throw JSONError("not a JSON object") }
    return json
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
  /// Bytes of who drives and what for.
  private static let longestLabel = 200

  /// Nil where the key is missing.
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
