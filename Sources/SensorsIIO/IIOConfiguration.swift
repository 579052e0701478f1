public import Sensors

/// The selection and settings of IIO hardware. The defaults work for one local chip.
public struct IIOConfiguration: Hashable, Sendable {
  /// The libiio URI of the hardware: `local:`, `ip:HOST`, `ip:HOST:PORT`, `usb:` or any other.
  public var uri: String

  /// The kinds that the source searches for.
  public var kinds: Set<SensorKind> = [
    .accelerometer, .gyroscope, .magnetometer, .barometer, .thermometer,
  ]

  /// Optional kinds: a missing one is not reported, and is searched for only during the first five minutes.
  public var helpers: Set<SensorKind> = [.thermometer, .barometer]

  /// The device for a kind, by identifier ("iio:device0"), name ("lsm6dsox") or label. Kinds without an entry
  /// use the first device that has the kind.
  public var devices: [SensorKind: String] = [:]

  /// The mounting of a device, by identifier, name or label. It replaces the device's `mount_matrix` attribute.
  public var mountMatrices: [String: MountMatrix] = [:]

  /// The demand on the range of the accelerometer; nil leaves the range unchanged, which is ±2 g after the start of
  /// most drivers.
  public var accelerometerRange: RangeDemand?

  /// A demand on the range of an accelerometer: the smallest offered range of at least `requested` is set, otherwise
  /// the largest one. Ranges with a coarser resolution are not considered. The range remains set after the capture.
  public struct RangeDemand: Hashable, Sendable {
    /// The requested range in m/s².
    public var requested: Double
    /// The range in m/s² below which a restriction is reported.
    public var required: Double
    /// The largest permitted step of a raw value in m/s².
    public var resolution = 0.02

    /// Creates a demand, by default for 16 g.
    public init(requested: Double = 16 * standardGravity, required: Double) {
      (self.requested, self.required) = (requested, required)
    }
  }

  /// The lowest and the highest rate in Hz to which a demand is limited; nil for no limit. Some chips are
  /// noisy or hot above some rate.
  public var minimumFrequency: Double?
  public var maximumFrequency: Double?

  /// The rate in Hz during the on-time of a duty cycle.
  public var naturalFrequency: Double = 50

  /// The name of the trigger for devices that need one; nil for the device's own (`NAME-devN`), or a
  /// high-resolution timer trigger.
  public var trigger: String?

  /// The number of scans that the kernel buffers for a late reader; nil for two seconds. At least 4 and at
  /// most 200 blocks of `watermark` scans are buffered.
  public var bufferLength: Int?

  /// The number of scans after which the processor is woken, at least 1; nil to derive it from the demand's
  /// latency.
  public var watermark: Int?

  /// The maximum rate in Hz at which sensors without a buffer are polled.
  public var pollFrequency: Double = 25

  /// The maximum rate in Hz of temperatures.
  public var temperatureFrequency: Double = 1

  /// The time limit in seconds for a read from the context, after which the connection counts as lost. Over
  /// the network the server waits half of that for its hardware.
  public var timeout: Double = 5

  public init(uri: String = "local:") { self.uri = uri }

  /// Returns the rate in Hz within the limits.
  package func limited(_ hertz: Double) -> Double {
    let raised = max(hertz, minimumFrequency ?? hertz)
    return min(raised, maximumFrequency ?? raised)
  }

  /// Returns whether a device has this identifier, name or label.
  package static func matches(_ key: String, identifier: String, name: String?, label: String?) -> Bool {
    key == identifier || key == name || key == label
  }
}
