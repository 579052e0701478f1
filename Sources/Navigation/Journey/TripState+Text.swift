public import Sensors
internal import Spatial

// The format consists of readable lines "key value ...": a version, the values, and a checksum over all
// previous lines. An unknown value is "-". Keys of later minor versions are skipped.
extension TripState {
  private static let firstLine = "odograph-trips 1"

  /// The state as UTF-8 text. Numbers have all significant digits, except those of tracks (1 cm, 1 ms).
  public var text: String {
    var lines = [Self.firstLine, "series \(String(series, radix: 16))", "count \(count)", "events \(events)"]
    func add(_ key: String, _ write: (inout TripFields) -> Void) {
      var words = TripFields()
      write(&words)
      lines.append("\(key) \(words.text)")
    }
    if let boundary { add("boundary") { $0.write(boundary) } }
    if let seen { add("seen") { $0.write(seen) } }
    if let speed { add("speed") { $0.write(speed) } }
    if let ignition { lines.append("ignition \(ignition ? "on" : "off")") }
    if let driver { add("driver") { $0.write(driver) } }
    if let purpose { add("purpose") { $0.write(purpose) } }
    if let trip { add("trip") { trip.write(to: &$0) } }
    for event in lasting { add("lasting") { event.write(to: &$0) } }
    for record in unconfirmed { add("told") { record.write(to: &$0) } }
    return CheckedLines.text(lines)
  }

  /// Parses a text created by `text`.
  /// - Throws: `StoredStateError` with the line.
  public init(text: String) throws(StoredStateError) {
    func failure(_ line: Int, _ problem: String) -> StoredStateError {
      StoredStateError(
        description: "line \(line): \(problem); remove the file to start a new series of trips")
    }
    guard let lines = CheckedLines.lines(of: text) else {
      throw failure(
        text.utf8.count { $0 == UInt8(ascii: "\n") } + 1, "the checksum does not match, the file is damaged")
    }
    guard lines.first == Self.firstLine[...] else { throw failure(1, "not a trip file of this version") }
    guard lines.count > 1, lines[1].hasPrefix("series "),
      let series = UInt64(lines[1].dropFirst(7), radix: 16)
    else { throw failure(2, "series is missing or invalid") }
    self.init(series: series)
    for (index, line) in lines.enumerated().dropFirst(2) {
      guard let space = line.firstIndex(of: " ") else { continue }
      var words = TripFields(line[line.index(after: space)...])
      do throws(TripFields.Failure) {
        switch line[..<space] {
        case "count": count = try words.integer(in: 0...Int(Int32.max))
        case "events": events = try words.integer(in: 0...Int(Int32.max))
        case "boundary": boundary = try words.point()
        case "seen": seen = try words.point()
        case "speed": speed = try words.number(in: 0...OdometerSample.fastest)
        case "ignition": ignition = try words.word() == "on"
        case "driver": driver = try words.string()
        case "purpose": purpose = try words.string()
        case "trip": trip = try OpenTrip(&words)
        case "lasting": lasting.append(try StoredEvent(&words))
        case "told": unconfirmed.append(try TripRecord(&words))
        default: break
        }
      } catch {
        throw failure(index + 1, "\(line[..<space]): value \(words.position) is invalid")
      }
    }
    unconfirmed = Array(unconfirmed.suffix(Self.mostUnconfirmed))
    lasting = Array(lasting.suffix(Self.mostLasting))
    if boundary == nil { trip = nil }
  }
}

extension OpenTrip {
  fileprivate func write(to words: inout TripFields) {
    words.write(number.map(Double.init))
    words.write(Double(revision))
    words.write(kind.rawValue)
    words.write(start)
    words.write(end)
    for number in [origin, elapsed, endElapsed, toldElapsed, moving, standing, idling, pendingIdling] {
      words.write(number)
    }
    words.write(hasMoved)
    words.write(knowsIgnition)
    for number in [greatestSpeed, fuel, electricity] { words.write(number) }
    words.write(counts)
    words.write(track)
  }

  fileprivate init(_ words: inout TripFields) throws(TripFields.Failure) {
    let number = try words.optional(in: 1...Double(Int32.max)).map { Int($0) }
    let revision = try words.integer(in: 0...Int(Int32.max))
    let kind = try words.kind()
    let start = try words.point()
    self.init(kind: kind, start: start, boundary: start)
    (self.number, self.revision) = (number, revision)
    end = try words.point()
    origin = try words.number(in: 0...OdometerState.farthest)
    elapsed = try words.seconds()
    endElapsed = try words.seconds()
    toldElapsed = try words.seconds()
    moving = try words.seconds()
    standing = try words.seconds()
    idling = try words.seconds()
    pendingIdling = try words.seconds()
    hasMoved = try words.flag()
    knowsIgnition = try words.flag()
    greatestSpeed = try words.optional(in: 0...OdometerSample.fastest)
    fuel = try words.optional(in: 0...1e9)
    electricity = try words.optional(in: -1e9...1e9)
    counts = try words.counts()
    track = try words.track()
  }
}

extension TripRecord {
  fileprivate func write(to words: inout TripFields) {
    words.write(String(series, radix: 16))
    words.write(Double(number))
    words.write(Double(revision))
    words.write(phase.rawValue)
    words.write(kind.rawValue)
    words.write(start)
    words.write(end)
    for number in [moving, standing, idling, greatestSpeed, fuel, electricity] { words.write(number) }
    words.write(counts)
    words.write(driver)
    words.write(purpose)
    words.write(track)
  }

  fileprivate init(_ words: inout TripFields) throws(TripFields.Failure) {
    guard let series = UInt64(try words.string(), radix: 16) else { throw TripFields.Failure() }
    let number = try words.integer(in: 1...Int(Int32.max))
    let revision = try words.integer(in: 1...Int(Int32.max))
    guard let phase = Phase(rawValue: try words.string()) else { throw TripFields.Failure() }
    let kind = try words.kind()
    self.init(
      series: series, number: number, revision: revision, phase: phase, kind: kind, start: try words.point(),
      end: try words.point(), moving: try words.seconds(), standing: try words.seconds(),
      idling: try words.optional(in: 0...1e12),
      greatestSpeed: try words.optional(in: 0...OdometerSample.fastest),
      fuel: try words.optional(in: 0...1e9), electricity: try words.optional(in: -1e9...1e9),
      counts: try words.counts(), driver: try words.optionalString(), purpose: try words.optionalString(),
      track: try words.track())
  }
}
