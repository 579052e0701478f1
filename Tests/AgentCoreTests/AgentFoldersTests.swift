import AgentCore
import Testing

/// Default folders: those of the system or of the user.
@Suite struct AgentFoldersTests {
  private static func folders(
    _ environment: [String: String], isRoot: Bool = false, writable: Set<String> = []
  ) -> AgentFolders {
    AgentFolders(environment: environment, isRoot: isRoot) { writable.contains($0) }
  }

  private static let own = [
    "HOME": "/home/ann", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_CONFIG_HOME": "/c",
  ]

  @Test func rootUsesSystemFoldersRegardlessOfTheEnvironment() {
    let folders = Self.folders(Self.own, isRoot: true)
    #expect(folders.state == "/var/lib/odographd" && folders.socket == "/run/odographd/control.socket")
    #expect(folders.configurations == ["/etc/odographd/odograph.toml"])
    #expect(folders.newConfiguration == "/etc/odographd/odograph.toml")
  }

  @Test func serviceUserUsesSystemdFolders() {
    let folders = Self.folders(["STATE_DIRECTORY": "/var/lib/a:/var/lib/b", "RUNTIME_DIRECTORY": "/run/a"])
    #expect(folders.state == "/var/lib/a" && folders.socket == "/run/a/control.socket")
  }

  /// Without a service manager, as in a container, the service user uses the folders created by the package.
  @Test func serviceUserWithoutSystemdUsesSystemFolders() {
    let folders = Self.folders(Self.own, writable: ["/var/lib/odographd", "/run/odographd"])
    #expect(folders.state == "/var/lib/odographd" && folders.socket == "/run/odographd/control.socket")
  }

  @Test func otherUsersHaveTheirOwnFolders() {
    let folders = Self.folders(Self.own)
    #expect(folders.state == "/s/odograph" && folders.socket == "/run/user/7/odographd.socket")
    #expect(folders.sockets == [folders.socket, "/run/odographd/control.socket"])
    #expect(folders.configurations == ["/c/odograph/odograph.toml", "/etc/odographd/odograph.toml"])
    #expect(folders.newConfiguration == "/c/odograph/odograph.toml")
    let plain = Self.folders(["HOME": "/home/ann"])
    #expect(plain.state == "/home/ann/.local/state/odograph")
    #expect(plain.newConfiguration == "/home/ann/.config/odograph/odograph.toml")
    #expect(plain.socket == "/run/odographd/control.socket")
  }

  /// XDG specification: paths that are not absolute are ignored.
  @Test func relativePathsAreIgnored() {
    let folders = Self.folders([
      "HOME": "", "XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": ".", "XDG_RUNTIME_DIR": "r",
    ])
    #expect(folders.state == "/var/lib/odographd" && folders.socket == "/run/odographd/control.socket")
    #expect(folders.newConfiguration == nil)
  }

  /// Parent folders are created only below the user's home folder.
  @Test func onlyParentsBelowTheHomeFolderAreCreated() {
    let plain = Self.folders(["HOME": "/home/ann"])
    #expect(plain.parents(of: plain.state) == ["/home/ann/.local", "/home/ann/.local/state"])
    #expect(
      plain.parents(of: plain.state + "/remote") == [
        "/home/ann/.local", "/home/ann/.local/state", plain.state,
      ])
    #expect(plain.parents(of: "/data/odograph").isEmpty)
    #expect(Self.folders(Self.own).parents(of: "/s/odograph") == ["/s"])
    let root = Self.folders(Self.own, isRoot: true)
    #expect(root.parents(of: "/var/lib/odographd").isEmpty && root.parents(of: "/data/odograph").isEmpty)
    // If the store is elsewhere, this folder does not exist yet.
    #expect(root.parents(of: "/var/lib/odographd/remote") == ["/var/lib/odographd"])
  }
}
