internal import COpenSSL

/// HMAC-SHA256 signatures (RFC 2104, FIPS 180-4), by which a receiver verifies the sender and the integrity
/// of a message.
package enum Signature {
  /// Returns the signature of a message.
  ///
  /// - Parameters:
  ///   - body: the body of the request.
  ///   - timestamp: the time of sending in seconds since 1970; receivers reject old messages, which an
  ///     attacker may have recorded.
  ///   - secret: the shared secret.
  /// - Returns: the digest of `timestamp.body` in hexadecimal digits; nil if the cryptographic library fails.
  package static func hex(of body: [UInt8], timestamp: Int, secret: [UInt8]) -> String? {
    let text = Array("\(timestamp).".utf8) + body
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    let made = unsafe HMAC(EVP_sha256(), secret, Int32(secret.count), text, text.count, &digest, &length)
    guard unsafe made != nil else { return nil }
    return digest.prefix(Int(length)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// Returns the base64 encoding (RFC 4648), in lines terminated by CR LF.
  /// - Parameter lineLength: the maximum number of characters per line.
  package static func base64(_ bytes: [UInt8], lineLength: Int = 76) -> String {
    guard !bytes.isEmpty else { return "" }
    var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    let count = unsafe EVP_EncodeBlock(&text, bytes, Int32(clamping: bytes.count))
    let encoded = text.prefix(max(0, Int(count)))
    var lines: [String] = []
    var rest = encoded[...]
    while !rest.isEmpty {
      lines.append(String(decoding: rest.prefix(lineLength), as: UTF8.self))
      rest = rest.dropFirst(lineLength)
    }
    return lines.joined(separator: "\r\n")
  }
}
