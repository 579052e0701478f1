internal import Glibc

/// Reads from OpenSSL what libmosquitto does not say: how far a handshake is and why a certificate was
/// refused. The functions are those of the very libssl that libmosquitto is linked to, found at run time, so
/// that this module needs no headers of it; without them the answers are "unknown".
enum TLSDiagnosis {
  private typealias Question = @convention(c) (UnsafeRawPointer?) -> CInt
  private typealias LongQuestion = @convention(c) (UnsafeRawPointer?) -> CLong
  private typealias Naming = @convention(c) (CLong) -> UnsafePointer<CChar>?

  /// Whether the handshake is complete. The corresponding C function is `SSL_is_init_finished`.
  static func isHandshakeComplete(_ ssl: UnsafeRawPointer?) -> Bool {
    guard let ssl = unsafe ssl, let symbol = unsafe dlsym(nil, "SSL_is_init_finished") else { return false }
    return unsafe unsafeBitCast(symbol, to: Question.self)(ssl) == 1
  }

  /// Writes a few bytes; nil where that is impossible without OpenSSL's functions, or not now. The corresponding C
  /// function is `SSL_write`.
  static func write(_ bytes: [UInt8], to ssl: UnsafeRawPointer) -> Int? {
    guard let symbol = unsafe dlsym(nil, "SSL_write") else { return nil }
    typealias Writing = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, CInt) -> CInt
    let count = unsafe unsafeBitCast(symbol, to: Writing.self)(ssl, bytes, CInt(bytes.count))
    return count > 0 ? Int(count) : nil
  }

  /// Why the peer's certificate was refused, in OpenSSL's words; nil when it was not, or that is unknown. The
  /// corresponding C functions are `SSL_get_verify_result` and `X509_verify_cert_error_string`.
  static func certificateProblem(_ ssl: UnsafeRawPointer?) -> String? {
    guard let ssl = unsafe ssl, let result = unsafe dlsym(nil, "SSL_get_verify_result"),
      let naming = unsafe dlsym(nil, "X509_verify_cert_error_string")
    else { return nil }
    let code = unsafe unsafeBitCast(result, to: LongQuestion.self)(ssl)
    guard code != 0, let text = unsafe unsafeBitCast(naming, to: Naming.self)(code) else { return nil }
    return unsafe String(cString: text)
  }
}
