internal import Glibc

/// The agent's default folders for state, control socket and configuration. For root and the service's user
/// they are the system's folders, otherwise the user's own according to the XDG Base Directory Specification.
package struct AgentFolders: Sendable, Hashable {
  /// Folder of the store and other state.
  package let state: String
  /// The user's own folder that contains `state`, whose missing parts may be created; nil for a system
  /// folder.
  let home: String?
  /// Path of the control socket.
  package let socket: String
  /// Possible sockets of a running agent, in search order.
  package let sockets: [String]
  /// Possible configuration files, in search order.
  package let configurations: [String]
  /// Path for a new configuration; nil if the environment contains no folder of the user.
  package let newConfiguration: String?

  /// - Parameters:
  ///   - environment: environment variables, of which `STATE_DIRECTORY` and `RUNTIME_DIRECTORY` of systemd
  ///     and the XDG variables are used. They must be absolute paths.
  ///   - isRoot: true to use the system's folders in any case.
  ///   - isWritable: returns whether the user can write to a folder.
  package init(
    environment: [String: String], isRoot: Bool = geteuid() == 0,
    isWritable: (String) -> Bool = { access($0, W_OK | X_OK) == 0 }
  ) {
    func folder(_ name: String) -> String? {
      environment[name]?.split(separator: ":").first.map(String.init).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    let home = folder("HOME")
    /// A user who can write to the system folders uses them, for example the user of a container without a
    /// service manager.
    func isOurs(_ path: String) -> Bool { isRoot || isWritable(path) }

    let ownState = folder("XDG_STATE_HOME") ?? home.map { $0 + "/.local/state" }
    if let given = folder("STATE_DIRECTORY") {
      (state, self.home) = (given, nil)
    } else if let ownState, !isOurs(Self.systemState) {
      state = ownState + "/odograph"
      self.home = folder("XDG_STATE_HOME") == nil ? home : Self.parent(of: ownState)
    } else {
      (state, self.home) = (Self.systemState, nil)
    }

    let name = "/control.socket"
    let ownSocket = folder("XDG_RUNTIME_DIR").map { $0 + "/odographd.socket" }
    let systemSocket = Self.systemRuntime + name
    if let given = folder("RUNTIME_DIRECTORY") {
      (socket, sockets) = (given + name, [given + name])
    } else if let ownSocket, !isOurs(Self.systemRuntime) {
      (socket, sockets) = (ownSocket, [ownSocket, systemSocket])
    } else {
      (socket, sockets) = (systemSocket, [systemSocket])
    }

    let own = (folder("XDG_CONFIG_HOME") ?? home.map { $0 + "/.config" }).map {
      $0 + "/odograph/odograph.toml"
    }
    // Root ignores configurations in a user's own folder: if root has inherited another user's environment,
    // that user could change the file.
    configurations =
      isRoot ? [Self.systemConfiguration] : (own.map { [$0] } ?? []) + [Self.systemConfiguration]
    newConfiguration = isRoot ? Self.systemConfiguration : own
  }

  /// The first existing configuration file; nil if there is none.
  package var configuration: String? { configurations.first { access($0, F_OK) == 0 } }

  /// Path of the first existing control socket; the default path if none exists or is visible to this user.
  var listening: String { sockets.first { access($0, F_OK) == 0 } ?? socket }

  package static let systemConfiguration = "/etc/odographd/odograph.toml"
  private static let systemState = "/var/lib/odographd"
  private static let systemRuntime = "/run/odographd"

  private static func parent(of path: String) -> String { StateFolder.of(path) }

  /// The folders of this process.
  static var system: AgentFolders { AgentFolders(environment: ProcessEnvironment.variables) }

  /// Returns the parent folders of one of the agent's folders that may be created with it, starting at the
  /// user's own folder. For the system's folders it is only `state` itself; for configured folders there are
  /// none.
  package func parents(of folder: String) -> [String] {
    guard folder == state || folder.hasPrefix(state + "/") else { return [] }
    guard let home else { return folder == state ? [] : [state] }
    guard state.hasPrefix(home == "/" ? home : home + "/") else { return [] }
    var parents: [String] = []
    var above = StateFolder.of(folder)
    while above.utf8.count > home.utf8.count {
      parents.append(above)
      above = StateFolder.of(above)
    }
    return parents.reversed()
  }
}
