// swift-tools-version: 6.2
import PackageDescription

// Benchmarks of modules that are not products are in ../../Package.swift.

let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "odograph", path: "../..")],
  targets: [
    .executableTarget(
      name: "attitude-benchmark",
      dependencies: [
        .product(name: "Motion", package: "odograph"), .product(name: "Sensors", package: "odograph"),
        .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/AttitudeBenchmark"),
    .executableTarget(
      name: "coarse-benchmark",
      dependencies: [
        .product(name: "Positioning", package: "odograph"), .product(name: "Recordings", package: "odograph"),
        .product(name: "Sensors", package: "odograph"), .product(name: "Simulation", package: "odograph"),
        .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/CoarseBenchmark"),
    .target(name: "CPeers", path: "Sources/CPeers", linkerSettings: [.linkedLibrary("mosquitto")]),
    .target(name: "Support", path: "Sources/Support"),
    .executableTarget(
      name: "fleet-benchmark",
      dependencies: [
        "CPeers", "Support", .product(name: "odograph", package: "odograph"),
      ],
      path: "Sources/FleetBenchmark"),
    .executableTarget(
      name: "journey-benchmark",
      dependencies: [
        .product(name: "Navigation", package: "odograph"), .product(name: "Positioning", package: "odograph"),
        .product(name: "Recordings", package: "odograph"), .product(name: "Sensors", package: "odograph"),
        .product(name: "Simulation", package: "odograph"), .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/JourneyBenchmark"),
    .executableTarget(
      name: "navigation-benchmark",
      dependencies: [
        .product(name: "Motion", package: "odograph"), .product(name: "Navigation", package: "odograph"),
        .product(name: "Sensors", package: "odograph"), .product(name: "Simulation", package: "odograph"),
        .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/NavigationBenchmark"),
    .executableTarget(
      name: "region-benchmark",
      dependencies: [
        .product(name: "Positioning", package: "odograph"), .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/RegionBenchmark"),
    .executableTarget(
      name: "report-benchmark",
      dependencies: [
        .product(name: "Positioning", package: "odograph"), .product(name: "Recordings", package: "odograph"),
        .product(name: "Sensors", package: "odograph"), .product(name: "Simulation", package: "odograph"),
        .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/ReportBenchmark"),
    .executableTarget(
      name: "web-benchmark",
      dependencies: ["Support", .product(name: "odograph", package: "odograph")],
      path: "Sources/WebBenchmark"),
  ]
)
for target in package.targets where target.type != .system && !target.name.hasPrefix("C") {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
