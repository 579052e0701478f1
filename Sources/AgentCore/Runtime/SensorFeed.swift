internal import Platform
internal import Sensors
internal import Spatial

/// Where the pipeline's events come from.
enum SensorFeed {
  /// Sources that push from threads of their own, on the machine's clock.
  case live([any SensorSource])
  /// A recording that a thread of its own plays at a pace, on the recording's time line.
  case paced(any SensorSource)
  /// A recording that is pulled as fast as the machine can.
  case recorded(any SensorRecording)
}
