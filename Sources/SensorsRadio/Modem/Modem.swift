internal import Sensors

/// A modem as described by ModemManager.
public struct Modem: Hashable, Sendable {
  /// The unit of LTE's timing advance, which depends on the modem's protocol.
  enum TimingAdvance: Hashable, Sendable {
    /// Microseconds (QMI).
    case microseconds
    /// The steps of 3GPP (MBIM and other protocols).
    case steps
  }

  /// The flags of MMModemLocationSource.
  enum LocationSource {
    static let cell: UInt64 = 1
  }

  /// The object path, such as "/org/freedesktop/ModemManager1/Modem/0".
  public var path: String
  /// Manufacturer and model, as far as reported.
  public var name: String
  /// True if the modem is switched on (MM_MODEM_STATE_ENABLED and above).
  public var isEnabled: Bool
  var canLocate: Bool
  /// The enabled sources of `LocationSource`.
  var locationSources: UInt64
  /// True if the modem's location is visible to other processes.
  var signalsLocation: Bool
  /// The technology of the serving cell; nil if there is none or it is of an unknown kind.
  var technology: Beacon.Technology?
  var timingAdvance: TimingAdvance

  private static let modem = "org.freedesktop.ModemManager1.Modem"

  /// Decodes the modems of `GetManagedObjects`, sorted by path.
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
    // The state is signed: -1 means failed, 6 means enabled.
    if case .integer(let state)? = modem["State"] { isEnabled = state >= 6 } else { isEnabled = false }
    canLocate = location != nil
    locationSources = location?["Enabled"]?.unsigned ?? 0
    signalsLocation = location?["SignalsLocation"]?.flag ?? false
    technology = Self.technology(modem["AccessTechnologies"]?.unsigned ?? 0)
    timingAdvance = Self.usesQMI(modem) ? .microseconds : .steps
  }

  /// Decodes the flags of MMModemAccessTechnology. If LTE and NR are combined, the cell is that of LTE.
  private static func technology(_ flags: UInt64) -> Beacon.Technology? {
    // LTE, LTE-M and NB-IoT.
    if flags & 0b1101 << 14 != 0 { return .lte }
    if flags & 1 << 15 != 0 { return .nr }
    // UMTS to HSPA+.
    if flags & 0b11_1110_0000 != 0 { return .umts }
    // GSM, compact GSM, GPRS and EDGE.
    return flags & 0b1_1110 != 0 ? .gsm : nil
  }

  /// Returns whether the primary port uses QMI (MM_MODEM_PORT_TYPE_QMI).
  private static func usesQMI(_ modem: DBusValue) -> Bool {
    guard let primary = modem["PrimaryPort"]?.text else { return false }
    return modem["Ports"]?.list.contains { $0.list.first?.text == primary && $0.list.last?.unsigned == 6 }
      ?? false
  }
}
