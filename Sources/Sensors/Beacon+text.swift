extension Beacon {
  /// The beacon as text. An access point is its address, such as `b8:27:eb:00:12:34`. A cell is technology,
  /// country code, network code and cell number, such as `lte-262-1-26385410`; for GSM, the location area
  /// precedes the cell number.
  package var text: String {
    if let address {
      return stride(from: 40, through: 0, by: -8).map { shift in
        let digits = String(address >> UInt64(shift) & 0xff, radix: 16)
        return digits.utf8.count == 1 ? "0" + digits : digits
      }.joined(separator: ":")
    }
    let (country, network) = (rawValue >> 50 & 0x3ff, rawValue >> 40 & 0x3ff)
    let number = rawValue & (1 << 40 - 1)
    let cell = technology == .gsm ? "\(number >> 16)-\(number & 0xffff)" : "\(number)"
    return "\(technology)-\(country)-\(network)-\(cell)"
  }

  /// Parses a beacon.
  ///
  /// - Parameter text: a text in the form of the property `text`. Nil is returned for any other text, and for
  ///   numbers out of range.
  package init?(text: some StringProtocol) {
    let octets = text.split(separator: ":", omittingEmptySubsequences: false)
    if octets.count == 6 {
      let values = octets.compactMap { $0.utf8.count == 2 ? UInt64($0, radix: 16) : nil }
      guard values.count == 6 else { return nil }
      self.init(accessPoint: values.reduce(0) { $0 << 8 | $1 })
      return
    }
    let words = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = words.dropFirst().compactMap { UInt64($0) }
    guard let technology = Technology.allCases.first(where: { "\($0)" == words[0] }),
      numbers.count == words.count - 1, numbers.count == (technology == .gsm ? 4 : 3)
    else { return nil }
    self.init(
      technology, country: numbers[0], network: numbers[1], area: technology == .gsm ? numbers[2] : 0,
      cell: numbers[numbers.count - 1])
  }
}
