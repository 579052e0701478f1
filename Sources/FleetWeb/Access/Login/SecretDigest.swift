internal import COpenSSL

/// The SHA-256 digest of a secret. Tables use it as a key, so that neither memory, files nor lookup times
/// reveal the secret.
package struct SecretDigest: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(of secret: some Sequence<UInt8>) {
    let secret = Array(secret)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe secret.withUnsafeBufferPointer { unsafe SHA256($0.baseAddress, $0.count, &digest) }
    bytes = digest
  }

  package init(of secret: String) { self.init(of: secret.utf8) }

  /// Parses 64 hexadecimal digits, as printed by `sha256sum`; nil for other texts.
  package init?(hexadecimal text: String) {
    let digits = text.utf8.map { UInt8($0) }
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: 64, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16),
        digits[index] != UInt8(ascii: "+"), digits[index] != UInt8(ascii: "-")
      else { return nil }
      bytes.append(byte)
    }
    self.bytes = bytes
  }

  package var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Compares in constant time.
  package static func == (a: Self, b: Self) -> Bool {
    zip(a.bytes, b.bytes).reduce(a.bytes.count == b.bytes.count ? 0 : 1) { $0 | ($1.0 ^ $1.1) } == 0
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Random secrets.
package enum SecretText {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Returns 32 characters of base64url: 192 bits of the system's generator (getrandom(2)).
  package static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    var bytes: [UInt8] = []
    for _ in 0..<4 {
      var word: UInt64 = generator.next()
      // 8 characters of 6 bits from each word.
      for _ in 0..<8 {
        bytes.append(alphabet[Int(word & 63)])
        word >>= 6
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns whether a text has the form of a secret. Other texts are rejected without computing their
  /// digest.
  package static func isPlausible(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 32 && text.utf8.allSatisfy { alphabet.contains($0) }
  }
}
