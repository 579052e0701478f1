internal import Glibc
public import Simulation

extension SeededGenerator {
  /// A generator with a new seed, or that of `ODOGRAPH_SEED`. It is printed, so that a failure can be played again.
  public static func announced() -> SeededGenerator {
    let given = unsafe getenv("ODOGRAPH_SEED").flatMap { UInt64(unsafe String(cString: $0)) }
    let seed = given ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    return SeededGenerator(seed: seed)
  }
}
