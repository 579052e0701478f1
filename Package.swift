// swift-tools-version: 6.2
import PackageDescription

// Data walks down this list and never back up: a module imports only modules above it.
// `odographd` and its libraries carry no Foundation; `Deploy/footprint.sh` fails when it enters one.

let package = Package(
  name: "odograph",
  products: [
    .library(name: "Spatial", targets: ["Spatial"]),
    .library(name: "Sensors", targets: ["Sensors"]),
    .library(name: "MQTT", targets: ["MQTT"]),
    .library(name: "StoreAndForward", targets: ["StoreAndForward"]),
    .library(name: "FleetCore", targets: ["FleetCore"]),
    .executable(name: "odograph", targets: ["odograph"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2")
  ],
  targets: [
    .systemLibrary(name: "CIIO", pkgConfig: "libiio", providers: [.apt(["libiio-dev"])]),
    .systemLibrary(name: "CGPS", pkgConfig: "libgps", providers: [.apt(["libgps-dev"])]),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .systemLibrary(name: "CLinux"),

    .target(name: "Platform", dependencies: ["CLinux"]),
    .target(name: "Spatial"),
    .target(name: "Sensors", dependencies: ["Platform", "Spatial"]),
    .target(name: "Motion", dependencies: ["Sensors", "Spatial"]),
    .target(name: "Positioning", dependencies: ["Motion", "Sensors", "Spatial"]),
    .target(name: "Telemetry", dependencies: ["CJansson", "Motion", "Positioning", "Spatial"]),
    .target(name: "MQTT", dependencies: ["CMosquitto", "Platform"]),
    .target(name: "StoreAndForward", dependencies: ["CSQLite", "Platform"]),
    .target(
      name: "FleetCore",
      dependencies: ["CLinux", "MQTT", "Platform", "Positioning", "Spatial", "Telemetry"]),
    .executableTarget(
      name: "odograph",
      dependencies: [
        "FleetCore", "MQTT", "Telemetry",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),

    .target(name: "TestSupport", dependencies: ["Platform"]),

    .testTarget(name: "PlatformTests", dependencies: ["Platform"]),
    .testTarget(name: "SpatialTests", dependencies: ["Spatial"]),
    .testTarget(name: "SensorsTests", dependencies: ["Sensors", "Spatial"]),
    .testTarget(name: "PositioningTests", dependencies: ["Positioning", "Sensors", "Spatial"]),
    .testTarget(name: "TelemetryTests", dependencies: ["Positioning", "Spatial", "Telemetry"]),
    .testTarget(
      name: "FleetCoreTests", dependencies: ["FleetCore", "MQTT", "Positioning", "Spatial", "Telemetry"]),
    .testTarget(name: "MQTTTests", dependencies: ["MQTT"]),
    .testTarget(
      name: "StoreAndForwardTests", dependencies: ["Platform", "StoreAndForward", "TestSupport"]),
    // A process for delivery tests to kill.
    .executableTarget(
      name: "DeliveryChild", dependencies: ["MQTT", "Platform", "StoreAndForward"],
      path: "Tests/DeliveryChild"),
    .testTarget(
      name: "IntegrationTests",
      dependencies: ["DeliveryChild", "MQTT", "Platform", "TestSupport", "odograph"]),
  ]
)

// One place gives every target the same rules; targets that touch C are strict about memory too.
let modulesTouchingC: Set<String> = [
  "Platform", "SensorsIIO", "SensorsGPSD", "StoreAndForward", "MQTT", "Telemetry", "FleetCore",
]
for target in package.targets where target.type != .system {
  var settings = target.swiftSettings ?? []
  settings += [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  if modulesTouchingC.contains(target.name) { settings.append(.strictMemorySafety()) }
  target.swiftSettings = settings
}
