// swift-tools-version: 6.2
import PackageDescription

// Data flows down this list and never back up: a module imports only modules above it. `Deploy/modules.py` compares imports and
// dependencies. The modules that `Deploy/pure.sh` lists do no I/O.
// `odographd` and its libraries carry no Foundation; `Deploy/footprint.sh` fails when it enters one.

// The products are the modules that programs outside of this package import. MQTT and VehicleData are among them because the types of
// `Fleet`, `Telemetry` and `Positioning` contain theirs. All declarations of the other modules are internal to the package.

let package = Package(
  name: "odograph",
  products: [
    .executable(name: "odographd", targets: ["odographd"]),
    .executable(name: "odograph", targets: ["odograph"]),
    .library(name: "Spatial", targets: ["Spatial"]),
    .library(name: "Sensors", targets: ["Sensors"]),
    .library(name: "VehicleData", targets: ["VehicleData"]),
    .library(name: "Recordings", targets: ["Recordings"]),
    .library(name: "Simulation", targets: ["Simulation"]),
    .library(name: "SensorsIIO", targets: ["SensorsIIO"]),
    .library(name: "SensorsGPSD", targets: ["SensorsGPSD"]),
    .library(name: "SensorsCAN", targets: ["SensorsCAN"]),
    .library(name: "SensorsRadio", targets: ["SensorsRadio"]),
    .library(name: "Motion", targets: ["Motion"]),
    .library(name: "Navigation", targets: ["Navigation"]),
    .library(name: "Positioning", targets: ["Positioning"]),
    .library(name: "LiveSensors", targets: ["LiveSensors"]),
    .library(name: "Telemetry", targets: ["Telemetry"]),
    .library(name: "MQTT", targets: ["MQTT"]),
    .library(name: "Fleet", targets: ["Fleet"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    // Without its traits: full Foundation would bring 44 MB of ICU.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(name: "CCrypt", providers: [.apt(["libcrypt-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(name: "CGPS", pkgConfig: "libgps", providers: [.apt(["libgps-dev"])]),
    .systemLibrary(name: "CIIO", pkgConfig: "libiio", providers: [.apt(["libiio-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(
      name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
    .systemLibrary(
      name: "CNetlink", pkgConfig: "libnl-genl-3.0", providers: [.apt(["libnl-genl-3-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(
      name: "CRabbitMQ", pkgConfig: "librabbitmq", providers: [.apt(["librabbitmq-dev", "libssl-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

    // Version and commit of a build. Deploy/build-static.sh sets them; other builds report a development version.
    .target(
      name: "CBuild",
      cSettings: ["ODOGRAPH_COMMIT", "ODOGRAPH_BUILD_DATE"].compactMap { name in
        Context.environment[name].map { .define(name, to: "\"\($0)\"") }
      }),
    .target(name: "Spatial"),
    .target(
      name: "Platform",
      dependencies: [
        "CBuild", "CLinux", "Spatial", .product(name: "DequeModule", package: "swift-collections"),
      ]),
    .target(name: "Bytes"),
    .target(name: "JSON", dependencies: ["Bytes"]),
    .target(name: "XML", dependencies: ["CExpat"]),
    // Metrics of both programs for Prometheus.
    .target(name: "Prometheus"),
    .target(name: "Compression", dependencies: ["CZlib"]),
    // Debian's toml++ (libtomlplusplus-dev) is header-only: no library is linked or loaded.
    .target(name: "CTOML"),
    .target(name: "TOML", dependencies: ["CTOML", "Platform"]),
    .target(name: "Sensors", dependencies: ["Spatial"]),
    // Values of a vehicle that messages contain, and the privacy policy. No algorithm that estimates them.
    .target(name: "VehicleData", dependencies: ["Sensors", "Spatial"]),
    .target(name: "Recordings", dependencies: ["Bytes", "Platform", "Sensors", "Spatial", "XML"]),
    .target(name: "Simulation", dependencies: ["Sensors", "Spatial"]),
    .target(name: "SensorsIIO", dependencies: ["Bytes", "CIIO", "Platform", "Sensors", "Spatial"]),
    .target(
      name: "SensorsGPSD",
      dependencies: ["Bytes", "CGPS", "JSON", "Platform", "Recordings", "Sensors", "Spatial"]),
    .target(
      name: "SensorsCAN", dependencies: ["Bytes", "CLinux", "Platform", "Recordings", "Sensors", "Spatial"]),
    // Orientation and compass for other programs, on the D-Bus interface of iio-sensor-proxy.
    .target(name: "SensorProxy", dependencies: ["CSystemd", "Platform", "VehicleData"]),
    .target(name: "SensorsRadio", dependencies: ["CNetlink", "CSystemd", "Platform", "Sensors", "Spatial"]),
    .target(name: "Motion", dependencies: ["Bytes", "Sensors", "Spatial", "VehicleData"]),
    // Samples of all sensors at full rate: ring buffer, codec, crash detection.
    .target(name: "Traces", dependencies: ["Bytes", "Sensors", "Spatial"]),
    .target(name: "Navigation", dependencies: ["Bytes", "Motion", "Sensors", "Spatial"]),
    .target(name: "Positioning", dependencies: ["Bytes", "Sensors", "Spatial", "VehicleData"]),
    // Protocols for other programs on the vehicle's computer: NMEA 0183 and gpsd's JSON, without sockets.
    .target(name: "LocalProtocols", dependencies: ["Bytes", "JSON", "Sensors", "Spatial", "VehicleData"]),
    // Connects sources to managers, for the agent and for programs outside of this package. No MQTT, no store.
    .target(
      name: "LiveSensors",
      dependencies: [
        "Bytes", "LocalProtocols", "Motion", "Platform", "Positioning", "Recordings", "Sensors", "SensorsCAN",
        "SensorsGPSD", "SensorsIIO", "SensorsRadio", "Simulation", "Spatial", "VehicleData",
      ]),
    .target(name: "Telemetry", dependencies: ["Bytes", "JSON", "Sensors", "Spatial", "VehicleData"]),
    // Configuration keys with their ranges and defaults, and the names of the presets.
    .target(
      name: "Settings",
      dependencies: ["Bytes", "JSON", "Motion", "Positioning", "Spatial", "Telemetry", "VehicleData"]),
    // Processing from sensor events to messages.
    .target(
      name: "Pipeline",
      dependencies: [
        "JSON", "LocalProtocols", "Motion", "Navigation", "Positioning", "Sensors", "Spatial", "Telemetry",
        "Traces",
        .product(name: "DequeModule", package: "swift-collections"),
      ]),
    .target(name: "SQLite", dependencies: ["CSQLite"]),
    .target(name: "StoreAndForward", dependencies: ["Bytes", "Platform", "Spatial", "SQLite", "Telemetry"]),
    // A check between the socket and libmosquitto, which reads the socket itself.
    .target(name: "CMosquittoReads"),
    .target(name: "MQTT", dependencies: ["Bytes", "CMosquitto", "CMosquittoReads", "Platform", "Spatial"]),
    // Consumer of a broker cluster's queue, with the interface of an MQTT subscriber.
    .target(name: "AMQP", dependencies: ["CRabbitMQ", "MQTT", "Platform"]),
    // Captures messages that libraries write to standard error, and still prints those of a crash.
    .target(name: "CStandardError"),
    .target(
      name: "AgentCore",
      dependencies: [
        "Bytes", "Compression", "CStandardError", "JSON", "LiveSensors", "LocalProtocols", "Motion", "MQTT",
        "Navigation", "Pipeline", "Platform", "Positioning", "Prometheus", "Sensors", "SensorsCAN",
        "SensorsGPSD", "SensorProxy",
        "SensorsIIO", "SensorsRadio", "Settings", "Simulation", "Spatial", "SQLite", "StoreAndForward",
        "Telemetry", "TOML", "Traces", "VehicleData",
        .product(name: "Logging", package: "swift-log"),
      ],
      // Link to Config/presets: the files there are embedded as the presets.
      resources: [.embedInCode("Presets")]),
    // The short help of both programs (-h), and a suggestion for a mistyped command.
    .target(
      name: "CommandHelp",
      dependencies: [
        "Bytes", "Telemetry", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .executableTarget(
      name: "odographd",
      dependencies: [
        "AgentCore", "CommandHelp", "Settings", "Telemetry",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    // HTTP POST and SMTP transfers, bounded and checked.
    .target(name: "Transfers", dependencies: ["CCurl", "Platform"]),
    // Library for backends: no database, no Expat, no terminal.
    .target(
      name: "Fleet",
      dependencies: [
        "Bytes", "JSON", "MQTT", "Platform", "Sensors", "Spatial", "Telemetry", "VehicleData",
        .product(name: "DequeModule", package: "swift-collections"),
      ]),
    // Settings, regions, commands and load tests of vehicles over MQTT: no options, no terminal.
    .target(
      name: "FleetManagement",
      dependencies: [
        "Bytes", "Compression", "Fleet", "JSON", "MQTT", "Platform", "Sensors", "Settings", "Simulation",
        "Spatial", "Telemetry", "TOML", "VehicleData", "XML",
        .product(name: "DequeModule", package: "swift-collections"),
      ]),
    // Input and output of the fleet's programs: settings file, standard streams, terminal text, output files, signals.
    .target(
      name: "FleetProgram",
      dependencies: ["Bytes", "CLinux", "Fleet", "MQTT", "Platform", "TOML", "Telemetry"]
    ),
    // Options of several commands. Other libraries of the fleet do not link ArgumentParser.
    .target(
      name: "FleetCommand",
      dependencies: [
        "Fleet", "FleetManagement", "FleetProgram", "MQTT", "Platform", "Telemetry",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .target(
      name: "FleetTerminal",
      dependencies: [
        "Bytes", "Fleet", "FleetProgram", "JSON", "MQTT", "Platform", "Sensors", "Spatial", "Telemetry",
        "VehicleData",
      ]),
    .target(
      name: "FleetStore",
      dependencies: [
        "AMQP", "Bytes", "CPostgreSQL", "Compression", "Fleet", "FleetManagement", "JSON", "MQTT", "Platform",
        "Positioning", "SQLite", "Sensors", "Spatial", "Telemetry", "Traces", "Transfers", "VehicleData",
      ]),
    // Rules about vehicles, and a durable queue of alerts for webhooks and mail. No web server.
    .target(
      name: "FleetAlerts",
      dependencies: [
        "Bytes", "COpenSSL", "Fleet", "FleetProgram", "JSON", "MQTT", "Platform", "SQLite", "Spatial",
        "Telemetry", "Transfers", "VehicleData",
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "HeapModule", package: "swift-collections"),
      ]),
    // Unchanged files of the web page: HTML, CSS, ES modules and the OpenAPI document.
    .target(name: "CFleetPage", exclude: ["openapi.yaml", "page", "types"]),
    .target(
      name: "FleetWeb",
      dependencies: [
        "Bytes", "CCrypt", "CFleetPage", "COpenSSL", "Compression", "Fleet", "FleetAlerts", "FleetManagement",
        "FleetProgram", "FleetStore", "JSON", "Prometheus", "MQTT", "Platform", "SQLite", "Sensors",
        "Settings", "Spatial", "Telemetry", "TOML", "VehicleData",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    .executableTarget(
      name: "odograph",
      dependencies: [
        "AMQP", "Bytes", "CommandHelp", "Fleet", "FleetAlerts", "FleetCommand", "FleetManagement",
        "FleetProgram", "FleetStore", "FleetTerminal", "FleetWeb", "JSON", "MQTT", "Platform", "Prometheus",
        "Sensors", "Settings", "Spatial", "Telemetry", "Traces", "VehicleData",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),

    .target(
      name: "TestSupport",
      dependencies: ["CLinux", "CSQLite", "Navigation", "Platform", "Sensors", "Simulation", "Spatial"],
      path: "Tests/TestSupport"),
    // An iiod in real time whose sensors follow a function of time.
    .target(
      name: "SensorFixtures", dependencies: ["Platform", "Sensors", "Spatial", "TestSupport"],
      path: "Tests/SensorFixtures"),
    .testTarget(name: "PlatformTests", dependencies: ["Platform", "TestSupport"]),
    .testTarget(name: "BytesTests", dependencies: ["Bytes", "TestSupport"]),
    // An independent JSON parser for comparisons.
    .systemLibrary(
      name: "CJansson", path: "Tests/CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
    .testTarget(name: "JSONTests", dependencies: ["CJansson", "JSON", "TestSupport"]),
    .testTarget(
      name: "CommandHelpTests",
      dependencies: [
        "CommandHelp", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .testTarget(name: "CompressionTests", dependencies: ["Compression", "Simulation", "TestSupport"]),
    .testTarget(name: "SQLiteTests", dependencies: ["CSQLite", "SQLite", "TestSupport"]),
    .testTarget(name: "TOMLTests", dependencies: ["Platform", "TOML"]),
    .testTarget(name: "SpatialTests", dependencies: ["Spatial", "TestSupport"]),
    .testTarget(name: "SensorsTests", dependencies: ["Sensors", "Spatial"]),
    .testTarget(
      name: "RecordingsTests",
      dependencies: ["Platform", "Recordings", "Sensors", "Simulation", "Spatial", "TestSupport"]),
    .testTarget(name: "SimulationTests", dependencies: ["Sensors", "Simulation", "Spatial", "TestSupport"]),
    .testTarget(
      name: "SensorsGPSDTests",
      dependencies: [
        "Platform", "Recordings", "Sensors", "SensorsGPSD", "Simulation", "Spatial", "TestSupport",
      ]),
    .testTarget(
      name: "SensorsCANTests",
      dependencies: ["Platform", "Recordings", "Sensors", "SensorsCAN", "Spatial", "TestSupport"]),
    .testTarget(
      name: "SensorsRadioTests",
      dependencies: ["Platform", "Sensors", "SensorsRadio", "Simulation", "Spatial", "TestSupport"]),
    .testTarget(
      name: "SensorProxyTests", dependencies: ["Platform", "SensorProxy", "TestSupport", "VehicleData"]),
    .testTarget(
      name: "SensorsIIOTests",
      dependencies: ["Platform", "Sensors", "SensorsIIO", "Simulation", "Spatial", "TestSupport"]),
    // Counts calls of the C library's allocator.
    .target(name: "AllocationCounter", path: "Tests/AllocationCounter"),
    .testTarget(
      name: "MotionTests",
      dependencies: [
        "AllocationCounter", "Motion", "SensorFixtures", "Sensors", "Simulation", "Spatial", "TestSupport",
      ]),
    .testTarget(
      name: "TracesTests",
      dependencies: [
        "AllocationCounter", "Compression", "Sensors", "Simulation", "Spatial", "TestSupport", "Traces",
      ]),
    .testTarget(
      name: "NavigationTests",
      dependencies: [
        "AllocationCounter", "Bytes", "Navigation", "Sensors", "Simulation", "Spatial", "TestSupport",
      ]),
    .testTarget(
      name: "PositioningTests",
      dependencies: [
        "Motion", "Positioning", "Recordings", "Sensors", "Simulation", "Spatial", "TestSupport",
      ]),
    // The programs in Tests/Examples, for tests with emulated hardware.
    .executableTarget(
      name: "LocationExample", dependencies: ["LiveSensors", "Positioning"],
      path: "Tests/Examples/Sources/LocationExample"),
    .executableTarget(
      name: "MotionExample", dependencies: ["LiveSensors", "Motion"],
      path: "Tests/Examples/Sources/MotionExample"),
    .executableTarget(
      name: "RegionsExample", dependencies: ["LiveSensors", "Positioning", "Spatial"],
      path: "Tests/Examples/Sources/RegionsExample"),
    .testTarget(
      name: "LiveSensorsTests",
      dependencies: [
        "LiveSensors", "LocationExample", "Motion", "MotionExample", "Platform", "Positioning", "Recordings",
        "RegionsExample", "SensorFixtures", "Sensors", "SensorsGPSD", "SensorsIIO", "Simulation", "Spatial",
        "TestSupport",
      ]),
    .testTarget(
      name: "TelemetryTests",
      dependencies: [
        "Bytes", "JSON", "Recordings", "Sensors", "Spatial", "Telemetry", "TestSupport", "VehicleData",
      ]),
    .testTarget(
      name: "LocalProtocolsTests",
      dependencies: [
        "JSON", "LocalProtocols", "Platform", "Recordings", "Sensors", "SensorsGPSD", "Simulation", "Spatial",
        "TestSupport", "VehicleData",
      ]),
    .testTarget(
      name: "PipelineTests",
      dependencies: [
        "JSON", "LocalProtocols", "Motion", "Navigation", "Pipeline", "Positioning", "Sensors", "Simulation",
        "Spatial", "Telemetry", "TestSupport", "Traces", "VehicleData",
      ]),
    .testTarget(name: "MQTTTests", dependencies: ["MQTT", "Platform", "Spatial", "TestSupport"]),
    .testTarget(name: "AMQPTests", dependencies: ["AMQP", "MQTT", "Platform", "Simulation", "TestSupport"]),
    // SQLite's file access with simulated faults.
    .target(name: "FaultyDisk", dependencies: ["CSQLite"], path: "Tests/FaultyDisk"),
    .testTarget(
      name: "StoreAndForwardTests",
      dependencies: [
        "FaultyDisk", "Platform", "Sensors", "Simulation", "Spatial", "SQLite", "StoreAndForward",
        "Telemetry", "TestSupport",
      ]),
    // Messages of a fictional vehicle for tests of the fleet modules.
    .target(
      name: "FleetFixtures", dependencies: ["Fleet", "Spatial", "Telemetry", "VehicleData"],
      path: "Tests/FleetFixtures"),
    // A backend. Deploy/pure.sh checks that it has no unneeded dependencies.
    .executableTarget(
      name: "FleetExample", dependencies: ["Fleet", "MQTT", "Telemetry"],
      path: "Tests/Examples/Sources/FleetExample"),
    .testTarget(
      name: "FleetTests",
      dependencies: [
        "Bytes", "Fleet", "FleetFixtures", "JSON", "MQTT", "Platform", "Sensors", "Simulation", "Spatial",
        "Telemetry",
        "TestSupport",
      ]),
    .testTarget(
      name: "FleetProgramTests",
      dependencies: ["Fleet", "FleetFixtures", "FleetProgram", "Platform", "TestSupport"]),
    .testTarget(
      name: "FleetCommandTests",
      dependencies: [
        "Fleet", "FleetCommand", "MQTT",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .testTarget(
      name: "FleetTerminalTests",
      dependencies: [
        "Fleet", "FleetFixtures", "FleetProgram", "FleetTerminal", "JSON", "MQTT", "Platform", "Spatial",
        "Telemetry", "TestSupport", "VehicleData",
      ]),
    .testTarget(
      name: "FleetManagementTests",
      dependencies: [
        "Fleet", "JSON", "FleetManagement", "FleetFixtures", "MQTT", "Platform", "Spatial", "Telemetry",
        "TestSupport", "VehicleData",
      ]),
    // Commands of the program odograph, without a broker.
    .testTarget(
      name: "OdographTests",
      dependencies: [
        "Fleet", "FleetCommand", "FleetManagement", "FleetFixtures", "FleetProgram", "FleetStore", "MQTT",
        "Spatial", "Telemetry", "TestSupport", "odograph",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ]),
    .testTarget(
      name: "FleetStoreTests",
      dependencies: [
        "Bytes", "Fleet", "JSON", "FleetManagement", "FleetFixtures", "FleetProgram", "FleetStore",
        "FleetTerminal", "MQTT", "Platform", "SQLite", "Sensors", "Simulation", "Spatial", "Telemetry",
        "TestSupport", "Traces", "Transfers", "VehicleData",
      ]),
    .testTarget(
      name: "FleetAlertsTests",
      dependencies: [
        "Fleet", "FleetAlerts", "FleetFixtures", "FleetProgram", "JSON", "Platform",
        "SQLite", "Simulation",
        "Spatial", "Telemetry", "TestSupport", "Transfers",
      ]),
    .testTarget(
      name: "FleetWebTests",
      dependencies: [
        "Compression", "Fleet", "FleetAlerts", "FleetManagement", "FleetFixtures", "FleetProgram",
        "FleetStore",
        "FleetWeb", "JSON", "MQTT", "Platform", "SQLite", "Simulation", "Spatial", "Telemetry", "TestSupport",
        "VehicleData",
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HummingbirdCore", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ]),
    // A process that delivery tests kill.
    .executableTarget(
      name: "DeliveryChild",
      dependencies: ["CStandardError", "MQTT", "Platform", "StoreAndForward", "Telemetry"],
      path: "Tests/DeliveryChild"),
    // A process that scans radios, for tests.
    .executableTarget(
      name: "RadioChild", dependencies: ["Platform", "Sensors", "SensorsRadio"], path: "Tests/RadioChild"),
    .testTarget(
      name: "AgentCoreTests",
      dependencies: [
        "AgentCore", "Bytes", "Compression", "Fleet", "JSON", "LiveSensors", "LocalProtocols", "Motion",
        "MQTT",
        "Navigation", "Pipeline", "Platform", "Positioning", "Prometheus", "Recordings", "Sensors",
        "SensorsGPSD",
        "SensorsIIO", "Settings", "Simulation", "Spatial", "SQLite", "StoreAndForward", "Telemetry",
        "TestSupport", "Traces", "VehicleData",
        .product(name: "Logging", package: "swift-log"),
      ]),
    // The agent as a process, with an emulated iiod and a real gpsd in real time.
    .testTarget(
      name: "AgentLiveTests",
      dependencies: [
        "AgentCore", "JSON", "LiveSensors", "LocationExample", "MotionExample", "MQTT", "odographd",
        "Platform", "Positioning", "RegionsExample", "SensorFixtures", "Sensors", "SensorsIIO", "Settings",
        "Simulation", "Spatial", "Telemetry", "TestSupport",
      ]),
    .testTarget(
      name: "IntegrationTests",
      dependencies: [
        "AgentCore", "Bytes", "CFleetPage", "Compression", "DeliveryChild", "Fleet", "JSON", "LiveSensors",
        "Motion", "MQTT", "Navigation", "odograph", "odographd", "Platform", "Positioning", "RadioChild",
        "Recordings", "SensorFixtures", "Sensors", "SensorsGPSD", "SensorsIIO", "Settings", "Simulation",
        "Spatial", "Telemetry", "TestSupport", "Traces",
      ]),
  ],
  cxxLanguageStandard: .cxx17
)

// Benchmarks of modules that are not products are part of this package, but only of builds that request them.
if Context.environment["ODOGRAPH_BENCHMARKS"] != nil {
  let folder = "Tests/Benchmarks/Sources"
  package.targets += [
    .target(name: "CPeers", path: "\(folder)/CPeers", linkerSettings: [.linkedLibrary("mosquitto")]),
    .target(name: "Support", path: "\(folder)/Support"),
    .executableTarget(
      name: "delivery-benchmark",
      dependencies: ["CPeers", "MQTT", "StoreAndForward", "Support", "Telemetry"],
      path: "\(folder)/DeliveryBenchmark"),
    .executableTarget(
      name: "outbox-benchmark", dependencies: ["StoreAndForward", "Support", "Telemetry"],
      path: "\(folder)/OutboxBenchmark"),
  ]
}

// Deploy/test.sh names test targets here, to build only them and their dependencies in another configuration.
if let tested = Context.environment["ODOGRAPH_TESTED"] {
  var kept = Set(tested.split(separator: " ").map(String.init))
  var count = 0
  while count < kept.count {
    count = kept.count
    for target in package.targets where kept.contains(target.name) {
      for case .byNameItem(let name, _) in target.dependencies { kept.insert(name) }
    }
  }
  package.targets.removeAll { !kept.contains($0.name) }
  package.products = []
}

// Bounds checks in calls of the C library with buffers of known size (FORTIFY_SOURCE).
for target in package.targets where ["CMosquittoReads", "CStandardError", "CTOML"].contains(target.name) {
  target.cSettings = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]
  target.cxxSettings = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]
}

// Common settings for all targets. Targets that touch C also use strict memory safety.
let modulesTouchingC: Set<String> = [
  "AMQP", "Bytes", "CommandHelp", "Compression", "Fleet", "FleetAlerts", "FleetCommand", "FleetManagement",
  "FleetProgram", "FleetTerminal", "FleetStore", "FleetWeb", "JSON", "MQTT", "Platform", "Transfers",
  "Recordings", "SensorProxy",
  "SensorsCAN", "SensorsGPSD", "SensorsIIO", "SensorsRadio", "SQLite", "StoreAndForward", "Telemetry", "TOML",
  "XML", "odograph",
]
// Deploy/test.sh also optimizes modules that compute in debug builds: their tests are hours of driving and millions
// of cases. This is off by default, because other packages cannot depend on a package with such flags.
let isOptimized = Context.environment["ODOGRAPH_OPTIMIZED"] != nil
let modulesThatCompute: Set<String> = [
  "AgentCore", "LiveSensors", "Motion", "Navigation", "Pipeline", "Positioning", "Recordings", "Sensors",
  "Simulation", "Spatial", "TestSupport", "Traces", "VehicleData",
  // These tests count allocations.
  "MotionTests", "NavigationTests", "TracesTests",
]
// The examples compile with the settings of their own package.
let examples: Set<String> = ["FleetExample", "LocationExample", "MotionExample", "RegionsExample"]
for target in package.targets where target.type != .system && !examples.contains(target.name) {
  var settings = target.swiftSettings ?? []
  settings += [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
  if modulesTouchingC.contains(target.name) { settings.append(.strictMemorySafety()) }
  if isOptimized, modulesThatCompute.contains(target.name) {
    settings += [.unsafeFlags(["-O"], .when(configuration: .debug)), .define("OPTIMIZED")]
  }
  target.swiftSettings = settings
}
