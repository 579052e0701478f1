public import Sensors

/// Which IIO hardware to use and how. Every default works for one chip on this machine.
public struct IIOConfiguration: Hashable, Sendable {
  /// Where the hardware is: `local:`, `ip:HOST`, `ip:HOST:PORT`, `usb:` or any other libiio URI.
  public var uri: String

  /// The kinds that the source looks for.
  public var kinds: Set<SensorKind> = [
    .accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer,
  ]

  /// The kinds that only help others: one that is not there is neither missed nor sought for ever.
  public var helpers: Set<SensorKind> = [.thermometer, .barometer]

  /// The device for a kind, by identifier ("iio:device0"), name ("lsm6dsox") or label; a kind that is not named
  /// here is taken from the first device that has it.
  public var devices: [SensorKind: String] = [:]

  /// The mounting of a device, by identifier, name or label. It counts where the device has no `mount_matrix`
  /// attribute of its own, or one that is the identity, which drivers report when nobody told them.
  public var mountMatrices: [String: MountMatrix] = [:]

  /// Hz that a demand is raised or lowered to; nil is no limit. For chips that are noisy or hot beyond some rate.
  public var minimumFrequency: Double?
  public var maximumFrequency: Double?

  /// Hz of a duty cycle's on-time, where samples come at the source's natural rate.
  public var naturalFrequency: Double = 50

  /// The trigger for devices that need one, by name; nil takes the device's own (`NAME-devN`), then a
  /// high-resolution timer trigger.
  public var trigger: String?

  /// Scans that the kernel keeps while the reader is late; nil takes two seconds' worth. At least four blocks of
  /// `watermark` scans are kept, at most 200.
  public var bufferLength: Int?

  /// Scans after which the processor is woken; nil derives it from the demand's latency. At least 1.
  public var watermark: Int?

  /// Hz above which sensors without a buffer are not polled.
  public var pollFrequency: Double = 25

  /// Hz at which a temperature is read, at most.
  public var temperatureFrequency: Double = 1

  /// Seconds that a read of the context waits before the connection counts as lost. Over the network the server
  /// gives its hardware half of that.
  public var timeout: Double = 5

  public init(uri: String = "local:") { self.uri = uri }

  /// The demand in Hz within the limits.
  package func limited(_ hertz: Double) -> Double {
    let raised = max(hertz, minimumFrequency ?? hertz)
    return min(raised, maximumFrequency ?? raised)
  }

  /// Whether a device goes by that identifier, name or label.
  package static func matches(_ key: String, identifier: String, name: String?, label: String?) -> Bool {
    key == identifier || key == name || key == label
  }
}
