internal import Glibc
internal import Platform
internal import Sensors

/// A failure of IIO hardware: operation, object, reason and remedy.
public struct IIOError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The failed operation.
  public enum Operation: Hashable, Sendable, CustomStringConvertible {
    case open, find, parse, read, decode, poll
    /// The start of a capture.
    case startBuffer
    case readBuffer
    /// Setting an attribute. The text names the attribute in front of the object, such as "the mode of".
    case set(String)

    public var description: String {
      switch self {
      case .open: "open"
      case .find: "find"
      case .parse: "parse"
      case .read: "read"
      case .decode: "decode"
      case .poll: "poll"
      case .startBuffer: "start the buffer of"
      case .readBuffer: "read the buffer of"
      case .set(let what): "set \(what)"
      }
    }
  }

  public var operation: Operation
  /// The context's URI, with the device and attribute if there is one.
  public var object: String
  /// The `errno` value; nil if the failure was not a system call.
  public var code: Int32? = nil
  /// The reason and the remedy, as a clause.
  public var reason: String

  /// The error as text. No colon is added to the URI `local:`, which already ends with one.
  public var description: String {
    "cannot \(operation) \(object)\(object.hasSuffix(":") ? "" : ":") \(reason)"
  }
}

extension IIOError {

  /// Creates the error of a failed libiio call.
  ///
  /// - Parameter code: the positive `errno` value.
  init(operation: Operation, object: String, errno code: Int32) {
    self.init(
      operation: operation, object: object, code: code,
      reason: SystemError.message(for: code) + Self.remedy(for: code))
  }

  /// Creates the error of a context that could not be opened; the remedy depends on the kind of URI.
  init(opening uri: String, errno code: Int32) {
    let cause = SystemError.message(for: code)
    let reason: String
    if uri.hasPrefix("ip:") {
      reason =
        switch code {
        case ECONNREFUSED: "\(cause); start iiod on that host (systemctl start iiod), or correct the port"
        case ENOENT, EINVAL:
          "the host name or port does not resolve; correct the URI (ip:HOST or ip:HOST:PORT)"
        case ENOSYS: "this libiio was built without its network backend"
        default:
          "\(cause); check that the host is up, that iiod runs there, and that the URI's port (else 30431) can be reached"
        }
    } else if uri.hasPrefix("local:") {
      reason =
        switch code {
        case ENOENT, ENODEV:
          "this kernel has no IIO device; load the sensor's driver (modprobe), then see /sys/bus/iio/devices"
        default: cause + Self.remedy(for: code)
        }
    } else if uri.hasPrefix("usb:") {
      reason =
        switch code {
        case ENOENT, ENODEV, EINVAL:
          "no such IIO device on USB; plug it in, and list them with iio_info -S usb"
        case EACCES, EPERM:
          "\(cause); the user and the service need access to USB devices: see \"Sensors on USB\" in hardware.md"
        default: cause + Self.remedy(for: code)
        }
    } else {
      reason = "\(cause); the URI must be local:, ip:HOST[:PORT] or usb:[BUS.ADDRESS.INTERFACE]"
    }
    self.init(operation: .open, object: uri, code: code, reason: reason)
  }

  /// Creates the error of a capture that the kernel refused because the device has no trigger.
  init(lackingTrigger object: String) {
    self.init(
      operation: .startBuffer, object: object, code: EINVAL,
      reason:
        "it has no interrupt and no timer; load iio-trig-hrtimer, and create a timer in /sys/kernel/config/iio/triggers/hrtimer"
    )
  }

  /// Creates the error of a capture that has stopped delivering samples.
  init(stalled object: String) {
    self.init(
      operation: .readBuffer, object: object,
      reason: "it delivers no more samples; check the power supply and the interrupt of the chip")
  }

  /// Creates the error of a capture that delivers nothing although the sensor measures.
  init(deadTrigger trigger: String?, of object: String) {
    self.init(
      operation: .readBuffer, object: object,
      reason: (trigger.map { "trigger \($0)" } ?? "its interrupt")
        + " delivers no samples although readings change; correct the interrupt in the device tree")
  }

  /// Creates the error of sensors whose driver provides no buffer.
  init(lackingBuffer kinds: [SensorKind], of object: String, _ configuration: IIOConfiguration) {
    self.init(
      operation: .startBuffer, object: object,
      reason:
        "its driver has no buffer for \(kinds.sorted().map(\.rawValue).joined(separator: ", ")); polled at "
        + "\(SamplingFrequencies.text(configuration.pollFrequency)) Hz"
    )
  }

  private static func remedy(for code: Int32) -> String {
    switch code {
    case EACCES, EPERM: "; give the user access with the udev rule in Deploy/, or run as root"
    case EBUSY: "; another program uses the device (iio-sensor-proxy, iiod, iio_readdev): stop it"
    case ENODEV, ENXIO: "; the device is gone"
    case EPIPE, ECONNRESET, EBADF: "; the connection was lost"
    default: ""
    }
  }
}
