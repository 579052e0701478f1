internal import Platform
internal import Telemetry

/// Battery and mains state from the kernel (Documentation/ABI/testing/sysfs-class-power).
struct PowerSupplies {
  private(set) var battery: DeviceHealth.Battery?
  private(set) var hasExternalPower: Bool?

  /// - Parameter folder: `/sys/class/power_supply`.
  init(folder: String) {
    var batteries: [DeviceHealth.Battery] = []
    for name in SmallFiles.names(in: folder) {
      let place = "\(folder)/\(name)"
      // The scope `Device` means the battery of a peripheral, such as a mouse, which does not power this
      // machine.
      if SmallFiles.text("\(place)/scope") == "Device" { continue }
      switch SmallFiles.text("\(place)/type") {
      case "Battery":
        if SmallFiles.number("\(place)/present") != 0 { batteries.append(Self.battery(place)) }
      case "Mains", "USB", "Wireless", "UPS":
        guard let online = SmallFiles.number("\(place)/online") else { continue }
        hasExternalPower = hasExternalPower == true || online > 0
      default: continue
      }
    }
    battery = Self.combined(batteries)
    // A charging battery implies external power, even if the charger is not listed.
    if hasExternalPower == nil { hasExternalPower = battery?.isCharging }
  }

  private static func battery(_ place: String) -> DeviceHealth.Battery {
    var battery = DeviceHealth.Battery()
    battery.level = level(place)
    switch SmallFiles.text("\(place)/status") {
    case "Charging": battery.isCharging = true
    case "Discharging", "Not charging": battery.isCharging = false
    default: break
    }
    battery.voltage = SmallFiles.number("\(place)/voltage_now").map { $0 / 1e6 }
    return battery
  }

  private static func level(_ place: String) -> Double? {
    if let percent = SmallFiles.number("\(place)/capacity") { return min(max(percent / 100, 0), 1) }
    for quantity in ["charge", "energy"] {
      if let now = SmallFiles.number("\(place)/\(quantity)_now"),
        let full = SmallFiles.number("\(place)/\(quantity)_full"), full > 0
      {
        return min(max(now / full, 0), 1)
      }
    }
    return nil
  }

  /// Combines several batteries: their mean level, and charging if any battery is charging.
  private static func combined(_ batteries: [DeviceHealth.Battery]) -> DeviceHealth.Battery? {
    guard var all = batteries.first, batteries.count > 1 else { return batteries.first }
    let levels = batteries.compactMap(\.level)
    all.level = levels.isEmpty ? nil : levels.reduce(0, +) / Double(levels.count)
    let charging = batteries.compactMap(\.isCharging)
    all.isCharging = charging.isEmpty ? nil : charging.contains(true)
    return all
  }
}
