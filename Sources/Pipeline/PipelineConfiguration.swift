package import Motion
package import Positioning
package import Sensors
package import Spatial

/// What the pipeline decides by: the settings that need no I/O to be obeyed.
package struct PipelineConfiguration: Sendable, Hashable {
  package var location: Location
  package var heading: Heading
  package var attitude: Attitude
  package var altitude: Altitude
  package var motion: Motion
  package var navigation: Navigation
  /// Nil where the vehicle's bus is not read.
  package var vehicle: Vehicle?
  package var coarse: Coarse
  package var trips = Trips()
  /// Where positions are withheld or blurred.
  package var privacy: PrivacyPolicy
  /// Seconds between `status` messages when nothing changes.
  package var statusInterval: Double
  package var inertial: Inertial
  /// Whether every accelerometer sample is recorded, so that the accelerometer keeps its rate at rest.
  package var isRecording: Bool
  /// Power and energy of each component.
  package var energy: EnergyFigures
  /// Whether the time line is a recording's or a simulation's, whose only civil time is the receiver's.
  package var isVirtual: Bool
  /// Whether a receiver counts as present before a source has reported one.
  package var hasReceiver = true
  package var events = Events()
  /// Nil where none are kept.
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
  /// Which locations are published, and how exactly they are looked for.
  package struct Location: Sendable, Hashable {
    /// Which locations are published as they come.
    package enum Policy: Sendable, Hashable {
      /// Those that far from the last published one, in metres; nil publishes every one.
      case distance(Double?)
      /// Subscribers that predict are never more than `error` metres wrong, for the moment `delay` seconds ago. Consumers that
      /// show the last reported position are within each of the limits.
      case bounded(error: Double, delay: Double, limits: [DisplacementLimit] = [])
      /// Far and rarely: `SignificantChangeMonitor`.
      case significant
    }

    /// Fixes are collected and published as a `track`.
    package struct Deferral: Sendable, Hashable {
      /// Metres; nil for no limit.
      package var distance: Double?
      /// Seconds; nil for no limit.
      package var timeout: Double?
      /// Metres that the interpolation of a track may be wrong; nil keeps every fix.
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
    /// Nil publishes every location by itself.
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
    /// Seconds between headings at the least.
    package var interval: Double
    /// Degrees that the heading must turn to be published again.
    package var filter: Double
    /// How the device is mounted, and so which of its sides is ahead.
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
    /// Seconds between attitudes at the least.
    package var interval: Double
    /// Degrees by which an attitude must differ from the last one to be published; 0 publishes one at every interval.
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
    /// Whether the barometer is read.
    package var isEnabled: Bool
    /// Seconds between `altitude` messages; nil tells only another level.
    package var interval: Double?

    package init(isEnabled: Bool, interval: Double?) {
      self.isEnabled = isEnabled
      self.interval = interval
    }
  }

  /// What is published as `motion`.
  package struct Motion: Sendable, Hashable {
    package enum Event: String, Sendable, Hashable, CaseIterable {
      case shake
      case impact
      case orientation
      /// Stationary and moving.
      case activity
    }

    package var events: Set<Event>
    /// Whether impacts and shakes are detected at rest, too, where accuracy lets the sensors sleep.
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

  /// Whether receiver and inertial sensors are made one.
  package struct Navigation: Sendable, Hashable {
    package var isEnabled: Bool

    package init(isEnabled: Bool) {
      self.isEnabled = isEnabled
    }
  }

  /// What is made of the signals of the vehicle's bus.
  package struct Vehicle: Sendable, Hashable {
    /// Signals that are told of one vehicle at most.
    package static let mostSignals = 256

    /// Seconds between `vehicle` messages where no state changes.
    package var interval: Double
    /// The path of the speed that navigation takes, in km/h; nil takes none.
    package var speedPath: String?

    package init(interval: Double, speedPath: String?) {
      self.interval = interval
      self.speedPath = speedPath
    }
  }

  /// How trips are told.
  package struct Trips: Sendable, Hashable {
    package var isEnabled: Bool
    /// Seconds that a stop within a trip may last.
    package var stop: Double
    /// Seconds between messages about a trip under way; nil tells only its start and its end.
    package var interval: Double?

    package init(isEnabled: Bool = true, stop: Double = 300, interval: Double? = 300) {
      self.isEnabled = isEnabled
      self.stop = stop
      self.interval = interval
    }
  }

  /// What is made of what radios hear.
  package struct Coarse: Sendable, Hashable {
    /// Of `wifi` and `cellular` those that may be asked; empty where no position comes from them.
    package var radios: Set<SensorKind>
    /// Whether scans beside good fixes are handed out to be learned from, and asked for.
    package var isLearning: Bool

    package init(radios: Set<SensorKind> = [], isLearning: Bool = false) {
      self.radios = radios
      self.isLearning = isLearning
    }
  }

  /// How accelerometer, gyroscope and magnetometer are read while attitude, heading or motion events are on.
  package struct Inertial: Sendable, Hashable {
    /// Hz.
    package var rate: Double
    /// Seconds that samples may wait in the kernel before they are read.
    package var latency: Double

    package init(rate: Double, latency: Double) {
      self.rate = rate
      self.latency = latency
    }
  }
}
