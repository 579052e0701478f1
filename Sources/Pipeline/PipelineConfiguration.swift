package import Motion
package import Positioning
package import Sensors
package import Spatial

/// Settings of the pipeline, which need no I/O.
package struct PipelineConfiguration: Sendable, Hashable {
  package var location: Location
  package var heading: Heading
  package var attitude: Attitude
  package var altitude: Altitude
  package var motion: Motion
  package var navigation: Navigation
  /// CAN settings; nil if the CAN bus is not read.
  package var vehicle: Vehicle?
  package var coarse: Coarse
  package var trips = Trips()
  /// Privacy zones in which positions are withheld or blurred.
  package var privacy: PrivacyPolicy
  /// Time in s between `status` messages without changes.
  package var statusInterval: Double
  package var inertial: Inertial
  /// True if every accelerometer sample is recorded, so that the accelerometer is not slowed down at rest.
  package var isRecording: Bool
  /// Power and energy of each component.
  package var energy: EnergyFigures
  /// True if the time line is that of a recording or simulation, whose only civil time is the receiver's.
  package var isVirtual: Bool
  /// True if a receiver counts as present before a source has reported one.
  package var hasReceiver = true
  package var events = Events()
  /// Trace settings; nil disables traces.
  package var traces: Traces?

  package init(
    location: Location, heading: Heading, attitude: Attitude, altitude: Altitude, motion: Motion,
    navigation: Navigation, vehicle: Vehicle? = nil, coarse: Coarse = Coarse(),
    privacy: PrivacyPolicy, statusInterval: Double, inertial: Inertial, isRecording: Bool,
    energy: EnergyFigures, isVirtual: Bool
  ) {
    self.location = location
    self.heading = heading
    self.attitude = attitude
    self.altitude = altitude
    self.motion = motion
    self.navigation = navigation
    self.vehicle = vehicle
    self.coarse = coarse
    self.privacy = privacy
    self.statusInterval = statusInterval
    self.inertial = inertial
    self.isRecording = isRecording
    self.energy = energy
    self.isVirtual = isVirtual
  }
}

extension PipelineConfiguration {
  /// Settings of location reporting.
  package struct Location: Sendable, Hashable {
    /// The policy that selects locations for immediate publication.
    package enum Policy: Sendable, Hashable {
      /// Locations at a minimum distance in m from the last published one; nil publishes every location.
      case distance(Double?)
      /// The position displayed by subscribers is accurate to `error` metres for the time `delay` seconds
      /// ago. Consumers that show the last reported position are within each of the limits.
      case bounded(error: Double, delay: Double, limits: [DisplacementLimit] = [])
      /// Significant changes only: `SignificantChangeMonitor`.
      case significant
    }

    /// Settings of deferral: fixes are collected and published as a `track`.
    package struct Deferral: Sendable, Hashable {
      /// Maximum distance in m; nil for no limit.
      package var distance: Double?
      /// Maximum time in s; nil for no limit.
      package var timeout: Double?
      /// Maximum interpolation error of a track in m; nil retains every fix.
      package var error: Double?

      package init(distance: Double?, timeout: Double?, error: Double?) {
        self.distance = distance
        self.timeout = timeout
        self.error = error
      }
    }

    package var isEnabled: Bool
    package var desiredAccuracy: DesiredAccuracy
    package var activity: ActivityType
    package var pausesAutomatically: Bool
    package var policy: Policy
    /// Deferral settings; nil publishes every location individually.
    package var deferral: Deferral?

    package init(
      isEnabled: Bool, desiredAccuracy: DesiredAccuracy, activity: ActivityType, pausesAutomatically: Bool,
      policy: Policy, deferral: Deferral? = nil
    ) {
      self.isEnabled = isEnabled
      self.desiredAccuracy = desiredAccuracy
      self.activity = activity
      self.pausesAutomatically = pausesAutomatically
      self.policy = policy
      self.deferral = deferral
    }
  }

