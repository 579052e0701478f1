import LiveSensors
import Positioning
import Spatial

// Watches a circle around a place.
//
// usage: regions-example LATITUDE LONGITUDE RADIUS INPUT…

let arguments = CommandLine.arguments.dropFirst()
let numbers = arguments.prefix(3).compactMap { Double($0) }
guard numbers.count == 3 else { fatalError("usage: regions-example LATITUDE LONGITUDE RADIUS INPUT…") }
let depot = Region(
  identifier: "depot", center: Coordinate(latitude: numbers[0], longitude: numbers[1]), radius: numbers[2])

let device = try LiveDevice(try SensorInput(parsing: arguments.dropFirst(3)))
try device.location.add(depot)
let events = device.location.regionEvents()
try device.start()

for await event in events {
  switch event.kind {
  case .enter: print("entered \(event.identifier)")
  case .exit: print("left \(event.identifier)")
  case .dwell: print("stayed in \(event.identifier)")
  }
}
