import AgentCore
import JSON
import Positioning
import Sensors
import Spatial
import Telemetry
import Testing

/// Requested pieces of the fleet's beacon map, and validation of received ones.
@Suite struct WantedBeaconsTests {
  private static let place = Coordinate(latitude: 48.137431, longitude: 11.575490)
  private static let time = UTCTime(nanoseconds: 1_795_248_930_000_000_000)

  private func pieces(_ count: Int, of text: String) throws -> [BeaconPiece] {
    let cell = try #require(Geohash(text))
    let middle = Coordinate(
      latitude: (cell.southWest.latitude + cell.northEast.latitude) / 2,
      longitude: (cell.southWest.longitude + cell.northEast.longitude) / 2)
    return BeaconPiece.pieces(
      of: cell,
      (1...max(1, count)).prefix(count).compactMap { number in
        Beacon(accessPoint: UInt64(number)).map {
          MappedBeacon(beacon: $0, coordinate: middle, reach: 60, sightings: 4, lastSeen: 20_780)
        }
      })
  }

  private func due(_ wanted: inout WantedBeacons, _ seconds: Double, _ place: Coordinate? = place)
    -> [String: String?]?
  {
    wanted.due(at: Timestamp(seconds: seconds), place: place, time: Self.time).map { message in
      Dictionary(uniqueKeysWithValues: message.cells.map { ($0.cell.text, $0.version) })
    }
  }

  @Test func requestsNearbyCellsAndRepeatsWithVersions() throws {
    var wanted = WantedBeacons(versions: [:])
    #expect(due(&wanted, 0, nil) == nil)
    let cells = try #require(due(&wanted, 0))
    #expect(cells.keys.contains("u281") && cells.count <= 4 && cells.values.allSatisfy { $0 == nil })
    #expect(due(&wanted, 61) == nil)
    let all = try pieces(4000, of: "u281")
    #expect(all.count == 2)
    var taken: [Bool] = []
    for piece in all {
      taken += try wanted.accept(piece.payload, at: Timestamp(seconds: 70)).map { [$0.isLast] } ?? []
    }
    #expect(taken == [false, true])
    #expect(try #require(due(&wanted, 71))["u281"] == all[0].version)
    // A repeated piece is ignored.
    #expect(try wanted.accept(all[1].payload, at: Timestamp(seconds: 80)) == nil)
    // After a restart, the stored versions are used.
    var next = WantedBeacons(versions: ["u281": all[0].version, "no cell": "x", "u283": "no version"])
    #expect(try #require(due(&next, 0))["u281"] == all[0].version)
    // About 20 km further, other cells are requested, but at most one request per minute is sent.
    let north = Coordinate(latitude: 48.30, longitude: 11.5755)
    #expect(due(&wanted, 72, north) == nil)
    let moved = try #require(due(&wanted, 140, north))
    #expect(moved.keys.contains("u284"))
  }

  @Test func unansweredRequestIsRepeated() throws {
    var wanted = WantedBeacons(versions: [:])
    let first = try #require(due(&wanted, 0))
    #expect(due(&wanted, 3599) == nil)
    #expect(due(&wanted, 3601) == first)
  }

  @Test func unrequestedPiecesAreRejectedWithAReport() throws {
    var wanted = WantedBeacons(versions: [:])
    let piece = try #require(try pieces(5, of: "u281").first)
    #expect(throws: JSONError.self) { try wanted.accept(piece.payload, at: Timestamp(seconds: 0)) }
    _ = due(&wanted, 1)
    let other = try #require(try pieces(5, of: "9q8y").first)
    #expect(throws: JSONError.self) { try wanted.accept(other.payload, at: Timestamp(seconds: 2)) }
    for text in ["", "[]", "{", #"{"cell":"u281"}"#, "\u{0}"] {
      #expect(throws: JSONError.self) { try wanted.accept(Array(text.utf8), at: Timestamp(seconds: 2)) }
    }
    let message = wanted.due(at: Timestamp(seconds: 62), place: Self.place, time: Self.time)
    let refused = try #require(message?.refused)
    #expect(refused.contains { $0.cell == "9q8y" && $0.reason.contains("not requested") })
    #expect(refused.contains { $0.cell == "u281" && $0.reason.contains("version") })
    #expect(wanted.due(at: Timestamp(seconds: 200), place: Self.place, time: Self.time) == nil)
  }

  @Test func piecesPerHourAreLimited() throws {
    var wanted = WantedBeacons(versions: [:])
    _ = due(&wanted, 0)
    var taken = 0
    for count in 1...100 {
      let piece = try #require(try pieces(count, of: "u281").first)
      if (try? wanted.accept(piece.payload, at: Timestamp(seconds: Double(count)))) != nil { taken += 1 }
    }
    #expect(taken == WantedBeacons.mostOfCell)
    let later = try #require(try pieces(200, of: "u281").first)
    #expect(try wanted.accept(later.payload, at: Timestamp(seconds: 4000)) != nil)
  }

  /// In a dense area, the surrounding cells have eight pieces each; 15 minutes later, others do.
  @Test func denseCellIsCompletedWithinAnHour() throws {
    var wanted = WantedBeacons(versions: [:])
    for (turn, place) in [Self.place, Coordinate(latitude: 48.5, longitude: 11.575490)].enumerated() {
      let time = Double(turn) * 900
      let cells = try #require(due(&wanted, time, place))
      // Each cell gets the maximum number of pieces, with 1, 2, 3, … beacons.
      for cell in cells.keys {
        for count in 1...BeaconPiece.largestCount {
          let piece = try #require(try pieces(count, of: cell).first)
          #expect(try wanted.accept(piece.payload, at: Timestamp(seconds: time + 1)) != nil)
        }
      }
    }
  }

  /// A road that alternates across the request limit of a cell causes only one request.
  @Test func cellBoundaryHasHysteresis() throws {
    // The northern border of u281 is at 48.164°; u284 is north of it.
    func place(_ metres: Double) -> Coordinate {
      Coordinate(latitude: 48.1640625 - metres / 111_195, longitude: 11.5755)
    }
    var wanted = WantedBeacons(versions: [:])
    let cells = try #require(due(&wanted, 0, place(4900)))
    #expect(cells.keys.contains("u284"))
    for turn in 1...20 {
      #expect(due(&wanted, Double(turn) * 100, place(turn.isMultiple(of: 2) ? 4900 : 5200)) == nil, "\(turn)")
    }
    let left = try #require(due(&wanted, 3000, place(10_300)))
    #expect(!left.keys.contains("u284") && left.keys.contains("u281"))
  }

  /// An evicted cell is requested again, but not while the vehicle stays: it would be evicted again.
  @Test func evictedCellIsRequestedOnReturn() throws {
    var wanted = WantedBeacons(versions: ["u281": "0123456789abcdef", "9q8y": "0123456789abcdef"])
    #expect(try #require(due(&wanted, 0))["u281"] == "0123456789abcdef")
    wanted.forget(["u281", "9q8y", "no cell"])
    #expect(due(&wanted, 100) == nil)
    #expect(
      try #require(due(&wanted, 200, Coordinate(latitude: 37.8, longitude: -122.4)))["9q8y"] == .some(nil))
    #expect(try #require(due(&wanted, 300))["u281"] == .some(nil))
  }
}
