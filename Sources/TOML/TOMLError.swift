/// A place in a text, counted from 1; columns in characters as Unicode counts them (code points).
package struct TOMLPosition: Sendable, Hashable, CustomStringConvertible {
  package let line: Int
  package let column: Int

  package init(line: Int, column: Int) {
    self.line = line
    self.column = column
  }

  init(line: UInt32, column: UInt32) { self.init(line: Int(line), column: Int(column)) }

  /// `line:column`, as editors read it behind a file's name.
  package var description: String { "\(line):\(column)" }
}

/// Why a text or a file cannot be read as TOML.
package struct TOMLError: Error, Sendable, Hashable, CustomStringConvertible {
  package enum Kind: Sendable, Hashable {
    /// There is no such file.
    case missing
    /// The file is forbidden, too large, or no text.
    case unreadable
    case syntax
  }

  package let kind: Kind
  /// Nil for a text that is from no file.
  package var file: String?
  /// Nil where the whole is meant.
  package let position: TOMLPosition?
  package let problem: String

  init(kind: Kind, file: String? = nil, position: TOMLPosition? = nil, problem: String) {
    self.kind = kind
    self.file = file
    self.position = position
    self.problem = problem
  }

  /// `file:line:column`.
  package var place: String {
    switch (file, position) {
    case (let file?, let position?): "\(file):\(position)"
    case (let file?, nil): file
    case (nil, let position?): "\(position)"
    case (nil, nil): "TOML"
    }
  }

  package var description: String { "\(place): \(problem)" }
}
