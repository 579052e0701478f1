package import Fleet
internal import JSON

/// What a simulated vehicle has told in a run: its numbers, from 1 on, and those of which the broker never said that it has
/// them. Of these nobody promises anything; every other has to arrive.
package struct ToldNumbers: Hashable, Sendable {
  package var vehicle: VehicleKey
  package var epoch: String
  /// 0 for none.
  package var last: Int64
  /// In order and apart from each other.
  package var unacknowledged: [ClosedRange<Int64>]

  package init(vehicle: VehicleKey, epoch: String, last: Int64, unacknowledged: [ClosedRange<Int64>] = []) {
    (self.vehicle, self.epoch, self.last) = (vehicle, epoch, last)
    self.unacknowledged = unacknowledged
  }

  /// More are not believed: a count is kept of each.
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

  /// nil for what is no such line.
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

/// What a process of `odograph simulate` has told, as a file of JSON lines: a head, and a line for each vehicle.
package struct ToldFile: Sendable {
  /// Where its topics begin.
  package var root: String
  package var numbers: [ToldNumbers]

  package init(root: String, numbers: [ToldNumbers]) { (self.root, self.numbers) = (root, numbers) }

  private static let version: Int64 = 1

  package var bytes: [UInt8] {
    let head = JSONWriter.object { json in
      json.field("simulated", Self.version)
      json.field("root", root)
      json.field("vehicles", numbers.count)
    }
    return numbers.reduce(into: head + [0x0A]) { $0 += $1.line }
  }

  /// - Parameter path: for messages.
  /// - Throws: `FleetError` with the line that is wrong.
  package init(_ bytes: [UInt8], of path: String) throws(FleetError) {
    func wrong(_ line: Int, _ cause: String) -> FleetError {
      .usage(
        "read", "\(path), line \(line)", cause + "; name a file that odograph simulate --told has written")
    }
    var lines = bytes.split(separator: 0x0A)[...]
    guard let first = lines.popFirst(), let head = try? JSONValue(parsing: Array(first)),
      head["simulated"]?.integer == Self.version, let root = head["root"]?.string,
      let count = head["vehicles"]?.integer
    else { throw wrong(1, "it is no head of such a file") }
    self.init(root: root, numbers: [])
    for (place, line) in lines.enumerated() {
      guard let json = try? JSONValue(parsing: Array(line)), let told = ToldNumbers(json) else {
        throw wrong(place + 2, "it does not say a vehicle's numbers")
      }
      numbers.append(told)
    }
    guard numbers.count == count else {
      throw wrong(lines.count + 1, "it ends after \(numbers.count) vehicles of \(count)")
    }
  }
}
