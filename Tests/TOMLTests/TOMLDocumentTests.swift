import Foundation
import Platform
import TOML
import Testing

@Suite struct TOMLDocumentTests {
  private func entries(_ text: String) throws(TOMLError) -> [String] {
    try TOMLDocument(parsing: text).entries.map {
      "\($0.keyPosition) \($0.name) = \($0.value) @\($0.position)"
    }
  }

  @Test func valuesOfEveryTypeWithTheirPositions() throws {
    let text = """
      # é is one column
      é = 1
      [a]
        text = "x\\ty"
      b.c = [1, 2.5, true]
      when = 1979-05-27T07:32:00Z
      [[list]]
      inner = 1
      [last."dotted.name"]
      inline = { x = 0xFF }
      """
    // A bare key is ASCII in TOML 1.0.
    #expect(throws: TOMLError.self) { try TOMLDocument(parsing: text) }
    #expect(
      try entries(text.replacing("\né = 1", with: "\n\"é\" = 1")) == [
        "2:1 é = 1 @2:7",
        "3:2 a = a table @3:1",
        "4:3 a.text = \"x\ty\" @4:10",
        "5:1 a.b = a table @5:1",
        "5:3 a.b.c = [1, 2.5, true] @5:7",
        "6:1 a.when = a date or time without quotes @6:8",
        "7:3 list = [a table] @7:1",
        "9:2 last = a table @9:1",
        "9:7 last.dotted.name = a table @9:1",
        "10:1 last.dotted.name.inline = a table @10:10",
        "10:12 last.dotted.name.inline.x = 255 @10:16",
      ])
    #expect(try TOMLDocument(parsing: "").entries.isEmpty)
  }

  /// Tables are in the order of their first occurrence, and members in the order of the text, not of the alphabet.
  @Test func theOrderIsThatOfTheText() throws {
    let document = try TOMLDocument(parsing: "[z]\nb = 1\na = 2\n[y.x]\nc = 3\n[z.w]\nd = 4\n")
    #expect(document.entries.map(\.name) == ["z", "z.b", "z.a", "z.w", "z.w.d", "y", "y.x", "y.x.c"])
  }

  @Test(arguments: [
    ("a = 1\na = 2", 2, "cannot redefine existing integer 'a'"),
    ("[vehicle", 1, "encountered end-of-file"),
    ("a = \"x", 1, "not TOML"),
    ("a = 08", 1, "not TOML"),
    ("a = 99999999999999999999", 1, "not TOML"),
    ("é = 1", 1, "not TOML"),
    ("a = 1\n\u{0}", 2, "not TOML"),
    // Errors that the parser only asserts.
    ("[,\n", 1, "a name is missing here"), ("a = 1\n[[ .x", 2, "a name is missing here"),
    ("\na=[1,}", 2, "a value is missing here"), ("a = [ }", 1, "a value is missing here"),
    ("a = ,", 1, "expected value"), ("a =\n", 1, "expected value"), ("a = # none", 1, "expected value"),
    ("a = ]", 1, "expected value"), ("a = { b = }", 1, "expected value"),
    ("a = '''\n\n''' \nb = ,", 4, "expected value"), ("a = \"\\\"\"\nb = }", 2, "expected value"),
  ])
  func errorsHaveTheirPosition(text: String, line: Int, problem: String) throws {
    let error = try #require(throws: TOMLError.self) { try TOMLDocument(parsing: text) }
    #expect(error.kind == .syntax)
    #expect(error.position?.line == line, "\(error)")
    #expect(error.problem.hasPrefix("not TOML: ") && error.problem.contains(problem), "\(error)")
  }

  @Test func unusualTextIsRead() throws {
    #expect(try entries("a = \"x = ,\"") == ["1:1 a = \"x = ,\" @1:5"])
    #expect(try TOMLDocument(parsing: "# a = ,\na = {}\nb = []\nc = [\n1,\n]").entries.count == 3)
    // Three of five quotes end a multi-line string; the other two belong to it. The dots are in another string.
    let dots = String(repeating: ".", count: 100)
    #expect(try TOMLDocument(parsing: "a = '''x'''''\nb = '\(dots)' # \(dots)\nc = 1.5").entries.count == 3)
  }

  /// Nesting is parsed on a thread with the stack size of the agent's threads.
  @Test(arguments: [
    String(repeating: "a.", count: 500_000) + "a = 1", "[" + String(repeating: "a.", count: 500_000) + "a]",
    String(repeating: "'.'.", count: 100_000) + "a = 1",
    "a = '''x'''''\n" + String(repeating: "b.", count: 100_000) + "b = 1",
    "a = \"\"\"x\\\"\"\"\"\"\"\n" + String(repeating: "b.", count: 100_000) + "b = 1",
    "a = " + String(repeating: "[", count: 500_000), "a = " + String(repeating: "{ a = ", count: 100_000),
  ])
  func depthIsBounded(text: String) throws {
    let problem = Locked("")
    try DedicatedThread.start(name: "depth", stackSize: 256 * 1024) {
      do throws(TOMLError) {
        _ = try TOMLDocument(parsing: text)
      } catch {
        problem.withLock { $0 = error.problem }
      }
    }.join()
    #expect(problem.withLock { $0 }.contains(/more than 16 parts|maximum nested value depth of 16/))
  }

  @Test func theDeepestAllowedNestingIsRead() throws {
    let key = "a" + String(repeating: ".a", count: 14)
    let text = "a = " + String(repeating: "{ \(key) = ", count: 14) + "1" + String(repeating: " }", count: 14)
    #expect(try TOMLDocument(parsing: text).entries.count == 1 + 14 * 15)
  }

  /// Random texts, and the documented configuration with random mistakes, are read or cause an error with a position.
  @Test func brokenTextEndsInAnError() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var state = seed
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    let root = (0..<3).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let example = Array(
      try String(contentsOf: root.appending(path: "Config/odograph.toml"), encoding: .utf8).unicodeScalars)
    let alphabet = Array("[]{}=\".,#abcTfxo0123456789-+eE_:\n\n\n '\\\t\u{1}\u{e9}\u{2028}".unicodeScalars)
    var readCount = 0
    for index in 0..<10_000 {
      var scalars: [Unicode.Scalar]
      if index.isMultiple(of: 2) {
        scalars = (0..<40).map { _ in alphabet[random(alphabet.count)] }
      } else {
        let start = random(example.count - 400)
        scalars = Array(example[start..<(start + 400)])
        for _ in 0..<(1 + random(5)) {
          let place = random(scalars.count)
          if random(2) == 0 {
            scalars.remove(at: place)
          } else {
            scalars[place] = alphabet[random(alphabet.count)]
          }
        }
      }
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      do throws(TOMLError) {
        _ = try TOMLDocument(parsing: String(text))
        readCount += 1
      } catch {
        #expect((error.position?.line ?? 0) >= 1 && (error.position?.column ?? 0) >= 1, "\(error)")
      }
    }
    #expect(readCount > 0)
  }
}
