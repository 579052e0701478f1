import Platform
import Sensors
import SensorsRadio

/// Requests scans of a radio for some time and prints the events. Tests run it on the machine with the radios.
///
/// usage: RadioChild wifi:INTERFACE|modem INTERVAL SECONDS
@main struct RadioChild {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let interval = Double(arguments[2]), let seconds = Double(arguments[3]) else {
      print("usage: RadioChild wifi:INTERFACE|modem INTERVAL SECONDS")
      return
    }
    let isWiFi = arguments[1].hasPrefix("wifi:")
    let source = try RadioSource(isWiFi ? .wifi(interface: String(arguments[1].dropFirst(5))) : .modem)
    try source.start { tell($0) }
    source.setDemand(.rate(hertz: 1 / interval, latency: .zero), for: isWiFi ? .wifi : .cellular)
    _ = try EventDescriptor().wait(seconds: seconds)
    source.stop()
    print("end")
  }

  private static func tell(_ event: SensorEvent) {
    switch event {
    case .radio(let scans):
      for scan in scans {
        guard scan.isComplete else {
          print("broken off after \(scan.duration.map { "\($0)" } ?? "-") s")
          continue
        }
        print("scan of \(scan.sightings.count) in \(scan.duration.map { "\($0)" } ?? "-") s")
        for sighting in scan.sightings {
          let identity =
            sighting.beacon.address.map { String($0, radix: 16) } ?? "\(sighting.beacon.rawValue)"
          print(
            "heard \(identity) \(sighting.signal ?? 0) dBm \(sighting.age) s \(sighting.distance ?? -1) m "
              + (sighting.isServing ? "serving" : "other"))
        }
      }
    case .status(let status):
      switch status.state {
      case .active: print("active")
      case .unavailable(let reason): print("unavailable \(reason)")
      case .idle, .finished: print("idle")
      }
    default: break
    }
  }
}
