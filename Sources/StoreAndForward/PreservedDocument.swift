internal import SQLite

/// Program state in the store: alone, or in the same commit as accepted messages. After a crash, a document and
/// its messages are both present, or neither is.
package struct PreservedDocument: Hashable, Sendable {
  /// Name of the document. A later document of the same name replaces it.
  package var name: String
  /// Content of the document; empty deletes it. If bit errors must be detected, it must include a checksum: the outbox verifies its
  /// own only when it salvages a damaged store.
  package var bytes: [UInt8]

  package init(name: String, bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }

  /// Returns the contents of a store's documents by name, also while an agent has the store open; empty if there
  /// is no readable store.
  package static func read(store path: String) -> [String: [UInt8]] { Salvage.documents(path) }
}

/// The documents of an outbox: those in its store, and those waiting for their records.
struct PreservedDocuments {
  /// Documents in the store, or in the store before it was damaged.
  private var stored: [String: [UInt8]] = [:]
  /// Newer documents, which wait for their records. They may be written only in a transaction after which
  /// none of their records remain in memory.
  private var waiting: [String: [UInt8]] = [:]

  var isWaiting: Bool { !waiting.isEmpty }

  subscript(name: String) -> [UInt8]? {
    (waiting[name] ?? stored[name]).flatMap { $0.isEmpty ? nil : $0 }
  }

  func contains(_ name: String) -> Bool { waiting[name] != nil || stored[name] != nil }

  mutating func accept(_ document: PreservedDocument) { waiting[document.name] = document.bytes }

  /// Adds the documents of an opened or a damaged store. Documents that are already in memory are newer and are
  /// not replaced.
  mutating func learn(_ documents: [String: [UInt8]]) { stored.merge(documents) { known, _ in known } }

  /// Replaces the documents of a store by those of its commits that SQLite ignores.
  mutating func restore(_ documents: [String: [UInt8]]) { stored.merge(documents) { $1 } }

  /// Writes the waiting documents. Call it inside the transaction that writes their records.
  func writeWaiting(to store: Store) throws(SQLiteError) {
    for (name, bytes) in waiting { try store.set(PreservedDocument(name: name, bytes: bytes)) }
  }

  /// Writes the documents whose records are in the store, or were in the store before it was damaged. Call it
  /// inside a transaction.
  func writeStored(to store: Store) throws(SQLiteError) {
    for (name, bytes) in stored { try store.set(PreservedDocument(name: name, bytes: bytes)) }
  }

  /// Records that the waiting documents are stored.
  mutating func written() {
    stored.merge(waiting) { $1 }
    waiting = [:]
  }
}
