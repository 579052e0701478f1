// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "benchmarks",
  dependencies: [.package(name: "odograph", path: "../..")],
  targets: [
    .executableTarget(
      name: "report-benchmark",
      dependencies: [
        .product(name: "Positioning", package: "odograph"),
        .product(name: "Sensors", package: "odograph"),
        .product(name: "Spatial", package: "odograph"),
      ],
      path: "Sources/ReportBenchmark")
  ]
)
for target in package.targets {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
