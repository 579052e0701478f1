import Foundation
import Positioning

/// Finds the polygons that contain positions, and prints a CSV row for each engine.
@main
struct RegionBenchmark {
  static let usage = "usage: region-benchmark [--count 1000,23000,100000] [--checks 1000000] [--without-peer]"

  static func main() {
    var counts = [1000, 23_000, 100_000]
    var checks = 1_000_000
    var hasPeer = true
    var words = CommandLine.arguments.dropFirst().makeIterator()
    while let word = words.next() {
      switch word {
      case "--count":
        counts = (words.next() ?? "").split(separator: ",").compactMap { Int($0) }
        if counts.isEmpty || counts.contains(where: { $0 < 1 }) { fail("--count requires numbers from 1") }
      case "--checks":
        guard let number = words.next().flatMap({ Int($0) }), number > 0 else {
          fail("--checks requires a number")
        }
        checks = number
      case "--without-peer": hasPeer = false
      default: fail("unknown option \(word)")
      }
    }
    print("count,engine,checks_per_second")
    for count in counts {
      let fences = Fences(count: count, positions: checks)
      let own = odograph(fences)
      row(count, "odograph", own.rate)
      guard hasPeer else { continue }
      do {
        let peer = try GEOS.run(fences)
        row(count, "geos", peer.rate)
        // Edges are straight on the map in one engine and on the earth in the other: about one position in 100,000 differs.
        let difference = abs(own.hits - peer.hits)
        if difference > 1 + own.hits / 1000 {
          fail("\(count) polygons: \(own.hits) hits against \(peer.hits) of GEOS", code: 1)
        }
      } catch {
        FileHandle.standardError.write(Data("region-benchmark: without GEOS: \(error)\n".utf8))
        hasPeer = false
      }
    }
  }

  private static func odograph(_ fences: Fences) -> (rate: Double, hits: Int) {
    var monitor = RegionMonitor()
    let acceptance = monitor.replaceAll(
      fences.polygons.enumerated().map { Region(identifier: "fence-\($0.offset)", rings: [$0.element]) })
    guard acceptance.refused.isEmpty else { fail("refused: \(acceptance.refused[0])", code: 1) }
    var hits = 0
    var best = Double.infinity
    // Processor time, the best of three: other load on the machine can only increase it.
    for _ in 0..<3 {
      hits = 0
      let start = clock()
      for position in fences.positions { monitor.forEachRegion(at: position) { _ in hits += 1 } }
      best = min(best, Double(clock() - start) / Double(CLOCKS_PER_SEC))
    }
    return (Double(fences.positions.count) / best, hits)
  }

  private static func row(_ count: Int, _ engine: String, _ rate: Double) {
    print("\(count),\(engine),\(Int(rate))")
    fflush(nil)
  }

  private static func fail(_ text: String, code: Int32 = 64) -> Never {
    FileHandle.standardError.write(Data("region-benchmark: \(text)\n\(code == 64 ? usage + "\n" : "")".utf8))
    exit(code)
  }
}
