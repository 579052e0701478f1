internal import SQLite

/// Program state that is stored in the same commit as accepted messages. After a crash both are present or
/// neither is.
package struct PreservedDocument: Hashable, Sendable {
  /// Name of the document. A later document of the same name replaces it.
  package var name: String
  /// Content of the document. The outbox adds no checksum; if bit errors must be detected, the content must
  /// include one.
  package var bytes: [UInt8]

  package init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

/// The documents of an outbox: those in its store, and those waiting for their records.
struct PreservedDocuments {
  /// Documents in the store, or in the store before it was damaged.
  private var stored: [String: [UInt8]] = [:]
  /// Newer documents, which wait for their records. They may be written only in a transaction after which
  /// none of their records remain in memory.
  private var waiting: [String: [UInt8]] = [:]

  var isWaiting: Bool { !waiting.isEmpty }

  subscript(name: String) -> [UInt8]? { waiting[name] ?? stored[name] }

  mutating func accept(_ document: PreservedDocument) { waiting[document.name] = document.bytes }

  /// Reads the documents of an opened store. Documents that are already in memory are newer and are not
  /// replaced.
  mutating func learn(from store: Store) throws(SQLiteError) {
    stored.merge(try store.documents()) { known, _ in known }
  }

  /// Writes the waiting documents. Call it inside the transaction that writes their records.
  func writeWaiting(to store: Store) throws(SQLiteError) {
    for (name, bytes) in waiting { try store.setDocument(name, bytes) }
  }

  /// Writes the documents whose records are in the store, or were in the store before it was damaged. Call it
  /// inside a transaction.
  func writeStored(to store: Store) throws(SQLiteError) {
    for (name, bytes) in stored { try store.setDocument(name, bytes) }
  }

  /// Records that the waiting documents are stored.
  mutating func written() {
    stored.merge(waiting) { $1 }
    waiting = [:]
  }
}
