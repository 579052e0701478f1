internal import Glibc
internal import Platform

/// A wireless interface of this machine.
public struct WirelessInterface: Hashable, Sendable {
  /// As `ip link` names it: "wlan0".
  public var name: String
  public var isUp: Bool
  /// Whether its transmitter is switched off by rfkill, by program or by a key.
  public var isBlocked: Bool

  public init(name: String, isUp: Bool, isBlocked: Bool = false) {
    (self.name, self.isUp, self.isBlocked) = (name, isUp, isBlocked)
  }

  /// Whether a text can be the name of an interface: 1 to 15 letters, digits, points, dashes or underscores.
  public static func isName(_ text: String) -> Bool {
    (1...15).contains(text.utf8.count) && text != "." && text != ".."
      && text.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }

  /// Where the kernel lists interfaces.
  static let folder = "/sys/class/net"

  /// Those that the kernel has, in order of their names.
  public static func all() -> [WirelessInterface] { all(in: folder) }

  static func all(in folder: String) -> [WirelessInterface] {
    names(in: folder).sorted().compactMap { WirelessInterface($0, in: folder) }
  }

  /// Nil where there is no such interface, or one that is not wireless.
  init?(_ name: String, in folder: String = Self.folder) {
    let path = "\(folder)/\(name)"
    guard unsafe access("\(path)/phy80211", F_OK) == 0 else { return nil }
    // IFF_UP is the lowest bit.
    let flags = Self.text("\(path)/flags").flatMap { Int($0.dropFirst(2), radix: 16) } ?? 0
    let switches = Self.names(in: "\(path)/phy80211").filter { $0.hasPrefix("rfkill") }
    let isBlocked = switches.contains { name in
      ["soft", "hard"].contains { Self.text("\(path)/phy80211/\(name)/\($0)") == "1" }
    }
    self.init(name: name, isUp: flags & 1 != 0, isBlocked: isBlocked)
  }

  private static func text(_ path: String) -> String? {
    guard let bytes = try? AtomicFile.contents(of: path, limit: 256) else { return nil }
    return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  private static func names(in folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  /// Whether this process may make an interface scan (CAP_NET_ADMIN).
  public static var mayScan: Bool {
    guard let status = try? AtomicFile.contents(of: "/proc/self/status", limit: 65_536) else { return false }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("CapEff:")
    }
    let set = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
    // CAP_NET_ADMIN (linux/capability.h).
    return set >> 12 & 1 != 0
  }

  /// What the kernel still knows of access points that a scan of somebody's has heard. Nothing is sent, and nothing scanned.
  /// - Throws: `RadioError` with what helps.
  public static func known(to interface: String) throws(RadioError) -> Int {
    try WiFiScanner(interface: interface).known().count
  }
}
