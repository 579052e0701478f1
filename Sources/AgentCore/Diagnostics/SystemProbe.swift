internal import Glibc
internal import Platform
internal import Positioning
package import Telemetry

/// Reads the information about the computer for `status`, in some dozens of small reads.
package struct SystemProbe: Sendable {
  private let root: String
  private let storeFolder: String
  private let model: String?
  private let system: DeviceHealth.System?

  /// - Parameters:
  ///   - store: path of the store, whose file system is reported.
  ///   - root: prefix of `/sys`, `/proc` and `/etc`, for tests.
  package init(store: String, root: String = "") {
    self.root = root
    storeFolder = store.lastIndex(of: "/").map { $0 == store.startIndex ? "/" : String(store[..<$0]) } ?? "."
    model = Self.model(root)
    let system = DeviceHealth.System(
      name: Self.systemName(root), kernel: SmallFiles.text(root + "/proc/sys/kernel/osrelease"))
    self.system = system == DeviceHealth.System() ? nil : system
  }

  package func read() -> DeviceHealth {
    var health = DeviceHealth()
    health.model = model
    health.system = system
    health.processors = processors
    let supplies = PowerSupplies(folder: root + "/sys/class/power_supply")
    health.battery = supplies.battery
    health.externalPower = supplies.hasExternalPower
    health.storage = storage
    let memory = DeviceHealth.Memory(
      resident: resident, available: memory("MemAvailable"), total: memory("MemTotal"))
    if memory != DeviceHealth.Memory() { health.memory = memory }
    health.temperature = temperature
    return health
  }

  /// Returns the name from the device tree on boards, from the firmware on PCs.
  private static func model(_ root: String) -> String? {
    if let name = SmallFiles.text(root + "/proc/device-tree/model") { return String(name.prefix(80)) }
    let folder = root + "/sys/class/dmi/id/"
    let parts = ["sys_vendor", "product_name"].compactMap { SmallFiles.text(folder + $0) }
      .filter { !placeholders.contains($0.lowercased()) }
    return parts.isEmpty ? nil : String(parts.joined(separator: " ").prefix(80))
  }

  /// Placeholders that manufacturers leave in the firmware.
  private static let placeholders: Set<String> = [
    "to be filled by o.e.m.", "default string", "system product name", "system manufacturer",
    "not specified",
    "none", "o.e.m.",
  ]

  private var storage: DeviceHealth.Storage? {
    var status = statvfs()
    guard statvfs(storeFolder, &status) == 0 else { return nil }
    let block = UInt64(status.f_frsize)
    // Space reserved for root is not available to the agent.
    return DeviceHealth.Storage(
      free: Int64(clamping: UInt64(status.f_bavail).multipliedReportingOverflow(by: block).partialValue),
      total: Int64(clamping: UInt64(status.f_blocks).multipliedReportingOverflow(by: block).partialValue))
  }

  /// Resident memory in bytes from proc(5): the second number of `statm`, in pages.
  private var resident: Int64? {
    let fields = SmallFiles.text(root + "/proc/self/statm")?.split(separator: " ")
    guard let fields, fields.count > 1, let pages = Int64(fields[1]) else { return nil }
    return pages.multipliedReportingOverflow(by: Int64(sysconf(Int32(_SC_PAGESIZE)))).partialValue
  }

  /// Returns a row of `/proc/meminfo` in bytes.
  private func memory(_ name: String) -> Int64? {
    guard let text = SmallFiles.text(root + "/proc/meminfo") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix(name + ":") {
      let kilobytes = line.split(separator: " ").dropFirst().first.flatMap { Int64($0) }
      return kilobytes.map { $0 &* 1024 }
    }
    return nil
  }

  /// Returns `PRETTY_NAME` of os-release(5), with or without quotes.
  private static func systemName(_ root: String) -> String? {
    let text = SmallFiles.text(root + "/etc/os-release") ?? SmallFiles.text(root + "/usr/lib/os-release")
    let key = "PRETTY_NAME="
    guard let line = text?.split(separator: "\n").first(where: { $0.hasPrefix(key) }) else { return nil }
    let name = line.dropFirst(key.count).filter { $0 != "\"" && $0 != "'" && $0 != "\\" }
    return name.isEmpty ? nil : String(name.prefix(80))
  }

  /// Number of processors in sysfs's list, as in "0-2,4".
  private var processors: Int? {
    guard let list = SmallFiles.text(root + "/sys/devices/system/cpu/online") else { return nil }
    var count = 0
    for part in list.split(separator: ",") {
      let ends = part.split(separator: "-").map { Int($0) }
      guard let first = ends.first ?? nil, let last = ends.last ?? nil, ends.count <= 2,
        (0..<65_536).contains(first), (first..<65_536).contains(last)
      else { return nil }
      count += last - first + 1
    }
    return count
  }

  /// Highest plausible temperature of the thermal zones in °C.
  private var temperature: Double? {
    let folder = root + "/sys/class/thermal"
    return SmallFiles.names(in: folder).filter { $0.hasPrefix("thermal_zone") }
      .compactMap { SmallFiles.number("\(folder)/\($0)/temp").map { $0 / 1000 } }
      .filter { (-60...150).contains($0) }.max()
  }
}

extension EnergyAccount {
  /// Processor use of this process since its start, from the kernel: time in user and kernel mode in s, and
  /// number of thread wakeups.
  static var process: Self {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let seconds =
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6
    // Each voluntary context switch leads to a wakeup.
    return Self(seconds: seconds, starts: usage.ru_nvcsw)
  }
}
