internal import Sensors

/// A decoder that converts ModemManager's cell information (its D-Bus interface, version 1.20) to sightings.
enum CellDecoder {
  /// The maximum number of cells in a scan.
  static let limit = 64

  /// Half of the speed of light in m/µs, because a timing advance covers the round trip.
  private static let metresPerMicrosecond = 299.792458 / 2

  /// Decodes the result of `Modem.GetCellInfo`: an array of dictionaries. Omits cells without a globally
  /// unique identity, such as most neighbour cells, which the network only identifies by channel and
  /// scrambling code.
  static func sightings(_ cells: DBusValue, unit: Modem.TimingAdvance) -> [BeaconSighting] {
    var sightings: [BeaconSighting] = []
    for cell in cells.list where sightings.count < limit {
      guard let sighting = sighting(cell, unit: unit),
        !sightings.contains(where: { $0.beacon == sighting.beacon })
      else { continue }
      sightings.append(sighting)
    }
    return sightings
  }

  private static func sighting(_ cell: DBusValue, unit: Modem.TimingAdvance) -> BeaconSighting? {
    // MMCellType.
    let technology: Beacon.Technology
    switch cell["cell-type"]?.unsigned {
    case 2: technology = .gsm
    case 3: technology = .umts
    case 5: technology = .lte
    case 6: technology = .nr
    default: return nil
    }
    guard let network = cell["operator-id"]?.text.flatMap({ Operator($0) }),
      let number = cell["ci"]?.text.flatMap({ UInt64($0, radix: 16) }), number > 0
    else { return nil }
    let area = cell["lac"]?.text.flatMap { UInt64($0, radix: 16) } ?? 0
    guard
      let beacon = Beacon(
        technology, country: network.country, network: network.code, area: area, cell: number)
    else { return nil }
    return BeaconSighting(
      beacon: beacon, signal: signal(cell, technology), distance: distance(cell, technology, unit),
      isServing: cell["serving"]?.flag ?? false)
  }

  /// Returns the signal strength in dBm: RSRP of LTE and NR, RSCP of UMTS, the level of GSM in steps of 1 dB
  /// above -110 dBm.
  private static func signal(_ cell: DBusValue, _ technology: Beacon.Technology) -> Double? {
    let signal: Double? =
      switch technology {
      case .lte, .nr: cell["rsrp"]?.number
      case .umts: cell["rscp"]?.number
      case .gsm: cell["rx-level"]?.unsigned.flatMap { $0 <= 63 ? Double($0) - 110 : nil }
      case .wifi: nil
      }
    // Modems report values outside this range (dBm) for an unknown signal strength.
    return signal.flatMap { (-160 ... -20).contains($0) ? $0 : nil }
  }

  /// Returns the distance in m; nil if unknown. For NR it is always unknown, because the duration of a step
  /// depends on a setting of the cell that the modem does not report.
  private static func distance(
    _ cell: DBusValue, _ technology: Beacon.Technology, _ unit: Modem.TimingAdvance
  ) -> Double? {
    guard cell["serving"]?.flag ?? false, let advance = cell["timing-advance"]?.unsigned else { return nil }
    switch (technology, unit) {
    // GSM's timing advance counts bits of 48/13 µs (270,833 bit/s), 0 ... 63.
    case (.gsm, _): return advance <= 63 ? Double(advance) * 48 / 13 * metresPerMicrosecond : nil
    // LTE's timing advance counts steps of 16 / 30.72 µs (16 Ts), 0 ... 1282, which is up to 667.7 µs.
    case (.lte, .steps): return advance <= 1282 ? Double(advance) * 16 / 30.72 * metresPerMicrosecond : nil
    case (.lte, .microseconds): return advance <= 667 ? Double(advance) * metresPerMicrosecond : nil
    default: return nil
    }
  }

  /// Decodes the result of `Modem.Location.GetLocation`: a dictionary of sources, of which 3GPP's is
  /// "MCC,MNC,LAC,CI,TAC", the last three hexadecimal. Nil if the modem has no serving cell with an identity.
  static func servingCell(_ location: DBusValue, technology: Beacon.Technology?) -> BeaconSighting? {
    guard let technology, let text = location[.unsigned(Modem.LocationSource.cell)]?.text else { return nil }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count >= 4, let country = UInt64(parts[0]), let network = UInt64(parts[1]),
      let area = UInt64(parts[2], radix: 16), let number = UInt64(parts[3], radix: 16), number > 0
    else { return nil }
    return Beacon(technology, country: country, network: network, area: area, cell: number).map {
      BeaconSighting(beacon: $0, signal: nil, isServing: true)
    }
  }
}

/// A network such as "26201" or "310260": three digits of the country, two or three of the network.
private struct Operator {
  var country: UInt64
  var code: UInt64

  init?(_ text: String) {
    guard (5...6).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let country = UInt64(text.prefix(3)), let code = UInt64(text.dropFirst(3))
    else { return nil }
    (self.country, self.code) = (country, code)
  }
}
