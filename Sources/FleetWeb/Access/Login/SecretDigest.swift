internal import COpenSSL

/// SHA-256 of a secret. Tables are kept by it, so that neither memory, nor a file, nor the time of a look-up tells the secret.
package struct SecretDigest: Hashable, Sendable {
  package let bytes: [UInt8]

  package init(of secret: some Sequence<UInt8>) {
    let secret = Array(secret)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    _ = unsafe secret.withUnsafeBufferPointer { unsafe SHA256($0.baseAddress, $0.count, &digest) }
    bytes = digest
  }

  package init(of secret: String) { self.init(of: secret.utf8) }

  /// 64 hexadecimal digits, as `sha256sum` prints them; nil for anything else.
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

  /// Takes as long wherever the first difference is.
  package static func == (a: Self, b: Self) -> Bool {
    zip(a.bytes, b.bytes).reduce(a.bytes.count == b.bytes.count ? 0 : 1) { $0 | ($1.0 ^ $1.1) } == 0
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Random texts that nobody guesses.
package enum SecretText {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// 32 characters of base64url: 192 bits of the system's own generator (getrandom(2)).
  package static func random() -> String {
    var generator = SystemRandomNumberGenerator()
    var bytes: [UInt8] = []
    for _ in 0..<4 {
      var word: UInt64 = generator.next()
      // 8 characters of 6 bits of each word.
      for _ in 0..<8 {
        bytes.append(alphabet[Int(word & 63)])
        word >>= 6
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a text can be one of these at all; what is not is never looked up.
  package static func isPlausible(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 32 && text.utf8.allSatisfy { alphabet.contains($0) }
  }
}
