import Fleet
import FleetWeb
import Testing

struct PasswordTests {
  /// Output of Debian's `mkpasswd -m yescrypt` for "hello", and of libcrypt at its lowest cost.
  @Test(arguments: [
    ("hello", "$y$j9T$k2XAnEHBqQ1Ct2aMXFKNa/$uYc7NP4va2qAuywUNFefQaOtC2j8HCcENf3WL84Nbh8"),
    (AccessFixture.password, AccessFixture.hash),
  ]) func externalHashesAreAccepted(_ password: String, _ text: String) throws {
    let hash = try PasswordHash(parsing: text)
    #expect(hash.matches(password))
    for wrong in [
      "", "x", password + " ", String(password.dropLast()), password.uppercased(), password + "\0",
    ] {
      #expect(!hash.matches(wrong), "\(wrong)")
    }
    #expect(!hash.matches(String(repeating: "a", count: 100_000)))
  }

  @Test func hashesAreSalted() throws {
    let a = try PasswordHash(of: "correct horse")
    let b = try PasswordHash(of: "correct horse")
    #expect(a != b && a.matches("correct horse") && b.matches("correct horse"))
    #expect(try PasswordHash(parsing: a.text) == a)
  }

  @Test(arguments: ["short", "", "1234567", String(repeating: "a", count: 512), "with a zero\0byte"])
  func invalidPasswordsAreRefused(_ password: String) {
    #expect(throws: FleetError.self) { try PasswordHash(of: password) }
  }

  @Test(arguments: [
    "", "x", "*", "!", "$1$abc$def", "$6$salt$hash", "$y$", "$y$j9T$", "$y$j9T$salt$", "y$j9T$a$b$c",
    "$y$j9T$a$b$c",
    "$y$j9T$k2XAnEHBqQ1Ct2aMXFKNa/$uYc7 ", "$y$j9T$salt$ha\nsh", "plain password",
  ]) func otherHashesThanYescryptAreRefused(_ text: String) {
    #expect(throws: FleetError.self) { try PasswordHash(parsing: text) }
  }

  /// Parameters that libcrypt does not support match no password, not even the empty one.
  @Test func aDamagedHashMatchesNothing() throws {
    let hash = try PasswordHash(parsing: "$y$zzzz$zz$zz")
    #expect(!hash.matches("") && !hash.matches("*0") && !hash.matches("$y$zzzz$zz$zz"))
  }

  @Test func checksBeyondTheCapacityAreRefused() async throws {
    let checker = try PasswordChecker()
    let hash = try PasswordHash(parsing: AccessFixture.hash)
    let answers = await withTaskGroup(of: Bool?.self) { group in
      for _ in 0..<PasswordChecker.capacity * 3 {
        group.addTask { await checker.check(AccessFixture.password, against: hash) }
      }
      return await group.reduce(into: [Bool?]()) { $0.append($1) }
    }
    checker.stop()
    #expect(answers.allSatisfy { $0 != false } && answers.contains(true))
    #expect(await checker.check("x", against: hash) == nil)
  }

  @Test func digestsAreThoseOfSHA256() {
    let digest = SecretDigest(of: "abc")
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(digest.hexadecimal == text && SecretDigest(hexadecimal: text.uppercased()) == digest)
    for wrong in ["", "ba78", text + "0", String(text.dropLast()) + "g", "+" + text.dropFirst()] {
      #expect(SecretDigest(hexadecimal: wrong) == nil, "\(wrong)")
    }
  }

  @Test func secretsAreUnique() {
    let secrets = (0..<1000).map { _ in SecretText.random() }
    #expect(Set(secrets).count == 1000 && secrets.allSatisfy { SecretText.isPlausible($0) })
    for wrong in [
      "", "a", String(repeating: "a", count: 31), String(repeating: "ä", count: 16),
      "<script>alert(1)</script>aaaaaaaa",
    ] {
      #expect(!SecretText.isPlausible(wrong))
    }
  }
}
