internal import Bytes
internal import Fleet
internal import FleetStore
internal import Hummingbird
internal import Spatial
internal import Telemetry

/// The parameters of a history request. Unknown names are rejected: a misspelt `from` must not return the
/// whole history.
struct HistoryQuery {
  private var values: [String: [String]] = [:]

  /// The maximum length of a parameter in bytes.
  private static let longest = 512
  /// The maximum length in bytes of the parameter `after`, which contains the encoded names of fleet and
  /// vehicle.
  private static let longestPlace = 4 * (4 * 2 * longestName + 128) / 3
  /// The maximum number of values of a repeated parameter.
  private static let most = 100

  init(_ request: Request, _ names: [String]) throws(WebError) {
    for (key, value) in request.uri.queryParameters {
      let name = String(key)
      guard names.contains(name) else {
        throw .parameter(
          String(name.prefix(40)), "unknown parameter",
          remedy: names.isEmpty ? "leave it out" : "available: \(names.joined(separator: ", "))")
      }
      let longest = name == "after" ? Self.longestPlace : Self.longest
      guard value.utf8.count <= longest else {
        throw .parameter(name, "it is too long", remedy: "give \(longest) bytes at most")
      }
      guard !value.utf8.contains(0) else {
        throw .parameter(name, "it has a zero byte", remedy: "leave it out")
      }
      values[name, default: []].append(String(value))
      guard values[name]?.count ?? 0 <= Self.most else {
        throw .parameter(name, "too many values", remedy: "give \(Self.most) at most")
      }
    }
  }

  /// The maximum length of a fleet or vehicle name in characters, as in the API's documentation.
  private static let longestName = 200

  /// Returns the values of a repeated parameter.
  func texts(_ name: String) -> [String] { values[name] ?? [] }

  /// Returns the keywords of a repeated parameter.
  func words(_ name: String, among known: [String]) throws(WebError) -> [String] {
    for word in texts(name) where !known.contains(word) {
      throw .parameter(
        name, "\"\(word.prefix(40))\" is not known", remedy: "use one of \(known.joined(separator: ", "))")
    }
    return texts(name)
  }

  func text(_ name: String) throws(WebError) -> String? {
    guard let all = values[name] else { return nil }
    guard all.count == 1, let text = all.first else {
      throw .parameter(name, "has \(all.count) values", remedy: "give it once")
    }
    return text
  }

  func integer(_ name: String, _ range: ClosedRange<Int>) throws(WebError) -> Int? {
    guard let text = try text(name) else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw .parameter(
        name, "\"\(text.prefix(40))\" is not an integer in range",
        remedy: "give \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  // MARK: Times

  /// Parses an RFC 3339 time, or a day, which starts at midnight UTC.
  func time(_ name: String) throws(WebError) -> UTCTime? {
    guard let text = try text(name) else { return nil }
    // An unescaped plus sign is decoded as a space.
    let written = text.replacing(" ", with: "+")
    if let time = UTCTime(rfc3339: written) ?? UTCTime(rfc3339: written + "T00:00:00Z") { return time }
    throw .parameter(
      name, "\"\(text.prefix(40))\" is not a time",
      remedy: "write it as 2026-11-21T08:15:30Z, with an offset like %2B01:00, or a day as 2026-11-21")
  }

  /// Returns `from` and `to`, each nil if missing.
  func times() throws(WebError) -> (from: UTCTime?, to: UTCTime?) {
    let (from, to) = (try time("from"), try time("to"))
    if let from, let to, to <= from {
      throw .parameter("to", "must be after from", remedy: "give a later time")
    }
    return (from, to)
  }

  /// Returns `from` and `to`, which are both required.
  func span(days: Int) throws(WebError) -> (from: UTCTime, to: UTCTime) {
    let (from, to) = try times()
    guard let from else {
      throw .parameter("from", "it is missing", remedy: "set the start time")
    }
    guard let to else {
      throw .parameter("to", "it is missing", remedy: "set the end time")
    }
    // Times are compared, because their difference overflows for times centuries apart.
    guard to <= from.advanced(bySeconds: Double(days) * 86_400) else {
      throw .parameter("to", "it is more than \(days) days after from", remedy: "request a shorter period")
    }
    return (from, to)
  }

  // MARK: Selection

  /// Returns the selected rows among those that a principal can see.
  func part(_ principal: Principal) throws(WebError) -> RecordingSelection {
    var part = RecordingSelection()
    (part.from, part.to) = try times()
    (part.fleets, part.vehicles) = (texts("fleet"), texts("vehicle"))
    for (name, values) in [("fleet", part.fleets), ("vehicle", part.vehicles)] {
      guard values.allSatisfy({ $0.unicodeScalars.count <= Self.longestName }) else {
        throw .parameter(
          name, "too long for a name", remedy: "give \(Self.longestName) characters at most")
      }
    }
    part.scope = RecordingScope(principal.scope)
    return part
  }

  // MARK: Pages

  /// Returns the position in `after`, which is `next` of the previous page.
  func after() throws(WebError) -> JournalPosition? {
    guard let text = try text("after") else { return nil }
    guard let place = JournalPosition(word: text) else {
      throw .parameter(
        "after", "not a valid page", remedy: "use the value of next of the previous page")
    }
    return place
  }
}

extension RecordingScope {
  init(_ scope: Scope) { self.init(fleets: scope.fleets?.sorted(), vehicles: scope.vehicles.sorted()) }
}

extension JournalPosition {
  /// The position as text for a URL.
  package var word: String {
    let text = "\(time)/\(number.series)/\(number.number)/\(vehicle.fleet)/\(vehicle.vehicle)"
    return Base64.encode(Array(text.utf8)).replacing("+", with: "-").replacing("/", with: "_")
      .replacing("=", with: "")
  }

  /// Parses a position; nil for an invalid text.
  init?(word: String) {
    var coded = word.replacing("-", with: "+").replacing("_", with: "/")
    while coded.utf8.count % 4 != 0 { coded += "=" }
    guard let bytes = Base64.decode(coded), let text = String(validating: bytes, as: UTF8.self) else {
      return nil
    }
    let parts = text.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, let time = Int64(parts[0]), let number = Int64(parts[2]),
      // The time in milliseconds must not overflow 64-bit nanoseconds.
      abs(time / 2) < 4_000_000_000_000, !text.utf8.contains(0)
    else { return nil }
    self.init(
      time: time, vehicle: VehicleKey(fleet: String(parts[3]), vehicle: String(parts[4])),
      number: JournalNumber(series: String(parts[1]), number: number))
  }
}
