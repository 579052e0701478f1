// swift-tools-version: 6.2
import PackageDescription

// A separate package, like any program outside of this repository. Outside of it, use the address of odograph:
// .package(url: "https://…/odograph", from: "…")
let odograph = Context.environment["ODOGRAPH_PACKAGE"] ?? "../.."

let package = Package(
  name: "examples",
  dependencies: [.package(name: "odograph", path: odograph)],
  targets: [
    // The database of the backend.
    .systemLibrary(name: "CSQLite3", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .executableTarget(
      name: "motion-example",
      dependencies: [
        .product(name: "LiveSensors", package: "odograph"), .product(name: "Motion", package: "odograph"),
      ],
      path: "Sources/MotionExample"),
    .executableTarget(
      name: "location-example",
      dependencies: [
        .product(name: "LiveSensors", package: "odograph"),
        .product(name: "Positioning", package: "odograph"),
      ],
      path: "Sources/LocationExample"),
    .executableTarget(
      name: "regions-example",
      dependencies: [
        .product(name: "LiveSensors", package: "odograph"),
        .product(name: "Positioning", package: "odograph"), .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/RegionsExample"),
    .executableTarget(
      name: "fleet-example",
      dependencies: [
        .product(name: "Fleet", package: "odograph"), .product(name: "MQTT", package: "odograph"),
        .product(name: "Telemetry", package: "odograph"),
      ],
      path: "Sources/FleetExample"),
    .executableTarget(
      name: "backend-example",
      dependencies: [
        "CSQLite3", .product(name: "Fleet", package: "odograph"), .product(name: "MQTT", package: "odograph"),
        .product(name: "Telemetry", package: "odograph"),
      ],
      path: "Sources/BackendExample"),
  ]
)
