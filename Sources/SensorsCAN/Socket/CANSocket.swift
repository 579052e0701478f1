internal import CLinux
internal import Glibc
internal import Platform
package import Sensors
package import Spatial

/// A raw socket of a CAN interface. It only listens unless `send` is called.
package struct CANSocket: ~Copyable {
  package let descriptor: Int32
  package let interface: String

  /// Adopts a descriptor that transfers frames in the kernel's format.
  package init(adopting descriptor: Int32, interface: String) {
    self.descriptor = descriptor
    self.interface = interface
  }

  deinit { close(descriptor) }

  /// Opens an interface.
  /// - Parameters:
  ///   - filters: filters of the kernel; empty passes only errors, nil passes everything.
  /// - Throws: `SourceError` with a remedy: a kernel without CAN, a missing interface, one that is down.
  package init(interface: String, filters: [CANFilter]?) throws(SourceError) {
    self.init(adopting: try Self.open(interface, filters), interface: interface)
  }

  private static func open(_ interface: String, _ filters: [CANFilter]?) throws(SourceError) -> Int32 {
    let descriptor = odograph_can_socket()
    guard descriptor >= 0 else { throw Self.noCAN(interface, code: -descriptor) }
    do throws(SourceError) {
      try bind(descriptor, interface, filters)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  private static func bind(
    _ descriptor: Int32, _ interface: String, _ filters: [CANFilter]?
  ) throws(SourceError) {
    let index = unsafe if_nametoindex(interface)
    guard index > 0 else {
      throw SourceError(
        place: interface, problem: "no such interface",
        remedy:
          "plug the adapter in or load its driver, or name another in can.interface (odographd sensors lists them)"
      )
    }
    let everything = [UInt32](repeating: 0, count: 2)
    // The kernel's limit (CAN_RAW_FILTER_MAX); with more filters, all frames are read.
    let isFewEnough = filters.map { $0.count <= 512 } ?? false
    let values = isFewEnough ? filters?.flatMap(\.kernelValues) ?? everything : everything
    var code = unsafe odograph_can_prepare(
      descriptor, values, Int32(values.count / 2), CANBusError.wanted)
    if code == 0 { code = odograph_can_bind(descriptor, index) }
    guard code == 0 else {
      throw SourceError(
        place: interface, problem: "cannot be opened for receiving: \(SystemError.message(for: -code))",
        remedy: -code == ENODEV
          ? "not a CAN interface; name another in can.interface" : "check the interface")
    }
    guard isUp(descriptor, interface) else { throw down(interface) }
  }

  package static func isUp(_ descriptor: Int32, _ interface: String) -> Bool {
    unsafe odograph_interface_is_up(descriptor, interface) != 0
  }

  /// Returns the error for an interface that is down.
  package static func down(_ interface: String) -> SourceError {
    SourceError(
      place: interface, problem: "is down",
      remedy: "bring it up with the bus's own bit rate: ip link set \(interface) up type can bitrate 500000")
  }

  package static func noCAN(_ interface: String, code: Int32) -> SourceError {
    guard code == EAFNOSUPPORT || code == EPROTONOSUPPORT else {
      return SourceError(
        place: interface, problem: "no socket: \(SystemError.message(for: code))",
        remedy: code == EPERM || code == EACCES
          ? "let the unit open AF_CAN sockets (RestrictAddressFamilies=AF_CAN)" : "check the machine's limits"
      )
    }
    return SourceError(
      place: interface, problem: "this kernel has no CAN",
      remedy: "load it (modprobe can-raw), or run a kernel with CONFIG_CAN and CONFIG_CAN_RAW")
  }

  package enum Received {
    /// A frame with the kernel's civil time; nil if there is none.
    case frame(CANFrame, time: UTCTime?)
    /// Data that is not a frame.
    case other
    case nothing
  }

  /// Receives the next available frame. Never waits.
  /// - Throws: `SourceError` if the interface is down or was removed.
  package func receive() throws(SourceError) -> Received {
    var bytes = [UInt8](repeating: 0, count: CANFrame.kernelSizeFD)
    var stamp: Int64 = 0
    let size = unsafe odograph_can_receive(descriptor, &bytes, &stamp)
    if size == -Int(EAGAIN) || size == -Int(EINTR) { return .nothing }
    guard size > 0 else {
      // An end of file occurs with test transports whose other side was closed.
      if size == 0 || size == -Int(ENETDOWN) { throw Self.down(interface) }
      throw SourceError(
        place: interface, problem: "cannot be read: \(SystemError.message(for: Int32(-size)))",
        remedy: "check the adapter")
    }
    bytes.removeLast(bytes.count - min(size, bytes.count))
    return CANFrame(kernel: bytes).map { .frame($0, time: stamp > 0 ? UTCTime(nanoseconds: stamp) : nil) }
      ?? .other
  }

  /// Sends a frame. The frame is lost if the controller has no space in its queue.
  /// - Throws: `SourceError` if the interface is down or was removed.
  package func send(_ frame: CANFrame) throws(SourceError) {
    let bytes = frame.kernelBytes
    let sent = retryingOnInterrupt {
      Int32(unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)))
    }
    if sent == -ENETDOWN || sent == -ENXIO || sent == -EPIPE { throw Self.down(interface) }
  }
}
