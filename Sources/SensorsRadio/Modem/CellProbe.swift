internal import Platform
internal import Sensors

/// What a modem hears now, for who looks at the machine.
public struct CellProbe: Hashable, Sendable {
  /// Cells with an identity in the world.
  public var count: Int
  /// Whether the cell that serves the modem is among them.
  public var hasServingCell: Bool
  /// Why others than the serving cell are not told, with what helps; nil where they are.
  public var advice: RadioError?

  /// Asks ModemManager; takes some seconds at most where all is well.
  /// - Throws: `RadioError` with what helps.
  public static func run() throws(RadioError) -> CellProbe {
    guard let result = try ModemScanner().scan(ScanWait.patient()) else {
      throw ModemScanner.explanation(.abandoned)
    }
    return CellProbe(
      count: result.scan.sightings.count, hasServingCell: result.scan.sightings.contains(where: \.isServing),
      advice: result.advice)
  }
}

extension Modem {
  /// The modems that ModemManager knows, in order of their paths.
  /// - Throws: `RadioError` with what helps.
  public static func all() throws(RadioError) -> [Modem] { try ModemScanner().modems(ScanWait.patient()) }
}

extension ScanWait {
  /// Waits for as long as it takes.
  static func patient() throws(RadioError) -> ScanWait {
    do throws(SystemError) {
      return ScanWait(wake: try EventDescriptor(), beat: {}, expectPause: { _ in }, isWanted: { true })
    } catch {
      throw RadioError(place: "radio", problem: "\(error)", remedy: "let the process open more files")
    }
  }
}
