internal import Glibc
internal import Platform

/// A TCP connection to gpsd whose waits are all limited and interruptible.
///
/// libgps's own `gps_open` waits for a silent host as long as the kernel does (two minutes), and its
/// `gps_send` raises SIGPIPE. Therefore this module has its own socket and uses libgps only for parsing,
/// which the documentation of `gps_unpack` provides for.
struct GPSDSocket: ~Copyable {
  /// EAI_ADDRFAMILY of netdb.h, which Swift's Glibc module does not have.
  private static let noAddressOfFamily: Int32 = -9

  let address: GPSDAddress
  private let descriptor: Int32

  /// Connects.
  /// - Parameters:
  ///   - deadline: time limit. A host name lookup is limited only by the resolver; numeric addresses need
  ///     none.
  ///   - wake: ends the wait if it is signalled; it is not drained.
  init(to address: GPSDAddress, deadline: MonotonicTime, wake: EventDescriptor) throws(GPSDError) {
    self.address = address
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG
    var list: UnsafeMutablePointer<addrinfo>?
    var code = unsafe getaddrinfo(address.host, String(address.port), &hints, &list)
    if code == EAI_NONAME || code == Self.noAddressOfFamily {
      // AI_ADDRCONFIG ignores the loopback interface: a machine without network would have no addresses. Other
      // failures, such as silent name servers, would only last twice as long.
      unsafe hints.ai_flags = AI_NUMERICSERV
      code = unsafe getaddrinfo(address.host, String(address.port), &hints, &list)
    }
    guard code == 0 else {
      throw GPSDError(
        kind: .unknownHost, operation: "look up", object: address.description,
        cause: "\(unsafe String(cString: gai_strerror(code))); check the configured host")
    }
    defer { unsafe freeaddrinfo(list) }
    var failure = GPSDError(
      kind: .unknownHost, operation: "look up", object: address.description, cause: "it has no address")
    var entry = unsafe list
    while let candidate = unsafe entry {
      do {
        descriptor = try unsafe Self.connect(candidate.pointee, address, deadline, wake)
        return
      } catch {
        failure = error
        if error.kind == .interrupted { throw error }
      }
      unsafe entry = candidate.pointee.ai_next
    }
    throw failure
  }

  deinit { close(descriptor) }

  /// Sends a whole request. Requests are short, so a connection that does not accept one is broken.
  func send(_ request: String) throws(GPSDError) {
    let bytes = Array(request.utf8)
    let sent = retryingOnInterrupt {
      Int32(unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)))
    }
    guard Int(sent) == bytes.count else {
      throw failure("send to", SystemError.message(for: sent < 0 ? -sent : EAGAIN))
    }
  }

  /// The result of `receive`.
  enum Outcome: Equatable {
    case received
    case timedOut
    case interrupted
  }

  /// Waits for bytes and appends them.
  /// - Throws: `connectionLost` if gpsd has closed the connection.
  func receive(into buffer: inout [UInt8], deadline: MonotonicTime?, wake: EventDescriptor) throws(GPSDError)
    -> Outcome
  {
    switch Self.wait(descriptor, for: Int16(POLLIN), deadline: deadline, wake: wake) {
    case .interrupted: return .interrupted
    case .timedOut: return .timedOut
    case .received: break
    }
    let start = buffer.count
    let capacity = 16 * 1024
    buffer.append(contentsOf: repeatElement(0, count: capacity))
    let length = unsafe buffer.withUnsafeMutableBytes { bytes in
      unsafe recv(descriptor, bytes.baseAddress.map { unsafe $0 + start }, capacity, Int32(MSG_DONTWAIT))
    }
    let code = errno
    buffer.removeLast(capacity - max(0, length))
    if length > 0 { return .received }
    if length < 0, code == EINTR || code == EAGAIN { return .timedOut }
    throw failure("read from", length == 0 ? "gpsd closed the connection" : SystemError.message(for: code))
  }

  private func failure(_ operation: String, _ cause: String) -> GPSDError {
    GPSDError(kind: .connectionLost, operation: operation, object: address.description, cause: cause)
  }

  private static func connect(
    _ candidate: addrinfo, _ address: GPSDAddress, _ deadline: MonotonicTime, _ wake: EventDescriptor
  ) throws(GPSDError) -> Int32 {
    func failure(_ kind: GPSDError.Kind, _ cause: String) -> GPSDError {
      GPSDError(kind: kind, operation: "connect to", object: address.description, cause: cause)
    }
    let descriptor = unsafe socket(
      candidate.ai_family, candidate.ai_socktype | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
      candidate.ai_protocol)
    guard descriptor >= 0 else { throw failure(.unreachable, SystemError.message(for: errno)) }
    var code: Int32 = 0
    if unsafe Glibc.connect(descriptor, candidate.ai_addr, candidate.ai_addrlen) != 0 { code = errno }
    if code == EINPROGRESS || code == EINTR {
      switch wait(descriptor, for: Int16(POLLOUT), deadline: deadline, wake: wake) {
      case .received:
        var length = socklen_t(MemoryLayout<Int32>.size)
        unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
      case .timedOut: code = ETIMEDOUT
      case .interrupted:
        close(descriptor)
        throw failure(.interrupted, "interrupted")
      }
    }
    guard code == 0 else {
      close(descriptor)
      let hint = code == ECONNREFUSED ? "; is gpsd running?" : "; check the address and the network"
      throw failure(.unreachable, SystemError.message(for: code) + hint)
    }
    return descriptor
  }

  private static func wait(
    _ descriptor: Int32, for events: Int16, deadline: MonotonicTime?, wake: EventDescriptor
  ) -> Outcome {
    var entries = [
      pollfd(fd: descriptor, events: events, revents: 0),
      pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      // Rounded up: an early wakeup would only poll again.
      let left = deadline.map { max(0, min($0.secondsRemaining * 1000, 86_400_000)) + 1 }
      let ready = unsafe poll(&entries, 2, Int32(left ?? -1))
      if ready < 0, errno == EINTR { continue }
      if entries[1].revents != 0 { return .interrupted }
      if entries[0].revents != 0 { return .received }
      if let deadline, deadline.hasPassed { return .timedOut }
      if ready < 0 { return .timedOut }
    }
  }
}
