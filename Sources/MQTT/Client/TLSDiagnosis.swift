internal import Glibc

/// Reads from OpenSSL what libmosquitto does not report: the progress of a handshake, and the reason for a
/// rejected certificate. The functions are those of the libssl that libmosquitto is linked with, found at run
/// time, so this module needs no headers of it. Without them the results are "unknown".
enum TLSDiagnosis {
  private typealias Question = @convention(c) (UnsafeRawPointer?) -> CInt
  private typealias LongQuestion = @convention(c) (UnsafeRawPointer?) -> CLong
  private typealias Naming = @convention(c) (CLong) -> UnsafePointer<CChar>?

  /// Returns whether the handshake is complete. The corresponding C function is `SSL_is_init_finished`.
  static func isHandshakeComplete(_ ssl: UnsafeRawPointer?) -> Bool {
    guard let ssl = unsafe ssl, let symbol = unsafe dlsym(nil, "SSL_is_init_finished") else { return false }
    return unsafe unsafeBitCast(symbol, to: Question.self)(ssl) == 1
  }

  /// Writes a few bytes; nil without OpenSSL's functions, or if writing is not possible at the moment. The
  /// corresponding C function is `SSL_write`.
  static func write(_ bytes: [UInt8], to ssl: UnsafeRawPointer) -> Int? {
    guard let symbol = unsafe dlsym(nil, "SSL_write") else { return nil }
    typealias Writing = @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, CInt) -> CInt
    let count = unsafe unsafeBitCast(symbol, to: Writing.self)(ssl, bytes, CInt(bytes.count))
    return count > 0 ? Int(count) : nil
  }

  /// Returns OpenSSL's reason for rejecting the peer's certificate; nil if it was accepted or the reason is
  /// unknown. The corresponding C functions are `SSL_get_verify_result` and `X509_verify_cert_error_string`.
  static func certificateProblem(_ ssl: UnsafeRawPointer?) -> String? {
    guard let ssl = unsafe ssl, let result = unsafe dlsym(nil, "SSL_get_verify_result"),
      let naming = unsafe dlsym(nil, "X509_verify_cert_error_string")
    else { return nil }
    let code = unsafe unsafeBitCast(result, to: LongQuestion.self)(ssl)
    guard code != 0, let text = unsafe unsafeBitCast(naming, to: Naming.self)(code) else { return nil }
    return unsafe String(cString: text)
  }
}

extension TLSDiagnosis {
  private typealias Getter = @convention(c) (UnsafeRawPointer?) -> UnsafeMutableRawPointer?
  private typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  private typealias Text = @convention(c) (UnsafeRawPointer?) -> UnsafePointer<CChar>?
  private typealias OneLine =
    @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, CInt) -> UnsafeMutablePointer<
      CChar
    >?
  private typealias Difference =
    @convention(c) (
      UnsafeMutablePointer<CInt>?, UnsafeMutablePointer<CInt>?, UnsafeRawPointer?, UnsafeRawPointer?
    ) -> CInt

  /// Returns the peer's certificate; nil if there is none or it is unknown. The corresponding C functions are
  /// `SSL_get1_peer_certificate`, `X509_get0_notAfter`, `ASN1_TIME_diff` and `X509_NAME_oneline`.
  static func peerCertificate(_ ssl: UnsafeRawPointer?) -> MQTTPeerCertificate? {
    guard let ssl = unsafe ssl, let get = unsafe dlsym(nil, "SSL_get1_peer_certificate"),
      let free = unsafe dlsym(nil, "X509_free"), let end = unsafe dlsym(nil, "X509_get0_notAfter"),
      let difference = unsafe dlsym(nil, "ASN1_TIME_diff"),
      let certificate = unsafe unsafeBitCast(get, to: Getter.self)(ssl)
    else { return nil }
    defer { unsafe unsafeBitCast(free, to: Release.self)(certificate) }
    var (days, seconds): (CInt, CInt) = (0, 0)
    let time = unsafe unsafeBitCast(end, to: Getter.self)(certificate)
    // A null start time means the current time.
    guard unsafe unsafeBitCast(difference, to: Difference.self)(&days, &seconds, nil, time) == 1 else {
      return nil
    }
    var version = "TLS"
    if let symbol = unsafe dlsym(nil, "SSL_get_version"),
      let text = unsafe unsafeBitCast(symbol, to: Text.self)(ssl)
    {
      version = unsafe String(cString: text)
    }
    return unsafe MQTTPeerCertificate(
      tlsVersion: version, subject: name(certificate, "X509_get_subject_name"),
      issuer: name(certificate, "X509_get_issuer_name"), secondsLeft: Double(days) * 86_400 + Double(seconds))
  }

  private static func name(_ certificate: UnsafeMutableRawPointer, _ getter: String) -> String {
    guard let get = unsafe dlsym(nil, getter), let line = unsafe dlsym(nil, "X509_NAME_oneline") else {
      return "?"
    }
    let name = unsafe unsafeBitCast(get, to: Getter.self)(certificate)
    var buffer = [CChar](repeating: 0, count: 512)
    guard unsafe unsafeBitCast(line, to: OneLine.self)(name, &buffer, CInt(buffer.count)) != nil else {
      return "?"
    }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
