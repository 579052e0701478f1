public import JSON

/// Information about a vehicle's computer, as published in `status`. What the machine does not report is nil.
public struct DeviceHealth: Hashable, Sendable {
  public struct Battery: Hashable, Sendable {
    /// 0 ... 1.
    public var level: Double?
    public var isCharging: Bool?
    /// Volts.
    public var voltage: Double?

    public init(level: Double? = nil, isCharging: Bool? = nil, voltage: Double? = nil) {
      self.level = level
      self.isCharging = isCharging
      self.voltage = voltage
    }
  }

  /// Bytes of the file system that holds the store.
  public struct Storage: Hashable, Sendable {
    public var free: Int64
    public var total: Int64

    public init(free: Int64, total: Int64) {
      self.free = free
      self.total = total
    }
  }

  /// Bytes.
  public struct Memory: Hashable, Sendable {
    /// Of the agent alone.
    public var resident: Int64?
    /// Of the machine, without swapping.
    public var available: Int64?
    /// Of the machine, as far as the kernel uses it.
    public var total: Int64?

    public init(resident: Int64? = nil, available: Int64? = nil, total: Int64? = nil) {
      self.resident = resident
      self.available = available
      self.total = total
    }
  }

  /// The operating system.
  public struct System: Hashable, Sendable {
    /// Name and version for people, as in "Debian GNU/Linux 12 (bookworm)".
    public var name: String?
    /// The kernel's release, as in "6.1.0-18-arm64".
    public var kernel: String?

    public init(name: String? = nil, kernel: String? = nil) {
      self.name = name
      self.kernel = kernel
    }
  }

  /// As the firmware names the machine.
  public var model: String?
  public var system: System?
  /// Processors that are online.
  public var processors: Int?
  /// Nil where there is none, or none that says anything.
  public var battery: Battery?
  /// Whether power comes from outside.
  public var externalPower: Bool?
  public var storage: Storage?
  public var memory: Memory?
  /// Degrees Celsius, of the hottest part that is measured.
  public var temperature: Double?

  public init() {}
}

extension DeviceHealth {
  /// Writes the fields into the object that is open.
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

  /// Reads the fields of a `status`; nil when there is none of them.
  public init?(json: JSONValue) {
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
