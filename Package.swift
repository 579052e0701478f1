// swift-tools-version: 6.2
import PackageDescription

// Data walks down this list and never back up: a module imports only modules above it.
// `odographd` and its libraries carry no Foundation; `Deploy/footprint.sh` fails when it enters one.

let package = Package(
  name: "odograph",
  products: [
    .library(name: "Spatial", targets: ["Spatial"]),
    .library(name: "Sensors", targets: ["Sensors"]),
    .library(name: "SensorsGPSD", targets: ["SensorsGPSD"]),
  ],
  dependencies: [],
  targets: [
    .systemLibrary(name: "CIIO", pkgConfig: "libiio", providers: [.apt(["libiio-dev"])]),
    .systemLibrary(name: "CGPS", pkgConfig: "libgps", providers: [.apt(["libgps-dev"])]),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CLinux"),

    .target(name: "Platform", dependencies: ["CLinux"]),
    .target(name: "Spatial"),
    .target(name: "Sensors", dependencies: ["CExpat", "Platform", "Spatial"]),
    .target(name: "SensorsGPSD", dependencies: ["CGPS", "Platform", "Sensors", "Spatial"]),
    .target(name: "TestSupport"),

    .testTarget(name: "PlatformTests", dependencies: ["Platform"]),
    .testTarget(name: "SpatialTests", dependencies: ["Spatial"]),
    .testTarget(name: "SensorsTests", dependencies: ["Platform", "Sensors", "Spatial", "TestSupport"]),
    .testTarget(
      name: "SensorsGPSDTests", dependencies: ["Sensors", "SensorsGPSD", "Spatial", "TestSupport"]),
    .testTarget(
      name: "IntegrationTests",
      dependencies: ["Platform", "Sensors", "SensorsGPSD", "Spatial", "TestSupport"]),
  ]
)

// One place gives every target the same rules; targets that touch C are strict about memory too.
let modulesTouchingC: Set<String> = [
  "Platform", "Sensors", "SensorsIIO", "SensorsGPSD", "StoreAndForward", "MQTT",
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
