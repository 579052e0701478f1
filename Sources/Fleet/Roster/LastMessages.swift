internal import Telemetry

/// The last messages of the kinds that only some vehicles send. Stored in the record itself they would use
/// 1.5 kB of every vehicle.
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

/// A value that few vehicles have, stored outside of the record. A missing value uses one word instead of its
/// full size.
///
/// The box is immutable, so copies of a record share it; a new value gets a new box.
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
