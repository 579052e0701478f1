internal import Sensors

/// A modem as ModemManager describes it.
public struct Modem: Hashable, Sendable {
  /// In what the modem tells LTE's timing advance, which depends on the protocol that it speaks.
  enum TimingAdvance: Hashable, Sendable {
    /// QMI.
    case microseconds
    /// MBIM, and whatever else: 3GPP's own.
    case steps
  }

  /// MMModemLocationSource, flags.
  enum LocationSource {
    static let cell: UInt64 = 1
  }

  /// Its object on the bus, as in "/org/freedesktop/ModemManager1/Modem/0".
  public var path: String
  /// Maker and model, as far as it says them.
  public var name: String
  /// Whether it is switched on (MM_MODEM_STATE_ENABLED and beyond).
  public var isEnabled: Bool
  var canLocate: Bool
  /// Of `LocationSource`, what is switched on.
  var locationSources: UInt64
  /// Whether others are told where the modem is.
  var signalsLocation: Bool
  /// Of the cell that serves it; nil when it has none, or one of another kind.
  var technology: Beacon.Technology?
  var timingAdvance: TimingAdvance

  private static let modem = "org.freedesktop.ModemManager1.Modem"

  /// The modems of `GetManagedObjects`, in order of their paths.
  static func all(in managed: DBusValue) -> [Modem] {
    guard case .dictionary(let objects) = managed else { return [] }
    return objects.compactMap { path, interfaces in
      path.text.flatMap { Modem(path: $0, interfaces: interfaces) }
    }.sorted { $0.path < $1.path }
  }

  private init?(path: String, interfaces: DBusValue) {
    guard let modem = interfaces[Self.modem] else { return nil }
    let location = interfaces[Self.modem + ".Location"]
    self.path = path
    let words = ["Manufacturer", "Model"].compactMap { modem[$0]?.text }.filter { !$0.isEmpty }
    name = words.isEmpty ? "modem" : words.joined(separator: " ")
    // The state is signed: -1 is a failure; 6 is enabled.
    if case .integer(let state)? = modem["State"] { isEnabled = state >= 6 } else { isEnabled = false }
    canLocate = location != nil
    locationSources = location?["Enabled"]?.unsigned ?? 0
    signalsLocation = location?["SignalsLocation"]?.flag ?? false
    technology = Self.technology(modem["AccessTechnologies"]?.unsigned ?? 0)
    timingAdvance = Self.speaksQMI(modem) ? .microseconds : .steps
  }

  /// MMModemAccessTechnology, flags. With LTE and NR together, the cell is LTE's.
  private static func technology(_ flags: UInt64) -> Beacon.Technology? {
    if flags & 1 << 14 != 0 { return .lte }
    if flags & 1 << 15 != 0 { return .nr }
    // UMTS to HSPA+.
    if flags & 0b11_1110_0000 != 0 { return .umts }
    // GSM, compact GSM, GPRS and EDGE.
    return flags & 0b1_1110 != 0 ? .gsm : nil
  }

  /// Whether its first port carries QMI (MM_MODEM_PORT_TYPE_QMI).
  private static func speaksQMI(_ modem: DBusValue) -> Bool {
    guard let primary = modem["PrimaryPort"]?.text else { return false }
    return modem["Ports"]?.list.contains { $0.list.first?.text == primary && $0.list.last?.unsigned == 6 }
      ?? false
  }
}
