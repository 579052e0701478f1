internal import Glibc

/// The number of connected programs for which the process has descriptors.
enum ProgramLimit {
  /// Descriptors for everything but programs: sensors, brokers, stores, and connections that are accepted only to be
  /// refused.
  static let reserve = 192

  /// The number of files that the process may open.
  static var openFiles: Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1024 }
    return Int(clamping: limit.rlim_cur)
  }
}

extension [AgentConfiguration.LocalService] {
  /// The services with `clients` reduced in proportion, if the process may not open enough files for all programs.
  package func limited(openFiles: Int) -> Self {
    let room = Swift.max(count, openFiles - ProgramLimit.reserve)
    let requested = reduce(0) { $0 + $1.capacity }
    guard requested > room else { return self }
    return map { service in
      var service = service
      service.capacity = Swift.max(1, service.capacity * room / requested)
      return service
    }
  }

  /// Returns a warning for each service that cannot serve as many programs as configured.
  package func limitFindings(openFiles: Int) -> [Finding] {
    zip(self, limited(openFiles: openFiles)).filter { $0.capacity != $1.capacity }.map { service, limited in
      let table = service.dialect.table
      return Finding(
        .warning, table,
        "\(limited.capacity) programs instead of \(service.capacity): the process may open \(openFiles) files",
        remedy: "raise LimitNOFILE of the service, or reduce \(table).clients")
    }
  }
}
