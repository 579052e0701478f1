import AgentCore
import JSON
import Spatial
import Telemetry
import TestSupport
import Testing

/// Parsing of kernel files, with synthetic files.
@Suite struct SystemProbeTests {
  let root: ScratchFolder

  init() throws { root = try ScratchFolder() }

  private func probe(_ files: [String: String]) throws -> DeviceHealth {
    for (path, text) in files { try write(text, to: path) }
    return SystemProbe(store: root.path + "/outbox.sqlite", root: root.path).read()
  }

  private func write(_ text: String, to path: String) throws {
    let folder = root.path + "/" + path.split(separator: "/").dropLast().joined(separator: "/")
    let made = try ChildProcess("mkdir", ["-p", folder])
    #expect(made.waitForExit() == 0)
    _ = try root.write(text, to: path)
  }

  private static let supply = "sys/class/power_supply"

  @Test func boardOnABatteryIsRead() throws {
    let health = try probe([
      "proc/device-tree/model": "Raspberry Pi 4 Model B Rev 1.4\0",
      "sys/class/dmi/id/product_name": "not looked at\n",
      "\(Self.supply)/bat/type": "Battery\n", "\(Self.supply)/bat/capacity": "83\n",
      "\(Self.supply)/bat/status": "Discharging\n", "\(Self.supply)/bat/voltage_now": "12150000\n",
      "\(Self.supply)/ac/type": "Mains\n", "\(Self.supply)/ac/online": "0\n",
      "\(Self.supply)/mouse/type": "Battery\n", "\(Self.supply)/mouse/scope": "Device\n",
      "\(Self.supply)/mouse/capacity": "2\n",
      "sys/class/thermal/thermal_zone0/temp": "48312\n", "sys/class/thermal/thermal_zone1/temp": "51500\n",
      "sys/class/thermal/thermal_zone2/temp": "-274000\n", "sys/class/thermal/cooling_device0/temp": "99\n",
      "etc/os-release": "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
      "proc/sys/kernel/osrelease": "6.1.0-18-arm64\n", "sys/devices/system/cpu/online": "0-2,5\n",
      "proc/self/statm": "5000 1200 800 1 0 900 0\n",
      "proc/meminfo": "MemTotal:  1000 kB\nMemFree:  1 kB\nMemAvailable:    500 kB\n",
    ])
    #expect(health.model == "Raspberry Pi 4 Model B Rev 1.4")
    #expect(health.battery == .init(level: 0.83, isCharging: false, voltage: 12.15))
    #expect(health.externalPower == false)
    #expect(health.temperature == 51.5)
    #expect(health.memory?.available == 512_000 && health.memory?.total == 1_024_000)
    #expect(health.system == .init(name: "Debian GNU/Linux 12 (bookworm)", kernel: "6.1.0-18-arm64"))
    #expect(health.processors == 4)
    var status = StatusMessage(
      state: .online, time: UTCTime(nanoseconds: 0), sessionStart: UTCTime(nanoseconds: 0))
    status.device = health
    #expect(try StatusMessage(json: JSONValue(parsing: status.payload)).device == health)
    #expect(health.memory?.resident.map { $0 % 1200 == 0 && $0 >= 1200 * 4096 } == true)
    let storage = try #require(health.storage)
    #expect(storage.free > 0 && storage.free <= storage.total)
  }

  @Test(arguments: [
    (["AC/type": "Mains", "AC/online": "1"], nil, true),
    (["AC/type": "Mains", "AC/online": "1", "USB/type": "USB", "USB/online": "0"], nil, true),
    (["B/type": "Battery", "B/present": "0", "B/capacity": "50"], nil, nil),
    (
      ["B/type": "Battery", "B/charge_now": "250", "B/charge_full": "1000", "B/status": "Charging"],
      DeviceHealth.Battery(level: 0.25, isCharging: true), true
    ),
    (
      ["B/type": "Battery", "B/energy_now": "3", "B/energy_full": "0", "B/status": "Unknown"],
      DeviceHealth.Battery(), nil
    ),
    (
      [
        "B/type": "Battery", "B/capacity": "40", "B/status": "Full", "C/type": "Battery",
        "C/capacity": "60",
        "C/status": "Not charging",
      ], DeviceHealth.Battery(level: 0.5, isCharging: false), false
    ),
    (["B/type": "Battery", "B/capacity": "rubbish"], DeviceHealth.Battery(), nil),
  ])
  func powerSuppliesAreRead(files: [String: String], battery: DeviceHealth.Battery?, external: Bool?) throws {
    let health = try probe(
      Dictionary(uniqueKeysWithValues: files.map { ("\(Self.supply)/\($0)", $1 + "\n") }))
    #expect(health.battery == battery)
    #expect(health.externalPower == external)
  }

  @Test(arguments: [
    ("LENOVO", "20XW", "LENOVO 20XW"), ("To Be Filled By O.E.M.", "Default string", nil),
    ("System manufacturer", "NUC7", "NUC7"),
  ])
  func modelsOfPCsAreRead(vendor: String, product: String, expected: String?) throws {
    let health = try probe([
      "sys/class/dmi/id/sys_vendor": vendor + "\n", "sys/class/dmi/id/product_name": product + "\n",
    ])
    #expect(health.model == expected)
  }

  @Test func machineWithoutInformationIsEmpty() throws {
    var health = try probe([:])
    health.storage = nil
    #expect(health == DeviceHealth())
  }

  @Test func readingsRoundTripThroughTheMessage() throws {
    var message = StatusMessage(
      state: .asleep, time: .init(nanoseconds: 1_795_248_000_000_000_000),
      sessionStart: .init(nanoseconds: 1_795_247_000_000_000_000))
    message.nextContact = .init(nanoseconds: 1_795_248_600_000_000_000)
    message.storeProblem = "the disk is full"
    message.functionProblem = "recorder: read-only file system"
    message.deliveryProblem = "the broker refuses a/b: not authorized (0x87); kept for another attempt"
    var health = DeviceHealth()
    health.model = "van \"7\""
    health.battery = .init(level: 0.5, isCharging: true, voltage: 12.125)
    health.externalPower = true
    health.storage = .init(free: 12, total: 7_000_000_000_000)
    health.memory = .init(resident: 19_000_000, available: 4_000_000_000)
    health.temperature = -12.5
    message.device = health
    let read = try StatusMessage(json: JSONValue(parsing: message.payload))
    #expect(read == message)
    message.device = nil
    #expect(try StatusMessage(json: JSONValue(parsing: message.payload)) == message)
  }
}
