import Foundation
import TestSupport

/// A guest of the rig with the built agent and five access points on virtual radios; the sixth radio, wlan5, receives. Only `names` may be
/// reported: of the others, one is hidden, and two opted out of maps.
enum RadioGuest {
  /// Addresses of access points that may be reported, in the format of `RadioChild`.
  static let names: Set<String> = ["163e000000", "163e000003"]

  /// A single guest for all radio tests, because it needs seconds to boot; it stops with this process.
  private static let shared = Result {
    let overlay = try TemporaryDirectory()
    let folder = overlay.file("usr/local/bin")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for program in ["odographd", "RadioChild"] {
      try FileManager.default.copyItem(atPath: BuiltProduct.path(program), toPath: "\(folder)/\(program)")
    }
    // With the full path: the guest's shell has a less capable applet of this name.
    try FileManager.default.copyItem(atPath: "/usr/bin/setpriv", toPath: folder + "/setpriv")
    return try RigFixture(overlay: overlay.path)
  }

  /// Returns the guest with new radios; wlan5 is down.
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

  /// Command prefix that runs a program like the unit does: as a user without capabilities, or with those of a drop-in.
  /// - Parameter capability: Name as in setpriv(1), for example "net_admin".
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

/// Scans of wlan5 that the kernel has reported (`iw event -t`).
struct KernelScans: CustomStringConvertible {
  /// Start and end in UTC seconds; the end is nil while a scan is running.
  private(set) var scans: [(begin: Double, end: Double?)] = []
  /// Number of aborted scans.
  private(set) var aborted = 0

  /// - Parameter lines: Lines such as "1795233871.123456: wlan5 (phy #5): scan started".
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
  /// Seconds during which the radio scanned.
  var seconds: Double { scans.reduce(0) { sum, scan in sum + (scan.end.map { $0 - scan.begin } ?? 0) } }

  var description: String {
    "\(scans.count) scans, \(aborted) of them broken off, \(String(format: "%.2f", seconds)) s"
  }
}
