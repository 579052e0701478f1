package import Fleet
internal import Glibc
internal import JSON
internal import Platform
internal import Spatial

/// The storage of sessions and links. The file contains digests instead of secrets, so reading it grants no
/// access.
package struct AccessStore: Sendable {
  package let path: String
  private let folder: String
  /// The maximum size of the file in bytes. The maximum of 10,000 sessions and 1,000 links requires 3 MB.
  private static let sizeLimit = 16 << 20

  package init(folder: String) { (self.folder, path) = (folder, folder + "/access.json") }

  /// Creates the folder if it is missing, and locks the file for this process.
  /// - Throws: `FleetError` if the folder cannot be created, or another server uses it.
  func lock() throws(FleetError) -> AccessLock {
    do throws(SystemError) { try AtomicFile.makeFolder(folder) } catch { throw FleetError(error) }
    return try AccessLock(path)
  }

  /// Loads the stored sessions and links that are still valid.
  /// - Throws: `FleetError` if the file is unreadable.
  package func load(into control: AccessControl) throws(FleetError) {
    let bytes: [UInt8]
    do throws(SystemError) {
      guard let read = try AtomicFile.read(path, limit: Self.sizeLimit) else { return }
      bytes = read
    } catch {
      throw FleetError(error)
    }
    let document: JSONValue
    do throws(JSONError) { document = try JSONValue(parsing: bytes) } catch {
      throw FleetError(
        operation: "read", object: path,
        cause: "\(error.description); delete it: everybody then logs in again, and links are made again",
        kind: .outputFailed)
    }
    control.restore(
      shares: (document["shares"]?.array ?? []).compactMap(Self.share),
      sessions: (document["sessions"]?.array ?? []).compactMap(Self.session))
  }

  /// Saves sessions and links if they have changed since the last call.
  /// - Returns: true if they had changed and were saved.
  /// - Throws: `SystemError`; the next call retries.
  @discardableResult
  func save(_ control: AccessControl) throws(SystemError) -> Bool {
    guard let (shares, sessions) = control.changes() else { return false }
    var writer = JSONWriter(capacity: 256 * (shares.count + sessions.count) + 64)
    writer.openObject()
    writer.field("shares", objects: shares.sorted(by: { $0.value.began < $1.value.began })) {
      writer, element in
      let (digest, share) = element
      writer.field("digest", digest.hexadecimal)
      writer.field("fleet", share.vehicle.fleet)
      writer.field("vehicle", share.vehicle.vehicle)
      writer.field("maker", share.maker)
      writer.field("began", share.began.nanoseconds)
      writer.field("end", share.end.nanoseconds)
    }
    writer.field("sessions", objects: sessions.sorted(by: { $0.value.began < $1.value.began })) {
      writer, element in
      let (digest, session) = element
      writer.field("digest", digest.hexadecimal)
      switch session.holder {
      case .user(let name): writer.field("user", name)
      case .link(let link): writer.field("link", link.hexadecimal)
      }
      writer.field("entry", session.entry.hexadecimal)
      writer.field("began", session.began.nanoseconds)
      writer.field("used", session.used.nanoseconds)
    }
    writer.closeObject()
    do throws(SystemError) { try AtomicFile.write(writer.bytes, to: path, mode: 0o600) } catch {
      control.markChanged()
      throw error
    }
    return true
  }

  private static func digest(_ value: JSONValue?) -> SecretDigest? {
    value?.string.flatMap { SecretDigest(hexadecimal: $0) }
  }

  private static func time(_ value: JSONValue?) -> UTCTime? { value?.integer.map(UTCTime.init(nanoseconds:)) }

  private static func share(_ value: JSONValue) -> (SecretDigest, ShareTable.Share)? {
    guard let digest = digest(value["digest"]), let fleet = value["fleet"]?.string,
      let vehicle = value["vehicle"]?.string, let maker = value["maker"]?.string,
      let began = time(value["began"]), let end = time(value["end"])
    else { return nil }
    return (
      digest,
      .init(vehicle: VehicleKey(fleet: fleet, vehicle: vehicle), maker: maker, began: began, end: end)
    )
  }

  private static func session(_ value: JSONValue) -> (SecretDigest, SessionTable.Session)? {
    guard let digest = digest(value["digest"]), let entry = Self.digest(value["entry"]),
      let began = time(value["began"]), let used = time(value["used"]),
      let holder = value["user"]?.string.map({ .user($0) })
        ?? Self.digest(value["link"]).map({ SessionTable.Holder.link($0) })
    else { return nil }
    return (digest, .init(holder: holder, entry: entry, began: began, used: used))
  }
}

/// A file lock that prevents two servers from using the same folder, because each would restore the sessions and
/// links that ended in the other. The kernel releases it when the process exits.
final class AccessLock: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws(FleetError) {
    descriptor = unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK else { return }
    throw .usage(
      "use the sessions in", path,
      "another odograph serve uses it; stop that one, or name another folder as state in [access]")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}

extension AccessControl {
  /// Restores stored links whose creators can still see the vehicle, and stored sessions of users whose
  /// configuration entry is unchanged.
  func restore(
    shares: [(SecretDigest, ShareTable.Share)], sessions: [(SecretDigest, SessionTable.Session)]
  ) {
    let now = UTCTime.now
    state.withLock { state in
      for (digest, share) in shares { _ = state.shares.add(digest, share, at: now) }
      state.endLostShares(at: now)
      for (digest, session) in sessions.prefix(SessionTable.capacity)
      where state.entry(of: session.holder, at: now) == session.entry {
        state.sessions.restore(digest, session)
      }
      state.sessions.expire(at: now)
    }
  }

  /// Returns the sessions and links to store; nil if they have not changed since the last call.
  func changes() -> (
    shares: [SecretDigest: ShareTable.Share], sessions: [SecretDigest: SessionTable.Session]
  )? {
    let now = UTCTime.now
    return state.withLock { state in
      guard state.isChanged else { return nil }
      state.isChanged = false
      state.shares.expire(at: now)
      state.sessions.expire(at: now)
      return (state.shares.shares, state.sessions.sessions)
    }
  }

  func markChanged() { state.withLock { $0.isChanged = true } }
}
