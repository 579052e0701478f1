import Foundation
import TestSupport
import Testing

/// The recording in the repository equals the simulator's output, and a single command replays it.
@Suite struct ExampleDriveTests {
  private static let root = ExampleDrive.folder.deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func text(_ name: String) throws -> String {
    try String(contentsOf: ExampleDrive.folder.appending(path: name), encoding: .utf8)
  }

  /// With `ODOGRAPH_WRITE_EXAMPLES` in the environment, writes the files first. Numbers may differ by up to 0.11, because rounding differs
  /// between machines.
  @Test func filesMatchTheSimulator() throws {
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
        let decimals = a.split(separator: ".").dropFirst().first?.count ?? 0
        return abs(x - y) > 1.1 * pow(10, -Double(decimals))
      }
      #expect(differing == nil, "\(name): \(String(describing: differing))")
    }
  }

  private static func parts(_ text: String) -> [Substring] {
    text.split { ",:{}\n".contains($0) }
  }

  /// The command of the README, run from the repository without privileges, broker, sensors or home folder.
  @Test(.timeLimit(.minutes(3)), arguments: [true, false])
  func oneCommandReplaysTheDrive(isNavigating: Bool) throws {
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
      // With navigation, the vehicle publishes inertial positions in the tunnel and a correction after it.
      #expect(!inside.isEmpty && inside.allSatisfy { $0.payload["positionSource"] as? String == "inertial" })
      #expect(corrections.map { $0.payload["correction"] as? Bool } == [true])
    } else {
      // Without navigation there are no positions in the tunnel: the last report before it limits its prediction to less than 3 s.
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

  /// The receiver has no fix in the tunnel, and the sensor samples continue, as documented.
  @Test func tunnelInterruptsTheReceiverOnly() throws {
    let modes = try Self.text("gnss.json").split(separator: "\n").map { $0.contains("\"mode\":1") }
    let silence = modes.split(separator: false).map(\.count).max() ?? 0
    #expect((15...60).contains(silence), "\(silence) s")
    let times = try Self.text("imu.csv").split(separator: "\n").dropFirst().compactMap {
      Double($0.prefix { $0 != "," })
    }
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 0.11 } && times.last ?? 0 > 389)
  }
}
