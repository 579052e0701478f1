/// Where a recording goes. Used by one thread, one call at a time; calls block.
protocol FleetStore: AnyObject {
  /// For people: a path, or a database's address without its secrets.
  var name: String { get }

  /// Makes the store ready, or ready again after a failure: connects, and brings the schema up to date.
  func open() throws(FleetStoreError)

  /// Stores the messages, all or none of them, such that they would survive a loss of power. One that is there
  /// already changes nothing.
  /// - Returns: how many were not there before.
  func store(_ messages: [RecordedMessage]) throws(FleetStoreError) -> Int

  /// Leaves the store as others expect to find it.
  func close()
}

/// Why a store does not take something: what the database says, and where there is one the remedy.
struct FleetStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What was being done, as in "open".
  var operation: String
  /// The store's name.
  var object: String
  var cause: String

  /// The cause where a recording has a schema that this program does not know.
  static let newerVersion = "a newer odograph made it; use that or a newer one"

  package var description: String { "cannot \(operation) \(object): \(cause)" }
}

/// The text that names a store on the command line.
enum FleetStoreAddress {
  /// A store for a `postgres://` or `postgresql://` URL, or for the path of an SQLite file.
  static func store(for text: String) -> any FleetStore {
    isPostgreSQL(text) ? PostgreSQLStore(address: text) : SQLiteStore(path: text)
  }

  static func isPostgreSQL(_ text: String) -> Bool {
    text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
  }
}
