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
  ],
  dependencies: [],
  targets: [
    .systemLibrary(name: "CIIO", pkgConfig: "libiio", providers: [.apt(["libiio-dev"])]),
    .systemLibrary(name: "CGPS", pkgConfig: "libgps", providers: [.apt(["libgps-dev"])]),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CLinux"),

    .target(name: "Platform", dependencies: ["CLinux"]),
    .target(name: "Spatial"),
    .target(name: "Sensors", dependencies: ["Platform", "Spatial"]),
    .target(name: "MQTT", dependencies: ["CMosquitto", "Platform"]),
    .target(name: "StoreAndForward", dependencies: ["CSQLite", "Platform"]),

    .target(name: "TestSupport", dependencies: ["Platform"]),

    .testTarget(name: "PlatformTests", dependencies: ["Platform"]),
    .testTarget(name: "SpatialTests", dependencies: ["Spatial"]),
    .testTarget(name: "SensorsTests", dependencies: ["Sensors"]),
    .testTarget(name: "MQTTTests", dependencies: ["MQTT"]),
    .testTarget(
      name: "StoreAndForwardTests", dependencies: ["Platform", "StoreAndForward", "TestSupport"]),
    // A process for delivery tests to kill.
    .executableTarget(
      name: "DeliveryChild", dependencies: ["MQTT", "Platform", "StoreAndForward"],
      path: "Tests/DeliveryChild"),
    .testTarget(
      name: "IntegrationTests", dependencies: ["DeliveryChild", "MQTT", "Platform", "TestSupport"]),
  ]
)

// One place gives every target the same rules; targets that touch C are strict about memory too.
let modulesTouchingC: Set<String> = ["Platform", "SensorsIIO", "SensorsGPSD", "StoreAndForward", "MQTT"]
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
