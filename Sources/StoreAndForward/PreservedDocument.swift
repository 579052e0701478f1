internal import SQLite

/// What a program knows at the moment at which messages are accepted, to be found again after a restart as it was then: it is
/// stored in the same commit as they are, so that after a crash both are there or neither.
public struct PreservedDocument: Hashable, Sendable {
  /// A later document of the same name replaces it.
  public var name: String
  /// Without a checksum of the outbox: what must notice a flipped bit has one of its own.
  public var bytes: [UInt8]

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

/// The documents of an outbox: what its store has, and what waits for the records that it belongs to.
struct PreservedDocuments {
  /// As the store has them, or had before it was damaged.
  private var stored: [String: [UInt8]] = [:]
  /// Newer than that. They may be written in a transaction that leaves none of their records in memory, and in no other.
  private var waiting: [String: [UInt8]] = [:]

  var isWaiting: Bool { !waiting.isEmpty }

  subscript(name: String) -> [UInt8]? { waiting[name] ?? stored[name] }

  mutating func accept(_ document: PreservedDocument) { waiting[document.name] = document.bytes }

  /// Learns what a store has that was just opened. What is known is newer.
  mutating func learn(from store: Store) throws(SQLiteError) {
    stored.merge(try store.documents()) { known, _ in known }
  }

  /// Writes, inside a transaction, what belongs to the records that the same transaction writes.
  func writeWaiting(to store: Store) throws(SQLiteError) {
    for (name, bytes) in waiting { try store.setDocument(name, bytes) }
  }

  /// Writes, inside a transaction, what goes with the records that a store has already, or had before it was damaged.
  func writeStored(to store: Store) throws(SQLiteError) {
    for (name, bytes) in stored { try store.setDocument(name, bytes) }
  }

  /// What was waiting is in the store.
  mutating func written() {
    stored.merge(waiting) { $1 }
    waiting = [:]
  }
}
