// swift-tools-version: 6.2
import PackageDescription

// Cost of the packet guard of `MQTT`. It compiles the guard's sources directly, since they are not part of a product. A separate package,
// because its targets have the same names as those of the agent.
let package = Package(
  name: "guard",
  targets: [
    .systemLibrary(name: "CMosquitto", path: "Sources/CMosquitto", pkgConfig: "libmosquitto"),
    .target(name: "CMosquittoReads", path: "Sources/CMosquittoReads"),
    .target(name: "CFakeBroker", path: "Sources/CFakeBroker"),
    .executableTarget(
      name: "guard-benchmark", dependencies: ["CFakeBroker", "CMosquitto", "CMosquittoReads"],
      path: "Sources/GuardBenchmark"),
  ]
)
for target in package.targets where target.name == "guard-benchmark" {
  target.swiftSettings = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
