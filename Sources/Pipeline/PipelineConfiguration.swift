package import Motion
package import Navigation
package import Positioning
package import Sensors
package import Spatial

/// Settings of the pipeline. They contain nothing that is needed for I/O only. The defaults are those of the
/// configuration keys.
package struct PipelineConfiguration: Sendable, Hashable {
  package var location = Location()
  package var heading = Heading()
  package var attitude = Attitude()
  package var altitude = Altitude()
  package var motion = Motion()
  package var navigation = Navigation()
  /// CAN settings; nil if the CAN bus is not read.
  package var vehicle: Vehicle?
  package var coarse = Coarse()
  package var trips = Trips()
  /// Privacy zones, in which positions are not published or are blurred.
  package var privacy = PrivacyPolicy()
  /// Time in s between `status` messages if nothing changes.
  package var statusInterval = 300.0
  package var inertial = Inertial()
  /// True if every accelerometer sample is recorded; the sample rate is then not reduced at rest.
  package var isRecording = false
  /// Power in W and energy in J of the device's components.
  package var energy = EnergyFigures.usual
  /// True in a replay or simulation: timestamps are those of the recording, and only the receiver provides
  /// civil time.
  package var isVirtual = false
  /// True if a receiver counts as present before a source has reported one.
  package var hasReceiver = true
  package var events = Events()
  /// Trace settings; nil disables traces.
  package var traces: Traces?

  package init() {}
}

extension PipelineConfiguration {
  /// Settings of location reporting.
  package struct Location: Sendable, Hashable {
    /// The policy that selects locations for immediate publication.
    package enum Policy: Sendable, Hashable {
      /// Publishes locations at a minimum distance in m from the last published one; nil publishes every
      /// location.
      case distance(Double?)
      /// Publishes as few locations as possible so that the position which subscribers display is accurate to
      /// `error` metres for the time `delay` seconds ago. `limits` additionally limit the error for consumers
      /// that display the last reported position.
      case bounded(error: Double, delay: Double, limits: [DisplacementLimit] = [])
      /// Publishes significant changes of the position only; see `SignificantChangeMonitor`.
      case significant
    }

    /// Settings of deferral: fixes are collected, and published together as a `track`.
    package struct Deferral: Sendable, Hashable {
      /// Maximum distance in m for which fixes are collected; nil for no limit.
      package var distance: Double?
      /// Maximum time in s for which fixes are collected; nil for no limit.
      package var timeout: Double?
      /// Maximum error in m of positions interpolated from a simplified track; nil publishes every fix.
      package var error: Double?

      package init(distance: Double?, timeout: Double?, error: Double?) {
        self.distance = distance
        self.timeout = timeout
        self.error = error
      }
    }

    package var isEnabled = true
    package var desiredAccuracy = DesiredAccuracy.best
    package var activity = ActivityType.automotive
    package var pausesAutomatically = true
    package var policy = Policy.bounded(
      error: 20, delay: 5, limits: [DisplacementLimit(metres: 70, seconds: 1)])
    /// Settings of deferral; nil publishes every location individually.
    package var deferral: Deferral?

    package init() {}
  }

  package struct Heading: Sendable, Hashable {
    package var isEnabled = true
    /// Minimum time in s between headings.
    package var interval = 10.0
    /// Minimum change in degrees between two published headings.
    package var filter = 10.0
    /// Orientation in which the device is mounted; it determines which side of the device is the front.
    package var orientation = DeviceOrientation.portrait

    package init() {}
  }

  package struct Attitude: Sendable, Hashable {
    package var isEnabled = true
    /// Minimum time in s between attitudes.
    package var interval = 1.0
    /// Minimum change in degrees between two published attitudes; 0 publishes one attitude per interval.
    package var filter = 5.0
    package var frame = AttitudeReferenceFrame.xMagneticNorthZVertical

    package init() {}
  }

  package struct Altitude: Sendable, Hashable {
    /// True if the barometer is read.
    package var isEnabled = true
    /// Time in s between `altitude` messages; nil publishes only changes of the level.
    package var interval: Double?

    package init() {}
  }

  /// Settings of `motion` messages.
  package struct Motion: Sendable, Hashable {
    package enum Event: String, Sendable, Hashable, CaseIterable {
      case shake
      case impact
      case orientation
      /// Rest and motion.
      case activity
    }

    package var events: Set<Event> = [.impact, .activity]
    /// True if impacts and shakes are also detected at rest; the accelerometer then cannot sleep.
    package var watchesAtRest = false
    package var shake = ShakeDetector.Settings()
    package var impact = ImpactDetector.Settings()
    package var orientation = OrientationDetector.Settings()

    package init() {}
  }

  /// Settings of the navigation filter, which combines receiver and inertial sensors.
  package struct Navigation: Sendable, Hashable {
    package var isEnabled = true
    /// Kind of motion of the vehicle, which selects the constraints of the filter.
    package var vehicle = VehicleMotion.wheeled

    package init() {}
  }

  /// Settings for signals of the CAN bus.
  package struct Vehicle: Sendable, Hashable {
    /// Maximum number of published signals.
    package static let mostSignals = 256

    /// Time in s between `vehicle` messages while no state changes.
    package var interval = 10.0
    /// Path of the signal with the speed in km/h for navigation; nil if navigation uses no speed signal.
    package var speedPath: String? = "Vehicle.Speed"

    package init() {}
  }

  /// Settings of trips.
  package struct Trips: Sendable, Hashable {
    package var isEnabled: Bool
    /// Maximum duration in s of a stop within a trip; a longer stop ends the trip.
    package var stop: Double
    /// Time in s between messages about a trip in progress; nil publishes only its start and end.
    package var interval: Double?

    package init(isEnabled: Bool = true, stop: Double = 300, interval: Double? = 300) {
      self.isEnabled = isEnabled
      self.stop = stop
      self.interval = interval
    }
  }

  /// Settings of coarse positions from radios.
  package struct Coarse: Sendable, Hashable {
    /// The radios (`wifi`, `cellular`) that are scanned for positions; empty to scan none.
    package var radios: Set<SensorKind>
    /// True if radio scans with accurate fixes are requested, so that the beacon map learns from them.
    package var isLearning: Bool

    package init(radios: Set<SensorKind> = [], isLearning: Bool = true) {
      self.radios = radios
      self.isLearning = isLearning
    }
  }

  /// Sampling of the inertial sensors while attitude, heading or motion events are enabled.
  package struct Inertial: Sendable, Hashable {
    /// Sample rate in Hz.
    package var rate = 100.0
    /// Time in s for which samples may be buffered in the kernel.
    package var latency = 0.5

    package init() {}
  }
}

extension EnergyFigures {
  /// Figures of a tracker with an LTE modem. `Config/odograph.toml` names the source of each figure.
  fileprivate static let usual = EnergyFigures(
    power: milliwatts.mapValues { $0 * 1e-3 }, scanDuration: [.wifi: 4.2, .cellular: 0.3], wakeup: 0.05e-3,
    burst: 0.315, byte: 3.5e-6)

  private static let milliwatts: [EnergyComponent: Double] = [
    .receiver: 87, .accelerometer: 0.3, .gyroscope: 0.7, .magnetometer: 1.8, .barometer: 0.006,
    .processor: 300, .radio: 1060, .wifi: 278, .cellular: 120,
  ]
}
