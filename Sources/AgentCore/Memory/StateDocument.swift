internal import Glibc
package import Logging
internal import Platform
package import Spatial
package import StoreAndForward

/// The message store as the place of state documents.
package struct StateStore: Sendable {
  /// The store; nil for an agent that prints. It reads the state, and changes none.
  package let outbox: Outbox?
  /// The documents that an agent that prints has read.
  private let documents: [String: [UInt8]]
  private let folder: String

  /// - Parameter path: path of the store.
  package init(path: String, outbox: Outbox?) {
    self.outbox = outbox
    documents = outbox == nil ? PreservedDocument.read(store: path) : [:]
    folder = StateFolder.of(path)
  }

  /// Returns whether a path is in the folder of the store.
  fileprivate func isNear(_ path: String) -> Bool {
    folder == "." ? !path.hasPrefix("/") : path.hasPrefix(folder == "/" ? folder : folder + "/")
  }

  fileprivate func document(_ name: String) -> [UInt8]? {
    outbox?.document(named: name) ?? documents[name]
  }
}

/// A small document of the agent's state, replaced as a whole.
///
/// If its path is in the folder of the message store, the document is in the store. A file of that path, which an
/// earlier version wrote, replaces the document once, and is deleted. Otherwise the document is a file; if there is
/// none, the document of the store is moved to it.
///
/// A damaged document is set aside as a file with a date. A failing disk loses the document but does not stop the
/// agent.
package struct StateDocument: Sendable {
  /// A document that was not stored.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Path of the file, or of the file of earlier versions.
  package let path: String
  private let name: String
  private let store: StateStore?
  private let log: Logger
  private let largest: Int
  private var hasLoggedFailure = false

  /// - Parameters:
  ///   - name: name in the store.
  ///   - store: the message store; nil for a file in any case.
  ///   - largest: maximum size of a file in bytes; most have less than a tenth of the default.
  package init(
    _ name: String = "", path: String, store: StateStore? = nil, largest: Int = 65_536, log: Logger
  ) {
    self.path = path
    self.name = name
    self.store = store
    self.largest = largest
    self.log = log
  }

  /// True if the document is in the store.
  var isInStore: Bool { store?.isNear(path) == true }

  /// True for an agent that prints.
  private var isReadOnly: Bool { store != nil && store?.outbox == nil }

  /// Returns the stored value; nil if there is none or it is not usable.
  /// - Parameters:
  ///   - now: date for the name of a document that is set aside.
  ///   - made: returns the time of storing, for the log.
  ///   - read: parses the text, or throws a description of the problem.
  package func load<Value, Failure: Error & CustomStringConvertible>(
    now: UTCTime, made: (Value) -> UTCTime? = { _ in nil }, _ read: (String) throws(Failure) -> Value
  ) -> Value? {
    do throws(SystemError) {
      if let bytes = try AtomicFile.read(path, limit: largest) {
        let value = parse(bytes, now, made, read) { place in try AtomicFile.move(path, to: place) }
        if value != nil { adopt(bytes) }
        if value != nil || !isInStore { return value }
      }
    } catch {
      if error.isShortOfSpace {
        setAside(now, reason: "it is longer than \(largest) bytes") { place in
          try AtomicFile.move(path, to: place)
        }
      } else {
        log.warning(.calibrationNotRead, "state not read", metadata: ["reason": "\(error)"])
      }
    }
    guard let bytes = store?.document(name) else { return nil }
    let value = parse(bytes, now, made, read) { place in
      try AtomicFile.write(bytes, to: place)
      store?.outbox?.preserve(PreservedDocument(name: name, bytes: []))
    }
    if value != nil, !isInStore, (try? write(bytes)) != nil {
      store?.outbox?.preserve(PreservedDocument(name: name, bytes: []))
    }
    return value
  }

  /// Moves the contents of the file into the store.
  private func adopt(_ bytes: [UInt8]) {
    guard isInStore, store?.outbox?.preserve(PreservedDocument(name: name, bytes: bytes)) == true else {
      return
    }
    removeFile()
  }

  /// Deletes the file of an earlier version, whose content is in the store.
  private func removeFile() {
    do throws(SystemError) {
      try AtomicFile.remove(path)
    } catch {
      log.warning(
        .calibrationNotKept, "file of an earlier version not deleted; the next start reads it again",
        metadata: ["reason": "\(error)"])
    }
  }

  private func parse<Value, Failure: Error & CustomStringConvertible>(
    _ bytes: [UInt8], _ now: UTCTime, _ made: (Value) -> UTCTime?,
    _ read: (String) throws(Failure) -> Value, setAside move: (String) throws -> Void
  ) -> Value? {
    do throws(Failure) {
      let value = try read(String(decoding: bytes, as: UTF8.self))
      log.info(
        .calibrationLoaded, "state loaded",
        metadata: ["path": "\(path)", "made": "\(made(value)?.rfc3339 ?? "at an unknown time")"])
      return value
    } catch {
      setAside(now, reason: error.description, move)
      return nil
    }
  }

  private func setAside(_ now: UTCTime, reason: String, _ move: (String) throws -> Void) {
    // Colons cause problems in some file systems and tools.
    let date = String(now.rfc3339.map { $0 == ":" ? "-" : $0 })
    let aside = "\(path).damaged-\(date)"
    do {
      if isReadOnly { throw Failure(description: "an agent that prints changes no state") }
      try move(aside)
      log.warning(
        .calibrationDamaged, "damaged state set aside",
        metadata: ["path": "\(aside)", "reason": "\(reason)"])
    } catch {
      log.warning(
        .calibrationDamaged, "damaged state left",
        metadata: ["path": "\(path)", "reason": "\(reason)", "failure": "\(error)"])
    }
  }

  /// Deletes the file.
  package func remove() { try? AtomicFile.remove(path) }

  /// Stores the text. A failure is logged once.
  /// - Parameter isDurable: false if a file does not need to survive a loss of power.
  /// - Returns: true if it was stored.
  package mutating func save(_ text: String, isDurable: Bool = true) -> Bool {
    do throws(Failure) {
      try write(Array(text.utf8), isDurable: isDurable)
      hasLoggedFailure = false
      return true
    } catch {
      if !hasLoggedFailure {
        log.warning(.calibrationNotKept, "state not written", metadata: ["reason": "\(error)"])
      }
      hasLoggedFailure = true
      return false
    }
  }

  /// Returns the document for the commit with the next messages; nil if it is a file, which is then written.
  /// - Returns: false if the file was not written.
  package mutating func prepare(_ text: String) -> (document: PreservedDocument?, isSaved: Bool) {
    guard isInStore, store?.outbox != nil else { return (nil, save(text)) }
    // The file of an earlier version is still there if the disk was not writable at the start.
    if access(path, F_OK) == 0 { try? write(Array(text.utf8)) }
    return (PreservedDocument(name: name, bytes: Array(text.utf8)), true)
  }

  /// Replaces the document.
  /// - Parameters:
  ///   - bytes: nil deletes it.
  ///   - isHeld: true if the store holds the document in memory while the disk is not writable; otherwise the
  ///     previous version remains.
  package func write(_ bytes: [UInt8]?, isDurable: Bool = true, isHeld: Bool = true) throws(Failure) {
    if isReadOnly { return }
    guard isInStore else {
      do throws(SystemError) {
        if let bytes {
          try AtomicFile.write(bytes, to: path, isDurable: isDurable)
        } else {
          try AtomicFile.remove(path)
        }
      } catch { throw Failure(description: "\(error)") }
      return
    }
    guard let outbox = store?.outbox else { return }
    guard !outbox.preserve(PreservedDocument(name: name, bytes: bytes ?? []), isHeld: isHeld) else {
      return removeFile()
    }
    var reason = "not writable"
    if case .memory(let cause) = outbox.status.mode { reason = cause }
    throw Failure(description: isHeld ? "the store holds it in memory: \(reason)" : reason)
  }
}
