import FleetWeb
import Simulation
import Spatial
import TestSupport
import Testing

/// Delays and limits in virtual time.
struct LimitTests {
  private let start = Timestamp(seconds: 0)
  private let here = Address(bytes: [10, 0, 0, 1])

  private func civil(_ seconds: Double) -> UTCTime { UTCTime(secondsSince1970: seconds) }

  @Test func wrongPasswordsDoubleTheDelay() {
    var delays = LoginDelays()
    var now = Timestamp(seconds: 0)
    for _ in 0..<5 { #expect(delays.attempt(user: "ann", from: here, at: now) == 0) }
    var waits: [Double] = []
    for _ in 0..<14 {
      let wait = delays.attempt(user: "ann", from: here, at: now)
      waits.append(wait.rounded())
      // An attempt before the end of the delay is refused, and does not extend it.
      let early = delays.attempt(user: "ann", from: here, at: now.advanced(bySeconds: wait - 0.001))
      #expect(abs(early - 0.001) < 1e-6)
      now = now.advanced(bySeconds: wait)
      #expect(delays.attempt(user: "ann", from: here, at: now) == 0)
    }
    #expect(waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900])
    // The count is reset one hour after the last attempt.
    now = now.advanced(bySeconds: 3600)
    #expect(delays.attempt(user: "ann", from: here, at: now) == 0)
    #expect(delays.attempt(user: "ann", from: here, at: now) == 0)
  }

  @Test func theRightPasswordEndsTheCount() {
    var delays = LoginDelays()
    for _ in 0..<100 {
      #expect(delays.attempt(user: "ann", from: here, at: start) == 0)
      delays.succeed(user: "ann", from: here, at: start)
    }
  }

  @Test func simultaneousAttemptsAreCountedBeforeTheyAreChecked() {
    var delays = LoginDelays()
    let allowed = (0..<1000).count { _ in delays.attempt(user: "ann", from: here, at: start) == 0 }
    #expect(allowed == 5)
  }

  @Test func anAddressCannotTryManyUsers() {
    var delays = LoginDelays()
    let allowed = (0..<1000).count { delays.attempt(user: "user \($0)", from: here, at: start) == 0 }
    #expect(allowed == 20)
  }

  /// Attackers with many addresses delay a user by half a minute at most, and not at all at addresses where the user has logged in
  /// before.
  @Test func attackersCannotLockUsersOut() {
    var generator = SeededGenerator.announced()
    var delays = LoginDelays()
    let home = Address(bytes: [192, 168, 0, 9])
    let new = Address(bytes: [192, 168, 0, 10])
    #expect(delays.attempt(user: "ann", from: home, at: start) == 0)
    delays.succeed(user: "ann", from: home, at: start)
    var now = start
    for _ in 0..<20_000 {
      now = now.advanced(bySeconds: Double(generator.next(upperBound: 100 as UInt64)) * 1e-3)
      let bytes = (0..<4).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      _ = delays.attempt(user: "ann", from: Address(bytes: bytes), at: now)
    }
    var copy = delays
    #expect(copy.attempt(user: "ann", from: home, at: now) == 0)
    let wait = delays.attempt(user: "ann", from: new, at: now)
    #expect(wait > 0 && wait <= 30)
    #expect(delays.attempt(user: "ann", from: new, at: now.advanced(bySeconds: wait)) == 0)
    #expect(delays.count <= 2 * LoginDelays.capacity)
  }

  @Test func tablesAreBounded() {
    var generator = SeededGenerator.announced()
    var delays = LoginDelays()
    var limits = RequestLimits<UInt64>(rate: 10, burst: 20, capacity: 100)
    for step in 0..<12_000 {
      let bytes = (0..<4).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      let address = Address(bytes: bytes)
      _ = delays.attempt(
        user: "user \(generator.next())", from: address, at: Timestamp(nanoseconds: Int64(step)))
      delays.succeed(user: "user \(generator.next())", from: address, at: Timestamp(nanoseconds: Int64(step)))
      _ = limits.take(generator.next(), at: Timestamp(nanoseconds: Int64(step)))
      #expect(delays.count <= 2 * LoginDelays.capacity + 4 && limits.count <= 100)
    }
  }

  @Test func requestsAreLimitedToTheirRate() {
    var limits = RequestLimits<String>(rate: 10, burst: 20)
    let allowed = (0..<100).count { _ in limits.take("ann", at: start) == 0 }
    #expect(allowed == 20)
    #expect(limits.take("bob", at: start) == 0)
    let wait = limits.take("ann", at: start)
    #expect(abs(wait - 0.1) < 1e-9)
    // Refused requests cost nothing: ten are accepted in the next second, however many arrive.
    var passed = 0
    for step in 1...1000 where limits.take("ann", at: Timestamp(seconds: Double(step) / 1000)) == 0 {
      passed += 1
    }
    #expect((9...10).contains(passed))
    #expect((0..<100).count { _ in limits.take("ann", at: Timestamp(seconds: 100)) == 0 } == 20)
    // A clock that goes back adds nothing.
    #expect(limits.take("ann", at: start) > 0)
  }

  @Test func sessionsExpire() {
    var table = SessionTable(idle: 10, longest: 25)
    let digest = SecretDigest(of: "a")
    let entry = SecretDigest(of: "entry")
    table.open(digest, .user("ann"), entry: entry, at: civil(0))
    for time in [9.0, 18, 24] { #expect(table.use(digest, at: civil(time))?.holder == .user("ann")) }
    #expect(table.use(digest, at: civil(25)) == nil && table.sessions.isEmpty)
    table.open(digest, .user("ann"), entry: entry, at: civil(0))
    #expect(table.use(digest, at: civil(10)) == nil)
    #expect(table.use(SecretDigest(of: "b"), at: civil(0)) == nil)
  }

  @Test func sessionsAreBounded() {
    var table = SessionTable(idle: 10, longest: 25)
    let entry = SecretDigest(of: "entry")
    for index in 0..<SessionTable.capacityOfHolder + 10 {
      table.open(SecretDigest(of: "\(index)"), .user("ann"), entry: entry, at: civil(Double(index) * 1e-9))
    }
    #expect(table.sessions.count == SessionTable.capacityOfHolder)
    #expect(
      table.use(SecretDigest(of: "0"), at: civil(1e-7)) == nil
        && table.use(SecretDigest(of: "20"), at: civil(1e-7)) != nil)
  }

  @Test(arguments: [
    ("10.0.0.5", "10.0.0.0/8", true), ("11.0.0.5", "10.0.0.0/8", false), ("10.0.0.5", "10.0.0.5", true),
    ("10.0.0.4", "10.0.0.5", false), ("10.0.0.7", "10.0.0.4/30", true), ("10.0.0.8", "10.0.0.4/30", false),
    ("::ffff:10.0.0.5", "10.0.0.0/8", true), ("2001:db8::1", "2001:db8::/32", true),
    ("::1", "127.0.0.0/8", false),
    ("1.2.3.4", "0.0.0.0/0", true), ("2001:db8::1", "0.0.0.0/0", false),
  ]) func rangesContainTheirAddresses(_ address: String, _ range: String, _ isIn: Bool) throws {
    let address = try #require(Address(parsing: address))
    #expect(try #require(AddressRange(parsing: range)).contains(address) == isIn)
  }

  @Test(arguments: [
    "", "x", "10.0.0", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8/8", "::/129", "10.0.0.5:80", "[::1]",
  ])
  func invalidRangesAreRefused(_ text: String) { #expect(AddressRange(parsing: text) == nil) }

  @Test func aSubscribersAddressesCountAsOne() throws {
    let a = try #require(Address(parsing: "2001:db8:1:2::1"))
    let b = try #require(Address(parsing: "2001:db8:1:2:3::9"))
    #expect(a.subscriber == b.subscriber && a.subscriber.description == "2001:db8:1:2::")
    #expect(Address(parsing: "127.0.0.9")?.isLoopback == true && Address(parsing: "::1")?.isLoopback == true)
  }

  @Test(arguments: [
    ("/", []), ("/api/v1/vehicles/a/b", ["api", "v1", "vehicles", "a", "b"]), ("//api///v1", ["api", "v1"]),
    ("/%C3%A4/%3Cscript%3E", ["ä", "<script>"]), ("/...", ["..."]), ("/a%25b", ["a%b"]),
  ]) func pathsAreParsed(_ text: String, _ parts: [String]) { #expect(RequestPath(text)?.parts == parts) }

  @Test(arguments: [
    "/../etc/passwd", "/a/..", "/.", "/%2e%2e/x", "/%2E%2e", "/.%2e", "/a%2fb", "/a%2Fb", "/%00",
    "/a%00.html", "/%0a",
    "/%", "/%2", "/%zz", "/%ff", "/" + String(repeating: "a", count: 5000),
  ]) func invalidPathsAreRefused(_ text: String) { #expect(RequestPath(text) == nil) }
}
