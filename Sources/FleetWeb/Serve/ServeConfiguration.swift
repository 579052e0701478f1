package import Fleet
internal import FleetAlerts
package import FleetProgram
internal import FleetStore

/// The configuration of the server from the command line and a file.
package struct ServeConfiguration: Sendable {
  /// The settings of the command line; nil for those that are not given.
  package struct Overrides: Sendable {
    /// The path of the configuration file.
    package var file: String?
    package var listen, recording, keep, leaflet, map: String?
    package var records = false

    package init(file: String? = nil) { self.file = file }
  }

  /// The tables of the configuration file, in the order of the example configuration.
  package static let tables = ["server", "map"] + ConfiguredAccess.tables + AlertSettings.tables

  /// The configuration file; nil if there is none.
  package var file: SettingsFile?
  package var address: ListenAddress
  /// The recording: a file, or the URL of a database; nil for no history.
  package var recording: String?
  /// True to record messages into `recording`, and the age up to which they are retained, such as `90d`; nil
  /// to retain all.
  package var records = false
  package var keep: String?
  /// The folder of Leaflet; nil for Debian's.
  package var leaflet: String?
  /// The source of the base map.
  package var map = MapSettings()
  package var streams = StreamHub.Limits()
  /// The maximum number of connections; further ones are closed.
  package var connections = 4000
  /// The maximum number of vehicles in memory.
  package var capacity = Roster.usualCapacity
  /// True to allow other machines to connect without TLS and without a proxy.
  package var allowsPlain = false

  /// The settings that cannot be changed by a reload.
  private static let lasting = [["server"], [MapSettings.table], ["tls"], ["access", "state"]]

  package init(address: ListenAddress) { self.address = address }

  /// Checks a changed file.
  /// - Returns: the changes that require a restart, such as `[server]`.
  /// - Throws: `FleetError` for settings that the next start would reject.
  package static func changes(
    in file: SettingsFile, since begun: SettingsFile
  ) throws(FleetError) -> [String] {
    try file.check(tables: tables)
    _ = try ServerTable(file)
    _ = try MapSettings(file)
    _ = try file.table("tls", keys: CertificateStore.keys)
    _ = try AlertSettings(file)
    return file.changes(from: begun, of: lasting)
  }

  /// Checks a file completely, as the start does before it opens anything.
  /// - Throws: `FleetError` with the position of an error.
  package static func check(_ path: String) throws(FleetError) {
    let file = try SettingsFile(path: path)
    _ = try AccessConfiguration(file)
    _ = try changes(in: file, since: file)
  }

  /// Creates the configuration from a file and the settings that take precedence over it.
  ///
  /// - Throws: `FleetError` for invalid settings, with their position.
  package init(_ given: Overrides) throws(FleetError) {
    var listen: String?
    var server: SettingsTable?
    if let path = given.file {
      let file = try SettingsFile(path: path)
      try file.check(tables: Self.tables)
      let table = try ServerTable(file)
      (listen, recording, records) = (table.listen, table.recording, table.records)
      (keep, leaflet, allowsPlain) = (table.keep, table.leaflet, table.allowsPlain)
      server = table.table
      streams.clients = table.streams ?? streams.clients
      connections = table.connections ?? connections
      capacity = table.vehicles ?? capacity
      self.file = file
    }
    recording = given.recording ?? recording
    records = given.records || records
    keep = given.keep ?? keep
    if records, recording == nil {
      if let server, !given.records { throw server.wrong("record", "requires recording") }
      throw .usage("use", "--record", "set the recording with --recording")
    }
    if keep != nil, !records {
      if let server, given.keep == nil { throw server.wrong("keep", "requires record = true") }
      throw .usage("use", "--keep", "requires --record; without a server, use odograph record --keep")
    }
    leaflet = given.leaflet ?? leaflet
    map = try MapSettings(file, file: given.map)
    address = try ListenAddress(parsing: given.listen ?? listen ?? "127.0.0.1:8080")
  }

  /// Checks that the server is protected.
  ///
  /// - Returns: a warning for the operator; nil for none.
  /// - Throws: `FleetError` if other machines could connect without a login or without encryption.
  package func check(_ access: any AccessPolicy) throws(FleetError) -> String? {
    guard !address.isLoopback else { return nil }
    guard access.requiresLogin else {
      throw .usage(
        "listen at", address.text,
        "other machines can reach that address without a login; configure users in a file and name it with --config, "
          + "or listen at 127.0.0.1:\(address.port)")
    }
    if access.isSecure || access.isBehindProxy { return nil }
    guard allowsPlain else {
      throw .usage(
        "listen at", address.text,
        "passwords, cookies and tokens would be sent unencrypted; configure [tls], or the [proxy] that encrypts, listen at "
          + "127.0.0.1:\(address.port), or allow it by plain = true in [server]")
    }
    return
      "passwords, cookies and tokens are sent unencrypted to \(address.text), because [server] sets plain = true"
  }
}

/// The table `[server]` of a file.
private struct ServerTable {
  let table: SettingsTable
  var listen, recording, keep, leaflet: String?
  var records, allowsPlain: Bool
  var streams, connections, vehicles: Int?

  private static let keys = [
    "listen", "plain", "recording", "record", "keep", "leaflet", "streams", "connections", "vehicles",
  ]

  init(_ file: SettingsFile) throws(FleetError) {
    table = try file.table("server", keys: Self.keys)
    listen = try table.text("listen")
    if let listen, (try? ListenAddress(parsing: listen)) == nil {
      throw table.wrong("listen", "write an address and a port, for example 127.0.0.1:8080 or [::1]:8080")
    }
    // The URL of a database is not a path.
    recording =
      try table.text("recording").map { $0.contains("://") } == true
      ? table.text("recording") : table.stateFile("recording")
    records = try table.flag("record") ?? false
    keep = try table.text("keep")
    if let keep, !SideRecorder.isDays(keep) {
      throw table.wrong("keep", "write days as 90d, 1d to 36500d")
    }
    leaflet = try table.file("leaflet")
    streams = try table.integer("streams", in: 1...100_000)
    connections = try table.integer("connections", in: 10...1_000_000)
    vehicles = try table.integer("vehicles", in: 1...1_000_000)
    allowsPlain = try table.flag("plain") ?? false
  }
}
