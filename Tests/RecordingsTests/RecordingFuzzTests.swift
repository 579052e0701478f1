import Foundation
import Recordings
import Sensors
import Simulation
import Spatial
import TestSupport
import Testing

/// Damaged recordings. Reading always ends, with events or an error, and events are in order of time.
@Suite struct RecordingFuzzTests {
  private static let rounds = 150

  private func read(_ path: String) throws {
    let openers: [() throws -> any SensorRecording] = [
      { try NMEARecording(path: path) }, { try NMEARecording(path: path, toleratingBrokenSentences: true) },
      { try GPXRecording(path: path) }, { try CSVSensorRecording(path: path) },
    ]
    for open in openers {
      do {
        var recording = try open()
        var last = Int64.min
        while let event = try recording.next() {
          let time = event.timestamp?.nanoseconds ?? last
          #expect(time >= last)
          last = time
        }
      } catch {
        #expect(error is RecordingError)
        #expect("\(error)".contains(path))
      }
    }
  }

  private func fuzz(_ seed: UInt64, _ make: (inout SeededGenerator) -> [UInt8]) throws {
    print("seed \(seed)")
    let scratch = try ScratchFolder()
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<Self.rounds { try read(scratch.write(make(&generator), to: "fuzz")) }
  }

  @Test func randomBytes() throws {
    try fuzz(.random(in: 0...UInt64.max)) { generator in
      let alphabets: [[UInt8]] = [
        Array(0...255), Array("$GPRMCGA,0123456789.*NSEWAV\r\n".utf8), Array("<gpxwt/> lao='1\".&;".utf8),
      ]
      let alphabet = alphabets.randomElement(using: &generator) ?? []
      return (0..<Int.random(in: 0...3000, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
    }
  }

  @Test func mutatedAndTruncatedFiles() throws {
    let seeds: [[UInt8]] = [
      Array(
        nmea([
          "GPGGA,045407.00,4809.81040,N,01133.86330,E,1,10,0.9,100.5,M,47.0,M,,", "GPGSV,1,1,07",
          "GPRMC,045407.00,A,4809.810,N,01133.863,E,10.0,308.3,020625,,,A", "GPZDA,120002,03,06,2025,00,00",
          "GPGLL,4809.8,N,01133.8,E,120002,A,A",
        ]).utf8),
      Array(
        "<gpx><trk><trkseg><trkpt lat='1' lon='2'><ele>3</ele><time>2025-06-02T04:54:10Z</time></trkpt></trkseg></trk></gpx>"
          .utf8), Array("t,ax,ay,az,pressure\n0,1,2,3,\n0.1,1,2,3,1e5\n0.2,,,,5\n".utf8),
    ]
    try fuzz(.random(in: 0...UInt64.max)) { generator in
      var bytes = seeds.randomElement(using: &generator) ?? []
      for _ in 0..<Int.random(in: 0...8, using: &generator) where !bytes.isEmpty {
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0...3, using: &generator) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: index)
        case 2: bytes.insert(contentsOf: bytes[index...].prefix(20), at: index)
        default: bytes.removeLast(bytes.count - index)
        }
      }
      return bytes
    }
  }

  /// Sentences with random fields and a valid checksum.
  @Test func validSentencesWithRandomFields() throws {
    try fuzz(.random(in: 0...UInt64.max)) { generator in
      let types = ["RMC", "GGA", "GNS", "GLL", "GSA", "GSV", "VTG", "ZDA", "XXX"]
      let values = [
        "", "0", "-1", "99999999999999999999", "1e9", "120000.5", "4809.8", "N", "E", "S", "A", "V", "311299",
        "nan", ".", "-",
      ]
      let bodies = (0..<30).map { _ in
        let fields = (0..<Int.random(in: 0...20, using: &generator)).map { _ in
          values.randomElement(using: &generator) ?? ""
        }
        return (["GP" + (types.randomElement(using: &generator) ?? "")] + fields).joined(separator: ",")
      }
      return Array(nmea(bodies).utf8)
    }
  }

  /// A file of 8 MB is read in blocks, with less than 6 MB of additional memory.
  @Test func aLargeFileIsReadInBlocks() throws {
    let scratch = try ScratchFolder()
    let path = try scratch.write("", to: "large.nmea")
    let handle = try #require(FileHandle(forWritingAtPath: path))
    let sentence = "GPRMC,120000,A,4809.8,N,01133.8,E,1.0,2.0,020625,,,A"
    let block = Data(nmea(Array(repeating: sentence, count: 15_000)).utf8)
    for _ in 0..<10 { try handle.write(contentsOf: block) }
    try handle.close()
    let before = residentMegabytes()
    // All positions have the same time: one fix.
    #expect(try fixes(of: NMEARecording(path: path)).count == 1)
    #expect(residentMegabytes() - before < 6)
  }

  private func residentMegabytes() -> Int {
    let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
    return pages.flatMap { $0.count > 1 ? Int($0[1]) : nil }.map { $0 * 4096 / 1_000_000 } ?? 0
  }
}
