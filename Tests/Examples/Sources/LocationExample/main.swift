import LiveSensors
import Positioning

// Prints the position of the device every 25 m, and why it is unavailable.
//
// usage: location-example gpsd://127.0.0.1:2947
//        location-example drive.nmea

let input = try SensorInput(parsing: CommandLine.arguments.dropFirst())
let manager = LocationManager(distanceFilter: 25, pausesLocationUpdatesAutomatically: true)
let device = try LiveDevice(input, location: manager)
let updates = device.location.liveUpdates()
try device.start()

for await update in updates {
  if let location = update.location {
    let accuracy = location.horizontalAccuracy.map { "\(Int($0.rounded(.up))) m" } ?? "an unknown error"
    print("at \(location.coordinate.latitude), \(location.coordinate.longitude) within \(accuracy)")
  }
  if update.isStationary { print("stands") }
  if let failure = update.failure { print("no location: \(failure)") }
}
