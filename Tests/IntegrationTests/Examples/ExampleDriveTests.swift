import Foundation
import TestSupport
import Testing

/// The recording that ships with the source is what the simulator makes, and one command plays it for anybody.
@Suite struct ExampleDriveTests {
  private static let root = ExampleDrive.folder.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func text(_ name: String) throws -> String {
    try String(contentsOf: ExampleDrive.folder.appending(path: name), encoding: .utf8)
  }

  /// With `ODOGRAPH_WRITE_EXAMPLES` in the environment it writes the files; else it compares, numbers within a unit of the last
  /// digit, which another machine's sine may round the other way.
  @Test func theFilesAreWhatTheSimulatorMakes() throws {
    let made = try ExampleDrive()
    if ProcessInfo.processInfo.environment["ODOGRAPH_WRITE_EXAMPLES"] != nil { try made.write() }
    for (name, text) in [("gnss.json", made.positions), ("imu.csv", made.sensors)] {
      let file = try Self.text(name)
      #expect(file.utf8.count < 800_000, "\(name)")
      let (there, here) = (Self.parts(file), Self.parts(text))
      #expect(there.count == here.count, "\(name)")
      let differing = zip(there, here).first { a, b in
        guard a != b else { return false }
        guard let x = Double(a), let y = Double(b) else { return true }
        return abs(x - y) > 0.11
      }
      #expect(differing == nil, "\(name): \(String(describing: differing))")
    }
  }

  private static func parts(_ text: String) -> [Substring] {
    text.split { ",:{}\n".contains($0) }
  }

  /// As the README has it, from the folder of the source: without rights, broker, sensors or a home.
  @Test(.timeLimit(.minutes(3)), arguments: [true, false])
  func oneCommandPlaysIt(isNavigating: Bool) throws {
    let directory = try TemporaryDirectory()
    let shell =
      #"cd "$0" && exec env -u HOME "$1" run --print --config Config/examples/drive/odograph.toml --set "navigation.enabled=$4" >"$2" 2>"$3""#
    let child = try ChildProcess(
      "sh",
      [
        "-c", shell, Self.root.path, BuiltProduct.path("odographd"), directory.file("lines"),
        directory.file("log"), "\(isNavigating)",
      ])
    let log = { (try? String(contentsOfFile: directory.file("log"), encoding: .utf8)) ?? "" }
    #expect(child.waitForExit() == 0, "\(log())")
    let text = try String(contentsOfFile: directory.file("lines"), encoding: .utf8)
    let messages = Message.parse(text)
    let kinds = Dictionary(grouping: messages) {
      $0.topic.split(separator: "/").dropFirst(4).joined(separator: "/")
    }
    let locations = kinds["location"] ?? []
    #expect(locations.count >= 10, "\(kinds.mapValues(\.count))")
    #expect(kinds["region"]?.compactMap { $0.payload["event"] as? String } == ["enter", "exit"])
    func at(_ message: Message) -> String { message.payload["time"] as? String ?? "" }
    let inside = locations.filter { ("2026-11-21T08:04:01"..."2026-11-21T08:04:22").contains(at($0)) }
    let corrections = kinds["track"] ?? []
    if isNavigating {
      // In the tunnel the way goes on, and is corrected after it.
      #expect(!inside.isEmpty && inside.allSatisfy { $0.payload["positionSource"] as? String == "inertial" })
      #expect(corrections.map { $0.payload["correction"] as? Bool } == [true])
    } else {
      // The receiver has no fix there: the vehicle takes back what it has promised of its way, is silent, and counts.
      #expect(inside.isEmpty && corrections.isEmpty)
      let last = locations.last { at($0) < "2026-11-21T08:04:01" }
      let promise = last?.payload["predict"] as? [String: Any]
      #expect(promise?["validity"] as? Double ?? 60 < 3, "\(String(describing: last))")
    }
    let counters = kinds["status"]?.last?.payload["counters"] as? [String: Any]
    #expect(counters?["fixes.withoutPosition"] as? Int ?? 0 > 20, "\(String(describing: counters))")
    #expect(kinds["heading"]?.isEmpty == false && kinds["motion"]?.isEmpty == false)
    let attitudes = kinds["attitude"]?.count ?? 0
    #expect((10...300).contains(attitudes), "\(attitudes): on change")
  }

  /// Receiver and sensors are silent and loud where the documentation says so.
  @Test func theTunnelIsASilenceOfTheReceiverOnly() throws {
    let modes = try Self.text("gnss.json").split(separator: "\n").map { $0.contains("\"mode\":1") }
    let silence = modes.split(separator: false).map(\.count).max() ?? 0
    #expect((15...60).contains(silence), "\(silence) s")
    let times = try Self.text("imu.csv").split(separator: "\n").dropFirst().compactMap {
      Double($0.prefix { $0 != "," })
    }
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 0.11 } && times.last ?? 0 > 389)
  }
}
