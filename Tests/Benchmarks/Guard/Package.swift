// swift-tools-version: 6.2
import PackageDescription

// What the guard of `MQTT` costs, from its own sources, which are no product: a package of its own, as the names of its
// targets are those of the agent's.
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
