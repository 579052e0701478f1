/// The signals to read from a bus, and the protocols.
public struct CANConfiguration: Hashable, Sendable {
  /// A requested signal.
  public struct Signal: Hashable, Sendable {
    /// Path in the Vehicle Signal Specification, as in `Vehicle.Speed`.
    public var path: String
    /// Name in the DBC file, as in `Speed` or `EngineData.Speed`; nil uses J1939 or OBD-II.
    public var source: String?

    public init(path: String, source: String? = nil) {
      self.path = path
      self.source = source
    }

    /// Parses `Vehicle.Speed`, or `Vehicle.Speed = EngineData.Speed`. Nil for any other text.
    public init?(parsing text: String) {
      let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
      }.map { String($0) }
      guard VehicleSignal.isPath(halves[0]), halves.count == 1 || !halves[1].isEmpty else { return nil }
      self.init(path: halves[0], source: halves.count == 2 ? halves[1] : nil)
    }
  }

  /// Path of the DBC file; nil if no signal requires one.
  public var database: String?
  public var signals: [Signal]
  /// True if the bus uses SAE J1939.
  public var isJ1939 = false
  /// Addressing of OBD-II requests; nil sends none.
  public var diagnostics: OBDAddressing?

  public init(
    database: String? = nil, signals: [Signal] = [], isJ1939: Bool = false,
    diagnostics: OBDAddressing? = nil
  ) {
    self.database = database
    self.signals = signals
    self.isJ1939 = isJ1939
    self.diagnostics = diagnostics
  }
}
