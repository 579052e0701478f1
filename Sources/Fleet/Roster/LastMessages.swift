internal import Telemetry

/// The last messages of kinds that only some vehicles send. If they were stored in `VehicleRecord` directly,
/// every vehicle would need 1.5 kB for them.
struct LastMessages: Sendable {
  var heading = OutOfLine<Received<HeadingMessage>>()
  var attitude = OutOfLine<Received<AttitudeMessage>>()
  var signals = OutOfLine<Received<VehicleSignals>>()
  var altitude = OutOfLine<Received<AltitudeMessage>>()
  var trip = OutOfLine<Received<TripMessage>>()
  var drivingEvent = OutOfLine<Received<DrivingEventMessage>>()
  var locationEvent = OutOfLine<Received<LocationEventMessage>>()
  var regionStates = OutOfLine<RegionsStateMessage>()
}

/// A value that few vehicles have, stored on the heap. A missing value needs one word instead of its full
/// size. The box is immutable, so copies of a record share it, and a new value gets a new box.
struct OutOfLine<Value: Sendable>: Sendable {
  private final class Box: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  private var box: Box?

  var value: Value? {
    get { box?.value }
    set { box = newValue.map { Box($0) } }
  }
}
