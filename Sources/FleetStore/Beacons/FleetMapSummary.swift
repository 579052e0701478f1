internal import JSON
internal import Sensors
internal import Spatial
internal import Telemetry

/// The statistics of a beacon map.
package struct FleetMapSummary: Hashable, Sendable {
  struct Group: Hashable, Sendable {
    var name: String
    /// The number of beacons for each name, such as `wifi`; largest number first.
    var counts: [(name: String, count: Int)]

    static func == (a: Group, b: Group) -> Bool {
      a.name == b.name && a.counts.elementsEqual(b.counts) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
  }

  var count: Int
  var groups: [Group]

  /// The limits of the age classes in days since a beacon was last received.
  private static let ages = [7, 30, 90, 180]
  /// The number of areas listed separately; the remaining areas share one line.
  private static let mostAreas = 10

  /// Computes the statistics of a map.
  ///
  /// - Parameter day: today in days since 1970.
  package init(_ map: [FleetBeacon], day: Int) {
    count = map.count
    let areas = Self.counted(
      map.map { Geohash($0.place.coordinate, length: BeaconPiece.cellLength)?.text ?? "none" })
    let others = areas.dropFirst(Self.mostAreas)
    let ages = map.map { beacon in
      Self.ages.first { day - beacon.place.lastSeen < $0 }.map { "under \($0) days" } ?? "180 days or more"
    }
    groups = [
      Group(name: "technology", counts: Self.counted(map.map { "\($0.place.beacon.technology)" })),
      Group(name: "source", counts: Self.counted(map.map { $0.service ?? FleetMapFile.own })),
      Group(name: "last heard", counts: Self.counted(ages)),
      Group(
        name: "area",
        counts: Array(areas.prefix(Self.mostAreas))
          + (others.isEmpty ? [] : [("\(others.count) others", others.reduce(0) { $0 + $1.count })])),
    ]
  }

  private static func counted(_ names: [String]) -> [(name: String, count: Int)] {
    var counts: [String: Int] = [:]
    for name in names { counts[name, default: 0] += 1 }
    return counts.map { (name: $0.key, count: $0.value) }.sorted {
      ($1.count, $0.name) < ($0.count, $1.name)
    }
  }

  package var text: String {
    let rows = groups.flatMap { group in
      group.counts.enumerated().map { [$0 == 0 ? group.name : "", $1.name, "\($1.count)"] }
    }
    return TextColumns.text([["", "", "BEACONS"], ["all", "", "\(count)"]] + rows, right: [2])
  }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.field("beacons", count)
      for (name, group) in zip(["technology", "source", "lastHeard", "area"] as [StaticString], groups) {
        json.field(name) { json in
          for (name, count) in group.counts {
            json.key(name)
            json.value(count)
          }
        }
      }
    }
  }
}

/// Alignment of texts in columns.
package enum TextColumns {
  /// Returns rows as text, with the columns aligned.
  ///
  /// - Parameters:
  ///   - rows: the texts of each row.
  ///   - right: the indices of the right-aligned columns.
  package static func text(_ rows: [[String]], right: Set<Int>) -> String {
    var widths: [Int] = []
    for row in rows {
      for (column, text) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], text.count)
      }
    }
    return rows.map { row in
      var line = row.enumerated().map { column, text in
        let space = String(repeating: " ", count: widths[column] - text.count)
        return right.contains(column) ? space + text : text + space
      }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      return line + "\n"
    }.joined()
  }
}
