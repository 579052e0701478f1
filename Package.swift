// swift-tools-version: 6.2
import PackageDescription

// Data walks down this list and never back up: a module imports only modules above it.
// `odographd` and its libraries carry no Foundation; `Deploy/footprint.sh` fails when it enters one.

let package = Package(
  name: "odograph",
  products: [
    .library(name: "Spatial", targets: ["Spatial"]),
    .library(name: "Sensors", targets: ["Sensors"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
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
    .target(name: "Motion", dependencies: ["Platform", "Sensors", "Spatial"]),
    .target(name: "Positioning", dependencies: ["Motion", "Sensors", "Spatial"]),
    .target(name: "Telemetry", dependencies: ["CJansson", "Motion", "Positioning", "Spatial"]),
    .target(
      name: "AgentCore",
      dependencies: [
        "Motion", "Platform", "Positioning", "Sensors", "Spatial", "Telemetry", "TOMLKit",
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Logging", package: "swift-log"),
      ]),

    .testTarget(name: "PlatformTests", dependencies: ["Platform"]),
    .testTarget(name: "SpatialTests", dependencies: ["Spatial"]),
    .testTarget(name: "SensorsTests", dependencies: ["Sensors", "Spatial"]),
    .testTarget(name: "MotionTests", dependencies: ["Motion", "Platform", "Sensors", "Spatial"]),
    .testTarget(name: "PositioningTests", dependencies: ["Positioning", "Sensors", "Spatial"]),
    .testTarget(name: "TelemetryTests", dependencies: ["Motion", "Positioning", "Spatial", "Telemetry"]),
  ]
)

// One place gives every target the same rules; targets that touch C are strict about memory too.
let modulesTouchingC: Set<String> = [
  "Platform", "SensorsIIO", "SensorsGPSD", "StoreAndForward", "MQTT", "Telemetry",
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