  package struct Heading: Sendable, Hashable {
    package var isEnabled: Bool
    /// Minimum time in s between headings.
    package var interval: Double
    /// Minimum change of a published heading in degrees.
    package var filter: Double
    /// Orientation of the mounted device, which determines its forward side.
    package var orientation: DeviceOrientation

    package init(isEnabled: Bool, interval: Double, filter: Double, orientation: DeviceOrientation) {
      self.isEnabled = isEnabled
      self.interval = interval
      self.filter = filter
      self.orientation = orientation
    }
  }

  package struct Attitude: Sendable, Hashable {
    package var isEnabled: Bool
    /// Minimum time in s between attitudes.
    package var interval: Double
    /// Minimum change of a published attitude in degrees; 0 publishes one per interval.
    package var filter: Double
    package var frame: AttitudeReferenceFrame

    package init(isEnabled: Bool, interval: Double, filter: Double = 0, frame: AttitudeReferenceFrame) {
      self.isEnabled = isEnabled
      self.interval = interval
      self.filter = filter
      self.frame = frame
    }
  }

  package struct Altitude: Sendable, Hashable {
    /// True if the barometer is read.
    package var isEnabled: Bool
    /// Time in s between `altitude` messages; nil publishes only changes of the level.
    package var interval: Double?

    package init(isEnabled: Bool, interval: Double?) {
      self.isEnabled = isEnabled
      self.interval = interval
    }
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

    package var events: Set<Event>
    /// True if impacts and shakes are also detected at rest, at the cost of sensor sleep.
    package var watchesAtRest: Bool
    package var shake: ShakeDetector.Settings
    package var impact: ImpactDetector.Settings
    package var orientation: OrientationDetector.Settings

    package init(
      events: Set<Event>, watchesAtRest: Bool, shake: ShakeDetector.Settings, impact: ImpactDetector.Settings,
      orientation: OrientationDetector.Settings
    ) {
      self.events = events
      self.watchesAtRest = watchesAtRest
      self.shake = shake
      self.impact = impact
      self.orientation = orientation
    }
  }

  /// Settings of the navigation filter, which combines receiver and inertial sensors.
  package struct Navigation: Sendable, Hashable {
    package var isEnabled: Bool

    package init(isEnabled: Bool) {
      self.isEnabled = isEnabled
    }
  }

  /// Settings for signals of the CAN bus.
  package struct Vehicle: Sendable, Hashable {
    /// Maximum number of published signals.
    package static let mostSignals = 256

    /// Time in s between `vehicle` messages without a change of state.
    package var interval: Double
    /// Path of the speed in km/h for navigation; nil for none.
    package var speedPath: String?

    package init(interval: Double, speedPath: String?) {
      self.interval = interval
      self.speedPath = speedPath
    }
  }

  /// Settings of trips.
  package struct Trips: Sendable, Hashable {
    package var isEnabled: Bool
    /// Maximum duration in s of a stop within a trip.
    package var stop: Double
    /// Time in s between messages during a trip; nil publishes only start and end.
    package var interval: Double?

    package init(isEnabled: Bool = true, stop: Double = 300, interval: Double? = 300) {
      self.isEnabled = isEnabled
      self.stop = stop
      self.interval = interval
    }
  }

  /// Settings of coarse positions from radios.
  package struct Coarse: Sendable, Hashable {
    /// Enabled radios of `wifi` and `cellular`; empty for no positions.
    package var radios: Set<SensorKind>
    /// True if scans with accurate fixes are requested and provided for learning.
    package var isLearning: Bool

    package init(radios: Set<SensorKind> = [], isLearning: Bool = false) {
      self.radios = radios
      self.isLearning = isLearning
    }
  }

  /// Sampling of the inertial sensors while attitude, heading or motion events are enabled.
  package struct Inertial: Sendable, Hashable {
    /// Sample rate in Hz.
    package var rate: Double
    /// Time in s for which samples may be buffered in the kernel.
    package var latency: Double

    package init(rate: Double, latency: Double) {
      self.rate = rate
      self.latency = latency
    }
  }
}
