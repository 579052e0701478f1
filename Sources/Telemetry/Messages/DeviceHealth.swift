package import JSON

/// Information about a vehicle's computer, as published in `status`. Values that the machine does not report
/// are nil.
public struct DeviceHealth: Hashable, Sendable {
  public struct Battery: Hashable, Sendable {
    /// Charge level, 0 ... 1.
    public var level: Double?
    public var isCharging: Bool?
    /// Voltage in V.
    public var voltage: Double?

    public init(level: Double? = nil, isCharging: Bool? = nil, voltage: Double? = nil) {
      self.level = level
      self.isCharging = isCharging
      self.voltage = voltage
    }
  }

  /// Space in bytes of the file system that contains the store.
  public struct Storage: Hashable, Sendable {
    public var free: Int64
    public var total: Int64

    public init(free: Int64, total: Int64) {
      self.free = free
      self.total = total
    }
  }

  /// Memory sizes in bytes.
  public struct Memory: Hashable, Sendable {
    /// Resident memory of the agent.
    public var resident: Int64?
    /// Memory of the machine available without swapping.
    public var available: Int64?
    /// Memory of the machine that the kernel can use.
    public var total: Int64?

    public init(resident: Int64? = nil, available: Int64? = nil, total: Int64? = nil) {
      self.resident = resident
      self.available = available
      self.total = total
    }
  }

  /// Operating system.
  public struct System: Hashable, Sendable {
    /// Display name and version, such as "Debian GNU/Linux 12 (bookworm)".
    public var name: String?
    /// Release of the kernel, such as "6.1.0-18-arm64".
    public var kernel: String?

    public init(name: String? = nil, kernel: String? = nil) {
      self.name = name
      self.kernel = kernel
    }
  }

  /// Model of the machine as named by the firmware.
  public var model: String?
  public var system: System?
  /// Number of processors online.
  public var processors: Int?
  /// Battery state; nil if the machine has no battery or the battery reports nothing.
  public var battery: Battery?
  /// True if external power is connected.
  public var externalPower: Bool?
  public var storage: Storage?
  public var memory: Memory?
  /// Highest measured temperature in °C.
  public var temperature: Double?

  public init() {}
}

extension DeviceHealth {
  /// Writes the fields into the current object.
  func write(to json: inout JSONWriter) {
    json.field("model", model)
    if let system {
      json.field("system") { json in
        json.field("name", system.name)
        json.field("kernel", system.kernel)
      }
    }
    json.field("processors", processors)
    if let battery {
      json.field("battery") { json in
        json.field("level", battery.level, decimals: 3)
        json.field("charging", battery.isCharging)
        json.field("voltage", battery.voltage, decimals: 3)
      }
    }
    json.field("externalPower", externalPower)
    if let storage {
      json.field("storage") { json in
        json.field("free", storage.free)
        json.field("total", storage.total)
      }
    }
    if let memory {
      json.field("memory") { json in
        json.field("resident", memory.resident)
        json.field("available", memory.available)
        json.field("total", memory.total)
      }
    }
    json.field("temperature", temperature, decimals: 1)
  }

  /// Reads the fields of a `status` message; nil if the message contains none of the fields.
  package init?(json: JSONValue) {
    self.init()
    model = json["model"]?.string
    if let system = json["system"] {
      self.system = System(name: system["name"]?.string, kernel: system["kernel"]?.string)
    }
    processors = json["processors"]?.integer.flatMap { Int(exactly: $0) }
    if let battery = json["battery"] {
      self.battery = Battery(
        level: battery["level"]?.double, isCharging: battery["charging"]?.bool,
        voltage: battery["voltage"]?.double)
    }
    externalPower = json["externalPower"]?.bool
    if let free = json["storage"]?["free"]?.integer, let total = json["storage"]?["total"]?.integer {
      storage = Storage(free: free, total: total)
    }
    if let memory = json["memory"] {
      self.memory = Memory(
        resident: memory["resident"]?.integer, available: memory["available"]?.integer,
        total: memory["total"]?.integer)
    }
    temperature = json["temperature"]?.double
    if self == DeviceHealth() { return nil }
  }
}
