internal import Glibc
package import Logging
internal import Platform

/// A vehicle's claim on stored state: an owner file with the vehicle's name, locked while the agent runs.
///
/// The lock is released with the claim, and by the kernel when the process exits.
package final class StateClaim: Sendable {
  package static let fileName = "odographd.owner"
  /// Maximum number of bytes read from an owner file.
  private static let sizeLimit = 4096

  private let file: RandomAccessFile

  /// Locks the owner file and writes the vehicle's name into a new one.
  /// - Parameters:
  ///   - path: the owner file.
  ///   - object: folder or file that is claimed, for messages.
  ///   - key: configuration key that sets the object.
  /// - Throws: `ConfigurationError` if the state belongs to another vehicle or another agent uses it;
  ///   `SystemError` if the owner file cannot be read or written.
  package convenience init(_ path: String, object: String, key: String, vehicle: String) throws {
    do {
      self.init(try Self.claimed(path, object, key, vehicle))
    } catch let error as SystemError where error.code == EWOULDBLOCK {
      throw ConfigurationError(
        .conflict, place: object,
        problem: "in use by another agent; stop that agent, or set \(key) to another folder")
    } catch let error as SystemError where [EACCES, EPERM, EROFS].contains(error.code) {
      try Self.check(AtomicFile.read(path, limit: Self.sizeLimit), path, object, key, vehicle)
      throw error
    }
  }

  private init(_ file: consuming RandomAccessFile) { self.file = file }

  private static func claimed(
    _ path: String, _ object: String, _ key: String, _ vehicle: String
  ) throws -> RandomAccessFile {
    let file = try RandomAccessFile(path: path, access: .readWrite, followsLinks: false)
    let contents = try file.read(count: sizeLimit, at: 0)
    try check(contents, path, object, key, vehicle)
    // The name is written if the file is new, or if a loss of power has left only a part of the name.
    if name(contents) == nil {
      try file.write(Array((vehicle + "\n").utf8), at: 0)
      try file.synchronize()
    }
    return file
  }

  private static func check(
    _ contents: [UInt8]?, _ path: String, _ object: String, _ key: String, _ vehicle: String
  ) throws(ConfigurationError) {
    guard let owner = contents.flatMap(name), owner != vehicle else { return }
    throw foreign(owner, path, object, key, vehicle)
  }

  private static func foreign(
    _ owner: String, _ path: String, _ object: String, _ key: String, _ vehicle: String
  ) -> ConfigurationError {
    ConfigurationError(
      .conflict, place: object,
      problem: "holds the state of vehicle \(owner); set \(key) to another folder for \(vehicle), "
        + "or delete \(path) if the vehicle was renamed")
  }

  /// Returns the first line; nil if it is empty, has no line break at its end, or contains control
  /// characters, as after a power cut.
  private static func name(_ contents: [UInt8]) -> String? {
    guard let end = contents.firstIndex(of: UInt8(ascii: "\n")), end > 0,
      contents[..<end].allSatisfy({ $0 >= 32 && $0 != 127 })
    else { return nil }
    return String(decoding: contents[..<end], as: UTF8.self)
  }

  /// Returns the vehicle, as `fleet/vehicle`, that owns a folder's state; nil if none has claimed it.
  package static func owner(ofFolder folder: String) -> String? {
    (try? AtomicFile.read("\(folder)/\(fileName)", limit: sizeLimit)).flatMap { $0 }.flatMap(name)
  }

  /// Returns the error that the agent would report for a folder of another vehicle; nil for an own or
  /// unclaimed folder. Locks nothing.
  static func fault(ofFolder folder: String, key: String, vehicle: String) -> ConfigurationError? {
    guard let owner = owner(ofFolder: folder), owner != vehicle else { return nil }
    return foreign(owner, "\(folder)/\(fileName)", folder, key, vehicle)
  }
}

/// The claims of a running agent. Files whose paths are set by keys of their own are not claimed, except the
/// queue and the remote settings.
package struct StateClaims: Sendable {
  private var claims: [StateClaim] = []

  /// Creates missing folders.
  /// - Throws: `ConfigurationError` if state belongs to another vehicle or another agent uses it;
  ///   `SystemError` if a folder cannot be created.
  package init(
    _ configuration: AgentConfiguration, folders: AgentFolders = .system, log: Logger
  ) throws {
    let (state, store, remote) = (configuration.state, configuration.store.path, configuration.remote)
    let vehicle = configuration.vehicleName
    // Each folder is checked before the next is created, so that a refusal leaves nothing behind.
    func make(_ folder: String, _ key: String) throws(SystemError) {
      guard let fault = try StateFolder.makeIfWritable(folder, key: key, folders: folders) else { return }
      log.warning(
        .stateFolderMissing, "state folder not created; state in memory only",
        metadata: ["reason": "\(fault)"])
    }
    try make(state.folder, state.key)
    try StateFolder.checkOwner(of: state.folder, key: state.key)
    let storeFolder = StateFolder.of(store)
    if storeFolder != state.folder {
      try make(storeFolder, "store.path")
      try StateFolder.checkOwner(of: storeFolder, key: "store.path")
    }
    if remote.isEnabled {
      Self.adoptFormerRemote(configuration, folders, log)
      try make(remote.path, "remote.path")
      try StateFolder.checkOwner(of: remote.path, key: "remote.path")
    }
    try claim("\(state.folder)/\(StateClaim.fileName)", state.folder, state.key, vehicle, log)
    if storeFolder != state.folder { try claim(store + ".owner", store, "store.path", vehicle, log) }
    if remote.isEnabled {
      try claim("\(remote.path)/\(StateClaim.fileName)", remote.path, "remote.path", vehicle, log)
    }
  }

  private mutating func claim(
    _ path: String, _ object: String, _ key: String, _ vehicle: String, _ log: Logger
  ) throws(ConfigurationError) {
    do {
      claims.append(try StateClaim(path, object: object, key: key, vehicle: vehicle))
    } catch let error as ConfigurationError {
      throw error
    } catch {
      // A full or read-only disk must not stop the agent.
      log.warning(
        .stateUnclaimed, "state not claimed; a second agent on it is not detected",
        metadata: ["file": "\(path)", "reason": "\(error)"])
    }
  }

  /// Links to the remote settings of earlier versions, which were in the default state folder even if
  /// `store.path` was set. Applies if the agent already has a store and the default folder contains no other
  /// agent's store.
  private static func adoptFormerRemote(
    _ configuration: AgentConfiguration, _ folders: AgentFolders, _ log: Logger
  ) {
    let (state, path) = (configuration.state, configuration.remote.path)
    let former = folders.state + "/remote"
    func exists(_ path: String) -> Bool { faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 }
    guard state.key == "store.path", path == state.folder + "/remote", former != path,
      !exists("\(state.folder)/\(StateClaim.fileName)"), exists(configuration.store.path), !exists(path),
      exists(former), !exists(folders.state + "/outbox.sqlite"),
      !exists("\(former)/\(StateClaim.fileName)"), symlink(former, path) == 0
    else { return }
    log.notice(
      .stateAdopted, "remote settings of a former version adopted",
      metadata: ["from": "\(former)", "path": "\(path)"])
  }
}
