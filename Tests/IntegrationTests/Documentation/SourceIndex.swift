import Foundation

/// The names declared in a Swift source tree, found line by line; the indentation shows their nesting.
struct SourceIndex {
  private(set) var names: Set<String> = []

  enum Subject {
    /// Public types and members, for example `Location.speed`.
    case publicSymbols
    /// Test functions, for example `LocationManagerTests.desiredAccuracyIsNoFilter`.
    case tests
  }

  /// - Parameter folders: Folders to search, including their subfolders.
  init(_ subject: Subject, in folders: [String]) throws {
    for folder in folders {
      let files = FileManager.default.enumerator(
        at: URL(fileURLWithPath: folder), includingPropertiesForKeys: nil)
      while let file = files?.nextObject() as? URL {
        guard file.pathExtension == "swift" else { continue }
        read(try String(contentsOf: file, encoding: .utf8), subject)
      }
    }
  }

  init(_ subject: Subject, text: String) { read(text, subject) }

  private mutating func read(_ text: String, _ subject: Subject) {
    let typePattern =
      /((?:@\w+(?:\(.*?\))? |[a-z]+(?:\(set\))? )*?)(struct|class|enum|protocol|actor|extension) ([A-Z][\w.]*)/
    let memberPattern =
      /(?:@\w+(?:\(.*?\))? )*public (?:[a-z]+(?:\(set\))? )*?(?:var|let|func|typealias) (\w+)/
    /// Types that enclose a line, outermost first, with their indentation.
    var types: [(indentation: Int, name: String, isEnum: Bool, isPublic: Bool)] = []
    var isTest = false
    for line in text.split(separator: "\n") {
      let indentation = line.prefix { $0 == " " }.count
      let code = line.dropFirst(indentation)
      if code.isEmpty || code.hasPrefix("//") || code.hasPrefix(")") || code.hasPrefix("]") { continue }
      while let last = types.last, last.indentation >= indentation { types.removeLast() }
      func qualified(_ name: some StringProtocol) -> String {
        (types.map(\.name) + [String(name)]).joined(separator: ".")
      }
      if code.hasPrefix("@Test") { isTest = true }
      if let type = code.prefixMatch(of: typePattern) {
        let isPublic = type.1.contains("public") || type.2 == "extension"
        if isPublic, type.2 != "extension", subject == .publicSymbols { names.insert(qualified(type.3)) }
        types.append((indentation, String(type.3), type.2 == "enum", isPublic))
        continue
      }
      let isMember = types.last.map { indentation == $0.indentation + 2 } ?? true
      guard isMember || isTest else { continue }
      switch subject {
      case .tests:
        guard isTest, let function = code.firstMatch(of: /\bfunc (\w+)/) else { continue }
        names.insert(qualified(function.1))
        isTest = false
      case .publicSymbols:
        if let type = types.last, type.isEnum, type.isPublic, code.hasPrefix("case ") {
          for name in code.dropFirst(5).replacing(/\([^)]*\)/, with: "").split(separator: ",") {
            if let name = name.firstMatch(of: /\w+/) { names.insert(qualified(name.0)) }
          }
        } else if let member = code.prefixMatch(of: memberPattern) {
          names.insert(qualified(member.1))
        }
      }
    }
  }
}
