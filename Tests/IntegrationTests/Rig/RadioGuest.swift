import Foundation
import TestSupport

/// A machine of the rig with the built agent, and five access points on virtual radios; the sixth, wlan5, listens. What it hears
/// that may be told are `names`: of the others one is hidden, and two do not want to be on maps.
enum RadioGuest {
  /// Addresses of access points that may be told, as `RadioChild` prints them.
  static let names: Set<String> = ["163e000000", "163e000003"]

  /// One machine for all tests with radios, because it takes seconds to boot; it watches this process and ends with it.
  private static let shared = Result {
    let overlay = try TemporaryDirectory()
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for program in ["odographd", "RadioChild"] {
      try FileManager.default.copyItem(atPath: BuiltProduct.path(program), toPath: "\(folder)/\(program)")
    }
    // By its path: the guest's shell has an applet of that name that knows less.
    try FileManager.default.copyItem(atPath: "/usr/bin/setpriv", toPath: folder + "/setpriv")
    return try RigFixture(overlay: overlay.path)
  }

  /// The machine with radios made anew; wlan5 is down.
  static func rig() throws -> RigFixture {
    let rig = try shared.get()
    try rig.run("wifi-ctl stop 2>/dev/null")
    try run("wifi-ctl start 6", on: rig)
    let arbitrary = hexadecimal((0..<32).map { UInt8(truncatingIfNeeded: $0 * 37 + 201) })
    let points = [
      (1, hexadecimal("shop".utf8)), (6, hexadecimal("hidden".utf8) + " hidden"),
      (11, hexadecimal("home_nomap".utf8)), (3, arbitrary), (9, hexadecimal("my_optout_net".utf8)),
    ]
    for (number, (channel, name)) in points.enumerated() {
      try run("wifi-ctl ap wlan\(number) 00:16:3e:00:00:0\(number) \(channel) \(name)", on: rig)
    }
    return rig
  }

  /// Runs what follows as the unit does: a user without capabilities, or with those that a drop-in gives.
  /// - Parameter capability: as setpriv(1) names it, "net_admin".
  static func user(with capability: String? = nil) -> String {
    let more = capability.map { ",+\($0)" } ?? ""
    return
      "/usr/local/bin/setpriv --reuid 900 --regid 900 --clear-groups --no-new-privs --bounding-set=-all\(more) "
      + "--inh-caps=-all\(more)" + (capability.map { " --ambient-caps=-all,+\($0)" } ?? "")
  }

  private static func run(_ command: String, on rig: RigFixture) throws {
    let (status, output) = try rig.run(command)
    guard status == 0 else { throw PowerRunError(text: "\(command): \(output)") }
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String(format: "%02x", $0) }.joined()
  }
}

/// What the kernel has told of scans of wlan5 (`iw event -t`).
struct KernelScans: CustomStringConvertible {
  /// UTC seconds; the end is nil of one that goes on.
  private(set) var scans: [(begin: Double, end: Double?)] = []
  /// Of them, those that were broken off.
  private(set) var aborted = 0

  /// - Parameter lines: as in "1795233871.123456: wlan5 (phy #5): scan started".
  init(_ lines: [String]) {
    for line in lines where line.contains(": wlan5 ") {
      guard let time = line.split(separator: ":").first.flatMap({ Double($0) }) else { continue }
      if line.contains("scan started") { scans.append((time, nil)) }
      let isAborted = line.contains("scan aborted")
      guard isAborted || line.contains("scan finished"), !scans.isEmpty else { continue }
      scans[scans.count - 1].end = time
      if isAborted { aborted += 1 }
    }
  }

  var finished: Int { scans.count { $0.end != nil } }
  /// Seconds in which the radio scanned.
  var seconds: Double { scans.reduce(0) { sum, scan in sum + (scan.end.map { $0 - scan.begin } ?? 0) } }

  var description: String {
    "\(scans.count) scans, \(aborted) of them broken off, \(String(format: "%.2f", seconds)) s"
  }
}
