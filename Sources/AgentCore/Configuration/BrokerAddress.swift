/// A broker's address as people write it: `mqtt://host`, `mqtts://host:8883`, `host:1883`, `mqtt://[::1]:1883`.
struct BrokerAddress: Hashable, Sendable {
  var host: String
  var port: Int
  var usesTLS: Bool

  /// Nil when the text is not such an address.
  init?(_ text: String) {
    var rest = text[...]
    usesTLS = false
    if rest.hasPrefix("mqtt://") {
      rest = rest.dropFirst(7)
    } else if rest.hasPrefix("mqtts://") {
      rest = rest.dropFirst(8)
      usesTLS = true
    }
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var portText: Substring?
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { return nil }
      host = String(rest[rest.index(after: rest.startIndex)..<end])
      let tail = rest[rest.index(after: end)...]
      if tail.hasPrefix(":") {
        portText = tail.dropFirst()
      } else if !tail.isEmpty {
        return nil
      }
    } else if let colon = rest.lastIndex(of: ":") {
      host = String(rest[..<colon])
      portText = rest[rest.index(after: colon)...]
      if host.contains(":") { return nil }
    } else {
      host = String(rest)
    }
    port = usesTLS ? 8883 : 1883
    if let portText {
      guard let number = Int(portText), (1...65_535).contains(number) else { return nil }
      port = number
    }
    let isName = host.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "@") }
    guard !host.isEmpty, isName else { return nil }
  }
}
