internal import Logging
internal import Pipeline
internal import Platform
internal import SensorProxy

/// The agent's service of orientation and compass on D-Bus: passes claims to the pipeline and values to the bus, and logs
/// whether the service is available.
package final class SensorProxyHost: Sendable {
  /// State of the service, for `status` and metrics.
  package struct Report: Hashable, Sendable {
    var isConnected = false
    /// The reason why there is no connection; nil while connected, and before the first attempt has ended.
    var problem: String?
    /// Numbers of programs that have claimed the sensor.
    var accelerometer = 0
    var compass = 0
  }

  private static let service = "D-Bus \(SensorProxyService.name)"

  private let proxy: SensorProxyService
  private let state: Locked<Report>

  /// Starts the service, which connects to the system bus.
  /// - Parameter demand: receives each change of the programs' requirements, on the service's thread.
  /// - Throws: `SystemError` if the process has no free descriptors or threads.
  init(log: Logger, demand: @escaping @Sendable (LocalMotionDemand) -> Void) throws(SystemError) {
    let state = Locked(Report())
    self.state = state
    proxy = try SensorProxyService { change in
      switch change {
      case .connected:
        state.withLock { $0 = Report(isConnected: true) }
        log.info(
          .localListening, "orientation and compass for other programs",
          metadata: ["service": "\(Self.service)"])
      case .disconnected(let error):
        state.withLock { $0 = Report(problem: error.description) }
        Self.report(error.description, to: log)
      case .demand(let new):
        state.withLock { ($0.accelerometer, $0.compass) = (new.accelerometer, new.compass) }
        demand(LocalMotionDemand(orientation: new.accelerometer > 0, heading: new.compass > 0))
      }
    }
  }

  /// Logs why the service is unavailable.
  static func report(_ reason: String, to log: Logger) {
    log.warning(
      .localUnavailable, "no orientation and compass for other programs",
      metadata: ["service": "\(service)", "reason": "\(reason)"])
  }

  var report: Report { state.withLock { $0 } }

  /// Sends changed values to the programs that have claimed a sensor. Never waits.
  func update(_ state: LocalMotionState) {
    proxy.update(
      SensorProxyState(
        hasAccelerometer: state.hasAccelerometer, hasCompass: state.hasCompass,
        orientation: state.orientation, heading: state.heading))
  }

  /// Releases the name and disconnects.
  func stop() { proxy.stop() }

  /// Returns whether the name on the system bus is available, for `check`. Connects for a moment.
  static func finding() -> Finding {
    do throws(SensorProxyError) {
      try SensorProxyService.probe()
      return Finding(.ok, "sensor_proxy", "\(service): orientation and compass")
    } catch {
      let remedy =
        switch error.kind {
        case .nameInUse: "if the agent is not running, stop and mask iio-sensor-proxy"
        case .notPermitted: "install /usr/share/odographd/sensor-proxy.conf into /etc/dbus-1/system.d"
        case .noBus, .other: "start D-Bus, or set DBUS_SYSTEM_BUS_ADDRESS; the agent retries"
        }
      return Finding(.warning, "sensor_proxy", "\(error)", remedy: remedy)
    }
  }
}
