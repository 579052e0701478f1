internal import SQLite

/// Program state that is stored in the same commit as accepted messages. After a crash both are present or
/// neither is.
public struct PreservedDocument: Hashable, Sendable {
  /// Name of the document. A later document of the same name replaces it.
  public var name: String
  /// Content without a checksum by the outbox. If bit errors must be detected, add one to the content.
  public var bytes: [UInt8]

  public init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

/// The documents of an outbox: those in its store, and those waiting for their records.
struct PreservedDocuments {
  /// Documents in the store, or in the store before it was damaged.
  private var stored: [String: [UInt8]] = [:]
  /// Newer documents. They may be written only in a transaction after which none of their records remain in
  /// memory.
  private var waiting: [String: [UInt8]] = [:]

  var isWaiting: Bool { !waiting.isEmpty }

  subscript(name: String) -> [UInt8]? { waiting[name] ?? stored[name] }

  mutating func accept(_ document: PreservedDocument) { waiting[document.name] = document.bytes }

  /// Reads the documents of an opened store. Existing ones are newer and are not replaced.
  mutating func learn(from store: Store) throws(SQLiteError) {
    stored.merge(try store.documents()) { known, _ in known }
  }

  /// Writes, inside a transaction, the documents of records written by the same transaction.
  func writeWaiting(to store: Store) throws(SQLiteError) {
    for (name, bytes) in waiting { try store.setDocument(name, bytes) }
  }

  /// Writes, inside a transaction, the documents of records that are in the store, or were before it was
  /// damaged.
  func writeStored(to store: Store) throws(SQLiteError) {
    for (name, bytes) in stored { try store.setDocument(name, bytes) }
  }

  /// Records that the waiting documents are stored.
  mutating func written() {
    stored.merge(waiting) { $1 }
    waiting = [:]
  }
}
