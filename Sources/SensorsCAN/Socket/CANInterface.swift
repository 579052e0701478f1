internal import Platform
public import Sensors

/// A CAN interface of this machine.
public struct CANInterface: Hashable, Sendable {
  /// Name of the interface, as in `ip link`: "can0".
  public var name: String
  public var isUp: Bool

  public init(name: String, isUp: Bool) {
    (self.name, self.isUp) = (name, isUp)
  }

  /// The kernel's hardware type of CAN interfaces, ARPHRD_CAN (linux/if_arp.h).
  private static let hardwareType = "280"

  /// Returns the kernel's CAN interfaces, sorted by name; empty without CAN.
  /// - Parameter folder: the folder in which the kernel lists interfaces.
  package static func all(in folder: String = NetworkInterfaces.folder) -> [CANInterface] {
    SmallFiles.names(in: folder).filter { SmallFiles.text("\(folder)/\($0)/type") == hardwareType }.map {
      CANInterface(name: $0, isUp: NetworkInterfaces.isUp($0, in: folder))
    }
  }
}

/// Traffic of a bus during a short time, with conclusions. Measuring it sends no frames.
public struct CANTraffic: Hashable, Sendable {
  /// Number of data frames.
  public private(set) var frames = 0
  /// Number of different identifiers.
  public var identifiers: Int { seen.count }
  /// True if groups of SAE J1939 that every truck sends were received.
  public private(set) var hasJ1939 = false
  /// True if OBD-II requests or answers were received.
  public private(set) var hasDiagnostics = false
  /// True if the controller reports errors: a wrong bit rate, or wiring.
  public private(set) var hasErrors = false
  private var seen: Set<CANFrame.Identifier> = []

  /// Maximum number of remembered identifiers.
  private static let mostIdentifiers = 4096

  public init() {}

  public mutating func observe(_ frame: CANFrame) {
    guard frame.kind != .error else {
      hasErrors = true
      return
    }
    frames += 1
    if seen.count < Self.mostIdentifiers { seen.insert(frame.identifier) }
    let raw = frame.identifier.rawValue
    if frame.identifier.isExtended {
      // Physical and functional addressing of ISO 15765-4.
      if raw & 0x1FFF_0000 == 0x18DA_0000 || raw == 0x18DB_33F1 { hasDiagnostics = true }
      if let group = J1939Identifier(frame.identifier)?.group, Self.groups.contains(group) { hasJ1939 = true }
    } else if raw == 0x7DF || (0x7E0...0x7EF).contains(raw) {
      hasDiagnostics = true
    }
  }

  private static let groups = Set(J1939Parameter.all.map(\.group))

  /// Listens to an interface for a time in s.
  /// - Throws: `SourceError` with a remedy if the interface cannot be opened or read.
  public static func listen(to interface: String, seconds: Double = 1) throws(SourceError) -> CANTraffic {
    let socket = try CANSocket(interface: interface, filters: nil)
    var traffic = CANTraffic()
    let end = MonotonicTime.after(max(0, min(seconds, 60)))
    while !end.hasPassed {
      switch try socket.receive() {
      case .frame(let frame, _): traffic.observe(frame)
      case .other: continue
      case .nothing:
        _ = waitUntilReadable([socket.descriptor], seconds: end.secondsRemaining)
      }
    }
    return traffic
  }
}

extension CANTraffic: CustomStringConvertible {
  /// Text for one second, as in "812 frames/s of 41 identifiers, SAE J1939".
  public var description: String {
    guard frames > 0 else {
      return hasErrors ? "only errors: check the bit rate and the wiring" : "silent"
    }
    var parts = ["\(frames) frames of \(identifiers) identifiers in a second"]
    if hasJ1939 { parts.append("SAE J1939") }
    if hasDiagnostics { parts.append("OBD-II") }
    if hasErrors { parts.append("with errors") }
    return parts.joined(separator: ", ")
  }
}
