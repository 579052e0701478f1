internal import Glibc
public import Simulation

extension SeededGenerator {
  /// A generator with a random seed, or with the seed in `ODOGRAPH_SEED`. The seed is printed, so that a failure can be reproduced.
  public static func announced() -> SeededGenerator {
    let given = unsafe getenv("ODOGRAPH_SEED").flatMap { UInt64(unsafe String(cString: $0)) }
    let seed = given ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    return SeededGenerator(seed: seed)
  }
}
