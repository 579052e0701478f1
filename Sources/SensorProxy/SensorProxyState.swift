package import VehicleData

/// The values that other programs read on D-Bus.
package struct SensorProxyState: Hashable, Sendable {
  /// True if an accelerometer is available.
  package var hasAccelerometer: Bool
  /// True if a compass is available.
  package var hasCompass: Bool
  /// The orientation; nil if unknown. Face up and face down leave the last one unchanged.
  package var orientation: DeviceOrientation?
  /// Heading in degrees clockwise from north, 0 ..< 360; nil if unknown.
  package var heading: Double?

  package init(
    hasAccelerometer: Bool = false, hasCompass: Bool = false, orientation: DeviceOrientation? = nil,
    heading: Double? = nil
  ) {
    self.hasAccelerometer = hasAccelerometer
    self.hasCompass = hasCompass
    self.orientation = orientation
    self.heading = heading
  }
}

/// The numbers of programs that have claimed a sensor.
package struct SensorProxyDemand: Hashable, Sendable {
  package var accelerometer: Int
  package var compass: Int

  package init(accelerometer: Int = 0, compass: Int = 0) {
    self.accelerometer = accelerometer
    self.compass = compass
  }
}

/// A property's value on D-Bus.
enum SensorProxyValue: Hashable {
  case flag(Bool)
  case number(Double)
  case text(String)
}

/// An interface of the sensor proxy with its object.
enum SensorProxyInterface: String, CaseIterable {
  case sensors = "net.hadess.SensorProxy"
  case compass = "net.hadess.SensorProxy.Compass"

  var path: String {
    switch self {
    case .sensors: "/net/hadess/SensorProxy"
    case .compass: "/net/hadess/SensorProxy/Compass"
    }
  }

  /// Names without `Claim` and `Release` in the names of methods.
  var claims: [String] {
    switch self {
    // Programs claim all three at once. There is no light sensor and no proximity sensor, so their claims have no effect.
    case .sensors: ["Accelerometer", "Light", "Proximity"]
    case .compass: ["Compass"]
    }
  }

  /// The properties in the order in which they are announced.
  func properties(_ published: PublishedSensors) -> [(name: String, value: SensorProxyValue)] {
    switch self {
    case .sensors:
      [
        ("HasAccelerometer", .flag(published.state.hasAccelerometer)),
        ("AccelerometerOrientation", .text(published.orientation)), ("HasAmbientLight", .flag(false)),
        ("LightLevelUnit", .text("lux")), ("LightLevel", .number(0)), ("HasProximity", .flag(false)),
        ("ProximityNear", .flag(false)),
      ]
    case .compass:
      [
        ("HasCompass", .flag(published.state.hasCompass)),
        // As iio-sensor-proxy reports an unknown heading.
        ("CompassHeading", .number(published.state.heading ?? -1)),
      ]
    }
  }
}

/// The state with the orientation that programs see.
struct PublishedSensors {
  private(set) var state = SensorProxyState()
  /// The edge that is up, in iio-sensor-proxy's terms.
  private(set) var orientation = "undefined"

  mutating func update(_ state: SensorProxyState) {
    self.state = state
    switch state.orientation {
    case .portrait?: orientation = "normal"
    case .portraitUpsideDown?: orientation = "bottom-up"
    case .landscapeLeft?: orientation = "right-up"
    case .landscapeRight?: orientation = "left-up"
    case .faceUp?, .faceDown?: break
    case nil: orientation = "undefined"
    }
  }
}
