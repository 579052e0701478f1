package import Fleet
internal import JSON

/// The sequence numbers that a simulated vehicle has sent in a run, from 1, and those whose messages the
/// broker never acknowledged. Unacknowledged messages may be lost; all others must arrive.
package struct SentNumbers: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var epoch: String
  /// The last sequence number; 0 if none was sent.
  package var last: Int64
  /// The unacknowledged sequence numbers as disjoint ranges in ascending order.
  package var unacknowledged: [ClosedRange<Int64>]

  package init(vehicle: VehicleKey, epoch: String, last: Int64, unacknowledged: [ClosedRange<Int64>] = []) {
    (self.vehicle, self.epoch, self.last) = (vehicle, epoch, last)
    self.unacknowledged = unacknowledged
  }

  /// The maximum sequence number in a file; larger ones are rejected, because `odograph verify` counts each
  /// number.
  package static let most: Int64 = 100_000_000

  var line: [UInt8] {
    JSONWriter.object { json in
      json.field("fleet", vehicle.fleet)
      json.field("vehicle", vehicle.vehicle)
      json.field("epoch", epoch)
      json.field("last", last)
      json.key("unacknowledged")
      json.openArray()
      for range in unacknowledged {
        json.openArray()
        json.value(range.lowerBound)
        json.value(range.upperBound)
        json.closeArray()
      }
      json.closeArray()
    } + [0x0A]
  }

  /// Parses a line of the file; nil for an invalid one.
  init?(_ json: JSONValue) {
    guard let fleet = json["fleet"]?.string, let vehicle = json["vehicle"]?.string,
      let epoch = json["epoch"]?.string, let last = json["last"]?.integer, (0...Self.most).contains(last),
      let ranges = json["unacknowledged"]?.array
    else { return nil }
    self.init(vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), epoch: epoch, last: last)
    for range in ranges {
      guard let bounds = range.array, bounds.count == 2, let from = bounds[0].integer,
        let to = bounds[1].integer, from <= to, from >= 1, to <= last
      else { return nil }
      unacknowledged.append(from...to)
    }
  }
}

/// The sequence numbers that a process of `odograph simulate` has sent, as a file of JSON lines: a header,
/// and a line for each vehicle.
package struct SentNumbersFile: Sendable {
  /// The topic root.
  package var root: String
  package var numbers: [SentNumbers]

  package init(root: String, numbers: [SentNumbers]) { (self.root, self.numbers) = (root, numbers) }

  private static let version: Int64 = 1

  package var bytes: [UInt8] {
    let head = JSONWriter.object { json in
      json.field("simulated", Self.version)
      json.field("root", root)
      json.field("vehicles", numbers.count)
    }
    return numbers.reduce(into: head + [0x0A]) { $0 += $1.line }
  }

  /// Parses a file.
  ///
  /// - Parameter path: the path for error messages.
  /// - Throws: `FleetError` with the invalid line.
  package init(_ bytes: [UInt8], of path: String) throws(FleetError) {
    func wrong(_ line: Int, _ cause: String) -> FleetError {
      .usage(
        "read", "\(path), line \(line)", cause + "; use a file of odograph simulate --told")
    }
    var lines = bytes.split(separator: 0x0A)[...]
    guard let first = lines.popFirst(), let head = try? JSONValue(parsing: Array(first)),
      head["simulated"]?.integer == Self.version, let root = head["root"]?.string,
      let count = head["vehicles"]?.integer
    else { throw wrong(1, "invalid first line") }
    self.init(root: root, numbers: [])
    for (place, line) in lines.enumerated() {
      guard let json = try? JSONValue(parsing: Array(line)), let told = SentNumbers(json) else {
        throw wrong(place + 2, "the sequence numbers of a vehicle are missing")
      }
      numbers.append(told)
    }
    guard numbers.count == count else {
      throw wrong(lines.count + 1, "it ends after \(numbers.count) vehicles of \(count)")
    }
  }
}
