internal import CMosquitto
internal import Glibc

/// What has to happen once per process before the first client.
enum Library {
  /// Initialises libmosquitto and ignores SIGPIPE, which a TLS write to a closed connection raises.
  static func prepare() { _ = once }

  private static let once: Bool = {
    signal(SIGPIPE, SIG_IGN)
    mosquitto_lib_init()
    return true
  }()

  /// The library's sentence for a `MOSQ_ERR` code; for MOSQ_ERR_ERRNO that of the kernel.
  static func message(for code: Int32, errno: Int32) -> String {
    if code == MOSQ_ERR_ERRNO.code {
      return unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
    }
    if code == MOSQ_ERR_EAI.code { return unsafe String(cString: gai_strerror(errno)) }
    return unsafe mosquitto_strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }
}

extension mosq_err_t {
  var code: Int32 { Int32(rawValue) }
}
