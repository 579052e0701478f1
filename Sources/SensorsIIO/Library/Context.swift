internal import CIIO
internal import Glibc

/// A libiio context: the devices of one machine, and the connection to it.
///
/// Each thread that reads a device has its own context, so that threads share no libiio state: a network
/// context is a socket, a local one a view of sysfs.
@safe package struct Context: ~Copyable {
  package let uri: String
  private let handle: OpaquePointer

  /// Opens a context. Blocks while it connects: the network backend of libiio 0.24 times out after 5 s. The
  /// corresponding C function is `iio_create_context_from_uri`.
  package init(uri: String) throws(IIOError) {
    // libiio interprets "local" and the empty string as a network host or a default; an explicit URI is
    // required here.
    guard uri.contains(":") else { throw IIOError(opening: uri, errno: EINVAL) }
    errno = 0
    guard let handle = unsafe iio_create_context_from_uri(uri) else {
      throw IIOError(opening: uri, errno: errno == 0 ? EIO : abs(errno))
    }
    self.uri = uri
    unsafe self.handle = handle
  }

  /// Creates a context from its XML description; it has structure and formats but cannot read. The
  /// corresponding C function is `iio_create_xml_context_mem`.
  package init(xml: String) throws(IIOError) {
    errno = 0
    guard let handle = unsafe iio_create_xml_context_mem(xml, xml.utf8.count) else {
      throw IIOError(operation: .parse, object: "xml:", errno: errno)
    }
    uri = "xml:"
    unsafe self.handle = handle
  }

  deinit { unsafe iio_context_destroy(handle) }

  /// True if the devices belong to this machine and use its clock.
  package var isLocal: Bool { uri.hasPrefix("local:") }

  /// The context's description: the kernel, the remote machine.
  package var contextDescription: String {
    unsafe iio_context_get_description(handle).map { unsafe String(cString: $0) } ?? ""
  }

  /// Sets the time limit of a read. Over the network the server waits half as long for its hardware, in all
  /// its contexts. The corresponding C function is `iio_context_set_timeout`.
  package func setTimeout(seconds: Double) throws(IIOError) {
    let code = unsafe iio_context_set_timeout(handle, UInt32(max(1, min(seconds, 3600) * 1000)))
    // The local backend of some versions has no time limit; local devices are polled anyway.
    guard code >= 0 || code == -ENOSYS else {
      throw IIOError(operation: .set("the time limit of"), object: uri, errno: -code)
    }
  }

  package var deviceCount: Int { Int(unsafe iio_context_get_devices_count(handle)) }

  /// Calls `body` with the device at an index, 0 ..< `deviceCount`.
  package func withDevice<Result>(
    at index: Int, _ body: (borrowing Device) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    try unsafe lend(iio_context_get_device(handle, UInt32(clamping: index)), "#\(index)", body)
  }

  /// Calls `body` with the device with an identifier ("iio:device0"), a name or a label.
  package func withDevice<Result>(
    _ identifier: String, _ body: (borrowing Device) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    try unsafe lend(iio_context_find_device(handle, identifier), identifier, body)
  }

  private func lend<Result>(
    _ device: OpaquePointer?, _ title: String, _ body: (borrowing Device) throws(IIOError) -> Result
  ) throws(IIOError) -> Result {
    guard let device = unsafe device else {
      throw IIOError(operation: .find, object: "\(uri) \(title)", errno: ENODEV)
    }
    let loan = unsafe Device(uri: uri, handle: device)
    return try body(loan)
  }
}

/// Handling of SIGPIPE: libiio writes to sockets whose peer can be gone, and the signal would end the
/// process.
enum BrokenPipe {
  /// Blocks SIGPIPE in the calling thread and the threads that it starts, so that writes fail with EPIPE.
  static func block() {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
