/// Which signals are read of a bus, and how.
public struct CANConfiguration: Hashable, Sendable {
  /// A signal that is wanted.
  public struct Signal: Hashable, Sendable {
    /// Of the Vehicle Signal Specification, as in `Vehicle.Speed`.
    public var path: String
    /// The name in the DBC file, as in `Speed` or `EngineData.Speed`; nil takes what J1939 or OBD-II has for the path.
    public var source: String?

    public init(path: String, source: String? = nil) {
      self.path = path
      self.source = source
    }

    /// Reads `Vehicle.Speed`, or `Vehicle.Speed = EngineData.Speed`. Nil for anything else.
    public init?(parsing text: String) {
      let halves = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
        $0.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()
      }.map { String($0) }
      guard VehicleSignal.isPath(halves[0]), halves.count == 1 || !halves[1].isEmpty else { return nil }
      self.init(path: halves[0], source: halves.count == 2 ? halves[1] : nil)
    }
  }

  /// Path of the DBC file; nil where no signal needs one.
  public var database: String?
  public var signals: [Signal]
  /// Whether the bus speaks SAE J1939.
  public var isJ1939 = false
  /// How OBD-II is spoken; nil sends no request.
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
