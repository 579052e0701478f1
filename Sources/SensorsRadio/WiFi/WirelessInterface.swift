internal import Glibc
internal import Platform
public import Sensors

/// A wireless interface of this machine.
public struct WirelessInterface: Hashable, Sendable {
  /// The name, such as "wlan0".
  public var name: String
  public var isUp: Bool
  /// True if rfkill has blocked the transmitter, by software or by a key.
  public var isBlocked: Bool

  public init(name: String, isUp: Bool, isBlocked: Bool = false) {
    (self.name, self.isUp, self.isBlocked) = (name, isUp, isBlocked)
  }

  /// Returns all interfaces, sorted by name.
  public static func all() -> [WirelessInterface] { all(in: NetworkInterfaces.folder) }

  static func all(in folder: String) -> [WirelessInterface] {
    SmallFiles.names(in: folder).compactMap { WirelessInterface($0, in: folder) }
  }

  /// Reads an interface; nil if it does not exist or is not wireless.
  init?(_ name: String, in folder: String = NetworkInterfaces.folder) {
    let radio = "\(folder)/\(name)/phy80211"
    guard unsafe access(radio, F_OK) == 0 else { return nil }
    let switches = SmallFiles.names(in: radio).filter { $0.hasPrefix("rfkill") }
    let isBlocked = switches.contains { name in
      ["soft", "hard"].contains { SmallFiles.text("\(radio)/\(name)/\($0)") == "1" }
    }
    self.init(name: name, isUp: NetworkInterfaces.isUp(name, in: folder), isBlocked: isBlocked)
  }

  /// True if this process may start scans (CAP_NET_ADMIN).
  public static var mayScan: Bool {
    guard let status = try? AtomicFile.contents(of: "/proc/self/status", limit: 65_536) else { return false }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("CapEff:")
    }
    let set = line?.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) } ?? 0
    // CAP_NET_ADMIN (linux/capability.h).
    return set >> 12 & 1 != 0
  }

  /// Returns the number of access points from earlier scans that the kernel still has in its cache. Does not
  /// transmit or scan.
  /// - Throws: `SourceError` with the remedy.
  public static func known(to interface: String) throws(SourceError) -> Int {
    try WiFiScanner(interface: interface).known().count
  }
}
