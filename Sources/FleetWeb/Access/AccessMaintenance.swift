package import Fleet
package import FleetProgram
internal import Glibc
internal import Platform

/// A thread that saves sessions and links, reloads the configuration on request, and reloads the certificate
/// when its files change.
package final class AccessMaintenance: Sendable {
  private let control: AccessControl
  private let certificates: CertificateStore?
  /// The configuration file as read at the start; nil without one.
  private let file: SettingsFile?
  private let address: ListenAddress
  private let store: AccessStore?
  /// The lock on the store; nil without a store, and after the stop.
  private let lock: Locked<AccessLock?>
  private let saving = Locked(Saving())
  private let wanted = Locked<Reload?>(nil)
  /// The message about the last failed save, so that the same message is not repeated; nil after a successful
  /// save.
  private let problem = Locked<String?>(nil)
  private let thread: ServiceThread
  private let report: @Sendable (String) -> Void

  /// The requests that wait for a save.
  private struct Saving {
    var waiting: [CheckedContinuation<SystemError?, Never>] = []
    var isStopped = false
  }

  /// The interval in seconds between saves. A crash loses at most the sessions and links that were created
  /// within one interval. Logouts and revocations are saved immediately.
  private static let interval = 1.0
  /// The number of intervals after which sessions are saved even if only their times of last use have
  /// changed.
  private static let looksBetweenSaves = 300

  /// Restores the stored sessions and links, and starts the thread.
  /// - Parameters:
  ///   - file: the configuration; nil if there is none.
  ///   - report: logs problems with saving.
  /// - Throws: `FleetError` if the folder is not usable.
  package init(
    _ control: AccessControl, certificates: CertificateStore?, file: SettingsFile?,
    address: ListenAddress, report: @escaping @Sendable (String) -> Void = { StandardError.report($0) }
  ) throws(FleetError) {
    self.report = report
    (self.control, self.certificates) = (control, certificates)
    (self.file, self.address) = (file, address)
    let store = control.configuration.stateFolder.map { AccessStore(folder: $0) }
    self.store = store
    lock = Locked(try store?.lock())
    try store?.load(into: control)
    do throws(SystemError) {
      // Saves immediately, so that a folder that is not writable is reported now instead of at the first
      // login.
      control.markChanged()
      try store?.save(control)
      thread = try ServiceThread()
    } catch {
      throw FleetError(error)
    }
    do throws(SystemError) {
      try thread.start(name: "access") { [self] in run($0) }
    } catch {
      throw FleetError(error)
    }
    control.useStorage { [weak self] in await self?.saveNow() ?? nil }
  }

  /// A function that applies a reloaded and valid configuration file to other parts of the server.
  package typealias Reload = @Sendable (SettingsFile) -> Void

  /// Requests to reload configuration and certificate. Can be called from any thread.
  package func reload(_ others: @escaping Reload = { _ in }) {
    wanted.withLock { $0 = others }
    thread.wake.signal()
  }

  /// Stops the thread, and saves sessions and links for the last time. Call it once, before
  /// `AccessControl.stop`.
  package func stop() {
    thread.stop()
    control.markChanged()
    saving.withLock { $0.isStopped = true }
    saveAndAnswer()
    lock.withLock { $0 = nil }
  }

  private func run(_ heartbeat: Heartbeat) {
    var looks = 0
    while !thread.isStopping {
      heartbeat.beat()
      _ = thread.wake.wait(seconds: Self.interval)
      let reload = wanted.withLock { wanted in
        defer { wanted = nil }
        return wanted
      }
      if let reload { readAgain(reload) } else { renewCertificate() }
      looks += 1
      if looks % Self.looksBetweenSaves == 0 { control.markChanged() }
      saveAndAnswer()
    }
  }

  /// Saves sessions and links on the thread.
  /// - Returns: the error of a failed save; nil after a successful one, and without a folder.
  private func saveNow() async -> SystemError? {
    guard let store else { return nil }
    return await withCheckedContinuation { answer in
      let isStopped = saving.withLock { saving in
        if !saving.isStopped { saving.waiting.append(answer) }
        return saving.isStopped
      }
      guard !isStopped else {
        return answer.resume(
          returning: SystemError(operation: "write", object: store.path, code: ECANCELED))
      }
      thread.wake.signal()
    }
  }

  private func saveAndAnswer() {
    // The changes of the waiting requests were made before they started to wait, so this save contains them.
    let waiting = saving.withLock { saving in
      defer { saving.waiting = [] }
      return saving.waiting
    }
    let failure = save()
    for answer in waiting { answer.resume(returning: failure) }
  }

  private func save() -> SystemError? {
    do throws(SystemError) {
      guard let store else { return nil }
      let isSaved = try store.save(control)
      guard isSaved, problem.withLock({ $0 }) != nil else { return nil }
      problem.withLock { $0 = nil }
      report("sessions and links are stored again")
      return nil
    } catch {
      let sentence = "\(error); sessions and links are stored as soon as this is fixed"
      let isNew = problem.withLock { problem in
        defer { problem = sentence }
        return problem != sentence
      }
      if isNew { report(sentence) }
      return error
    }
  }

  private func renewCertificate() {
    do throws(FleetError) {
      if try certificates?.reloadIfChanged() == true { StandardError.report("reloaded the certificate") }
    } catch {
      StandardError.report("continues with the previous certificate: \(error)")
    }
  }

  private func readAgain(_ others: Reload) {
    do throws(FleetError) { try certificates?.reload() } catch {
      StandardError.report("continues with the previous certificate: \(error)")
    }
    guard let begun = file else { return }
    do throws(FleetError) {
      let file = try SettingsFile(path: begun.path)
      let configuration = try AccessConfiguration(file)
      let waiting = try ServeConfiguration.changes(in: file, since: begun)
      try configuration.check(listening: address)
      // A file that is being rewritten can be empty for a moment, which must not remove all logins.
      if control.configuration.hasLogin, !configuration.hasLogin {
        throw .usage(
          "use", begun.path, "all logins would be removed; a server without a login requires a restart")
      }
      let removesProxy = configuration.proxyAddresses.isEmpty && !control.configuration.proxyAddresses.isEmpty
      if removesProxy, certificates == nil, !address.isLoopback {
        throw .usage(
          "use", begun.path, "TLS would be removed; a server without [proxy] requires a restart")
      }
      control.use(configuration)
      control.audit.record(
        AuditEntry(action: "reload", who: "SIGHUP", from: "this machine", outcome: "done"))
      report("reloaded users and tokens from \(begun.path)")
      if !waiting.isEmpty {
        report("\(waiting.joined(separator: ", ")) of \(begun.path): changes take effect after a restart")
      }
      others(file)
    } catch {
      control.audit.record(
        AuditEntry(
          action: "reload", who: "SIGHUP", from: "this machine", outcome: "refused", detail: error.description
        ))
      report("continues with the previous users, tokens, rules and receivers: \(error)")
    }
  }
}
