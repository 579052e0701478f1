internal import Platform
public import Sensors

/// A scan of the mobile network cells for diagnostics.
public struct CellProbe: Hashable, Sendable {
  /// The number of cells with a globally unique identity.
  public var count: Int
  /// True if the serving cell is among them.
  public var hasServingCell: Bool
  /// The reason why only the serving cell is reported, with the remedy; nil otherwise.
  public var advice: SourceError?

  /// Queries ModemManager, normally within a few seconds.
  /// - Throws: `SourceError` with the remedy.
  public static func run() throws(SourceError) -> CellProbe {
    guard let result = try ModemScanner().scan(ScanWait.uninterrupted()) else {
      throw ModemScanner.explanation(.abandoned)
    }
    return CellProbe(
      count: result.scan.sightings.count, hasServingCell: result.scan.sightings.contains(where: \.isServing),
      advice: result.advice)
  }
}

extension Modem {
  /// Returns ModemManager's modems, sorted by path.
  /// - Throws: `SourceError` with the remedy.
  public static func all() throws(SourceError) -> [Modem] {
    try ModemScanner().modems(ScanWait.uninterrupted())
  }
}

extension ScanWait {
  /// Creates a wait that nothing interrupts, for scans outside of a source's thread.
  static func uninterrupted() throws(SourceError) -> ScanWait {
    do throws(SystemError) {
      return ScanWait(wake: try EventDescriptor(), beat: {}, expectPause: { _ in }, isWanted: { true })
    } catch {
      throw SourceError(place: "radio", problem: "\(error)", remedy: "let the process open more files")
    }
  }
}
