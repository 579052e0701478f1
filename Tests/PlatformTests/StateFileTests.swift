import Glibc
import Platform
import TestSupport
import Testing

/// FIFOs and devices in place of state files.
@Suite struct StateFileTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("state") }

  init() throws { directory = try TemporaryDirectory() }

  /// The kind of file in place of the state file.
  enum Place: String, CaseIterable, Sendable {
    case fifo, zero, random, null

    func make(at path: String) -> Bool {
      switch self {
      case .fifo: mkfifo(path, 0o600) == 0
      case .zero: symlink("/dev/zero", path) == 0
      case .random: symlink("/dev/random", path) == 0
      case .null: symlink("/dev/null", path) == 0
      }
    }
  }

  @Test(.timeLimit(.minutes(1)), arguments: Place.allCases) func itIsRefusedAndNotReplaced(place: Place)
    throws
  {
    try #require(place.make(at: path))
    let attempts: [() throws -> Void] = [
      { _ = try AtomicFile.read(path) }, { try AtomicFile.write([1], to: path) },
    ]
    for attempt in attempts {
      let error = #expect(throws: SystemError.self) { try attempt() }
      #expect(error?.code == SystemError.notAFile && error?.object == path)
    }
    #expect(FileKind.isSpecial(path))
    #expect(access(path + ".new", F_OK) != 0)
  }

  @Test func filesThatUsersNameMayBeDevices() throws {
    #expect(try AtomicFile.contents(of: "/dev/null") == [])
    #expect(throws: SystemError.self) { try AtomicFile.contents(of: "/dev/null", acceptsDevices: false) }
  }

  @Test func ordinaryFilesAreReadAndReplaced() throws {
    #expect(try AtomicFile.read(path) == nil)
    try AtomicFile.write([1, 2], to: path)
    try AtomicFile.write([3], to: path)
    #expect(try AtomicFile.read(path) == [3])
    #expect(try AtomicFile.read("/proc/self/status", limit: 1 << 20)?.isEmpty == false)
  }
}
