/// The category of a network name in an access point's information elements (IEEE 802.11, 9.4.2): whether the
/// owner allows mapping. The name itself is never stored.
enum NetworkName {
  case none
  /// A name that is empty or consists of zero bytes.
  case hidden
  /// A name whose owner opted out of mapping: it ends in `_nomap` or contains `_optout`, in any case.
  case optedOut
  case open

  /// The identifier of the element with the name, and the maximum length of a name in bytes.
  private static let (element, longest) = (UInt8(0), 32)

  init(_ elements: ArraySlice<UInt8>) {
    guard let name = Self.name(in: elements) else {
      self = .none
      return
    }
    let letters = name.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    if letters.allSatisfy({ $0 == 0 }) {
      self = .hidden
    } else if letters.hasSuffix("_nomap") || letters.contains("_optout") {
      self = .optedOut
    } else {
      self = .open
    }
  }

  /// Returns whether a network may be mapped: at least one of its frames has a name, and no frame opts out.
  static func mayBeMapped(_ occasions: [ArraySlice<UInt8>]) -> Bool {
    let names = occasions.map { NetworkName($0) }
    return names.contains { $0 == .open } && names.allSatisfy { $0 == .open || $0 == .none }
  }

  /// Returns whether the owner opted out of mapping; a missing name does not count.
  static func isUnwanted(_ occasions: [ArraySlice<UInt8>]) -> Bool {
    occasions.contains { [.hidden, .optedOut].contains(NetworkName($0)) }
  }

  /// Returns the name; nil if it is missing or too long.
  private static func name(in elements: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    var rest = elements
    while let identifier = rest.first, let length = rest.dropFirst().first.map({ Int($0) }) {
      let value = rest.dropFirst(2).prefix(length)
      guard value.count == length else { return nil }
      if identifier == element { return length <= longest ? value : nil }
      rest = rest.dropFirst(2 + length)
    }
    return nil
  }
}

extension [UInt8] {
  fileprivate func hasSuffix(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }

  fileprivate func contains(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    return indices.contains { self[$0...].starts(with: wanted) }
  }
}
