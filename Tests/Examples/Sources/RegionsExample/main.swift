import LiveSensors
import Positioning
import Spatial

// Watches a circle around a place. Without arguments, systemd starts it on a region event of odographd.
//
// usage: regions-example LATITUDE LONGITUDE RADIUS INPUT…
//        regions-example

let arguments = CommandLine.arguments.dropFirst()
if arguments.isEmpty {
  for await event in try RegionLaunch.events() { print("started by \(event.kind) of \(event.identifier)") }
} else {
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
}
