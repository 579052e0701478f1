/// What an access point's information elements (IEEE 802.11, 9.4.2) say of its network's name, and whether its owner lets it be
/// on maps. The name itself is kept nowhere.
enum NetworkName {
  case none
  /// Empty, or nothing but zeros.
  case hidden
  /// Its owner wants it on no map: it ends in `_nomap`, or has `_optout` in it, in whichever case.
  case optedOut
  case open

  /// The element that has the name, and the most bytes that a name may have.
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

  /// Whether a network may be on maps: what it sends on every occasion has a name, and none says no.
  static func mayBeMapped(_ occasions: [ArraySlice<UInt8>]) -> Bool {
    let names = occasions.map { NetworkName($0) }
    return names.contains { $0 == .open } && names.allSatisfy { $0 == .open || $0 == .none }
  }

  /// Whether its owner keeps a network off maps: one without a name has not said so.
  static func isUnwanted(_ occasions: [ArraySlice<UInt8>]) -> Bool {
    occasions.contains { [.hidden, .optedOut].contains(NetworkName($0)) }
  }

  /// Nil where there is none, or one that is too long to be one.
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
